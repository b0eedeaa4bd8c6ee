# SPDX-License-Identifier: BSD-2-Clause
"""Weights from a .caffemodel or a .binaryproto: protocol buffers' wire format, for these messages only."""

import numpy as np


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of each field: an int, or the bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def packed(value):
    result, at = [], 0
    while at < len(value):
        one, at = varint(value, at)
        result.append(one)
    return result


def blob(data):
    """A BlobProto: shape (field 7) or num, channels, height, width (1 to 4), data (5, 8)."""
    shape, legacy, values = None, {}, []
    for number, value in fields(data):
        if number == 7:
            shape = []
            for inner, part in fields(value):
                shape += ([part] if isinstance(part, int) else packed(part)) if inner == 1 else []
        elif number in (1, 2, 3, 4):
            legacy[number] = value
        elif number == 5:
            values.append(np.frombuffer(value, '<f4'))
        elif number == 8:
            values.append(np.frombuffer(value, '<f8'))
    array = np.concatenate(values).astype(np.float64) if values else np.zeros(0)
    if shape is None:
        shape = [legacy.get(i, 1) for i in (1, 2, 3, 4)]
    return array.reshape(shape)


def read_blob(path):
    with open(path, 'rb') as file:
        return blob(file.read())


def read_weights(path):
    """layer name -> its blobs. `layer` is field 100 (name 1, blobs 7), V1's `layers` field 2 (name
    4, blobs 6)."""
    weights = {}
    with open(path, 'rb') as file:
        data = file.read()
    for number, value in fields(data):
        if number in (100, 2):
            name_field, blobs_field = (1, 7) if number == 100 else (4, 6)
            name, blobs = '', []
            for inner, part in fields(value):
                if inner == name_field:
                    name = part.decode()
                elif inner == blobs_field:
                    blobs.append(blob(part))
            weights[name] = blobs
    return weights
