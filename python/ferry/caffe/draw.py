# SPDX-License-Identifier: BSD-2-Clause
"""caffe.draw: pictures of nets, by Graphviz's dot."""

import subprocess

from .._errors import Error

LAYER_STYLE_DEFAULT = {"shape": "record", "fillcolor": "#6495ED", "style": "filled"}
NEURON_LAYER_STYLE = {"shape": "record", "fillcolor": "#90EE90", "style": "filled"}
BLOB_STYLE = {"shape": "octagon", "fillcolor": "#E0E0E0", "style": "filled"}
_COLORS = {"Convolution": "#FF5050", "Deconvolution": "#FF5050", "Pooling": "#FF9900",
           "InnerProduct": "#CC33FF"}


def _quoted(value):
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _attributes(values):
    return ", ".join(f"{name}={_quoted(value)}" for name, value in values.items())


class Graph:
    """A graph in Graphviz's language."""

    def __init__(self, name, rankdir):
        self._head = f"digraph {_quoted(name)} {{\n  rankdir={_quoted(rankdir)};\n"
        self._nodes, self._edges = {}, []

    def node(self, name, label, style):
        """Adds a node, or changes its attributes."""
        self._nodes[name] = dict(style, label=label)

    def edge(self, source, to, label):
        """Adds an edge."""
        self._edges.append((source, to, label))

    def to_string(self):
        """The graph as text."""
        nodes = [f"  {_quoted(name)} [{_attributes(values)}];\n" for name, values in self._nodes.items()]
        edges = [f"  {_quoted(a)} -> {_quoted(b)} [label={_quoted(label)}];\n" for a, b, label in self._edges]
        return self._head + "".join(nodes + edges) + "}\n"

    def create(self, format="png"):  # pylint: disable=redefined-builtin
        """The bytes of the picture; "raw" and "dot" are the text itself, and need no Graphviz."""
        if format in ("raw", "dot"):
            return self.to_string().encode()
        try:
            ran = subprocess.run(["dot", f"-T{format}"], input=self.to_string().encode(),
                                 capture_output=True, check=False)
        except FileNotFoundError:
            raise Error("draw: dot is not installed (Debian: graphviz)") from None
        if ran.returncode:
            raise Error(f"draw: dot: {ran.stderr.decode(errors='replace').strip()}")
        return ran.stdout

    def write(self, path, format="raw"):  # pylint: disable=redefined-builtin
        """As create, into a file."""
        with open(path, "wb") as file:
            file.write(self.create(format))


def get_pooling_types_dict():
    """The names of the pooling methods, by number."""
    from .proto import caffe_pb2  # pylint: disable=import-outside-toplevel
    return {number: name for name, number in caffe_pb2.PoolingParameter.PoolMethod.items()}


def get_edge_label(layer):
    """The label of a layer's outgoing edge: the number of channels, or the batch size."""
    if layer.type == "Data":
        return f"Batch {layer.data_param.batch_size}"
    if layer.type in ("Convolution", "Deconvolution"):
        return str(layer.convolution_param.num_output)
    return str(layer.inner_product_param.num_output) if layer.type == "InnerProduct" else ""


def get_layer_lr_mult(layer):
    """The lr_mult of weights and bias, for a layer with parameters."""
    if layer.type not in ("Convolution", "Deconvolution", "InnerProduct"):
        raise ValueError(f"a {layer.type} layer has no weights")
    given = [param.lr_mult for param in layer.param][:2]
    return tuple(given + [1.0] * (2 - len(given)))


def _window(layer):
    """Kernel, stride and pad of a layer with a window."""
    if layer.type == "Pooling":
        param = layer.pooling_param
        return param.kernel_size, param.stride, param.pad
    param = layer.convolution_param
    return tuple(values[0] if values else other
                 for values, other in ((param.kernel_size, 1), (param.stride, 1), (param.pad, 0)))


def get_layer_label(layer, rankdir, display_lrm=False):
    """The label of a layer's node."""
    kind = layer.type
    if kind == "Pooling":
        kind += " " + get_pooling_types_dict()[layer.pooling_param.pool]
    parts = [layer.name, f"({kind})"]
    if layer.type in ("Convolution", "Deconvolution", "Pooling"):
        parts += [f"{what}: {n}" for what, n in zip(("kernel size", "stride", "pad"), _window(layer))]
    if display_lrm and layer.type in ("Convolution", "Deconvolution", "InnerProduct"):
        parts.append("lr mult: {:.1f}, {:.1f}".format(*get_layer_lr_mult(layer)))
    return (" " if rankdir in ("TB", "BT") else "\n").join(parts)


def choose_color_by_layertype(layertype):
    """The colour of a layer's node."""
    return _COLORS.get(layertype, LAYER_STYLE_DEFAULT["fillcolor"])


def _is_in(layer, phase):
    if phase is None or not (layer.include or layer.exclude):
        return True
    if layer.include and layer.exclude:
        raise ValueError(f"layer {layer.name} has both include and exclude")
    return (any(rule.phase == phase for rule in layer.include) if layer.include else
            all(rule.phase != phase for rule in layer.exclude))


def get_pydot_graph(caffe_net, rankdir, label_edges=True, phase=None, display_lrm=False):
    """The Graph of a NetParameter, of one phase's layers or of all."""
    graph = Graph(caffe_net.name or "Net", rankdir)
    for layer in caffe_net.layer:
        if not _is_in(layer, phase):
            continue
        name = f"{layer.name}_{layer.type}"
        in_place = len(layer.bottom) == 1 and list(layer.bottom) == list(layer.top)
        style = NEURON_LAYER_STYLE if in_place else dict(
            LAYER_STYLE_DEFAULT, fillcolor=choose_color_by_layertype(layer.type))
        graph.node(name, get_layer_label(layer, rankdir, display_lrm), style)
        for blob in [*layer.bottom, *layer.top]:
            graph.node(blob + "_blob", blob, BLOB_STYLE)
        for blob in layer.bottom:
            graph.edge(blob + "_blob", name, "")
        for blob in layer.top:
            graph.edge(name, blob + "_blob", get_edge_label(layer) if label_edges else "")
    return graph


def draw_net(caffe_net, rankdir, ext="png", phase=None, display_lrm=False):
    """The picture's bytes, in a format of dot's."""
    return get_pydot_graph(caffe_net, rankdir, phase=phase, display_lrm=display_lrm).create(format=ext)


def draw_net_to_file(caffe_net, filename, rankdir="LR", phase=None, display_lrm=False):
    """As draw_net, into a file, in the format of its suffix; .raw is dot's own language."""
    drawn = draw_net(caffe_net, rankdir, filename.rpartition(".")[2], phase, display_lrm)
    with open(filename, "wb") as file:
        file.write(drawn)
