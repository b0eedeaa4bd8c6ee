# SPDX-License-Identifier: BSD-2-Clause
"""Draws charts of the tables of times and speeds in doc/measurements: one SVG for each table (stage.py)."""

import html
import os
import re
import sys

COLOURS = ("#2563a8", "#c97b1d", "#8a8f98", "#3b8a5a", "#9a4fb0", "#b5423c", "#5aa7c7", "#7a6a3a")
MEASURE = re.compile(r"(?:^|[\s,(])(GFLOP/s|ms|us|µs|ns|s|seconds|milliseconds|microseconds)(?:$|[\s,.;:)])")
OTHER = re.compile(r"ratio|goal|threads|share|hidden|speedup| / |GFLOP|MB|KB|accuracy|requests|clients|batch|instances| both",
                   re.IGNORECASE)
BAR, GAP, LEFT, UNIT, TOP = 11, 9, 240, 330, 14


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number(cell):
    """The first number of a cell; None for a cell without one, or with a ratio such as 3/4."""
    found = re.match(r"[*~<]*([0-9][0-9,]*(?:\.[0-9]+)?)(?![0-9/])", cell)
    return float(found[1].replace(",", "")) if found else None


def unit_of(text):
    """The first unit of time or speed in a text, unless it is the unit of a number, as in "for 0.35 s"."""
    found = next((one for one in MEASURE.finditer(text) if not re.search(r"[0-9]\s?$", text[:one.start(1)])), None)
    return found and {"seconds": "s", "milliseconds": "ms", "microseconds": "us"}.get(found[1], found[1])


def times(head, rows, caption):
    """The columns of times or speeds, [(index, title)], and their unit: a unit in the titles, or else one in
    the text before the table, or else that of a cell. The unit holds for all columns of numbers except ratios
    and the like."""
    titled = [(i, unit_of(title)) for i, title in enumerate(head) if i and unit_of(title)]
    if titled:
        unit = titled[0][1]
        chosen = [i for i, other in titled if other == unit]
    else:
        unit = unit_of(caption) or next((unit_of(re.sub(r"^[0-9.]+", "", cell)) for row in rows for cell in row[1:]
                                         if re.match(r"[0-9.]+ (ms|us|s)\b", cell)), None)
        chosen = [i for i, title in enumerate(head) if i and unit and not OTHER.search(title) and
                  not (title in ("before", "then") and OTHER.search(head[i - 1]))]
    chosen = [i for i in chosen if any(number(row[i]) is not None for row in rows if i < len(row))]
    return [(i, head[i]) for i in chosen], unit


def draw(head, rows, columns, unit):
    """One group of bars for each row; the longest bar is that of the row's largest number."""
    legend = 16 * len(columns)
    group = BAR * len(columns) + GAP
    height = TOP + legend + group * len(rows) + 6
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="660" height="{height}" font-family="sans-serif" '
           f'font-size="11" role="img"><title>{html.escape(head[0] or "table")}, in {unit}</title>',
           f'<rect width="660" height="{height}" fill="#ffffff"/>']
    for j, (_, title) in enumerate(columns):
        out.append(f'<rect x="{LEFT}" y="{TOP - 9 + 16 * j}" width="10" height="10" fill="{COLOURS[j % 8]}"/>'
                   f'<text x="{LEFT + 15}" y="{TOP + 16 * j}">{html.escape(title)}</text>')
    for k, row in enumerate(rows):
        top = TOP + legend + k * group
        values = [number(row[i]) if i < len(row) else None for i, _ in columns]
        longest = max((value for value in values if value), default=1)
        label = re.sub(r"[*`]", "", row[0])
        label = label if len(label) <= 38 else label[:37] + "…"
        out.append(f'<text x="{LEFT - 6}" y="{top + BAR * len(columns) / 2 + 4}" text-anchor="end">'
                   f'{html.escape(label)}</text>')
        for j, value in enumerate(values):
            if value is None:
                continue
            width = value / longest * UNIT
            out.append(f'<rect x="{LEFT}" y="{top + j * BAR}" width="{width:.1f}" height="{BAR - 1}" '
                       f'fill="{COLOURS[j % 8]}"/><text x="{LEFT + width + 4:.1f}" y="{top + j * BAR + 9}" '
                       f'font-size="9">{value:g} {unit}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def tables(text):
    """Each table of a page: (index of the line after it, head, rows, the paragraph before it)."""
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        if not lines[i].startswith("|") or i + 1 >= len(lines) or not re.match(r"\|[-:| ]+$", lines[i + 1]):
            i += 1
            continue
        end = i + 2
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        before = "\n".join(lines[:i]).rstrip().split("\n\n")[-1]
        yield end, cells_of(lines[i]), [cells_of(line) for line in lines[i + 2:end]], before
        i = end


def with_charts(text, name, folder):
    """Adds a chart below each table of times of a page, drawn into FOLDER/NAME-N.svg; returns the page and
    the number of charts."""
    lines, count, shift = text.split("\n"), 0, 0
    for end, head, rows, before in tables(text):
        columns, unit = times(head, rows, before)
        if not columns:
            continue
        count += 1
        picture = f"{name}-{count}.svg"
        with open(f"{folder}/{picture}", "w", encoding="utf-8") as out:
            out.write(draw(head, rows, columns, unit))
        lines[end + shift:end + shift] = ["", f"![The numbers of this table]({picture})",
                                          "", "*Each row is scaled to its largest number.*"]
        shift += 4
    return "\n".join(lines), count


def main(folder, pictures):
    """Checks that each table of times of the pages in FOLDER has its chart in PICTURES, with a bar for each
    time."""
    bad, count = [], 0
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".md"):
            continue
        with open(f"{folder}/{name}", encoding="utf-8") as file:
            found = [times(head, rows, before) + (rows,) for _, head, rows, before in tables(file.read())]
        for i, (columns, _, rows) in enumerate([one for one in found if one[0]], 1):
            path = f"{pictures}/{name[:-3]}-{i}.svg"
            bars = sum(1 for row in rows for j, _ in columns if j < len(row) and number(row[j]) is not None)
            drawn = 0
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    drawn = file.read().count("<rect") - 1 - len(columns)
            count += 1
            if drawn != bars:
                bad.append(f"{path}: {drawn} bars for {bars} times")
    print("\n".join(bad + [f"{count} charts"]))
    return 1 if bad or not count else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: charts.py FOLDER PICTURES: checks that each table of times has its chart")
    sys.exit(main(sys.argv[1], sys.argv[2]))
