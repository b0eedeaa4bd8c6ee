# SPDX-License-Identifier: BSD-2-Clause
"""For check-caffe-scripts.sh. `prepare WORK SCRIPT…` converts scripts and notebooks of the folders to a form
that runs without a screen: a notebook's code without its magics, Python 2 by lib2to3. `weights NET OUT`
writes random weights for a net's text. `run SCRIPT [ARGUMENT…]` runs it without showing pictures."""

import glob
import json
import os
import runpy
import sys
import types
import warnings


def without_magics(cell):
    """A cell that %%timeit runs has variables of its own; a line that %timeit repeats runs once."""
    lines, continued = [], False
    for line in cell.split("\n"):
        statement = line.lstrip()
        indent = line[:len(line) - len(statement)]
        magic = continued or statement.startswith(("%", "!"))
        if not magic:
            lines.append(line)
        elif statement.startswith("%timeit "):
            lines.append(indent + statement[len("%timeit "):])
        elif indent and not continued:  # may be the only line of its block
            lines.append(indent + "pass")
        continued = magic and line.endswith("\\")
    if cell.startswith("%%timeit"):
        lines = ["def timed():"] + ["    " + line for line in lines] + ["timed()"]
    return "\n".join(lines)


def code_of(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if not path.endswith(".ipynb"):
        return text
    book = json.loads(text)
    cells = book.get("cells") or book["worksheets"][0]["cells"]
    parts = ["".join(cell.get("source") or cell.get("input") or "") for cell in cells if cell["cell_type"] == "code"]
    return "\n\n".join(map(without_magics, parts)) + "\n"


def prepare(path, out, *replacements):
    """Replacements are OLD=NEW: only sizes that make a script short."""
    text = code_of(path)
    try:
        compile(text, path, "exec")
    except SyntaxError:
        warnings.simplefilter("ignore")
        from lib2to3.refactor import RefactoringTool, get_fixers_from_package
        tool = RefactoringTool(get_fixers_from_package("lib2to3.fixes"))
        text = str(tool.refactor_string(text + "\n", path))
    for replacement in replacements:
        old, new = replacement.split("=>")
        if old not in text:
            sys.exit(f"{path}: it does not have {old!r}")
        text = text.replace(old, new)
    with open(out, "w", encoding="utf-8") as f:
        f.write(text)


def convert(folder):
    """Converts a package of Python 2 in a folder, in place, with the current names of PyYAML and NumPy."""
    warnings.simplefilter("ignore")
    from lib2to3.refactor import RefactoringTool, get_fixers_from_package
    tool = RefactoringTool(get_fixers_from_package("lib2to3.fixes"))
    for path in glob.glob(os.path.join(folder, "**", "*.py"), recursive=True):
        with open(path, encoding="utf-8") as f:
            text = str(tool.refactor_string(f.read() + "\n", path))
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("yaml.load(", "yaml.safe_load("))


def weights(text, out):
    """The values of the text's fillers; small random ones without a filler."""
    import caffe
    import numpy as np
    net, random = caffe.Net(text, caffe.TEST), np.random.RandomState(31)
    for blobs in net.params.values():
        for blob in blobs:
            if not blob.data.any():
                blob.data[...] = random.randn(*blob.data.shape) * 0.01
    net.save(out)


def resizing_of_scipy():
    """scipy.misc.imresize, which SciPy removed in 1.3."""
    try:
        import scipy.sparse
        from PIL import Image
    except ImportError:
        return
    import numpy as np
    misc = sys.modules.setdefault("scipy.misc", types.ModuleType("scipy.misc"))
    misc.imresize = lambda picture, shape: np.asarray(Image.fromarray(picture).resize(shape[1::-1], Image.BILINEAR))
    scipy.misc = misc


def run(path, *arguments):
    import numpy as np
    for name, plain in ("float", float), ("int", int), ("bool", bool):  # names that NumPy had when the scripts were written
        if name not in np.__dict__:
            setattr(np, name, plain)
    try:
        import matplotlib
        matplotlib.use("Agg")
    except ImportError:
        pass
    try:
        import cv2
        cv2.imshow = lambda *_: None
        cv2.waitKey = lambda *_: 0
    except ImportError:
        pass
    resizing_of_scipy()
    sys.argv[:] = [path, *arguments]
    sys.path[0] = path.rpartition("/")[0] or "."
    runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    {"convert": convert, "prepare": prepare, "weights": weights, "run": run}[sys.argv[1]](*sys.argv[2:])
