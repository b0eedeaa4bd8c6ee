#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes include/ferry/compat/caffe/proto/caffe.pb.h: classes for the messages of caffe.proto, from
libferrynet's schema. Run it after each change of Caffe's own fields in net/proto/schema_*.c. In a build
folder:

    python3 ../net/proto/caffe-messages.py .libs > ../include/ferry/compat/caffe/proto/caffe.pb.h

With --proto after the folder it writes the same messages as a .proto file, for tests with classes of protoc."""
import ctypes
import os
import sys

HEAD = """/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/proto/caffe.pb.h
 * The messages of caffe.proto with the accessors that protobuf would generate, without protobuf:
 * for programs that have no classes of protoc's (see compat/caffe/messages.hpp). Made by
 * net/proto/caffe-messages.py.
 */
#ifndef FERRY_COMPAT_CAFFE_PROTO_CAFFE_PB_H
#define FERRY_COMPAT_CAFFE_PROTO_CAFFE_PB_H

#include <ferry/compat/caffe/proto/fields.hpp>

namespace caffe
{
"""
ROOTS = ("BlobProtoVector", "Datum", "NetParameter", "SolverParameter", "SolverState")
NUMBERS = {"int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t", "bool": "bool",
           "float": "float", "double": "double", "string": "std::string", "bytes": "std::string"}


class Field(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("kind", ctypes.c_char_p),
                ("repeats", ctypes.c_int), ("number", ctypes.c_uint32), ("number_default", ctypes.c_double),
                ("text_default", ctypes.c_char_p), ("fork", ctypes.c_char_p), ("required", ctypes.c_int),
                ("packed", ctypes.c_int), ("choice_count", ctypes.c_int64)]


def library(folder):
    for name in ("libferry.so", "libferryio.so"):
        ctypes.CDLL(os.path.join(folder, name), ctypes.RTLD_GLOBAL)
    lib = ctypes.CDLL(os.path.join(folder, "libferrynet.so"))
    lib.ferry_proto_schema_field_count.restype = ctypes.c_int64
    lib.ferry_proto_schema_field_at.argtypes = (ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p)
    lib.ferry_proto_schema_choice_at.argtypes = (ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p,
                                              ctypes.c_void_p)
    return lib


def fields_of(lib, message):
    """(index, field) of Caffe's own fields."""
    for index in range(lib.ferry_proto_schema_field_count(message.encode())):
        field = Field(struct_size=ctypes.sizeof(Field))
        assert lib.ferry_proto_schema_field_at(message.encode(), index, ctypes.byref(field)) == 0
        if not field.fork:
            yield index, field


def choices_of(lib, message, index, field):
    name, number = ctypes.c_char_p(), ctypes.c_int()
    for k in range(field.choice_count):
        assert lib.ferry_proto_schema_choice_at(message.encode(), index, k, ctypes.byref(name),
                                             ctypes.byref(number)) == 0
        yield name.value.decode(), number.value


def standard(field, enum):
    kind, text = field.kind.decode(), field.text_default.decode()
    if enum:
        return ("" if enum == "Phase" else enum + "_") + text
    if kind == "bool":
        return "true" if field.number_default else "false"
    if kind in ("string", "bytes"):
        return '"%s"' % text
    if kind == "float":
        value = "%.9g" % field.number_default
        return value + ("F" if "." in value or "e" in value else ".0F")
    return "%.17g" % field.number_default + ("u" if kind.startswith("u") else "")


def enum_name(message, field):
    kind = field.kind.decode()
    return kind if kind == "Phase" else "%s_%s" % (message, kind)


def declaration(message, field):
    name, kind = field.name.decode(), field.kind.decode()
    if field.choice_count:
        enum = enum_name(message, field)
        if field.repeats:
            return "    FERRY_MANY(Choices, %s, %s)" % (enum, name)
        return "    FERRY_ONE(Choice, %s, %s, %s)" % (enum, name, standard(field, enum))
    if kind in NUMBERS:
        if field.repeats:
            return "    FERRY_MANY(Many, %s, %s)" % (NUMBERS[kind], name)
        return "    FERRY_ONE(One, %s, %s, %s)" % (NUMBERS[kind], name, standard(field, None))
    return "    %s(%s, %s)" % ("FERRY_PARTS" if field.repeats else "FERRY_PART", kind, name)


def enums_of(lib, message):
    """[(C++ name, [(value, number)])], each once."""
    found = {}
    for index, field in fields_of(lib, message):
        if field.choice_count:
            found[enum_name(message, field)] = list(choices_of(lib, message, index, field))
    return found


def wrapped(lines, head, tail, indent):
    """Comma-separated items in lines of at most 100 columns."""
    text, line = head + "\n", indent
    for k, item in enumerate(lines):
        piece = item + ("," if k + 1 < len(lines) else "")
        if len(line) + len(piece) + 1 > 100:
            text, line = text + line.rstrip() + "\n", indent
        line += piece + " "
    return text + line.rstrip() + "\n" + tail


class Writer:
    def __init__(self, lib):
        self.lib, self.known, self.out = lib, {"Phase"}, []

