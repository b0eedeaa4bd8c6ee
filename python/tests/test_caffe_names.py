# SPDX-License-Identifier: BSD-2-Clause
"""Internal names of pycaffe that scripts use, deepdream's passes, and `python -m ferry.caffe`."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ferry
import ferry.caffe as caffe

TEXT = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 14 dim: 14 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 3 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: AVE kernel_size: 12 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip" inner_product_param { num_output: 2 } }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
"""


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.prototxt"
    path.write_text(TEXT + "force_backward: true")
    return caffe.Net(str(path), caffe.TEST)


def test_a_net_has_the_lists_of_pycaffes_extension(net):
    extension = caffe._caffe
    assert net._inputs == [0] and net._outputs == [4] and isinstance(net._outputs, extension.IntVec)
    assert [net._blob_names[i] for i in net._outputs] == net.outputs
    assert isinstance(net._blob_names, extension.StringVec) and isinstance(net.layers, extension.LayerVec)
    assert isinstance(net.params["conv"], extension.BlobVec)
    assert isinstance(net.params["conv"][0], extension.Blob) and issubclass(caffe.Net, extension.Net)
    assert list(net._top_ids(1)) == [1] and list(net._bottom_ids(3)) == [1]
    assert isinstance(net._top_ids(1), extension.IntVec)
    assert list(net._blob_loss_weights) == [0] * 5 and isinstance(net._blob_loss_weights, extension.DtypeVec)
    assert extension.__version__ == caffe.__version__ and extension.SGDSolver is caffe.SGDSolver


def test_a_vector_of_blobs_grows_where_no_net_has_it(net):
    made = caffe._caffe.BlobVec()
    made.add_blob(2, 3)
    made.append(net.params["conv"][1])
    made[0].data[...] = 7
    assert made[0].data.tolist() == [[7] * 3] * 2 and len(made) == 2
    with pytest.raises(ferry.Unsupported, match="add_blob"):
        net.params["conv"].add_blob(1)


def test_modules_are_attributes():
    pytest.importorskip("google.protobuf", reason="there is no protobuf")
    from ferry.caffe.proto import caffe_pb2
    assert caffe.io.caffe_pb2 is caffe_pb2 and caffe.pycaffe.Net is caffe.Net
    with pytest.raises(AttributeError, match="nobody"):
        caffe.io.nobody  # pylint: disable=pointless-statement


def test_io_has_the_scikit_image_that_is_installed():
    skimage = pytest.importorskip("skimage", reason="there is no scikit-image")
    assert caffe.io.skimage is skimage
    assert caffe.io.skimage.io.imread and caffe.io.skimage.transform.resize


def test_io_says_that_there_is_no_scikit_image(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(ImportError, match="scikit-image"):
        caffe.io.skimage  # pylint: disable=pointless-statement


class Tells(caffe.Layer):
    """Stores its phase for the test."""

    def reshape(self, bottom, top):
        top[0].reshape(1)

    def forward(self, bottom, top):
        top[0].data[...] = self.phase


@pytest.mark.parametrize("phase, name", ((caffe.TRAIN, "TRAIN"), (caffe.TEST, "TEST")))
def test_a_layers_phase_is_a_number_with_a_name(tmp_path, phase, name):
    path = tmp_path / "phase.prototxt"
    path.write_text('layer { name: "t" type: "Python" top: "t" python_param { module: "test_caffe_names" '
                    'layer: "Tells" } }')
    net = caffe.Net(str(path), phase)
    assert str(net.layers[0].phase) == f"{net.layers[0].phase}" == name and net.layers[0].phase == phase
    assert f"{net.layers[0].phase:d}" == str(int(phase))
    assert net.forward()["t"][0] == phase


def test_a_range_runs_on_a_shape_that_later_layers_do_not_accept(net):
    x = np.random.default_rng(1).standard_normal((1, 2, 9, 11)).astype("f4")
    net.blobs["data"].reshape(*x.shape)
    net.blobs["data"].data[...] = x
    net.forward(end="relu")
    assert net.blobs["conv"].data.shape == (1, 3, 7, 9) and net.blobs["prob"].data.shape == (1, 2)
    net.blobs["conv"].diff[...] = 1
    back = net.backward(start="relu")["data"]
    weight = net.params["conv"][0].data
    on = np.pad(net.blobs["conv"].data > 0, ((0, 0), (0, 0), (2, 2), (2, 2))).astype("f4")
    expected = sum(weight[k, :, i, j][:, None, None] * on[0, k, 2 - i:11 - i, 2 - j:13 - j]
                   for k in range(3) for i in range(3) for j in range(3))
    np.testing.assert_allclose(back[0], expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ferry.ShapeMismatch, match="pool"):
        net.forward()
    net.blobs["data"].reshape(1, 2, 14, 14)
    assert net.forward(data=np.zeros((1, 2, 14, 14), "f4"))["prob"].shape == (1, 2)


# ---- python -m ferry.caffe -----------------------------------------------------------------------------------

def ran(cwd, *arguments):
    return subprocess.run([sys.executable, "-m", "ferry.caffe", *arguments], capture_output=True, text=True,
                          check=False, cwd=cwd, timeout=60)


SAYS = "import sys, caffe\nprint(__name__, sys.argv[1:], caffe.__name__, bool(__spec__))\n"


def test_a_missing_script_prints_one_error_line(tmp_path):
    done = ran(tmp_path, "nowhere.py")
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "can't open file" in done.stderr and "nowhere.py" in done.stderr and "No such file" in done.stderr


def test_a_module_runs_as_by_python_itself(tmp_path):
    (tmp_path / "says.py").write_text(SAYS)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "__main__.py").write_text(SAYS)
    for name in ("says", "package"):
        done = ran(tmp_path, "-m", name, "-x", "1")
        assert done.stdout == "__main__ ['-x', '1'] ferry.caffe True\n", done.stderr


def test_a_module_that_cannot_run_prints_one_error_line(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "__init__.py").write_text("")
    for name, said in (("nowhere", "No module named nowhere"), ("no.where", "No module named no"),
                       ("empty", "'empty' is a package and cannot be directly executed")):
        done = ran(tmp_path, "-m", name)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and said in done.stderr, done.stderr
    done = ran(tmp_path, "-m")
    assert done.returncode == 1 and "usage" in done.stderr


def test_an_exception_of_a_script_prints_a_traceback(tmp_path):
    (tmp_path / "raises.py").write_text("import sys\nif sys.argv[1:]:\n    sys.exit(7)\nopen('nowhere')\n")
    assert ran(tmp_path, "raises.py", "x").returncode == 7
    done = ran(tmp_path, "raises.py")
    assert done.returncode == 1 and "Traceback" in done.stderr and "raises.py" in done.stderr
    assert os.path.join("ferry", "caffe") not in done.stderr.splitlines()[-2]
