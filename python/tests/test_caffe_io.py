# SPDX-License-Identifier: BSD-2-Clause
"""Pictures, messages and texts by pycaffe's names, and unchanged scripts."""

import os
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest

import ferry
import ferry.caffe as caffe


def png(path, pixels):
    """A PNG of height × width × 3 bytes."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width = pixels.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "in.png"
    pixels = np.random.default_rng(1).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    png(path, pixels)
    return str(path), pixels


def load(path):
    try:
        return caffe.io.load_image(path)
    except ferry.Unsupported as error:
        pytest.skip(str(error))


def test_a_picture_is_red_first_from_0_to_1(picture):
    path, pixels = picture
    assert np.allclose(load(path), pixels / 255, atol=1e-7) and load(path).dtype == np.float32
    gray = caffe.io.load_image(path, color=False)
    assert gray.shape == (6, 8, 1)
    assert np.allclose(gray[..., 0], pixels @ [0.299, 0.587, 0.114] / 255, atol=1 / 255)


def test_resizing_aligns_pixel_centres():
    ramp = np.arange(8, dtype="f4")[None, :, None].repeat(3, 2).repeat(4, 0)
    half = caffe.io.resize_image(ramp, (2, 4))
    assert half.shape == (2, 4, 3) and np.allclose(half[0, :, 0], [0.5, 2.5, 4.5, 6.5])
    twice = caffe.io.resize_image(ramp, (4, 16))
    assert np.allclose(twice[1, 1:-1, 0], np.arange(1, 15) / 2 - 0.25)
    assert twice[1, -1, 0] == pytest.approx(0.75 * 7)  # pixels outside have the least value
    assert np.array_equal(caffe.io.resize_image(np.full((3, 3, 1), 9), (5, 5)), np.full((5, 5, 1), 9))
    other = caffe.io.resize_image(ramp.repeat(2, 2), (4, 15))
    assert np.allclose(other[0, :, 0], np.linspace(0, 7, 15), atol=1e-6)
    assert np.array_equal(caffe.io.resize_image(ramp, (4, 4), 0)[0, :, 0], ramp[0, [0, 2, 4, 6], 0])
    with pytest.raises(ferry.Unsupported):
        caffe.io.resize_image(ramp, (2, 2), 3)


def test_a_transformer_applies_its_steps_in_order():
    made = caffe.io.Transformer({"data": (1, 3, 2, 2)})
    made.set_transpose("data", (2, 0, 1))
    made.set_channel_swap("data", (2, 1, 0))
    made.set_raw_scale("data", 255)
    made.set_mean("data", np.array([1, 2, 3]))
    made.set_input_scale("data", 0.5)
    image = np.random.default_rng(2).random((2, 2, 3)).astype("f4")
    ready = made.preprocess("data", image)
    want = (image[:, :, ::-1].transpose(2, 0, 1) * 255 - np.array([1, 2, 3])[:, None, None]) / 2
    assert ready.dtype == np.float32 and np.allclose(ready, want, atol=1e-4)
    assert np.allclose(made.deprocess("data", ready), image, atol=1e-5)
    assert made.preprocess("data", image.repeat(2, 0)).shape == (3, 2, 2)
    made.set_mean("data", np.ones((3, 5, 5)))
    assert np.allclose(made.mean["data"], 1)
    for wrong in (lambda: made.preprocess("nobody", image), lambda: made.set_transpose("data", (1, 0)),
                  lambda: made.set_channel_swap("data", (0,)), lambda: made.set_mean("data", np.ones(4))):
        with pytest.raises(ValueError):
            wrong()


def test_ten_crops():
    image = np.arange(5 * 7 * 3, dtype="f4").reshape(5, 7, 3)
    crops = caffe.io.oversample([image], (3, 3))
    assert crops.shape == (10, 3, 3, 3)
    assert np.array_equal(crops[0], image[:3, :3]) and np.array_equal(crops[3], image[2:, 4:])
    assert np.array_equal(crops[4], image[1:4, 2:5]) and np.array_equal(crops[5:], crops[:5, :, ::-1])


NET = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 3 dim: 4 dim: 4 } } }
layer { name: "mean" type: "Pooling" bottom: "data" top: "mean" pooling_param {
  pool: AVE global_pooling: true } }
"""


