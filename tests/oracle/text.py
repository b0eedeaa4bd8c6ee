# SPDX-License-Identifier: BSD-2-Clause
"""Protocol buffers' text format, as far as prototxt files use it: without a schema, every field is a list of
values."""

import re

import numpy as np


class NetError(Exception):
    """The net is invalid: Caffe rejects it too."""


class Unsupported(Exception):
    """The net may be valid, but the oracle cannot compute it."""


TOKEN = re.compile(
    r"""(?P<space>(?:\s|\#[^\n]*)+)
    |(?P<number>[-+]?(?:0[xX][0-9a-fA-F]+
        |(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?|inf(?:inity)?\b|nan\b))
    |(?P<name>-?[A-Za-z_][\w.]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<mark>[{}<>:;,\[\]])""",
    re.X,
)
ESCAPES = {'n': '\n', 't': '\t', 'r': '\r'}
CLOSING = {'{': '}', '<': '>'}


class Message:
    """The fields of one message: name -> the values in their order."""

    def __init__(self, **fields):
        self.fields = {name: list(values) for name, values in fields.items()}

    def add(self, name, value):
        self.fields.setdefault(name, []).append(value)

    def has(self, name):
        return name in self.fields

    def all(self, name):
        return self.fields.get(name, [])

    def get(self, name, default=None):
        return self.fields[name][-1] if self.has(name) else default

    def sub(self, name):
        """The message in a field; an empty one if the field is absent."""
        value = self.get(name)
        return value if isinstance(value, Message) else Message()

    def int(self, name, default=0):
        return int(self.get(name, default))

    def ints(self, name):
        return [int(value) for value in self.all(name)]

    def float(self, name, default=0.0):
        """Caffe stores a number as a float: 0.1 here is the float nearest to it."""
        return float(np.float32(self.get(name, default)))

    def floats(self, name):
        return [float(np.float32(value)) for value in self.all(name)]

    def bool(self, name, default=False):
        value = self.get(name, default)
        return value in (True, 'true', 't', 'True', 1)

    def enum(self, name, default, *names):
        """An enumeration's value by name; the numbers 0, 1, … are indices into `names`."""
        value = self.get(name, default)
        if isinstance(value, (int, float)):
            value = names[int(value)] if 0 <= int(value) < len(names) else value
        if value not in names:
            raise NetError('%s: %s is not one of %s' % (name, value, ', '.join(names)))
        return value


def unquote(literal):
    def one(match):
        text = match.group(1)
        if text[0] in '01234567':
            return chr(int(text, 8))
        if text[0] == 'x':
            return chr(int(text[1:], 16))
        return ESCAPES.get(text, text)

    return re.sub(r'\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)', one, literal[1:-1])


def number(text):
    if text.lower().lstrip('+-').startswith('0x'):
        return int(text, 16)
    try:
        return int(text)
    except ValueError:
        return float(text.rstrip('fF') if 'inf' not in text else text)


def tokens(text):
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise NetError(
                'line %d: unexpected %r' % (text.count('\n', 0, at) + 1, text[at : at + 10])
            )
        at = match.end()
        if match.lastgroup != 'space':
            yield match.lastgroup, match.group(), text.count('\n', 0, match.start()) + 1
    yield 'end', '', text.count('\n') + 1


class Parser:
    def __init__(self, text):
        self.stream = tokens(text)
        self.next()

    def next(self):
        self.kind, self.text, self.line = next(self.stream)

    def take(self, text):
        if self.kind == 'mark' and self.text == text:
            self.next()
            return True
        return False

    def scalar(self):
        kind, text = self.kind, self.text
        if kind == 'string':
            value = ''
            while self.kind == 'string':
                value += unquote(self.text)
                self.next()
            return value
        if kind not in ('number', 'name'):
            raise NetError('line %d: a value is missing before %r' % (self.line, text))
        self.next()
        if kind == 'number':
            return number(text)
        return {'true': True, 'false': False}.get(text, text)

    def value(self):
        opening = self.text
        if self.kind == 'mark' and opening in CLOSING:
            self.next()
            return self.message(CLOSING[opening])
        return self.scalar()

    def field(self, message):
        if self.kind != 'name':
            raise NetError('line %d: a field name is missing before %r' % (self.line, self.text))
        name = self.text
        self.next()
        colon = self.take(':')
        if self.take('['):
            while not self.take(']'):
                message.add(name, self.value())
                self.take(',')
        elif colon or self.text in CLOSING:
            message.add(name, self.value())
        else:
            raise NetError('line %d: %s has no value' % (self.line, name))
        while self.take(',') or self.take(';'):
            pass

    def message(self, closing):
        message = Message()
        while True:
            if self.kind == 'end' and not closing:
                return message
            if closing and self.take(closing):
                return message
            if self.kind == 'end':
                raise NetError('line %d: %s is missing' % (self.line, closing))
            self.field(message)


def parse(text):
    return Parser(text).message('')
