# SPDX-License-Identifier: BSD-2-Clause
"""python -m ferry.caffe script.py arguments…, or -m MODULE arguments…: runs a script or a module for which
`import caffe` means ferry.caffe."""

from .._script import main
from . import alias

if __name__ == "__main__":
    alias()
    main("python -m ferry.caffe")
