# SPDX-License-Identifier: BSD-2-Clause
"""Compiles the plugin into a package of its own, as ferry_acme/ferry_acme.so. CC, CXX, CFLAGS and LDFLAGS as usual."""

import os
import shlex
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build import build

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

NAME = "acme"  # as in FERRY_PLUGIN and in pyproject.toml
SOURCES = ["acme.c", "acme_driver.c"]
OPERATIONS = os.path.exists("acme_launch.c")  # computed by the kernels of libferrykernels
PACKAGE = "ferry_" + NAME.replace("-", "_")


def words(variable, default=""):
    return shlex.split(os.environ.get(variable, default))


def pkg_config(*arguments):
    return subprocess.check_output(["pkg-config", *arguments], text=True).split()


def ferry_flags():
    """(compiler's, linker's) of the headers, libferrykernels and the texts of the kernels: the wheel of ferry carries
    them, and the plugin finds the library beside its own package; an installed ferry has them in pkg-config."""
    try:
        import ferry
        native = os.path.dirname(ferry.get_include())
        library = [os.path.join(native, "libferrykernels.so.0"), "-Wl,-rpath,$ORIGIN/../ferry/_native"]
        flags = ["-I", ferry.get_include(), "-I", native]
    except (ImportError, FileNotFoundError):
        if not OPERATIONS:
            return pkg_config("--cflags", "ferry"), []
        texts = pkg_config("--variable=sourcedir", "ferrykernels")
        library, flags = pkg_config("--libs", "ferrykernels"), pkg_config("--cflags", "ferrykernels") + ["-I", *texts]
    return flags + ["-ffp-contract=off"], [*library, "-lm"] if OPERATIONS else []


class Build(build):
    """What setuptools builds, and the plugin; no symbol is exported but the two that ferry looks for."""

    def run(self):
        super().run()
        folder = os.path.join(self.build_lib, PACKAGE)
        os.makedirs(folder, exist_ok=True)
        os.makedirs(self.build_temp, exist_ok=True)
        ferry_compiled, ferry_linked = ferry_flags()
        flags = ["-fPIC", "-fvisibility=hidden", *ferry_compiled, *words("CFLAGS", "-O2")]
        objects = []
        for source in SOURCES + (["acme_launch.c"] if OPERATIONS else []):
            compiler = words("CC", "cc") + ["-std=c11"] if source.endswith(".c") else words("CXX", "c++") + ["-std=c++20"]
            objects.append(os.path.join(self.build_temp, source + ".o"))
            subprocess.check_call([*compiler, *flags, "-c", source, "-o", objects[-1]])
        linker = words("CC", "cc") if all(source.endswith(".c") for source in SOURCES) else words("CXX", "c++")
        subprocess.check_call([*linker, "-shared", "-Wl,-z,defs", "-Wl,--exclude-libs,ALL", *objects, "-o",
                               os.path.join(folder, f"ferry_{NAME}.so"), *words("LDFLAGS"), *ferry_linked, "-lpthread"])


class Binary(Distribution):
    """A package with compiled files, which setuptools then installs."""

    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    """A wheel for this kind of machine and any Python 3."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(packages=[], py_modules=[], distclass=Binary, cmdclass={"build": Build, "bdist_wheel": Wheel})
