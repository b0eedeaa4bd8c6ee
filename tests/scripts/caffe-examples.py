# SPDX-License-Identifier: BSD-2-Clause
"""For check-caffe-examples.sh, in a copy of Caffe's tree. `make FERRY KIND` makes data of the shape that an
example reads, under the names in its texts. `train FERRY ITERATIONS SOLVER [OPTION…]` trains for a number of
iterations, interrupts the training, and expects finite losses and a snapshot."""

import glob
import json
import math
import os
import signal
import struct
import subprocess
import sys
import time

import numpy as np

random = np.random.RandomState(31)


def patterns(n, shape, classes=10):
    """Pictures that a net can classify: noise with a bright patch, whose position is the label."""
    labels = np.arange(n) % classes
    pictures = random.randint(0, 60, (n,) + shape).astype("u1")
    side = shape[-1] // 4
    for picture, label in zip(pictures, labels):
        y, x = divmod(int(label) % 16, 4)
        picture[..., y * side:(y + 1) * side, x * side:(x + 1) * side] += 150
    return pictures, labels.astype("u1")


def idx(path, array):
    head = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(">" + "I" * array.ndim, *array.shape)
    with open(path, "wb") as f:
        f.write(head + np.ascontiguousarray(array).tobytes())


def dataset(ferry, pictures, labels, folder, *options):
    idx("images.idx", pictures)
    idx("labels.idx", labels)
    subprocess.run([ferry, "dataset", "images.idx", "labels.idx", folder, *options], check=True)


def make_mnist(ferry):
    for name, n in ("train", 2000), ("test", 500):
        pictures, labels = patterns(n, (28, 28))
        dataset(ferry, pictures, labels, f"examples/mnist/mnist_{name}_lmdb")


def make_cifar10(ferry):
    for name, n in ("train", 1000), ("test", 300):
        pictures, labels = patterns(n, (3, 32, 32))
        mean = ["--mean", "examples/cifar10/mean.binaryproto"] if name == "train" else []
        dataset(ferry, pictures, labels, f"examples/cifar10/cifar10_{name}_lmdb", *mean)


def make_siamese(ferry):
    """Pairs of pictures as two channels, labelled by whether their classes are equal."""
    for name, n in ("train", 1000), ("test", 300):
        pictures, labels = patterns(n, (28, 28))
        other = random.permutation(n)
        pairs = np.stack([pictures, pictures[other]], axis=1)
        dataset(ferry, pairs, (labels == labels[other]).astype("u1"),
                f"examples/siamese/mnist_siamese_{name}_leveldb", "--backend", "leveldb")


def make_hdf5_classification(_):
    """Four features and a label of two classes, in two training files, as the notebook writes them."""
    import ferry
    os.makedirs("examples/hdf5_classification/data")
    for name, parts in ("train", 2), ("test", 1):
        files = [os.path.abspath(f"examples/hdf5_classification/data/{name}{i}.h5") for i in range(parts)]
        for path in files:
            data = random.standard_normal((500, 4)).astype("f4")
            ferry.save(path, {"data": data, "label": (data[:, 0] + data[:, 2] > 0).astype("f4")})
        with open(f"examples/hdf5_classification/data/{name}.txt", "w") as f:
            f.write("\n".join(files) + "\n")
    for net in "train_val", "nonlinear_train_val":
        with open(f"examples/hdf5_classification/{net}_solver.prototxt", "w") as f:
            f.write(f'net: "examples/hdf5_classification/{net}.prototxt" test_iter: 50 test_interval: 1000 base_lr: 0.01 '
                    'lr_policy: "step" gamma: 0.1 stepsize: 5000 display: 10 max_iter: 10000 momentum: 0.9 '
                    f'weight_decay: 0.0005 snapshot: 10000 snapshot_prefix: "examples/hdf5_classification/{net}" '
                    'random_seed: 1\n')


