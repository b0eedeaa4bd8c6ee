# SPDX-License-Identifier: BSD-2-Clause
"""caffe.net_spec: nets written in Python.

    n = caffe.NetSpec()
    n.data = L.Input(shape=dict(dim=[1, 3, 8, 8]))
    n.conv = L.Convolution(n.data, kernel_size=3, num_output=4, weight_filler=dict(type="xavier"))
    n.relu = L.ReLU(n.conv, in_place=True)
    print(n.to_proto())"""

from collections import Counter, OrderedDict

from .proto import caffe_pb2


def param_name_dict():
    """The name of the parameters' field of each layer type, without _param."""
    fields = (field for field in caffe_pb2.LayerParameter.DESCRIPTOR.fields
              if field.name.endswith("_param"))
    return {field.message_type.name[:-len("Parameter")]: field.name[:-len("_param")] for field in fields}


def to_proto(*tops):
    """A NetParameter of the layers that these tops depend on."""
    return _Writer({}).write(tops)


def assign_proto(proto, name, val):
    """Sets a field of a message: dictionaries are messages, lists are repeated fields; a single value of a
    repeated field counts as a list."""
    field = getattr(proto, name)
    if hasattr(field, "extend"):
        values = list(val) if isinstance(val, (list, tuple)) else [val]
        if not (values and isinstance(values[0], dict)):
            field.extend(values)
            return
        for value in values:
            _assign_all(field.add(), value)
    elif isinstance(val, dict):
        field.SetInParent()
        _assign_all(field, val)
    else:
        setattr(proto, name, val)


def _assign_all(message, values):
    for name, value in values.items():
        assign_proto(message, name, value)


class Top:
    """A top of a layer."""

    def __init__(self, fn, n):
        self.fn, self.n = fn, n

    def to_proto(self):
        """A NetParameter of the layers that the top depends on."""
        return to_proto(self)


class Function:
    """A layer: its type, its bottoms, and its parameters."""

    def __init__(self, type_name, inputs, params):
        for index, given in enumerate(inputs):
            if not isinstance(given, Top):
                raise TypeError(f"{type_name} input {index} is not a Top (type is {type(given)})")
        self.type_name, self.inputs = type_name, inputs
        self.params = dict(params)
        self.ntop = self.params.pop("ntop", 1)
        self.in_place = self.params.pop("in_place", False)
        self.tops = tuple(Top(self, n) for n in range(self.ntop))

    def to_proto(self):
        """A NetParameter of the layers that this layer depends on, and of the layer itself."""
        return to_proto(self)


class _Writer:
    """Names layers and tops: the assigned names, or else Convolution1, Convolution2."""

    def __init__(self, names):
        self._names, self._counts = names, Counter()
        self._layers = OrderedDict()

    def _name(self, thing, kind):
        if thing not in self._names:
            self._counts[kind] += 1
            self._names[thing] = f"{kind}{self._counts[kind]}"
        return self._names[thing]

    def _fill(self, layer, fn):
        own = _param_names.get(fn.type_name)
        for name, value in fn.params.items():
            inner = getattr(layer, own + "_param") if own and not name.endswith("param") else None
            assign_proto(inner if inner is not None and hasattr(inner, name) else layer, name, value)

    def _add(self, fn):
        if fn in self._layers:
            return
        for given in fn.inputs:
            self._add(given.fn)
        layer = caffe_pb2.LayerParameter(type=fn.type_name)
        layer.bottom.extend(self._layers[given.fn].top[given.n] for given in fn.inputs)
        layer.top.extend(layer.bottom if fn.in_place else
                         [self._name(top, fn.type_name) for top in fn.tops])
        layer.name = self._name(fn.tops[0] if fn.tops else fn, fn.type_name)
        self._fill(layer, fn)
        self._layers[fn] = layer

    def write(self, things):
        """The NetParameter of tops, and of layers without any."""
        for thing in things:
            self._add(thing if isinstance(thing, Function) else thing.fn)
        net = caffe_pb2.NetParameter()
        net.layer.extend(self._layers.values())
        return net


class NetSpec:
    """Tops by the names that they are assigned to; to_proto writes the layers that they depend on."""

    def __init__(self):
        super().__setattr__("tops", OrderedDict())

    def __setattr__(self, name, value):
        self.tops[name] = value

    def __getattr__(self, name):
        try:
            return self.tops[name]
        except KeyError:
            raise AttributeError(f"no top is called {name!r}") from None

    def __setitem__(self, name, value):
        self.tops[name] = value

    def __getitem__(self, name):
        return self.tops[name]

    def to_proto(self):
        """The NetParameter."""
        return _Writer({top: name for name, top in self.tops.items()}).write(self.tops.values())


class Layers:
    """L.Convolution(bottom, kernel_size=3): the tops of a new layer, one or a tuple; the layer itself if ntop
    is 0."""

    def __getattr__(self, name):
        def make(*inputs, **params):
            fn = Function(name, inputs, params)
            return fn if fn.ntop == 0 else fn.tops[0] if fn.ntop == 1 else fn.tops
        return make


class _Values:
    def __init__(self, message):
        self._message = message

    def __getattr__(self, name):
        return getattr(getattr(caffe_pb2, self._message), name)


class Parameters:
    """P.Pooling.MAX: the values of enums."""

    def __getattr__(self, name):
        return _Values(name + "Parameter")


_param_names = param_name_dict()
layers = Layers()
params = Parameters()
