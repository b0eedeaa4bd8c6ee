#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a text of the kernels with Slang to SPIR-V for Vulkan.

usage: slang.py TEXT OUT SOURCES [-D NAME=VALUE ...]

Calls the library of the wheel slangpy by its C interface, because the wheel lacks slangc. Diagnostics are
printed to standard error. The exit status is 1 if Slang rejects the text."""

import ctypes
import glob
import importlib.util
import os
import struct
import sys

OPTIONS = ["-target", "spirv", "-profile", "spirv_1_5", "-fvk-use-entrypoint-name",
           "-fp-mode", "precise", "-unscoped-enum", "-warnings-disable", "30081"]

OP_SOURCE = 3
HEADER_WORDS = 5


def library():
    folder = importlib.util.find_spec("slangpy").submodule_search_locations[0]
    slang = ctypes.CDLL(sorted(glob.glob(os.path.join(folder, "libslang-compiler.so*")))[0])
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    for name, result, arguments in (
            ("spCreateSession", pointer, [text]),
            ("spCreateCompileRequest", pointer, [pointer]),
            ("spProcessCommandLineArguments", ctypes.c_int,
             [pointer, ctypes.POINTER(text), ctypes.c_int]),
            ("spCompile", ctypes.c_int, [pointer]),
            ("spGetDiagnosticOutput", text, [pointer]),
            ("spGetCompileRequestCode", pointer, [pointer, ctypes.POINTER(ctypes.c_size_t)])):
        function = getattr(slang, name)
        function.restype, function.argtypes = result, arguments
    return slang


def compiled(arguments):
    """The module's words, or None, and the diagnostics."""
    slang = library()
    request = slang.spCreateCompileRequest(slang.spCreateSession(None))
    encoded = [argument.encode() for argument in arguments]
    status = slang.spProcessCommandLineArguments(request, (ctypes.c_char_p * len(encoded))(*encoded),
                                                 len(encoded))
    if status >= 0:
        status = slang.spCompile(request)
    messages = (slang.spGetDiagnosticOutput(request) or b"").decode()
    if status < 0:
        return None, messages
    size = ctypes.c_size_t()
    code = slang.spGetCompileRequestCode(request, ctypes.byref(size))
    return list(struct.unpack(f"<{size.value // 4}I", ctypes.string_at(code, size.value))), messages


def without_language(words):
    """Changes the language of OpSource from Slang, which a spirv-val of 2023 does not know, to Unknown."""
    at = HEADER_WORDS
    while at < len(words):
        if words[at] & 0xffff == OP_SOURCE:
            words[at + 1] = 0
        at += words[at] >> 16
    return words


def main():
    text, out, sources, *defines = sys.argv[1:]
    words, messages = compiled([text, "-I", sources] + defines + OPTIONS)
    sys.stderr.write(messages)
    if words is None:
        return 1
    with open(out, "wb") as module:
        module.write(struct.pack(f"<{len(words)}I", *without_language(words)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
