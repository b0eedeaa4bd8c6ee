# SPDX-License-Identifier: BSD-2-Clause
"""The declarations of ferry/_abi.py agree with the headers: by tests/abi, which check-abi.sh compares with
the headers, and, for names that are not symbols, by the headers' text."""

import ctypes
import os
import re
import xml.etree.ElementTree as ET

import pytest

from ferry import _abi, _dtypes, _errors, _version

TREE = os.path.join(os.path.dirname(__file__), "..", "..")
DUMPS = ("libferry", "libferryio", "libferrynet")

pytestmark = pytest.mark.skipif(not os.path.isdir(os.path.join(TREE, "tests", "abi")),
                                reason="the tests are not in ferry's tree")


class Dump:
    """The declarations of one of tests/abi/*.abi: a type is described by kind and bytes, ("int", 4),
    ("pointer", 8)."""

    def __init__(self, name):
        root = ET.parse(os.path.join(TREE, "tests", "abi", name + ".abi")).getroot()
        self.types = {node.get("id"): node for node in root.iter() if node.get("id")}
        self.functions = {node.get("mangled-name"): node for node in root.iter("function-decl")
                          if node.get("elf-symbol-id")}

    def kind(self, identity):
        node = self.types[identity]
        if node.tag in ("typedef-decl", "qualified-type-def"):
            return self.kind(node.get("type-id"))
        if node.tag == "enum-decl":
            return self.kind(node.find("underlying-type").get("type-id"))
        if node.tag == "pointer-type-def":
            return ("pointer", 8)
        if node.tag == "class-decl":
            return ("struct " + node.get("name"), int(node.get("size-in-bits", 0)) // 8)
        name, size = node.get("name"), int(node.get("size-in-bits", 0)) // 8
        if name == "void":
            return ("void", 0)
        if name == "bool":
            return ("bool", size)
        if name in ("float", "double"):
            return ("float", size)
        unsigned = "unsigned" in name and "enum" not in name  # an enum is an int here
        return ("unsigned" if unsigned else "int", size)

    def structure(self, name):
        """(bytes, [(member, offset, kind)]), or None."""
        for node in self.types.values():
            if node.tag == "class-decl" and node.get("name") == name and node.get("size-in-bits"):
                members = [(m.find("var-decl").get("name"), int(m.get("layout-offset-in-bits")) // 8,
                            self.kind(m.find("var-decl").get("type-id")))
                           for m in node.iter("data-member")]
                return int(node.get("size-in-bits")) // 8, members
        return None

    def enumerators(self, name):
        for node in self.types.values():
            if node.tag == "enum-decl" and node.get("name") == name:
                return {e.get("name"): int(e.get("value")) for e in node.iter("enumerator")}
        return None


@pytest.fixture(scope="module")
def dumps():
    return {name: Dump(name) for name in DUMPS}


def header(name):
    with open(os.path.join(TREE, "include", "ferry", name), encoding="utf-8") as file:
        return file.read()


def kind_of(c_type):
    """The kind of a type of ctypes."""
    if c_type is None:
        return ("void", 0)
    if c_type in (ctypes.c_char_p, ctypes.c_void_p) or hasattr(c_type, "contents"):
        return ("pointer", ctypes.sizeof(c_type))
    if issubclass(c_type, ctypes.Structure):
        return ("struct " + c_type.c_name, ctypes.sizeof(c_type))
    if c_type is ctypes.c_bool:
        return ("bool", 1)
    if c_type in (ctypes.c_float, ctypes.c_double):
        return ("float", ctypes.sizeof(c_type))
    return ("unsigned" if c_type(-1).value > 0 else "int", ctypes.sizeof(c_type))


FUNCTIONS = [(soname.split(".")[0], name, declared) for soname, functions in _abi.LIBRARIES.items()
             for name, declared in functions.items()]


@pytest.mark.parametrize("library, name, declared", FUNCTIONS, ids=[name for _, name, _ in FUNCTIONS])
def test_a_function_takes_and_returns_what_the_header_says(dumps, library, name, declared):
    dump = dumps[library]
    node = dump.functions[name]
    want = [dump.kind(p.get("type-id")) for p in node.iter("parameter")
            if not p.get("is-variadic")]
    assert [kind_of(a) for a in declared.arguments] == want
    assert kind_of(declared.result) == dump.kind(node.find("return").get("type-id"))
    assert declared.fails != "code" or kind_of(declared.result)[0] == "int"
    assert declared.fails != "null" or kind_of(declared.result)[0] == "pointer"


@pytest.mark.parametrize("structure", _abi.STRUCTURES, ids=lambda s: s.c_name)
def test_a_structure_has_its_members_where_the_header_has_them(dumps, structure):
    size, members = next(filter(None, (d.structure(structure.c_name) for d in dumps.values())))
    have = [(name, getattr(structure, name).offset, kind_of(c_type))
            for name, c_type in structure._fields_]
    assert have == members
    assert ctypes.sizeof(structure) == size


def test_every_code_has_its_exception():
    listed = dict(re.findall(r"X\((\w+), (-?\d+), ", header("status.h")))
    codes = {int(value) for value in listed.values()} - {0}
    assert codes and set(_errors.CLASSES) == codes


def test_element_types_phases_and_heads_have_the_headers_values(dumps):
    enums = dumps["libferry"].enumerators("ferry_dtype")
    short = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "int8": "I8",
             "uint8": "U8", "int32": "I32", "int64": "I64", "uint32": "U32"}
    assert {"FERRY_" + short[n]: i for i, n in enumerate(_dtypes.NAMES)} == enums
    heads = dumps["libferry"].enumerators("ferry_memory_head_state")
    assert {"FERRY_HEAD_" + n.upper(): i for i, n in enumerate(_abi.HEADS)} == heads
    phases = dumps["libferrynet"].enumerators("ferry_phase")
    assert {"FERRY_PHASE_" + n.upper(): i for n, i in _abi.PHASES.items()} == phases
    states = dumps["libferrynet"].enumerators("ferry_net_load_state")
    assert states["FERRY_LOAD_NONE"] == _abi.LOAD_NONE


@pytest.mark.parametrize("name", _abi.CONSTANTS)
def test_a_constant_has_the_headers_value(name):
    text = "".join(header(n) for n in ("types.h", "blob.h", "memory.h", "runtime.h", "dlpack.h", "layer.h",
                                           "solver.h", "status.h"))
    value = re.search(rf"^#define FERRY_{name}\s+\(?(-?\d+)u?\)?", text, re.MULTILINE).group(1)
    assert getattr(_abi, name) == int(value)


def test_the_sonames_are_those_that_the_libraries_are_built_with():
    for soname in _abi.LIBRARIES:
        dump = ET.parse(os.path.join(TREE, "tests", "abi", soname.split(".")[0] + ".abi")).getroot()
        assert dump.get("soname") == soname


def test_the_package_has_the_headers_version():
    numbers = re.findall(r"^#define FERRY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header("version.h"),
                         re.MULTILINE)
    assert ".".join(numbers) == _version.VERSION.split("rc")[0]
