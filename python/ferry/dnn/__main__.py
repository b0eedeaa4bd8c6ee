# SPDX-License-Identifier: BSD-2-Clause
"""python -m ferry.dnn script.py arguments…, or -m MODULE arguments…: runs a script or a module in which
cv2.dnn reads Caffe models by ferry."""

import sys

from .._script import main
from .install import install

if __name__ == "__main__":
    try:
        install()
    except ImportError as error:
        sys.exit(f"python -m ferry.dnn: {error}")
    main("python -m ferry.dnn")
