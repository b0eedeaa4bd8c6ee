# SPDX-License-Identifier: BSD-2-Clause
"""Nets as ONNX models: the contents of the file, read by the tests' own reader of protobuf's wire format."""

import hashlib

import numpy as np
import pytest

import ferry


# ---- the wire format -----------------------------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of each field of a message: an integer or bytes. Field numbers must increase."""
    at, last = 0, 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        assert number >= last, "protobuf writes fields in the order of their numbers"
        last = number
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = varint(data, at)
            assert at + size <= len(data)
            value, at = data[at:at + size], at + size
        yield number, value


class Message:
    """The fields of a message by their numbers."""

    def __init__(self, data):
        self.values = {}
        for number, value in fields(data):
            self.values.setdefault(number, []).append(value)

    def all(self, number):
        return self.values.get(number, [])

    def text(self, number):
        return self.all(number)[0].decode() if self.all(number) else ""

    def integer(self, number):
        value = self.all(number)[0] if self.all(number) else 0
        return value - (1 << 64) if value >> 63 else value

    def messages(self, number):
        return [Message(value) for value in self.all(number)]


TYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 10: "<f2"}


class Model:
    """A ModelProto: nodes, tensors as arrays, names and dims of inputs and outputs."""

    def __init__(self, path):
        self.message = Message(path.read_bytes())
        self.folder = path.parent
        graph = self.message.messages(7)[0]
        self.name = graph.text(2)
        self.nodes = graph.messages(1)
        self.operators = [node.text(4) for node in self.nodes]
        self.tensors = {t.text(8): self.array(t) for t in graph.messages(5)}
        self.inputs, self.outputs = self.infos(graph, 11), self.infos(graph, 12)
        self.opset = self.message.messages(8)[0].integer(2)
        self.metadata = {p.text(1): p.text(2) for p in self.message.messages(14)}

    def array(self, tensor):
        raw = tensor.all(9)[0] if tensor.all(9) else None
        if raw is None:
            where = {p.text(1): p.text(2) for p in tensor.messages(13)}
            assert tensor.integer(14) == 1
            data = (self.folder / where["location"]).read_bytes()
            raw = data[int(where["offset"]):][:int(where["length"])]
        return np.frombuffer(raw, TYPES[tensor.integer(2)]).reshape(tensor.all(1))

    @staticmethod
    def infos(graph, number):
        found = {}
        for info in graph.messages(number):
            tensor = info.messages(2)[0].messages(1)[0]
            dims = tensor.messages(2)[0].messages(1)
            found[info.text(1)] = [d.text(2) or (d.integer(1) if d.all(1) else None) for d in dims]
        return found

    def node(self, operator):
        return self.nodes[self.operators.index(operator)]

    def attribute(self, operator, name):
        for a in self.node(operator).messages(5):
            if a.text(1) == name:
                return [v for v in a.all(8)] if a.integer(20) == 7 else a.integer(3)
        raise KeyError(name)

    def input_of(self, operator, index):
        return self.tensors[self.node(operator).all(1)[index].decode()]


# ---- nets ----------------------------------------------------------------------------------------

INPUT = 'layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ {} }} }} }}\n'


def net_of(device, body, dims, **options):
    text = INPUT.format(" ".join(f"dim: {dim}" for dim in dims)) + body
    return ferry.Net(device, "small.prototxt", text='name: "small"\n' + text, **options)


def exported(tmp_path, device, body, dims, **options):
    net = net_of(device, body, dims)
    ferry.export_onnx(net, tmp_path / "small.onnx", **options)
    return net, Model(tmp_path / "small.onnx")


CONV = """
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 4 kernel_size: 3 pad: 1 stride: 2 weight_filler { type: "xavier" }
                            bias_filler { type: "constant" value: 0.5 } } }
"""
NORM = """
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "scale" type: "Scale" bottom: "conv" top: "conv" scale_param { bias_term: true } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
"""


