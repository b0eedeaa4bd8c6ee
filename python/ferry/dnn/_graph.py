# SPDX-License-Identifier: BSD-2-Clause
"""The layers of a net as cv2.dnn numbers them: inputs are layer 0, and splits that a net inserts have no number."""

from .. import _abi
from .._library import lib, string
from . import custom

INPUT = "_input"


class Node:
    """A layer: its index in ferry's net, its name here and in the text, its type, bottoms and tops. `makers` has,
    for each top, the number of the last layer that wrote it up to this layer. `consumed`: a later layer consumes
    one of the tops. In OpenCV, a Silence layer returns its bottoms; therefore its tops are its bottoms here."""

    def __init__(self, place, name, written, kind, bottoms, tops):
        self.place, self.name, self.written, self.type = place, name, written, kind
        self.bottoms, self.tops = bottoms, tops
        self.makers = []
        self.consumed = False

    @property
    def is_end(self):
        """Whether the layer's tops are outputs of the net: no layer consumes them."""
        return not self.consumed and self.type != "Silence"


def _blobs(layer, count, get):
    return [string(lib.ferry_blob_name(get(layer, i))) for i in range(count(layer))]


def _is_inserted(kind, name, bottoms):
    return kind == "Split" and name.endswith("_split") and name.startswith(bottoms[0] + "_")


class Graph:
    """The layers, for getLayerNames and the like. `nodes` begins with layer 0."""

    def __init__(self, handle):
        self.inputs = [string(lib.ferry_blob_name(lib.ferry_net_input_at(handle, i)))
                       for i in range(lib.ferry_net_input_count(handle))]
        self.nodes = [Node(None, INPUT, INPUT, "", [], list(self.inputs))]
        self.nodes[0].makers = [0] * len(self.inputs)
        self._maker = {name: 0 for name in self.inputs}
        self._origin = {}
        self._taken = {}
        for place in range(lib.ferry_net_layer_count(handle)):
            self._add(lib.ferry_net_layer_at(handle, place), place)
        self._ids = {node.name: number for number, node in enumerate(self.nodes)}

    def _add(self, layer, place):
        name = string(lib.ferry_layer_name(layer))
        kind = string(_abi.LayerType.from_address(lib.ferry_layer_get_type(layer)).name)
        kind = custom.kind_of(layer) if kind == custom.TYPE else kind
        bottoms = _blobs(layer, lib.ferry_layer_bottom_count, lib.ferry_layer_bottom_at)
        tops = _blobs(layer, lib.ferry_layer_top_count, lib.ferry_layer_top_at)
        if kind == "Input":
            return
        if _is_inserted(kind, name, bottoms):
            self._maker.update((top, self._maker[bottoms[0]]) for top in tops)
            self._origin.update((top, bottoms[0]) for top in tops)
            return
        for bottom in bottoms:
            self.nodes[self._maker[bottom]].consumed = True
        self._maker.update((top, len(self.nodes)) for top in tops)
        shown = tops[0] if kind == "Convolution" else name  # as in OpenCV's importer
        if kind == "Silence":
            tops = [self.made_by(bottom) for bottom in bottoms]
        self.nodes.append(Node(place, self._free(shown), name, kind, bottoms, tops))
        self.nodes[-1].makers = [self._maker[top] for top in tops]

    def _free(self, name):
        """A unique name: if two layers have one name, the second is called name_1."""
        seen = self._taken[name] = self._taken.get(name, -1) + 1
        return f"{name}_{seen}" if seen else name

    def number(self, name):
        """The number of a layer; −1 for a layer that the net lacks."""
        return self._ids.get(name, -1)

    def made_by(self, blob):
        """The top that a blob is a copy of, if a split made it; otherwise the blob itself."""
        return self._origin.get(blob, blob)

    def names(self):
        """The names of all layers except layer 0."""
        return tuple(node.name for node in self.nodes[1:])

    def unconnected(self):
        """The numbers of the layers whose tops no layer consumes; 0 is among them if no layer consumes an
        input."""
        return [number for number, node in enumerate(self.nodes) if not node.consumed]

    def is_overwritten(self, number):
        """Whether a later layer writes into the first top of a layer."""
        node = self.nodes[number]
        return any(self._maker[top] != maker for top, maker in zip(node.tops, node.makers))
