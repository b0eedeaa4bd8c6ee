# SPDX-License-Identifier: BSD-2-Clause
"""python -m ferry.caffe script.py arguments…, or -m MODULE arguments…: runs a script or a module in which
`import caffe` imports ferry.caffe."""

from .._script import main
from . import alias

if __name__ == "__main__":
    alias()
    main("python -m ferry.caffe")