def statistics(net):
    """Sets the parameters of BatchNorm and Scale; returns the function y = a x + b that they compute."""
    mean, variance = np.arange(4, dtype="f4") / 4, np.linspace(0.5, 2, 4, dtype="f4")
    factor, term = np.linspace(-1, 1, 4, dtype="f4"), np.linspace(2, 3, 4, dtype="f4")
    for blob, values in zip(net.params["bn"], (2 * mean, 2 * variance, np.array([2], "f4"))):
        blob.data = values
    for blob, values in zip(net.params["scale"], (factor, term)):
        blob.data = values
    a = factor / np.sqrt(variance.astype("f8") + 1e-5)
    return a, term - a * mean


def test_a_convolution_is_a_conv_with_the_same_bytes(tmp_path, device):
    net, model = exported(tmp_path, device, CONV, (1, 3, 9, 9))
    assert model.operators == ["Conv"] and model.name == "small"
    assert model.inputs == {"data": [1, 3, 9, 9]} and model.outputs == {"conv": [1, 4, 5, 5]}
    assert model.attribute("Conv", "pads") == [1, 1, 1, 1]
    assert model.attribute("Conv", "strides") == [2, 2]
    assert model.tensors["conv/0"].tobytes() == np.asarray(net.params["conv"][0].data).tobytes()
    assert model.tensors["conv/1"].tobytes() == np.asarray(net.params["conv"][1].data).tobytes()
    assert model.node("Conv").text(3) == "conv"


def test_batch_norm_and_scale_are_folded_into_the_weights(tmp_path, device):
    net = net_of(device, CONV + NORM, (1, 3, 9, 9))
    a, b = statistics(net)
    ferry.export_onnx(net, tmp_path / "folded.onnx")
    model = Model(tmp_path / "folded.onnx")
    assert model.operators == ["Conv", "Relu"]
    weight = np.asarray(net.params["conv"][0].data) * a.reshape(4, 1, 1, 1)
    np.testing.assert_allclose(model.input_of("Conv", 1), weight, rtol=1e-6)
    np.testing.assert_allclose(model.input_of("Conv", 2), 0.5 * a + b, rtol=1e-6)


def test_without_folding_batch_norm_and_scale_are_exported(tmp_path, device):
    net = net_of(device, CONV + NORM, (1, 3, 9, 9))
    statistics(net)
    ferry.export_onnx(net, tmp_path / "kept.onnx", fold=False)
    model = Model(tmp_path / "kept.onnx")
    assert model.operators == ["Conv", "BatchNormalization", "Mul", "Add", "Relu"]
    assert model.tensors["conv/0"].tobytes() == np.asarray(net.params["conv"][0].data).tobytes()


def test_a_value_that_is_read_twice_is_not_folded(tmp_path, device):
    body = CONV + ('layer { name: "scale" type: "Scale" bottom: "conv" top: "scale" }\n'
                   'layer { name: "sum" type: "Eltwise" bottom: "conv" bottom: "scale" top: "sum" }\n')
    _, model = exported(tmp_path, device, body, (1, 3, 9, 9))
    assert model.operators == ["Conv", "Mul", "Add"]


def test_equal_nets_give_equal_bytes(tmp_path, device):
    sums = set()
    for name in ("a.onnx", "b.onnx"):
        net = net_of(device, CONV + NORM, (1, 3, 9, 9))
        statistics(net)
        ferry.export_onnx(net, tmp_path / name, doc="small", properties={"licence": "none"})
        sums.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(sums) == 1


@pytest.mark.parametrize("opset, version", [(11, 6), (12, 7), (13, 7), (15, 8), (19, 9), (22, 10)])
def test_the_format_version_matches_the_operator_set(tmp_path, device, opset, version):
    _, model = exported(tmp_path, device, CONV, (1, 3, 9, 9), opset=opset, doc="d", properties={"k": "v"})
    assert (model.opset, model.message.integer(1)) == (opset, version)
    assert model.message.text(2) == "ferry" and model.message.text(6) == "d" and model.metadata == {"k": "v"}


