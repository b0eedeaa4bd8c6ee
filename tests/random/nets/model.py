# SPDX-License-Identifier: BSD-2-Clause
"""A net as data: layers, inputs and state; and its prototxt."""

import copy


class Word(str):
    """A value that a prototxt writes without quotes: that of an enum."""


class Layer:
    """One layer. `fields` are pairs of a name and a value; a message is a list of such pairs again."""

    def __init__(self, kind, name, bottoms, tops, fields=()):
        self.kind, self.name = kind, name
        self.bottoms, self.tops = list(bottoms), list(tops)
        self.fields = [list(pair) for pair in fields]

    def text(self):
        """The layer in a prototxt."""
        pairs = [["name", self.name], ["type", self.kind]]
        pairs += [["bottom", b] for b in self.bottoms] + [["top", t] for t in self.tops]
        return "layer {\n" + message_text(pairs + self.fields, "  ") + "}\n"


class Input(Layer):
    """An Input layer with one top, and the kind of its values: see values.draw."""

    def __init__(self, name, shape, values):
        super().__init__("Input", name, [], [name])
        self.shape, self.values = list(shape), values

    def text(self):
        shape = [["dim", d] for d in self.shape]
        self.fields = [["input_param", [["shape", shape]]]]
        return super().text()


class Net:
    """A net with everything that determines its results: text, phase, stages, level and the seed of its
    values."""

    def __init__(self, seed):
        self.seed, self.phase, self.stages, self.level = seed, "TEST", [], 0
        self.force_backward = False
        self.layers = []
        self.shapes = {}  # of the blobs, from the oracle's run

    def copy(self):
        """A deep copy of the net."""
        return copy.deepcopy(self)

    @property
    def inputs(self):
        """The kinds of the inputs' values, by name."""
        return {layer.name: layer.values for layer in self.layers if isinstance(layer, Input)}

    def text(self):
        """The prototxt."""
        head = 'name: "random"\n' + ("force_backward: true\n" if self.force_backward else "")
        return head + "".join(layer.text() for layer in self.layers)

    def case(self, sentence):
        """The text of a case: a comment with the description and all state that the prototxt lacks."""
        lines = [f"# {sentence}", f"# seed {self.seed}", f"# phase {self.phase}", f"# level {self.level}"]
        lines += [f"# stage {stage}" for stage in self.stages]
        lines += [f"# input {name} {values}" for name, values in self.inputs.items()]
        return "\n".join(lines) + "\n" + self.text()


class Case:
    """A net with the text of a case, which runs like a Net."""

    def __init__(self, text):
        self.phase, self.level, self.seed, self.stages, self.inputs = "TEST", 0, 1, [], {}
        self.body = text
        for line in text.splitlines():
            words = line.split()
            if len(words) < 3 or words[0] != "#":
                continue
            if words[1] == "stage":
                self.stages.append(words[2])
            elif words[1] == "input":
                self.inputs[words[2]] = " ".join(words[3:])
            elif words[1] == "phase":
                self.phase = words[2]
            elif words[1] in ("seed", "level") and len(words) == 3:
                setattr(self, words[1], int(words[2]))

    def text(self):
        """The prototxt, comments included."""
        return self.body


def message_text(pairs, indent=""):
    """The lines of a message."""
    out = []
    for name, value in pairs:
        if isinstance(value, list):
            out.append(f"{indent}{name} {{\n{message_text(value, indent + '  ')}{indent}}}\n")
        else:
            out.append(f"{indent}{name}: {value_text(value)}\n")
    return "".join(out)


def value_text(value):
    """One value as a prototxt writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Word):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    return repr(value)
