#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Opens files of `ferry run`, `export`, `upgrade` and `convert` in the page of Netron (pip's `netron`) with a
Chromium without a window, and searches the nodes of each file in the page.

    check-netron.py CHROMIUM FERRY FOLDER
    check-netron.py --pictures CHROMIUM FOLDER FILE…

FERRY is the command; FOLDER receives the files. The second form writes a picture of the page of each file,
FILE.png. Chromium resolves no host name, so that the page cannot send reports."""

import base64
import json
import os
import select
import subprocess
import sys
import time

import netron
import numpy as np

LONGEST = 60  # seconds for a page

TEXT = """
name: 'small'
layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: [1, 3, 9, 9] } } }
layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: 's' type: 'Scale' bottom: 'c' top: 'c' }
layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' }
layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' pooling_param { kernel_size: 2 stride: 2 } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'p' top: 'ip' inner_product_param { num_output: 5 } }
layer { name: 'prob' type: 'Softmax' bottom: 'ip' top: 'prob' }
"""
V1 = """
name: 'old' input: 'x' input_dim: 1 input_dim: 3 input_dim: 9 input_dim: 9
layers { name: 'c' type: CONVOLUTION bottom: 'x' top: 'c' convolution_param { num_output: 4 kernel_size: 3 } }
layers { name: 'r' type: RELU bottom: 'c' top: 'c' }
"""
SHAPES = {"c/0": (4, 3, 3, 3), "c/1": (4,), "s/0": (4,), "ip/0": (5, 64), "ip/1": (5,)}
ALL = ["Convolution", "Scale", "ReLU", "Pooling", "InnerProduct", "Softmax"]
FOLDED = [t for t in ALL if t != "Scale"]
ONNX = ["Conv", "Relu", "MaxPool", "Gemm", "Softmax"]

# A command that writes files, and the nodes that the page of each file shows.
CASES = [
    ("convert w.npz w.caffemodel", {}),
    ("convert w.npz w.safetensors", {"w.safetensors": []}),
    ("convert w.npz w.h5", {"w.h5": []}),
    ("run net.prototxt w.npz --input x=x.npy -o out.npz", {"out.npz": []}),
    ("run net.prototxt w.npz --input x=x.npy -o out.safetensors", {"out.safetensors": []}),
    ("export net.prototxt w.npz net.onnx", {"net.onnx": ONNX}),
    ("export net.prototxt w.npz kept.onnx --no-fold", {"kept.onnx": ONNX + ["Mul"]}),
    ("export net.prototxt w.npz half.onnx --fp16 --opset 22", {"half.onnx": ONNX}),
    ("upgrade v1.prototxt v2.prototxt", {"v2.prototxt": ["Convolution", "ReLU"]}),
    ("upgrade v2.prototxt again.prototxt --to v1", {"again.prototxt": ["Convolution", "ReLU"]}),
    ("upgrade net.prototxt folded.prototxt --fold -w w.npz --weights-out folded.caffemodel", {"folded.prototxt": FOLDED}),
    ("upgrade net.prototxt first.prototxt second.prototxt --split-at p",
     {"first.prototxt": ALL[:3], "second.prototxt": ALL[3:]}),
    ("convert net.onnx back.prototxt back.caffemodel", {"back.prototxt": FOLDED, "back.caffemodel": []}),
]

# ---- the page ------------------------------------------------------------------------------------


class Browser:
    """A Chromium, driven by its DevTools protocol over two pipes: JSON, each message followed by a NUL."""

    def __init__(self, chromium, profile):
        there, self.to = os.pipe()
        self.source, back = os.pipe()
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["sh", "-c", f'exec "$@" 3<&{there} 4>&{back}', "sh", chromium, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--hide-scrollbars", "--window-size=900,1400", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
             "--user-data-dir=" + profile, "--remote-debugging-pipe", "about:blank"],
            pass_fds=(there, back), stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(back)
        self.bytes, self.number, self.session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def read(self):
        while b"\0" not in self.bytes:
            if not select.select([self.source], [], [], LONGEST)[0]:
                raise RuntimeError("Chromium does not answer")
            more = os.read(self.source, 1 << 20)
            if not more:
                raise RuntimeError("Chromium has ended")
            self.bytes += more
        message, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def evaluate(self, script):
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError):
            self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.source)


# The state of the page: the class of its body, its message, and the texts of its drawing.
STATE = """JSON.stringify({
    shows: document.body ? document.body.className : '',
    message: (document.getElementById('message-text') || { innerText: '' }).innerText,
    nodes: Array.from(document.querySelectorAll('#canvas text, #canvas tspan')).map((t) => t.textContent)
})"""


def visit(browser, path, picture=None):
    """The page's state once it shows the graph of a file or a message."""
    host, port = netron.start(path, address=("127.0.0.1", 0), browse=False)[:2]
    url = f"http://{host}:{port}/"
    try:
        # without this cookie the page asks for consent first
        browser.call("Network.setCookie", name="consent", value="1", url=url)
        browser.call("Page.navigate", url=url)
        for _ in range(4 * LONGEST):
            time.sleep(0.25)
            state = json.loads(browser.evaluate(STATE) or '{"shows": ""}')
            if {"default", "alert", "notification"} & set(state["shows"].split()):
                break
        if picture:
            time.sleep(1)
            with open(picture, "wb") as file:
                file.write(base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"]))
        return state
    finally:
        netron.stop((host, port))


# ---- the cases -----------------------------------------------------------------------------------


def write_inputs():
    rng = np.random.RandomState(5)
    np.savez("w.npz", **{k: rng.uniform(-1, 1, v).astype(np.float32) for k, v in SHAPES.items()})
    np.save("x.npy", rng.uniform(-1, 1, (1, 3, 9, 9)).astype(np.float32))
    for path, text in (("net.prototxt", TEXT), ("v1.prototxt", V1)):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)


def check(browser, path, wanted):
    state = visit(browser, path)
    if "default" not in state["shows"].split():
        return state.get("message") or f"the page shows {state['shows'] or 'nothing'}"
    if not state["nodes"]:
        return "the drawing is empty"
    missing = [w for w in wanted if w not in state["nodes"]]
    return f"no {', '.join(missing)} among {state['nodes']}" if missing else ""


def check_all(browser, command):
    failed = 0
    with open("garbage.onnx", "wb") as file:
        file.write(b"\x08\x07garbage")
    found = check(browser, "garbage.onnx", [])
    failed += not found
    print(("pass" if found else "FAIL") + " a_damaged_file_is_not_opened")
    for line, files in CASES:
        subprocess.run([command, *line.split()], check=True, stdout=subprocess.DEVNULL)
        for path, wanted in files.items():
            why = check(browser, path, wanted)
            failed += bool(why)
            print((f"FAIL {path}: {why}" if why else f"pass {path}") + f" (ferry {line})", flush=True)
    return 1 if failed else 0


def main():
    pictures = sys.argv[1] == "--pictures"
    chromium, folder = sys.argv[2:4] if pictures else (sys.argv[1], sys.argv[3])
    browser = Browser(chromium, os.path.abspath(os.path.join(folder, "profile")))
    try:
        if pictures:
            for path in sys.argv[4:]:
                print(path, visit(browser, path, os.path.join(folder, os.path.basename(path) + ".png"))["shows"])
            return 0
        command = os.path.abspath(sys.argv[2])
        os.chdir(folder)
        write_inputs()
        return check_all(browser, command)
    finally:
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
