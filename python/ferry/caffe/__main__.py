# SPDX-License-Identifier: BSD-2-Clause
"""python -m ferry.caffe script.py arguments…: runs a script for which `import caffe` means ferry.caffe."""

import os
import runpy
import sys

from . import alias


def main():
    """Runs it as Python would, or says how."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m ferry.caffe SCRIPT [ARGUMENT]...")
    del sys.argv[0]
    alias()
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
