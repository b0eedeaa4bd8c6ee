# SPDX-License-Identifier: BSD-2-Clause
"""Runs a script, or a module, as Python itself would: for `python -m ferry.caffe` and `python -m ferry.dnn`."""

import importlib.util
import os
import runpy
import sys


def _stop(program, line, status):
    print(f"{program}: {line}", file=sys.stderr)
    sys.exit(status)


def _run_script(program, path):
    try:
        if not os.path.isdir(path):
            with open(path, "rb"):
                pass
    except OSError as error:
        _stop(program, f"can't open file {os.path.abspath(path)!r}: [Errno {error.errno}] {error.strerror}", 2)
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.abspath(path))
    runpy.run_path(path, run_name="__main__")


def _find(name):
    """The specification of a module, whose parent packages are imported; None if the module does not exist."""
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name and (name + ".").startswith(error.name + "."):
            return None
        raise


def _run_module(program, name):
    found = _find(name)
    if found is None:
        _stop(program, f"No module named {name}", 1)
    if found.submodule_search_locations is not None and _find(name + ".__main__") is None:
        _stop(program, f"No module named {name}.__main__; {name!r} is a package and cannot be directly executed",
              1)
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def main(program):
    """Runs the script or module of the command line."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["-m"] and len(arguments) > 1:
        sys.argv[:] = arguments[1:]
        _run_module(program, arguments[1])
    elif not arguments or arguments[0].startswith("-"):
        sys.exit(f"usage: {program} SCRIPT [ARGUMENT]...\n       {program} -m MODULE [ARGUMENT]...")
    else:
        sys.argv[:] = arguments
        _run_script(program, arguments[0])
