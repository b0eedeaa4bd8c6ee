# SPDX-License-Identifier: BSD-2-Clause
"""The parts of a wheel beside the package, in the folder `_native`: the libraries, the plugins and the
command; and the plugins of other packages, found by entry points of the group `ferry.plugins`."""

import importlib.metadata
import importlib.util
import os
import sys
import warnings

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")
GROUP = "ferry.plugins"
VARIABLE = "FERRY_PLUGIN_PATH_LAST"


def is_carried():
    """Whether this package contains the libraries; otherwise ferry was installed separately."""
    return os.path.isdir(FOLDER)


def get_include():
    """The folder with ferry/plugin.h and the other headers of the wheel, for building a plugin.
    FileNotFoundError if ferry was installed separately; pkg-config then knows the folder."""
    folder = os.path.join(FOLDER, "include")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder}: this package carries no headers; pkg-config --cflags ferry names those "
                                "of the installed ferry")
    return folder


def _entry_points():
    found = importlib.metadata.entry_points()
    if hasattr(found, "select"):
        return found.select(group=GROUP)
    return found.get(GROUP, ())  # Python 3.9


def _folders_of(entry):
    """The folders of the package that an entry point names; the package is not imported."""
    try:
        spec = importlib.util.find_spec(entry.value)
    except (ImportError, ValueError):
        spec = None
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        warnings.warn(f"the entry point {entry.name} = {entry.value} of {GROUP} names no package: it is ignored",
                      RuntimeWarning, stacklevel=4)
    return folders


def plugin_path():
    """The folders of other packages' plugins, in the form of FERRY_PLUGIN_PATH_LAST; None if there are none,
    or if that variable is set, which then has precedence."""
    if os.environ.get(VARIABLE):
        return None
    folders = []
    for entry in sorted(_entry_points(), key=lambda entry: (entry.name, entry.value)):
        folders += [folder for folder in _folders_of(entry) if folder not in folders]
    return os.pathsep.join(folders) or None


def main():
    """The command `ferry` of a wheel: replaces this process by the program in the wheel."""
    program = os.path.join(FOLDER, "bin", "ferry")
    path = plugin_path()
    if path:
        os.environ[VARIABLE] = path
    try:
        os.execv(program, ["ferry", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"ferry: {program}: {error.strerror}")
