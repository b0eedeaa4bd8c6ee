#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Passes of nets in ferry beside OpenCV, ONNX Runtime, OpenVINO and ncnn: beside-others.py FOLDER TITLE=NAME ...

FOLDER has NAME.prototxt and NAME.caffemodel of each net. All programs are packages of this Python: ferry by PYTHONPATH and
FERRY_LIBRARY_PATH, the others from PyPI (onnxruntime openvino ncnn pnnx opencv-python-headless<5); what is missing gets no
figure. OpenCV and ferry read Caffe's files, the others the ONNX model that ferry exports, ncnn by way of pnnx. Each program
runs a net in a process of its own with two threads; in each of the rounds each has a turn of passes, in changing order.

Writes the table of a page in doc/measurements: the median of the rounds' fastest passes, and in brackets of their medians, in
ms; the ratio of ferry's fastest to theirs; the largest difference of the sum of all outputs."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PEERS = {"ferry": "ferry", "OpenCV": "cv2", "ONNX Runtime": "onnxruntime", "OpenVINO": "openvino", "ncnn": "ncnn"}
FILES = {"cv2": "net.prototxt", "ferry": "net.prototxt", "ncnn": "net.ncnn.param"}
HERE = os.path.dirname(os.path.abspath(__file__))


def quietly(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def stage(net, folder):
    """Puts the net's files for all programs into the folder."""
    import ferry  # pylint: disable=import-outside-toplevel

    for suffix in (".prototxt", ".caffemodel"):
        shutil.copy(net + suffix, os.path.join(folder, "net" + suffix))
    model = ferry.Net(ferry.Runtime("cpu").device(), os.path.join(folder, "net.prototxt"),
                      os.path.join(folder, "net.caffemodel"))
    ferry.export_onnx(model, os.path.join(folder, "net.onnx"))
    shape = next(iter(model.inputs.values())).shape
    with open(os.path.join(folder, "shape"), "w", encoding="ascii") as f:
        f.write(" ".join(map(str, shape)))
    if shape[0] == 1 and shutil.which("pnnx"):
        quietly("pnnx", "net.onnx", "inputshape=[" + ",".join(map(str, shape)) + "]", "fp16=0", cwd=folder)


class Peer:
    """A program that has opened a net and runs it on request."""

    def __init__(self, engine, folder):
        path = os.path.join(folder, FILES.get(engine, "net.onnx"))
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "peer-runtime.py"), engine, "f32", path],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.total, self.fastest, self.medians = (float(line) if line else None), [], []

    def ask(self, passes):
        self.process.stdin.write(f"{passes}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def turn(self, seconds):
        self.ask(2)
        times, end = [], time.monotonic() + seconds
        while len(times) < 3 or time.monotonic() < end:
            times.append(self.ask(1))
        self.fastest.append(min(times))
        self.medians.append(statistics.median(times))

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def measure(net, rounds, seconds):
    """By title: (ms of the fastest, ms of the median, sum of the outputs); programs that cannot run the net are missing."""
    with tempfile.TemporaryDirectory() as folder:
        stage(net, folder)
        peers = {title: Peer(engine, folder) for title, engine in PEERS.items()}
        running = [title for title, peer in peers.items() if peer.total is not None]
        for i in range(rounds):
            for title in running[i % len(running):] + running[:i % len(running)]:
                peers[title].turn(seconds)
                time.sleep(0.05)  # in which its threads stop spinning
        for peer in peers.values():
            peer.stop()
    return {title: (1e3 * statistics.median(peers[title].fastest), 1e3 * statistics.median(peers[title].medians),
                    peers[title].total) for title in running}


def row(title, figures):
    own = figures["ferry"]
    cells = [f"{figures[name][0]:.3g} ({figures[name][1]:.3g})" if name in figures else "" for name in PEERS]
    ratios = [f"{own[0] / figures[name][0]:.2f}" if name in figures else "" for name in list(PEERS)[1:]]
    worst = max(abs(total - own[2]) / own[2] for _, _, total in figures.values())
    return "| " + " | ".join([title] + cells + ratios + [f"{worst:.0e}"]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("nets", nargs="+", metavar="TITLE=NAME")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.35)
    args = parser.parse_args()
    heads = ["net"] + list(PEERS) + [f"ferry / {name}" for name in list(PEERS)[1:]] + ["difference"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|", flush=True)
    for item in args.nets:
        title, name = item.rsplit("=", 1)
        print(row(title, measure(os.path.join(args.folder, name), args.rounds, args.seconds)), flush=True)


if __name__ == "__main__":
    main()