    def message(self, name):
        if name in self.known:
            return
        self.known.add(name)
        for _, field in fields_of(self.lib, name):
            kind = field.kind.decode()
            if not field.choice_count and kind not in NUMBERS:
                self.message(kind)
        self.enums(name)
        self.out.append("\nclass %s : public Message\n{\n  public:\n    FERRY_MESSAGE(%s)" % (name, name))
        self.nested(name)
        self.out.extend(declaration(name, field) for _, field in fields_of(self.lib, name))
        self.out.append("};")

    def enums(self, message):
        for enum, values in enums_of(self.lib, message).items():
            if enum in self.known:
                continue
            self.known.add(enum)
            items = ["%s_%s = %d" % (enum, value, number) for value, number in values]
            self.out.append("\n" + wrapped(items, "enum %s {" % enum, "};", "    "))

    def nested(self, message):
        for enum, values in enums_of(self.lib, message).items():
            if enum == "Phase":
                continue
            self.out.append("    typedef %s %s;" % (enum, enum[len(message) + 1:]))
            for value, _ in values:
                self.out.append("    static const %s %s = %s_%s;" % (enum, value, enum, value))


class ProtoWriter(Writer):
    """The same messages as a .proto file."""

    def message(self, name):
        if name in self.known:
            return
        self.known.add(name)
        for _, field in fields_of(self.lib, name):
            kind = field.kind.decode()
            if not field.choice_count and kind not in NUMBERS:
                self.message(kind)
        self.out.append("message %s {" % name)
        for enum, values in enums_of(self.lib, name).items():
            if enum != "Phase":
                self.out.append("  enum %s { %s }" % (enum[len(name) + 1:],
                                                     " ".join("%s = %d;" % value for value in values)))
        self.out.extend(self.field(field) for _, field in fields_of(self.lib, name))
        self.out.append("}")

    @staticmethod
    def field(field):
        kind, text = field.kind.decode(), field.text_default.decode()
        rule = "repeated" if field.repeats else "required" if field.required else "optional"
        options = ["packed = true"] if field.packed else []
        if not field.repeats and field.choice_count:
            options.append("default = " + text)
        elif not field.repeats and kind in ("string", "bytes") and text:
            options.append('default = "%s"' % text)
        elif not field.repeats and kind in NUMBERS and field.number_default:
            options.append("default = " + ("true" if kind == "bool" else "%.9g" % field.number_default))
        return "  %s %s %s = %d%s;" % (rule, kind, field.name.decode(), field.number,
                                       " [%s]" % ", ".join(options) if options else "")


def main():
    proto = sys.argv[2:] == ["--proto"]
    writer = (ProtoWriter if proto else Writer)(library(sys.argv[1]))
    for root in ROOTS:
        writer.message(root)
    if proto:
        print('syntax = "proto2";\npackage caffe;\nenum Phase { TRAIN = 0; TEST = 1; }')
        print("\n".join(writer.out))
        return
    print(HEAD + "\nenum Phase { TRAIN = 0, TEST = 1 };")
    print("\n".join(writer.out))
    print("\n} // namespace caffe\n\n#endif")


main()