@pytest.mark.parametrize("method, pad, operators, pads, counts", [
    ("MAX", 0, ["MaxPool"], [0, 0, 1, 1], None),
    ("MAX", 1, ["MaxPool"], [1, 1, 1, 1], None),
    ("AVE", 0, ["AveragePool"], [0, 0, 1, 1], 0),
    ("AVE", 1, ["AveragePool"], [1, 1, 1, 1], 1),
])
def test_ceil_pooling_pads_the_end(tmp_path, device, method, pad, operators, pads, counts):
    side = 8 if pad == 0 else 7
    body = (f'layer {{ name: "p" type: "Pooling" bottom: "data" top: "p" pooling_param {{ pool: {method} '
            f'kernel_size: 3 stride: 2 pad: {pad} }} }}')
    _, model = exported(tmp_path, device, body, (1, 2, side, side))
    assert model.operators == operators and model.outputs["p"] == [1, 2, 4, 4]
    assert model.attribute(operators[0], "pads") == pads
    if counts is not None:
        assert model.attribute(operators[0], "count_include_pad") == counts


def test_an_average_that_passes_its_padding_is_padded_before(tmp_path, device):
    body = ('layer { name: "p" type: "Pooling" bottom: "data" top: "p" pooling_param { pool: AVE '
            'kernel_size: 3 stride: 2 pad: 1 } }')
    _, model = exported(tmp_path, device, body, (1, 2, 8, 8))
    assert model.operators == ["Pad", "AveragePool"]
    assert model.attribute("AveragePool", "pads") == [0, 0, 1, 1]
    assert model.attribute("AveragePool", "count_include_pad") == 0


def test_halves_are_rounded_to_even(tmp_path, device):
    body = ('layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" '
            'inner_product_param { num_output: 1 bias_term: false } }')
    values = np.array([[1 / 3, 65519, 65520, 1e6, -2049, 6e-8, 2.9e-8, 5e-5, np.nan, -np.inf, 0.0, -0.0]], "f4")
    net = net_of(device, body, (1, values.size))
    net.params["ip"][0].data = values
    ferry.export_onnx(net, tmp_path / "half.onnx", fp16=True)
    model = Model(tmp_path / "half.onnx")
    assert model.operators == ["Cast", "Gemm"]
    stored = model.input_of("Cast", 0)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(stored.view("u2") & 0x7fff, values.astype("f2").view("u2") & 0x7fff)
        np.testing.assert_array_equal(np.signbit(stored[:, -3:]), np.signbit(values[:, -3:]))


def test_external_data_holds_the_large_tensors(tmp_path, device):
    body = ('layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" '
            'inner_product_param { num_output: 50 weight_filler { type: "xavier" } } }')
    net, model = exported(tmp_path, device, body, (2, 30), external_data=True)
    weight = np.asarray(net.params["ip"][0].data)
    assert (tmp_path / "small.onnx.data").stat().st_size == (weight.nbytes + 63) // 64 * 64
    assert model.tensors["ip/0"].tobytes() == weight.tobytes()


def test_a_dynamic_batch_is_a_parameter(tmp_path, device):
    body = CONV + ('layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip" '
                   'inner_product_param { num_output: 5 } }')
    _, model = exported(tmp_path, device, body, (2, 3, 9, 9), dynamic_batch=True)
    assert model.inputs == {"data": ["N", 3, 9, 9]} and model.outputs == {"ip": ["N", 5]}


RANGES = """
layer { name: "last" type: "InnerProduct" bottom: "conv" top: "last"
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } bias_filler { type: "constant" value: 1 } } }
quantization { range { blob: "data" min: -2 max: 1 } range { blob: "conv" min: 0 max: 5.1 } %s }
"""


