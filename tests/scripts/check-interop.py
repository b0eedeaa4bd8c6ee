# SPDX-License-Identifier: BSD-2-Clause
"""Files and memory shared with other libraries: NumPy, protobuf, safetensors, h5py, OpenCV. Libraries that
are not installed are skipped. Run by check-interop.sh."""

import ctypes
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

try:
    import numpy as np
except ImportError:
    print("SKIP all: NumPy is not installed")
    print("ferry-test: interop: 0 passed, 0 failed, 1 skipped")
    sys.exit(77)

FERRY = os.environ["FERRY_TEST_COMMAND"]
BUILD = os.environ["FERRY_TEST_BUILDDIR"]
DATA = os.environ.get("FERRY_TEST_DATA", "")

NUMPY_DTYPES = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I8": "i1", "U8": "u1", "I32": "<i4",
                "I64": "<i8", "U32": "<u4"}
SHAPES = [(), (1,), (0, 3), (2, 3, 5), (1,) * 31 + (3,), (300, 301)]


class Skip(Exception):
    pass


def need(module):
    try:
        return __import__(module, fromlist=["x"])
    except ImportError:
        raise Skip(module + " is not installed") from None


def data(name):
    if not DATA:
        raise Skip("FERRY_TEST_DATA is not set")
    return os.path.join(DATA, name)


