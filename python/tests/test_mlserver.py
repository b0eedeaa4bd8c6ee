# SPDX-License-Identifier: BSD-2-Clause
"""ferry.mlserver in MLServer itself, over HTTP and gRPC, compared with the same net in ferry.Net."""

import asyncio
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

import ferry

pytest.importorskip("mlserver", reason="there is no mlserver (pip install mlserver)")
pytestmark = pytest.mark.skipif(os.environ.get("FERRY_BACKEND", "cpu") != "cpu", reason="on the CPU alone")

NET = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "gaussian" std: 0.3 } } }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
        inner_product_param { num_output: 5 weight_filler { type: "gaussian" std: 0.3 } } }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
"""
EXTRA = {"device": "cpu", "keep": ["conv"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, device):
    """A model repository of one model."""
    place = tmp_path_factory.mktemp("models")
    model = place / "tiny"
    model.mkdir()
    (model / "net.prototxt").write_text(NET)
    with ferry.Net(device, str(model / "net.prototxt"), seed=3) as net:
        net.save(str(model / "weights.npz"))
    settings = {"name": "tiny", "implementation": "ferry.mlserver.FerryModel",
                "parameters": {"uri": ".", "version": "v7", "extra": EXTRA}}
    (model / "model-settings.json").write_text(json.dumps(settings))
    return place


@pytest.fixture(scope="module")
def net(folder, device):
    model = folder / "tiny"
    return ferry.Net(device, str(model / "net.prototxt"), str(model / "weights.npz"), keep=["conv"])


def _ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


@pytest.fixture(scope="module")
def server(folder):
    """Runs mlserver in a process of its own; the result is its ports for HTTP and gRPC."""
    http, grpc, metrics = _ports(3)
    settings = {"host": "127.0.0.1", "http_port": http, "grpc_port": grpc, "metrics_port": metrics,
                "parallel_workers": 0}
    (folder / "settings.json").write_text(json.dumps(settings))
    program = [sys.executable, "-m", "mlserver.cli.main", "start", str(folder)]
    with open(folder / "log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(program, stdout=log, stderr=log,
                                   env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    try:
        for _ in range(300):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{http}/v2/models/tiny/ready"):
                    break
            except OSError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
        yield http, grpc
    finally:
        process.terminate()
        process.wait(30)


def _pixels(batch=1, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, (batch, 3, 8, 8)).astype(np.float32)


def _entry(pixels, **changes):
    return dict({"name": "data", "shape": list(pixels.shape), "datatype": "FP32",
                 "data": pixels.ravel().tolist()}, **changes)


def _ask(port, document):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v2/models/tiny/infer",
                                     json.dumps(document).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def _array(document, name):
    entry = next(e for e in document["outputs"] if e["name"] == name)
    return np.array(entry["data"], np.float32).reshape(entry["shape"])


def test_metadata_is_that_of_the_net(server):
    with urllib.request.urlopen(f"http://127.0.0.1:{server[0]}/v2/models/tiny") as answer:
        found = json.load(answer)
    assert [(e["name"], e["datatype"], e["shape"]) for e in found["inputs"]] == [
        ("data", "FP32", [-1, 3, 8, 8])]
    assert [(e["name"], e["shape"]) for e in found["outputs"]] == [("prob", [-1, 5])]


@pytest.mark.parametrize("batch", [1, 3])
def test_answers_over_http_equal_the_net(server, net, batch):
    pixels = _pixels(batch)
    found = _ask(server[0], {"id": "a", "inputs": [_entry(pixels)]})
    assert found["id"] == "a" and found["model_version"] == "v7"
    assert _array(found, "prob").tobytes() == net.forward(data=pixels)["prob"].tobytes()


def test_a_kept_blob_is_an_output_on_request(server, net):
    pixels = _pixels()
    found = _ask(server[0], {"inputs": [_entry(pixels)], "outputs": [{"name": "conv"}]})
    net.forward(data=pixels)
    assert [e["name"] for e in found["outputs"]] == ["conv"]
    assert _array(found, "conv").tobytes() == np.array(net.blobs["conv"].data).tobytes()


def test_answers_over_grpc_equal_the_net(server, net):
    import grpc  # pylint: disable=import-outside-toplevel
    from mlserver.grpc import dataplane_pb2, dataplane_pb2_grpc  # pylint: disable=import-outside-toplevel
    pixels = _pixels(2, seed=5)
    tensor = dataplane_pb2.ModelInferRequest.InferInputTensor(
        name="data", datatype="FP32", shape=pixels.shape,
        contents=dataplane_pb2.InferTensorContents(fp32_contents=pixels.ravel().tolist()))
    with grpc.insecure_channel(f"127.0.0.1:{server[1]}") as channel:
        found = dataplane_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(
            dataplane_pb2.ModelInferRequest(model_name="tiny", inputs=[tensor]))
    scores = np.array(found.outputs[0].contents.fp32_contents, np.float32)
    assert scores.tobytes() == net.forward(data=pixels)["prob"].tobytes()


@pytest.mark.parametrize("change, words", [
    ({"name": "image"}, "the net has data"),
    ({"datatype": "INT64", "data": [1] * 192}, "the net takes float32"),
    ({"shape": [192]}, "the net takes [-1, 3, 8, 8]"),
    ({"shape": [1, 3, 8, 9]}, "input 'data'"),
    ({"shape": [0, 3, 8, 8], "data": []}, "shape [0, 3, 8, 8]"),
    ({"shape": [1, 3, 4, 16]}, "ip"),
    ({"shape": [1, 12, 4, 4]}, "conv"),
], ids=["another_name", "integers", "flat", "wider", "empty", "other_sides", "other_channels"])
def test_an_invalid_request_is_one_error_and_the_model_stays_loaded(server, net, change, words):
    pixels = _pixels()
    with pytest.raises(urllib.error.HTTPError) as caught:
        _ask(server[0], {"inputs": [_entry(pixels, **change)]})
    assert caught.value.code == 400
    assert words in json.load(caught.value)["error"]
    found = _ask(server[0], {"inputs": [_entry(pixels)]})
    assert _array(found, "prob").tobytes() == net.forward(data=pixels)["prob"].tobytes()


def test_a_missing_output_is_refused(server):
    with pytest.raises(urllib.error.HTTPError) as caught:
        _ask(server[0], {"inputs": [_entry(_pixels())], "outputs": [{"name": "ip"}]})
    assert "the net has prob, conv" in json.load(caught.value)["error"]


def _refused(folder, name, settings):
    """The message with which MLServer rejects a model folder."""
    from mlserver import ModelSettings  # pylint: disable=import-outside-toplevel
    from ferry.mlserver import FerryModel  # pylint: disable=import-outside-toplevel
    (folder / name).write_text("x")
    parameters = {"uri": str(folder), **settings}
    model = FerryModel(ModelSettings(name="m", implementation=FerryModel, parameters=parameters))
    with pytest.raises(Exception) as caught:
        asyncio.run(model.load())
    assert asyncio.run(model.unload())  # as MLServer does, before it answers with the error
    return str(caught.value)


def test_a_folder_that_cannot_be_served_is_refused_with_a_reason(tmp_path, folder):
    assert "no net.prototxt" in _refused(tmp_path, "readme", {})
    (tmp_path / "net.prototxt").write_text((folder / "tiny/net.prototxt").read_text())
    assert "'devise' is unknown" in _refused(tmp_path, "readme", {"extra": {"devise": "cpu"}})
    assert "weights '../w.npz'" in _refused(tmp_path, "readme", {"extra": {"weights": "../w.npz"}})
    assert "w.npz" in _refused(tmp_path, "w.npz", {})
    assert "several files of weights" in _refused(tmp_path, "v.h5", {})
    assert pathlib.Path(tmp_path / "net.prototxt").exists()
