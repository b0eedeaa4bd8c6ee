# SPDX-License-Identifier: BSD-2-Clause
"""Changes of a prototxt's text: shapes for inputs without one, which cv2.dnn takes from the first blob, and
layers of types that a program registered."""

import re

_TOKEN = re.compile(rb"""#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{}<>]|[^\s{}<>"'#:;,]+""")


class _Part:
    """A message of the text: its fields as (name, value); a value is a token or a message."""

    def __init__(self):
        self.fields, self.begin, self.end = [], 0, 0

    def all(self, name):
        return [value for field, value in self.fields if field == name]


def _parse(text):
    """Parses the fields of a text, as far as braces require."""
    stack, name = [_Part()], None
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token[:1] == b"#":
            continue
        if token in (b"{", b"<"):
            part = _Part()
            part.begin = found.end()
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
    """For each input without a shape: its name, the position in the text for the shape, and the text around
    the shape."""
    whole, places = _parse(text), []
    if not whole.all(b"input_dim") and not whole.all(b"input_shape"):
        places += [(_name(token), whole.end, "input_shape { %s }") for token in whole.all(b"input")
                   if not isinstance(token, _Part)]
    for layer in whole.all(b"layer"):
        if isinstance(layer, _Part) and _is_shapeless(layer):
            places += [(_name(top), layer.end, "input_param { shape { %s } }") for top in layer.all(b"top")]
    return places


def is_empty(text):
    """Whether the text has no layers."""
    whole = _parse(text)
    return not whole.all(b"layer") and not whole.all(b"layers")


def shapeless(text):
    """The names of the inputs to which the text gives no shape."""
    return [name for name, _at, _form in _places(text)]


def with_shapes(text, shapes):
    """The text with a shape for each of those inputs."""
    for name, at, form in reversed(_places(text)):
        shape = " ".join(f"dim: {dim}" for dim in shapes[name])
        text = text[:at] + f"\n{form % shape}\n".encode() + text[at:]
    return text


def with_a_layer(text):
    """Adds a layer to a text without layers, and shapes of all inputs."""
    return with_shapes(text, {name: (1,) for name in shapeless(text)}) + b"""
layer { type: "DummyData" top: "ferry" dummy_data_param { shape { dim: 1 } } }"""


def inputs(text):
    """The names of all inputs."""
    whole = _parse(text)
    names = [_name(token) for token in whole.all(b"input") if not isinstance(token, _Part)]
    return names + [_name(top) for layer in _layers(whole) if _type_of(layer) == "Input" for top in layer.all(b"top")]


def types(text):
    """The types of the layers, as a set."""
    return {_type_of(layer) for layer in _layers(_parse(text))} - {""}


def replaced(text, kinds, body):
    """The text in which each layer of those types keeps only its name, bottoms, tops and phases, followed by
    body(type, parameters)."""
    for layer in reversed(_layers(_parse(text))):
        kind = _type_of(layer)
        if kind in kinds:
            kept = " ".join(_printed(name, value) for name, value in layer.fields if name in _KEPT)
            text = text[:layer.begin] + f" {kept} {body(kind, _parameters(layer))} ".encode() + text[layer.end:]
    return text


# The fields of a layer that are not its parameters.
_KEPT = (b"name", b"bottom", b"top", b"include", b"exclude", b"phase")


def _layers(whole):
    return [layer for layer in whole.all(b"layer") if isinstance(layer, _Part)]


def _type_of(layer):
    found = layer.all(b"type")
    return _name(found[0]) if found and not isinstance(found[0], _Part) else ""


def _printed(name, value):
    name = name.decode(errors="replace")
    if not isinstance(value, _Part):
        return f"{name}: {value.decode(errors='replace')}"
    return "%s { %s }" % (name, " ".join(_printed(*field) for field in value.fields))


def _parameters(layer):
    """The fields of a layer's messages, as cv2.dnn passes them to a registered class: repeated fields as
    tuples."""
    found = {}
    for name, part in layer.fields:
        if isinstance(part, _Part) and name not in (*_KEPT, b"param", b"blobs"):
            for field, token in part.fields:
                if not isinstance(token, _Part):
                    found.setdefault(field.decode(errors="replace"), []).append(_value(token))
    return {name: values[0] if len(values) == 1 else tuple(values) for name, values in found.items()}


def _value(token):
    """A number, a string, or an enumeration's name; 1 and 0 for true and false."""
    if token[:1] in (b'"', b"'"):
        return _name(token)
    if token in (b"true", b"false"):
        return int(token == b"true")
    for number in int, float:
        try:
            return number(token)
        except ValueError:
            pass
    return token.decode(errors="replace")