def ferry(*arguments, status=0):
    """Runs the command; returns its output, or its errors where a failure was expected."""
    done = subprocess.run([FERRY, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stderr if status else done.stdout


def arrays(dtypes=NUMPY_DTYPES):
    random = np.random.default_rng(1)
    out = {}
    for dtype, code in dtypes.items():
        for i, shape in enumerate(SHAPES):
            out[f"{dtype}/{i}"] = np.asarray(random.standard_normal(shape) * 50).astype(code)
    return out


def same(a, b):
    assert a.dtype.newbyteorder("=") == b.dtype.newbyteorder("="), (a.dtype, b.dtype)
    assert a.shape == b.shape, (a.shape, b.shape)
    assert a.tobytes() == b.astype(a.dtype).tobytes()


def all_same(left, right):
    assert set(left) == set(right), set(left) ^ set(right)
    for name in left:
        same(np.asarray(left[name]), np.asarray(right[name]))


def load_safetensors(path):
    """Compares bytes, because NumPy lacks bfloat16."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        values = file.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(values[slice(*t["data_offsets"])],
                                NUMPY_DTYPES[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items()}


# ---- NumPy ---------------------------------------------------------------------------------------


def npz_of_numpys_reads_alike():
    want = arrays()
    want["fortran"] = np.asfortranarray(np.arange(24.).reshape(2, 3, 4))
    want["big"] = np.arange(6, dtype=">i4")
    for save in (np.savez, np.savez_compressed):
        save("in.npz", **want)
        ferry("convert", "in.npz", "out.safetensors")
        all_same(want, load_safetensors("out.safetensors"))


def deflated_columns_take_no_longer_than_rows():
    rows = (np.arange(3 << 22) % 251).astype("<f4").reshape(3, 2048, 2048)
    want = {"w": rows, "x": np.arange(60, dtype=">i8").reshape(3, 4, 5)}
    np.savez_compressed("rows.npz", **want)
    np.savez_compressed("columns.npz", **{k: np.asfortranarray(v) for k, v in want.items()})
    seconds = []
    for name in ("rows.npz", "columns.npz"):
        begin = time.monotonic()
        ferry("merge", "-o", "sum-of-" + name, "--weights", "2,-1", name, name)
        seconds.append(time.monotonic() - begin)
        all_same({**want, "x": want["x"].astype("<i8")}, dict(np.load("sum-of-" + name)))
    assert seconds[1] < 10 * seconds[0] + 2, seconds


def npz_of_ferrys_reads_alike():
    want = arrays()
    np.savez("in.npz", **want)
    ferry("convert", "in.npz", "out.npz")
    with np.load("out.npz") as got:
        all_same(want, got)


def npy_both_ways():
    for array in arrays().values():
        np.save("in.npy", array)
        ferry("convert", "in.npy", "out.npy")
        same(array, np.load("out.npy"))


def the_mean_image_is_numpys():
    want = np.load(data("ilsvrc_2012_mean.npy"))
    ferry("convert", data("ilsvrc_2012_mean.npy"), "mean.npy")
    same(want, np.load("mean.npy"))
    ferry("convert", data("imagenet_256x256_mean.binaryproto"), "same.npy")
    assert np.abs(np.load("same.npy")[0] - want).max() < 0.06


# ---- protobuf ------------------------------------------------------------------------------------


def caffe_messages():
    """The fields of NetParameter and BlobProto that weights use, declared without a compiler."""
    need("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="caffe.proto", package="caffe")
    kinds = descriptor_pb2.FieldDescriptorProto
    repeated, optional = kinds.LABEL_REPEATED, kinds.LABEL_OPTIONAL

    def message(name, *fields):
        m = file.message_type.add(name=name)
        for number, field, label, kind in fields:
            f = m.field.add(name=field, number=number, label=label)
            if isinstance(kind, str):
                f.type, f.type_name = kinds.TYPE_MESSAGE, ".caffe." + kind
            else:
                f.type = kind
            f.options.packed = label == repeated and kind in (
                kinds.TYPE_FLOAT, kinds.TYPE_DOUBLE, kinds.TYPE_INT64)

    message("BlobShape", (1, "dim", repeated, kinds.TYPE_INT64))
    message("BlobProto", (1, "num", optional, kinds.TYPE_INT32),
            (2, "channels", optional, kinds.TYPE_INT32), (3, "height", optional, kinds.TYPE_INT32),
            (4, "width", optional, kinds.TYPE_INT32), (5, "data", repeated, kinds.TYPE_FLOAT),
            (6, "diff", repeated, kinds.TYPE_FLOAT), (7, "shape", optional, "BlobShape"),
            (8, "double_data", repeated, kinds.TYPE_DOUBLE),
            (9, "double_diff", repeated, kinds.TYPE_DOUBLE))
    message("LayerParameter", (1, "name", optional, kinds.TYPE_STRING),
            (2, "type", optional, kinds.TYPE_STRING), (7, "blobs", repeated, "BlobProto"))
    message("NetParameter", (1, "name", optional, kinds.TYPE_STRING),
            (100, "layer", repeated, "LayerParameter"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    get = getattr(message_factory, "GetMessageClass", None)
    if get is None:
        get = message_factory.MessageFactory(pool).GetPrototype
    return get(pool.FindMessageTypeByName("caffe.NetParameter"))


def parse_net(path):
    net = caffe_messages()()
    with open(path, "rb") as file:
        net.ParseFromString(file.read())
    return net


def blobs_of(net):
    out = {}
    for layer in net.layer:
        for i, blob in enumerate(layer.blobs):
            values = np.array(blob.double_data, "<f8") if blob.double_data else \
                np.array(blob.data, "<f4")
            shape = list(blob.shape.dim) if not blob.HasField("num") else \
                [blob.num, blob.channels, blob.height, blob.width]
            out[f"{layer.name}/{i}"] = values.reshape(shape)
    return out


def real_nets_are_protobufs():
    for name in ("det1.caffemodel", "det2.caffemodel"):
        ferry("convert", data(name), "net.npz")
        with np.load("net.npz") as got:
            all_same(blobs_of(parse_net(data(name))), got)


def nets_of_ferrys_are_protobufs():
    want = {}
    for name, array in arrays({"F32": "<f4", "F64": "<f8"}).items():
        layer = name.split("/")[0]
        if array.size:  # protobuf does not report the dtype of an empty array
            want[f"{layer}/{sum(n.startswith(layer) for n in want)}"] = array
    np.savez("in.npz", **want)
    ferry("convert", "in.npz", "out.caffemodel")
    all_same(want, blobs_of(parse_net("out.caffemodel")))
    ferry("convert", "out.caffemodel", "again.caffemodel")
    with open("out.caffemodel", "rb") as a, open("again.caffemodel", "rb") as b:
        assert a.read() == b.read()


def real_nets_survive_byte_for_byte_in_their_blobs():
    ferry("convert", data("det2.caffemodel"), "det2.caffemodel")
    left, right = parse_net(data("det2.caffemodel")), parse_net("det2.caffemodel")
    assert left.name == right.name
    assert [(x.name, x.type) for x in left.layer] == [(x.name, x.type) for x in right.layer]
    all_same(blobs_of(left), blobs_of(right))


# ---- safetensors, h5py, OpenCV -------------------------------------------------------------------


def safetensors_of_ferrys_are_the_packages():
    package = need("safetensors.numpy")
    want = arrays()
    np.savez("in.npz", **want)
    ferry("convert", "in.npz", "out.safetensors")
    all_same(want, package.load_file("out.safetensors"))


def safetensors_of_the_packages_read_alike():
    package = need("safetensors.numpy")
    want = arrays()
    package.save_file(want, "in.safetensors", metadata={"format": "np"})
    ferry("convert", "in.safetensors", "out.npz")
    with np.load("out.npz") as got:
        all_same(want, got)
    ferry("convert", "in.safetensors", "again.safetensors")
    need("safetensors")
    from safetensors import safe_open
    with safe_open("again.safetensors", "np") as file:
        assert file.metadata() == {"format": "np"}


def h5_datasets(path):
    out = {}
    with need("h5py").File(path, "r") as file:
        file.visititems(lambda name, item: out.__setitem__(name, item[...])
                                if hasattr(item, "shape") else None)
    return out


def has_hdf5():
    import re
    help_text = subprocess.run(["ldd", os.path.join(BUILD, ".libs/libferryio.so")],
                               capture_output=True, text=True, check=False).stdout
    if not re.search("libhdf5", help_text):
        raise Skip("libferryio was built without libhdf5")


def hdf5_of_ferrys_is_h5pys():
    need("h5py")
    has_hdf5()
    want = arrays()
    np.savez("in.npz", **want)
    ferry("convert", "in.npz", "out.h5")
    all_same(want, h5_datasets("out.h5"))


def a_compressed_array_is_not_larger_than_the_limit():
    np.savez_compressed("bomb.npz", x=np.zeros(1 << 20, "f4"))
    with open("net.prototxt", "w", encoding="utf-8") as file:
        file.write("layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1048576 } } }"
                   "layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' }")
    said = ferry("run", "net.prototxt", "--input", "x=bomb.npz", "--max-bytes", "4194303", status=1)
    assert all(word in said for word in ("bomb.npz: array x", "4194304 bytes", "--max-bytes")), said
    ferry("run", "net.prototxt", "--input", "x=bomb.npz", "--max-bytes", "4194304")
    np.savez("plain.npz", x=np.zeros(1 << 20, "f4"))
    ferry("run", "net.prototxt", "--input", "x=plain.npz", "--max-bytes", "1")
    ferry("run", "net.prototxt", "--input", "x=plain.npz", "--max-bytes", "0", status=2)
    # 2 GiB of zeros, of which the file has 9 MB: must fail at once.
    with zipfile.ZipFile("huge.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive, \
            archive.open("x.npy", "w", force_zip64=True) as member:
        np.lib.format.write_array_header_1_0(
            member, {"descr": "<f4", "fortran_order": False, "shape": (1 << 29,)})
        for _ in range(128):
            member.write(bytes(1 << 24))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    said = ferry("run", "net.prototxt", "--input", "x=huge.npz", status=1)
    assert "huge.npz: array x" in said and "2147483648 bytes" in said, said
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < max(before, 1 << 19)


def hdf5_takes_the_layout_that_is_asked_for():
    h5py = need("h5py")
    has_hdf5()
    want = {"data": np.arange(6, dtype=np.float32).reshape(2, 3), "label": np.arange(2, dtype=np.float32),
            "conv1/0": np.ones(3, np.float32)}
    np.savez("in.npz", **want)
    ferry("convert", "in.npz", "plain.h5")
    all_same(want, h5_datasets("plain.h5"))
    ferry("convert", "in.npz", "weights.h5", "--layout", "weights")
    with h5py.File("weights.h5", "r") as file:
        assert np.array_equal(file["data/conv1/0"][...], want["conv1/0"])
        assert np.array_equal(file["label"][...], want["label"])
    ferry("convert", "weights.h5", "same.h5")
    ferry("convert", "weights.h5", "other.h5", "--layout", "plain")
    with h5py.File("same.h5", "r") as same, h5py.File("other.h5", "r") as other:
        assert "data/conv1/0" in same and "conv1/0" in other
    ferry("convert", "in.npz", "out.safetensors", "--layout", "plain", status=2)
    ferry("convert", "in.npz", "out.h5", "--layout", "odd", status=2)


def hdf5_output_writes_what_h5py_and_hdf5_data_read():
    h5py = need("h5py")
    has_hdf5()
    layers = """layer { name: 'd' type: 'DummyData' top: 'x' top: 'y' dummy_data_param {
        shape { dim: 2 dim: 3 } shape { dim: 2 } data_filler { value: 5 } data_filler { value: 7 } } }
        layer { name: 'o' type: 'HDF5Output' bottom: 'x' bottom: 'y' hdf5_output_param { file_name: 'rows.h5' } }"""
    with open("out.prototxt", "w", encoding="utf-8") as file:
        file.write(layers)
    for command in "run", "time":
        assert "--allow-write" in ferry(command, "out.prototxt", status=1)
    assert not os.path.exists("rows.h5")
    ferry("run", "out.prototxt", "--allow-write", ".")
    with h5py.File("rows.h5", "r") as file:
        assert sorted(file) == ["data", "label"]
        assert file["data"].shape == (2, 3, 1, 1) and (file["data"][...] == 5).all()
        assert file["label"].shape == (2, 1, 1, 1) and (file["label"][...] == 7).all()
    with open("list", "w", encoding="utf-8") as file:
        file.write("rows.h5\n")
    with open("in.prototxt", "w", encoding="utf-8") as file:
        file.write("layer { name: 'h' type: 'HDF5Data' top: 'data' top: 'label' "
                   "hdf5_data_param { source: 'list' batch_size: 2 } }")
    ferry("run", "in.prototxt", "-o", "read.npz")
    with np.load("read.npz") as got:
        assert got["data"].shape == (2, 3, 1, 1) and (got["data"] == 5).all() and (got["label"] == 7).all()


def hdf5_of_h5pys_reads_alike():
    h5py = need("h5py")
    has_hdf5()
    want = arrays()
    with h5py.File("in.h5", "w") as file:
        for i, (name, array) in enumerate(want.items()):
            chunked = {"chunks": True, "compression": "gzip"} if array.size > 9 and i % 2 else {}
            file.create_dataset(name, data=array.astype(array.dtype.newbyteorder(">")), **chunked)
    ferry("convert", "in.h5", "out.npz")
    with np.load("out.npz") as got:
        all_same(want, got)


def hdf5_filters_and_types_of_h5pys_are_read():
    h5py = need("h5py")
    has_hdf5()
    values = np.arange(60 * 35).reshape(60, 35)
    want = {code: values.astype(code) for code in (">u2", "<u2", "i2", "u8", "?", ">f8", "f2")}
    with h5py.File("in.h5", "w") as file:
        for code, array in list(want.items()):
            for how in ("lzf", "gzip", None):
                name = f"{how}{code.replace('<', 'l').replace('>', 'b').replace('?', 'bool')}"
                file.create_dataset(name, data=array, chunks=(7, 11), compression=how,
                                    shuffle=how is not None, fletcher32=how != "lzf")
                want[name] = array
            del want[code]
        file["text"] = "a string"
        file.create_dataset("scaled", data=values, chunks=(60, 35), scaleoffset=0)
        want["scaled"] = values
    ferry("convert", "in.h5", "out.npz")
    with np.load("out.npz") as got:
        all_same(want, got)


def hdf5_that_is_more_than_it_holds_is_refused():
    h5py = need("h5py")
    has_hdf5()
    with h5py.File("huge.h5", "w") as file:
        file.create_dataset("w", (1 << 45,), "f4", chunks=(1024,))
    assert "the shape requires" in ferry("convert", "huge.h5", "refused.npz", status=1)
    with open("secret", "wb") as secret:
        secret.write(bytes(16))
    with h5py.File("elsewhere.h5", "w") as file:
        file.create_dataset("w", (4,), "f4", external=[(os.path.abspath("secret"), 0, 16)])
    assert "in other files" in ferry("convert", "elsewhere.h5", "refused.npz", status=1)
    assert not os.path.exists("refused.npz")
    with h5py.File("sparse.h5", "w") as file:
        file.create_dataset("w", (1 << 20,), "f4", chunks=(1024,))  # zeros, none of them stored
    ferry("convert", "sparse.h5", "sparse.npz")
    assert np.load("sparse.npz")["w"].shape == (1 << 20,)



def opencv_imports_what_ferry_wrote():
    cv2 = need("cv2")
    ferry("convert", data("det1.caffemodel"), "det1.caffemodel")
    nets = [cv2.dnn.readNetFromCaffe(data("det1.prototxt"), path)
            for path in (data("det1.caffemodel"), "det1.caffemodel")]
    for layer in nets[0].getLayerNames():
        for i in range(2):
            try:
                want = nets[0].getParam(layer, i)
            except cv2.error:
                continue
            same(want, nets[1].getParam(layer, i))


# ---- DLPack --------------------------------------------------------------------------------------


class Capsule:
    """The interface of an array that numpy.from_dlpack uses."""

    def __init__(self, pointer):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p,
                                                      ctypes.c_void_p]
        self.capsule = new(pointer, b"dltensor", None)

    def __dlpack__(self, stream=None, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


class Ferry:
    """The functions of the libraries that sharing memory needs."""

    def __init__(self):
        core = ctypes.CDLL(os.path.join(BUILD, ".libs/libferry.so"), ctypes.RTLD_GLOBAL)
        self.io = ctypes.CDLL(os.path.join(BUILD, ".libs/libferryio.so"))
        self.core = core
        core.ferry_last_error.restype = ctypes.c_char_p
        for name in ("host_data", "mutable_host_data"):
            getattr(core, "ferry_blob_" + name).restype = ctypes.c_void_p
        self.runtime, self.device = ctypes.c_void_p(), ctypes.c_void_p()
        self.ok(core.ferry_runtime_open(None, ctypes.byref(self.runtime)))
        self.ok(core.ferry_runtime_get_device(self.runtime, None, ctypes.byref(self.device)))

    def ok(self, code):
        assert code == 0, self.core.ferry_last_error()

    def blob(self, *shape):
        out = ctypes.c_void_p()
        self.ok(self.core.ferry_blob_create(self.device, 0, (ctypes.c_int64 * len(shape))(*shape),
                                            len(shape),
                                            ctypes.byref(out)))
        return out

    def export(self, blob):
        out = ctypes.c_void_p()
        self.ok(self.io.ferry_blob_to_dlpack(blob, None, 0, ctypes.byref(out)))
        return Capsule(out.value)

    def adopt(self, array):
        capsule = array.__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        out = ctypes.c_void_p()
        self.ok(self.io.ferry_blob_from_dlpack(
            self.device, ctypes.c_void_p(get(capsule, b"dltensor")), ctypes.byref(out)))
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        rename(capsule, b"used_dltensor")
        return out

    def floats(self, blob, n):
        return (ctypes.c_float * n).from_address(self.core.ferry_blob_host_data(blob))


def numpy_shares_a_blobs_memory():
    f = Ferry()
    blob = f.blob(2, 3)
    array = np.from_dlpack(f.export(blob))
    assert array.shape == (2, 3) and array.ctypes.data == f.core.ferry_blob_host_data(blob)
    f.floats(blob, 6)[4] = 7
    assert array[1, 1] == 7
    f.core.ferry_blob_destroy(blob)
    assert array[1, 1] == 7  # the memory outlives the blob
    del array


def a_blob_shares_numpys_memory():
    f = Ferry()
    array = np.arange(6, dtype="<f4").reshape(2, 3)
    references = sys.getrefcount(array)
    blob = f.adopt(array)
    assert f.core.ferry_blob_host_data(blob) == array.ctypes.data
    array[1, 2] = 9
    assert f.floats(blob, 6)[5] == 9
    assert sys.getrefcount(array) > references
    f.core.ferry_blob_destroy(blob)
    assert sys.getrefcount(array) == references


def torch_shares_both_ways():
    torch = need("torch")
    f = Ferry()
    blob = f.blob(2, 3)
    tensor = torch.from_dlpack(f.export(blob))
    tensor[1, 1] = 7
    assert f.floats(blob, 6)[4] == 7
    f.core.ferry_blob_destroy(blob)
    assert tensor[1, 1] == 7
    other = torch.arange(6, dtype=torch.float32)
    blob = f.adopt(other)
    other[5] = 9
    assert f.floats(blob, 6)[5] == 9
    f.core.ferry_blob_destroy(blob)


# ---- merge ---------------------------------------------------------------------------------------


def flatten(value, path, out):
    """The names that ferry gives to the arrays that torch.save stored."""
    import torch
    if isinstance(value, torch.Tensor):
        out[path] = value.detach().numpy()
    elif isinstance(value, (dict, list, tuple)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in pairs:
            flatten(member, f"{path}.{key}" if path else str(key), out)
    return out


def archives_of_torch_read_alike():
    torch = need("torch")
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    adam = torch.optim.Adam(net.parameters())
    net(torch.randn(1, 3, 7, 7)).sum().backward()
    adam.step()
    t = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    types = [torch.float64, torch.float16, torch.int8, torch.uint8, torch.int16, torch.int32,
             torch.int64, torch.bool]
    saved = {
        "state": net.state_dict(),
        "checkpoint": {"net": net.state_dict(), "adam": adam.state_dict(), "epoch": 3},
        "views": {"t": t.t(), "s": t[1:3, ::2], "e": t[:1].expand(5, 6), "n": t[:0],
                  "scalar": torch.tensor(2.5), "same": t, "p": torch.nn.Parameter(t)},
        "types": {str(i): torch.arange(5).to(dtype) for i, dtype in enumerate(types)},
    }
    for name, value in saved.items():
        torch.save(value, name + ".pt")
        ferry("convert", name + ".pt", "out.npz")
        with np.load("out.npz") as got:
            all_same(flatten(value, "", {}), got)
    torch.save(net, "module.pt")
    ferry("convert", "module.pt", "out.npz")
    with np.load("out.npz") as got:
        all_same(flatten(dict(net.state_dict()), "", {}), got)
    torch.save(t, "alone.pt")
    ferry("convert", "alone.pt", "out.npy")
    same(t.numpy(), np.load("out.npy"))


def merges_are_numpys_to_the_last_bit_of_the_dtype():
    random = np.random.default_rng(2)
    dtypes = ["<f4", "<f8", "<f2", "<i4"]
    inputs = [{c: (random.standard_normal((3, 50001)) * 9).astype(c) for c in dtypes}
              for _ in range(3)]
    for i, arrays_of in enumerate(inputs):
        np.savez(f"{i}.npz", **arrays_of)
    for weights in ([1 / 3] * 3, [0.2, 0.3, -0.7]):
        text = ",".join(repr(w) for w in weights)
        ferry("merge", "-o", "out.npz", "--weights", text, "0.npz", "1.npz", "2.npz")
        with np.load("out.npz") as got:
            for c in dtypes:
                want = sum(w * x[c].astype("f8") for w, x in zip(weights, inputs))
                if c == "<f8":  # a fused multiply-add has fewer roundings than NumPy
                    terms = sum(abs(w * x[c]) for w, x in zip(weights, inputs))
                    assert (np.abs(got[c] - want) <= 4 * np.finfo("f8").eps * terms).all()
                    continue
                exact = np.rint(want) if c == "<i4" else want.astype(c)
                # the sum is a tie except for its own last bit: either neighbour is correct
                off = got[c].astype("f8") != exact.astype("f8")
                step = 1 if c == "<i4" else np.spacing(np.abs(exact[off]))
                apart = np.abs(got[c][off].astype("f8") - want[off]) / step
                assert (apart <= 0.5000001).all(), (c, apart.max())


def each_backend():
    """Runs every test whose libraries are installed."""
    before = os.environ.get("FERRY_BACKEND")
    try:
        for name in ("cpu", "sim", "opencl"):
            os.environ["FERRY_BACKEND"] = name
            if subprocess.run([FERRY, "devices"], capture_output=True, check=False).returncode == 0:
                yield name
    finally:
        os.environ.pop("FERRY_BACKEND")
        if before is not None:
            os.environ["FERRY_BACKEND"] = before


def merges_of_bf16_are_numpys_on_every_backend():
    random = np.random.default_rng(3)
    inputs = [(random.standard_normal(300001) * 9).astype("<f4") for _ in range(2)]
    for i, x in enumerate(inputs):
        x.view("<u4")[:] &= 0xffff0000  # representable in bfloat16
        np.savez(f"{i}.npz", x=x)
        ferry("convert", "--dtype", "bf16", f"{i}.npz", f"{i}.safetensors")
    want = 0.3 * inputs[0].astype("f8") + 0.7 * inputs[1].astype("f8")
    for backend in each_backend():
        ferry("merge", "-o", "out.safetensors", "--weights", "0.3,0.7", "0.safetensors",
              "1.safetensors")
        ferry("convert", "--dtype", "f32", "out.safetensors", "out.npz")
        with np.load("out.npz") as got:
            step = np.exp2(np.floor(np.log2(np.maximum(np.abs(want), 1e-12))) - 7)
            apart = np.abs(got["x"].astype("f8") - want) / step
            assert (apart <= 0.5000001).all(), (backend, apart.max())


TESTS = [
    npz_of_numpys_reads_alike, deflated_columns_take_no_longer_than_rows,
    npz_of_ferrys_reads_alike, npy_both_ways, the_mean_image_is_numpys,
    real_nets_are_protobufs, nets_of_ferrys_are_protobufs,
    real_nets_survive_byte_for_byte_in_their_blobs, safetensors_of_ferrys_are_the_packages,
    safetensors_of_the_packages_read_alike, hdf5_of_ferrys_is_h5pys, hdf5_of_h5pys_reads_alike,
    a_compressed_array_is_not_larger_than_the_limit, hdf5_takes_the_layout_that_is_asked_for, hdf5_output_writes_what_h5py_and_hdf5_data_read,
    hdf5_filters_and_types_of_h5pys_are_read, hdf5_that_is_more_than_it_holds_is_refused,
    opencv_imports_what_ferry_wrote, numpy_shares_a_blobs_memory, a_blob_shares_numpys_memory,
    torch_shares_both_ways, archives_of_torch_read_alike, merges_are_numpys_to_the_last_bit_of_the_dtype,
    merges_of_bf16_are_numpys_on_every_backend,
]


def main():
    counts = {"pass": 0, "FAIL": 0, "SKIP": 0}
    for test in TESTS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                test()
                verdict, detail = "pass", ""
            except Skip as reason:
                verdict, detail = "SKIP", f": {reason}"
            except Exception as error:  # pylint: disable=broad-except
                verdict, detail = "FAIL", f"\n     {type(error).__name__}: {error}"
            os.chdir("/")
        counts[verdict] += 1
        print(f"{verdict} {test.__name__}{detail}")
    print(f"ferry-test: interop: {counts['pass']} passed, {counts['FAIL']} failed, "
          f"{counts['SKIP']} skipped")
    sys.exit(1 if counts["FAIL"] else 0)


main()
