# SPDX-License-Identifier: BSD-2-Clause
"""Inputs to which a prototxt gives no shape: cv2.dnn takes that of the first blob."""

import re

_TOKEN = re.compile(rb"""#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{}<>]|[^\s{}<>"'#:;,]+""")


class _Part:
    """A message of the text: its fields as (name, value), where a value is a token or a part."""

    def __init__(self):
        self.fields, self.end = [], 0

    def all(self, name):
        return [value for field, value in self.fields if field == name]


def _parse(text):
    """The fields of a text, as far as its braces go."""
    stack, name = [_Part()], None
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token[:1] == b"#":
            continue
        if token in (b"{", b"<"):
            part = _Part()
            stack[-1].fields.append((name, part))
            stack.append(part)
            name = None
        elif token in (b"}", b">"):
            if len(stack) > 1:
                stack.pop().end = found.start()
            name = None
        elif name is None:
            name = token
        else:
            stack[-1].fields.append((name, token))
            name = None
    stack[0].end = len(text)
    return stack[0]


def _name(token):
    return token[1:-1].decode(errors="replace")


def _is_shapeless(layer):
    param = layer.all(b"input_param")
    return (isinstance(layer, _Part) and layer.all(b"type")[:1] in ([b'"Input"'], [b"'Input'"]) and
            not any(isinstance(one, _Part) and one.all(b"shape") for one in param))


def _places(text):
    """Of the inputs without a shape: name, where the text has to say more, and what around the shape."""
    whole, places = _parse(text), []
    if not whole.all(b"input_dim") and not whole.all(b"input_shape"):
        places += [(_name(token), whole.end, "input_shape { %s }") for token in whole.all(b"input")
                   if not isinstance(token, _Part)]
    for layer in whole.all(b"layer"):
        if isinstance(layer, _Part) and _is_shapeless(layer):
            places += [(_name(top), layer.end, "input_param { shape { %s } }") for top in layer.all(b"top")]
    return places


def is_empty(text):
    """Whether it names no layer."""
    whole = _parse(text)
    return not whole.all(b"layer") and not whole.all(b"layers")


def shapeless(text):
    """The names of the inputs to which the text gives no shape."""
    return [name for name, _at, _form in _places(text)]


def with_shapes(text, shapes):
    """The text with a shape for each of those."""
    for name, at, form in reversed(_places(text)):
        shape = " ".join(f"dim: {dim}" for dim in shapes[name])
        text = text[:at] + f"\n{form % shape}\n".encode() + text[at:]
    return text