@pytest.fixture
def prototxt(tmp_path):
    path = tmp_path / "net.prototxt"
    path.write_text(NET)
    caffe.Net(str(path), caffe.TEST).save(str(tmp_path / "net.caffemodel"))
    return str(path), str(tmp_path / "net.caffemodel")


def test_a_classifier_takes_pictures_of_any_size(prototxt):
    made = caffe.Classifier(*prototxt, channel_swap=(2, 1, 0), raw_scale=255, image_dims=(6, 6))
    image = np.full((9, 5, 3), [0.1, 0.2, 0.3], "f4")
    for oversample in (True, False):
        scores = made.predict([image, image * 2], oversample)
        assert scores.shape[0] == 2
        centre = scores.reshape(2, -1)
        if not oversample:
            assert np.allclose(centre[0], np.array([0.3, 0.2, 0.1]) * 255, rtol=0.2)
    assert made.predict([image], False).shape == (1, 3, 1, 1)


def test_a_detector_scores_windows(prototxt, picture):
    path, pixels = picture
    load(path)
    made = caffe.Detector(*prototxt, mean=np.array([1., 2, 3]), raw_scale=255)
    found = made.detect_windows([(path, np.array([[0, 0, 4, 4], [2, 1, 6, 5]]))])
    assert [one["filename"] for one in found] == [path] * 2
    want = pixels[2:6, 1:5].reshape(-1, 3).mean(0) - [1, 2, 3]
    assert np.allclose(found[1]["prediction"].ravel(), want, rtol=1e-4)
    padded = caffe.Detector(*prototxt, mean=np.array([1., 2, 3]), raw_scale=255, context_pad=1)
    assert padded.crop(pixels / 255., np.array([0, 0, 4, 4])).shape == (4, 4, 3)


def test_messages_hold_arrays():
    pytest.importorskip("google.protobuf", reason="there is no protobuf")
    values = np.arange(6, dtype="f4").reshape(1, 2, 3)
    blob = caffe.io.array_to_blobproto(values, values * 2)
    assert np.array_equal(caffe.io.blobproto_to_array(blob), values)
    assert np.array_equal(caffe.io.blobproto_to_array(blob, True), values * 2)
    packed = caffe.io.arraylist_to_blobprotovector_str([values, values + 1])
    assert np.array_equal(caffe.io.blobprotovector_str_to_arraylist(packed)[1], values + 1)
    for array in (values.astype("u1"), values):
        datum = caffe.io.array_to_datum(array, 7)
        assert datum.label == 7 and np.array_equal(caffe.io.datum_to_array(datum), array)


def test_messages_are_what_ferry_reads_and_writes(tmp_path, prototxt):
    text_format = pytest.importorskip("google.protobuf.text_format", reason="there is no protobuf")
    pb2 = caffe.proto.caffe_pb2
    net = pb2.NetParameter()
    text_format.Merge(NET, net)
    assert net.layer[1].pooling_param.pool == pb2.PoolingParameter.AVE == caffe.params.Pooling.AVE
    assert net.layer[1].pooling_param.stride == 1 and pb2.FillerParameter().type == "constant"
    assert (pb2.TRAIN, pb2.TEST, pb2.LRNParameter().beta) == (0, 1, 0.75)
    with open(prototxt[1], "rb") as file:
        saved = pb2.NetParameter.FromString(file.read())
    assert [layer.name for layer in saved.layer] == ["data", "mean"]
    (tmp_path / "again.prototxt").write_text(str(net))
    assert caffe.Net(str(tmp_path / "again.prototxt"), caffe.TEST).outputs == ["mean"]


