#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes a chart of README.md: chart.py MEASUREMENTS.md >chart.svg

Reads the first table of a page in doc/measurements whose head begins with "| net |" or "| model |":
milliseconds by net, in columns by program. Each group of bars is a net, and each bar the time of a program
relative to ferry's: longer is slower."""

import html
import re
import sys

# By the first cell of the table's head: (column, name in the chart, colour), ferry first.
SHOWN = {"net": (("ferry", "ferry", "#2563a8"), ("OpenCV", "OpenCV", "#c97b1d"),
                 ("ONNX Runtime", "ONNX Runtime", "#3f8f5b"), ("OpenVINO", "OpenVINO", "#8a8f98"), ("ncnn", "ncnn", "#7f5ca8")),
         "model": (("ferry", "ferry", "#2563a8"), ("onnxruntime", "ONNX Runtime", "#3f8f5b"),
                   ("OpenVINO", "OpenVINO", "#8a8f98"))}
BAR, GAP, LEFT, UNIT, TOP = 9, 8, 150, 105, 46


def table(path):
    rows = []
    for line in open(path, encoding="utf-8"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith(("| net |", "| model |")) or rows and line.startswith("|"):
            rows.append(cells)
        elif rows:
            break
    return rows[0], rows[2:]


def number(cell):
    return float(re.match(r"[0-9.]+", cell)[0])


def main():
    head, rows = table(sys.argv[1])
    shown = SHOWN[head[0]]
    group = BAR * len(shown) + GAP
    height = TOP + group * len(rows) + 24
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="620" height="{height}" font-family="sans-serif" '
           'font-size="11" role="img">',
           "<title>Time of a forward pass relative to ferry's, by net</title>",
           f'<rect width="620" height="{height}" fill="#ffffff"/>',
           "<text x=\"8\" y=\"16\" font-size=\"13\">Time of a forward pass, relative to ferry's (shorter is faster)"
           "</text>"]
    for i, (_, name, colour) in enumerate(shown):
        out.append(f'<rect x="{LEFT + i * 104}" y="25" width="10" height="10" fill="{colour}"/>'
                   f'<text x="{LEFT + 14 + i * 104}" y="34">{name}</text>')
    for i, row in enumerate(rows):
        top = TOP + i * group
        own = number(row[head.index(shown[0][0])])
        out.append(f'<text x="{LEFT - 6}" y="{top + group / 2}" text-anchor="end">{html.escape(row[0])}</text>')
        for j, (column, _, colour) in enumerate(shown):
            value = number(row[head.index(column)])
            width = value / own * UNIT
            out.append(f'<rect x="{LEFT}" y="{top + j * BAR}" width="{width:.1f}" height="{BAR - 1}" fill="{colour}"/>'
                       f'<text x="{LEFT + width + 4:.1f}" y="{top + j * BAR + 8}" font-size="9">{value:g} ms</text>')
    line = LEFT + UNIT
    out.append(f'<line x1="{line}" y1="{TOP - 4}" x2="{line}" y2="{height - 20}" stroke="#2563a8" stroke-dasharray="3 3"/>')
    out.append("</svg>")
    print("\n".join(out))


if __name__ == "__main__":
    main()