def test_products_with_ranges_have_integers(tmp_path, device):
    _, model = exported(tmp_path, device, CONV + RANGES % "", (2, 3, 9, 9), quantized=True)
    net = net_of(device, CONV + RANGES % "", (2, 3, 9, 9))
    assert model.operators == ["QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv",
                               "Flatten", "QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "DequantizeLinear",
                               "Gemm"]
    producer = {node.all(2)[0].decode(): node for node in model.nodes}
    for operator, layer, scale, zero in (("Conv", "conv", 3 / 255, 170), ("Gemm", "last", 5.1 / 255, 0)):
        x, w, b = (producer[name.decode()] for name in model.node(operator).all(1))
        rounded = producer[x.all(1)[0].decode()]
        for node in (x, rounded):
            values = [model.tensors[name.decode()] for name in node.all(1)[1:]]
            assert values[0] == np.float32(scale) and values[1] == zero and values[1].dtype == "u1"
        weight, bias = (np.asarray(blob.data).astype("f8") for blob in net.params[layer])
        steps = np.abs(weight.reshape(len(weight), -1)).max(1) / 127
        across = steps.reshape((-1,) + (1,) * (weight.ndim - 1))
        integers, factors = (model.tensors[name.decode()] for name in w.all(1))
        assert integers.dtype == "i1" and np.array_equal(integers, np.rint(weight / across))
        assert np.array_equal(factors, steps.astype("f4"))
        integers, factors = (model.tensors[name.decode()] for name in b.all(1))
        assert integers.dtype == "i4" and np.array_equal(integers, np.rint(bias / (steps * np.float32(scale))))
        assert np.array_equal(factors, (steps * np.float32(scale)).astype("f4"))


def test_layers_that_stay_in_f32_have_no_integers(tmp_path, device):
    _, model = exported(tmp_path, device, CONV + RANGES % 'float_layer: "conv"', (2, 3, 9, 9), quantized=True)
    assert model.operators == ["Conv", "Flatten", "QuantizeLinear"] + 3 * ["DequantizeLinear"] + ["Gemm"]
    _, model = exported(tmp_path, device, CONV + RANGES % "", (2, 3, 9, 9))
    assert model.operators == ["Conv", "Flatten", "Gemm"]


def test_integers_exclude_halves_and_old_operator_sets(tmp_path, device):
    net = net_of(device, CONV + RANGES % "", (2, 3, 9, 9))
    for options, why in (({"fp16": True}, "excludes half"), ({"opset": 12}, "requires opset 13")):
        with pytest.raises(ferry.InvalidArgument, match=why):
            ferry.export_onnx(net, tmp_path / "x.onnx", quantized=True, **options)
    assert not list(tmp_path.iterdir())


def test_layers_without_an_onnx_operator_are_one_error(tmp_path, device):
    body = ('layer { name: "p" type: "Pooling" bottom: "data" top: "p"\n'
            'pooling_param { kernel_size: 1 stride: 4 } }\n'
            'layer { name: "x" type: "DummyData" top: "x"\n'
            'dummy_data_param { data_filler { type: "uniform" } shape { dim: 1 } } }\n')
    path = tmp_path / "none.onnx"
    path.write_bytes(b"before")
    with pytest.raises(ferry.Unsupported, match=r"line 3, p \(Pooling\): .*; line 5, x \(DummyData\): "):
        ferry.export_onnx(net_of(device, body, (1, 1, 8, 8)), path)
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]


def test_silenced_blobs_are_the_outputs_of_a_net_without_any(tmp_path, device):
    body = 'layer { name: "s" type: "Silence" bottom: "conv" }\n'
    _, model = exported(tmp_path, device, CONV + body, (1, 3, 9, 9))
    assert list(model.outputs) == ["conv"]


def test_wrong_operator_sets_and_places_are_refused(tmp_path, device):
    net = net_of(device, CONV, (1, 3, 9, 9))
    with pytest.raises(ferry.InvalidArgument, match="opset 10: 11 to 22 are supported"):
        ferry.export_onnx(net, tmp_path / "x.onnx", opset=10)
    with pytest.raises(ferry.Error):
        ferry.export_onnx(net, tmp_path / "nowhere" / "x.onnx")


def test_a_planned_net_exports_what_a_kept_one_does(tmp_path, device):
    body = CONV + NORM + 'layer { name: "tanh" type: "TanH" bottom: "conv" top: "tanh" }'
    for name, options in (("planned.onnx", {}), ("kept.onnx", {"keep": "*"})):
        net = net_of(device, body, (1, 3, 9, 9), **options)
        statistics(net)
        net.forward(data=np.ones((1, 3, 9, 9), "f4"))
        ferry.export_onnx(net, tmp_path / name)
    assert (tmp_path / "planned.onnx").read_bytes() == (tmp_path / "kept.onnx").read_bytes()