def test_nets_are_written_in_python(tmp_path):
    pytest.importorskip("google.protobuf", reason="there is no protobuf")
    L, P = caffe.layers, caffe.params
    n = caffe.NetSpec()
    n.data = L.Input(shape=dict(dim=[1, 1, 6, 6]))
    n.conv = L.Convolution(n.data, kernel_size=3, num_output=2, weight_filler=dict(type="xavier"),
                           param=[dict(lr_mult=1), dict(lr_mult=2)])
    n.relu = L.ReLU(n.conv, in_place=True)
    n.pool = L.Pooling(L.BNLL(n.relu), kernel_size=2, stride=2, pool=P.Pooling.MAX)
    n.a, n.b = L.Slice(n.pool, ntop=2)
    n.quiet = L.Silence(n.b, ntop=0)
    net = n.to_proto()
    assert [layer.name for layer in net.layer] == ["data", "conv", "relu", "BNLL1", "pool", "a", "quiet"]
    assert list(net.layer[2].top) == ["conv"] and net.layer[1].param[1].lr_mult == 2
    assert list(net.layer[1].convolution_param.kernel_size) == [3]
    (tmp_path / "n.prototxt").write_text(str(net))
    assert caffe.Net(str(tmp_path / "n.prototxt"), caffe.TEST).blobs["a"].data.shape == (1, 1, 2, 2)
    with pytest.raises(TypeError, match="Silence input 0 is not a Top"):
        L.Silence((n.a, n.b), ntop=0)
    with pytest.raises(AttributeError):
        L.ReLU(n.data, no_such_field=1).to_proto()
    drawn = caffe.draw.draw_net(net, "LR", "raw").decode()
    assert '"conv_Convolution" -> "conv_blob" [label="2"]' in drawn and "kernel size: 3" in drawn


def test_crop_uses_the_offset_of_the_other_top():
    pytest.importorskip("google.protobuf", reason="there is no protobuf")
    L, n = caffe.layers, caffe.NetSpec()
    n.data = L.Input(shape=dict(dim=[1, 1, 40, 40]))
    n.conv = L.Convolution(n.data, num_output=2, kernel_size=3, pad=10)
    n.pool = L.Pooling(L.ReLU(n.conv), kernel_size=2, stride=2)
    n.up = L.Deconvolution(n.pool, convolution_param=dict(num_output=2, kernel_size=4, stride=2))
    axis, scale, shift = caffe.coord_map.coord_map_from_to(n.up, n.data)
    assert axis == 1 and scale == 1 and shift == -10
    n.score = caffe.coord_map.crop(n.up, n.data)
    assert list(n.to_proto().layer[-1].crop_param.offset) == [10] and n.to_proto().layer[-1].crop_param.axis == 2
    assert caffe.coord_map.coord_map_from_to(n.score, n.data)[2] == 0
    with pytest.raises(RuntimeError):
        caffe.coord_map.coord_map_from_to(L.InnerProduct(n.up, num_output=1), n.data)
    with pytest.raises(AssertionError, match="scales"):
        caffe.coord_map.crop(n.pool, n.data)
    with pytest.raises(AssertionError, match="kernel_h"):
        caffe.coord_map.coord_map(L.Convolution(n.data, kernel_h=1).fn)


SCRIPT = """
import sys
import caffe, caffe.io
from caffe import Net, layers as L
from caffe.io import Transformer
from caffe.proto import caffe_pb2
from caffe.pycaffe import Net
import ferry.caffe
assert caffe is ferry.caffe and caffe.io is ferry.caffe.io and caffe_pb2.TEST == caffe.TEST
import beside
print(sys.argv[1:], beside.word, len(Net(sys.argv[1], caffe.TEST).blobs), __name__)
"""


def test_a_script_runs_as_it_is(tmp_path, prototxt):
    pytest.importorskip("google.protobuf", reason="there is no protobuf")
    (tmp_path / "beside.py").write_text("word = 'found'")
    (tmp_path / "script.py").write_text(SCRIPT)
    ran = subprocess.run([sys.executable, "-m", "ferry.caffe", str(tmp_path / "script.py"), prototxt[0], "-x"],
                         capture_output=True, text=True, check=False, cwd=os.path.dirname(tmp_path))
    assert ran.stdout == f"['{prototxt[0]}', '-x'] found 2 __main__\n", ran.stderr
    ran = subprocess.run([sys.executable, "-m", "ferry.caffe"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and "usage:" in ran.stderr
