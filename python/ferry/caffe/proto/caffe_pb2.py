# SPDX-License-Identifier: BSD-2-Clause
"""caffe.proto's messages as classes of Python's protobuf, made from ferry's own tables
(ferry_proto_schema_field_at), so that they have the fields that ferry reads: Caffe's fields, and the forks'.
A fork's field may have no number in a binary file, or one that Caffe uses for another field; it then gets a
number here that no file uses, and only the text form of such a message is complete."""

import ctypes

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError as error:
    raise ImportError("caffe_pb2 needs Python's protobuf (Debian: python3-protobuf, pip: protobuf)",
                      name="google.protobuf") from error

from ..._abi import ProtoField
from ..._library import lib, string

_FIELD = descriptor_pb2.FieldDescriptorProto
_KINDS = {"int32": _FIELD.TYPE_INT32, "int64": _FIELD.TYPE_INT64, "uint32": _FIELD.TYPE_UINT32,
          "bool": _FIELD.TYPE_BOOL, "float": _FIELD.TYPE_FLOAT, "double": _FIELD.TYPE_DOUBLE,
          "string": _FIELD.TYPE_STRING, "bytes": _FIELD.TYPE_BYTES}
# Messages that refer, directly or indirectly, to all others.
_ROOTS = ("NetParameter", "SolverParameter", "SolverState", "BlobProtoVector", "Datum")
# Enums that caffe.proto has outside of messages.
_OUTER = ("Phase",)


# The first of the numbers that no file uses.
_BEYOND = 100000


def _fields(message):
    """The fields of a message, Caffe's own first, with their indices; each has a number."""
    found, taken = [], {0}
    for i in range(lib.ferry_proto_schema_field_count(message.encode())):
        field = ProtoField(struct_size=ctypes.sizeof(ProtoField))
        lib.ferry_proto_schema_field_at(message.encode(), i, ctypes.byref(field))
        found.append((i, field))
    found.sort(key=lambda one: (bool(one[1].fork), not one[1].number))
    for i, field in found:
        if field.number in taken:
            field.number = _BEYOND + i
        taken.add(field.number)
    return found


def _choices(message, index, count):
    """The names and numbers of an enum's values."""
    name, number = ctypes.c_char_p(), ctypes.c_int()
    for choice in range(count):
        lib.ferry_proto_schema_choice_at(message.encode(), index, choice, ctypes.byref(name),
                                      ctypes.byref(number))
        yield string(name.value), number.value


def _default(field, kind):
    """A field's default in protobuf's text form; None: protobuf's own default."""
    if field.choice_count or kind == "string":
        return string(field.text_default) or None
    if kind in ("float", "double"):
        value = field.number_default if kind == "double" else ctypes.c_float(field.number_default).value
        return f"{value:.9g}" if value else None
    if kind == "bool":
        return "true" if field.number_default else None
    return str(int(field.number_default)) if field.number_default else None


class _Builder:
    """The file descriptor of all messages."""

    def __init__(self):
        self.file = descriptor_pb2.FileDescriptorProto(name="ferry/caffe.proto", package="caffe")
        self._made = {}

    def _enum(self, message, into, index, field):
        kind = string(field.kind)
        owner = self.file if kind in _OUTER else into
        if all(made.name != kind for made in owner.enum_type):
            made = owner.enum_type.add(name=kind)
            for name, number in _choices(message, index, field.choice_count):
                made.value.add(name=name, number=number)
        return f".caffe.{kind}" if kind in _OUTER else f".caffe.{message}.{kind}"

    def _add_field(self, message, into, index, field):
        kind = string(field.kind)
        made = into.field.add(name=string(field.name), number=field.number)
        made.label = (_FIELD.LABEL_REPEATED if field.repeats else
                      _FIELD.LABEL_REQUIRED if field.required else _FIELD.LABEL_OPTIONAL)
        if field.choice_count:
            made.type, made.type_name = _FIELD.TYPE_ENUM, self._enum(message, into, index, field)
        elif kind in _KINDS:
            made.type = _KINDS[kind]
        else:
            made.type, made.type_name = _FIELD.TYPE_MESSAGE, f".caffe.{kind}"
            self.add(kind)
        made.options.packed = bool(field.packed)
        if not field.packed:
            made.ClearField("options")
        default = None if field.repeats or made.type == _FIELD.TYPE_MESSAGE else _default(field, kind)
        if default is not None:
            made.default_value = default

    def add(self, message):
        """A message, and the messages of its fields."""
        if message in self._made:
            return
        into = self._made[message] = self.file.message_type.add(name=message)
        for index, field in _fields(message):
            self._add_field(message, into, index, field)


def _classes():
    builder = _Builder()
    for root in _ROOTS:
        builder.add(root)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(builder.file.SerializeToString())
    found = pool.FindFileByName(builder.file.name)
    if hasattr(message_factory, "GetMessageClass"):
        make = message_factory.GetMessageClass
    else:
        make = message_factory.MessageFactory(pool).GetPrototype
    return found, {name: make(descriptor) for name, descriptor in found.message_types_by_name.items()}


DESCRIPTOR, _made = _classes()
globals().update(_made)
for _enum in DESCRIPTOR.enum_types_by_name.values():
    globals().update({value.name: value.number for value in _enum.values})