def photos(ferry, folder, n):
    """Encoded pictures of 256 x 256, and the mean that nets for ImageNet subtract."""
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    os.makedirs(folder, exist_ok=True)
    pictures, labels = patterns(n, (3, 256, 256), classes=16)
    for i, picture in enumerate(pictures):
        rows = b"".join(b"\0" + row.tobytes() for row in picture.transpose(1, 2, 0))
        with open(f"{folder}/{i}.png", "wb") as f:
            f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 256, 256, 8, 2, 0, 0, 0))
                    + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))
    with open(f"{folder}/list.txt", "w") as f:
        f.write("".join(f"{i}.png {label}\n" for i, label in enumerate(labels)))
    subprocess.run([ferry, "dataset", f"{folder}/list.txt", f"{folder}/db", "--encoded", "--mean",
                    "data/ilsvrc12/imagenet_mean.binaryproto"], check=True)
    return [os.path.abspath(f"{folder}/{i}.png") for i in range(n)], labels


def make_flickr_style(ferry):
    paths, labels = photos(ferry, "data/flickr_style", 32)
    for name in "train", "test":
        with open(f"data/flickr_style/{name}.txt", "w") as f:
            f.write("".join(f"{path} {label}\n" for path, label in zip(paths, labels)))


def make_pascal(ferry):
    """Window files: objects at the bright patch, background anywhere."""
    paths, labels = photos(ferry, "data/pascal", 16)
    text = ""
    for i, (path, label) in enumerate(zip(paths, labels)):
        y, x = divmod(int(label), 4)
        windows = [(label + 1, 0.9, 64 * x, 64 * y, 64 * x + 63, 64 * y + 63)]
        for _ in range(8):
            at = random.randint(0, 150, 2)
            windows.append((0, 0.1, at[0], at[1], at[0] + random.randint(20, 100), at[1] + random.randint(20, 100)))
        text += f"# {i}\n{path}\n3\n256\n256\n{len(windows)}\n"
        text += "".join("%d %g %d %d %d %d\n" % window for window in windows)
    for name in "trainval", "test":
        with open(f"examples/finetune_pascal_detection/window_file_2007_{name}.txt", "w") as f:
            f.write(text)


def make_pascal_multilabel(ferry):
    """PASCAL VOC's folders: pictures with one object each, and lists for training and validation."""
    classes = ("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
               "horse", "motorbike", "person", "pottedplant")
    paths, labels = photos(ferry, "data/pascal/photos", 16)
    root = "data/pascal/VOC2012"
    for folder in "JPEGImages", "Annotations", "ImageSets/Main":
        os.makedirs(f"{root}/{folder}", exist_ok=True)
    for i, (path, label) in enumerate(zip(paths, labels)):
        os.rename(path, f"{root}/JPEGImages/{i}.jpg")  # readers detect the format from the content
        y, x = divmod(int(label), 4)
        box = "".join(f"<{name}>{value}</{name}>" for name, value in
                      zip(("xmin", "ymin", "xmax", "ymax"), (64 * x + 1, 64 * y + 1, 64 * x + 64, 64 * y + 64)))
        with open(f"{root}/Annotations/{i}.xml", "w") as f:
            f.write(f"<annotation><object><name>{classes[label]}</name><bndbox>{box}</bndbox></object></annotation>")
    for split in "train", "val":
        with open(f"{root}/ImageSets/Main/{split}.txt", "w") as f:
            f.write("".join(f"{i}\n" for i in range(len(paths))))


def losses(log):
    if not os.path.exists(log):
        return []
    with open(log) as f:
        lines = [json.loads(line) for line in f.read().split("\n")[:-1]]
    return [line["loss"] for line in lines if line.get("loss") is not None]


def train(ferry, iterations, solver, *options):
    log, begun = "log.jsonl", time.time()
    if os.path.exists(log):
        os.unlink(log)
    with open("output", "w") as output:
        process = subprocess.Popen([ferry, "train", solver, "--log", log, *options], stdout=output, stderr=output)
        while process.poll() is None and len(losses(log)) < int(iterations):
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        status = process.wait()
    values = losses(log)
    made = [path for path in glob.glob("**/*.solverstate*", recursive=True) if os.path.getmtime(path) > begun]
    if status or len(values) < int(iterations) or not all(map(math.isfinite, values)) or not made:
        with open("output") as f:
            sys.exit(f.read()[-1500:] + f"\nstatus {status}, {len(values)} losses, snapshots {sorted(made)}")
    part = max(1, len(values) // 4)
    print("%d iterations, loss %.3g at first, %.3g at last, %.0f s" %
          (len(values), np.mean(values[:part]), np.mean(values[-part:]), time.time() - begun))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        globals()["make_" + sys.argv[3]](sys.argv[2])
    else:
        train(*sys.argv[2:])
