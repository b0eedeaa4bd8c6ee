# SPDX-License-Identifier: BSD-2-Clause
"""WindowData compared with the rules of Caffe's window_data_layer.cpp, computed here pixel by pixel with
NumPy."""

import struct
import zlib

import numpy as np
import pytest

import ferry

CROP = 24


def png(path, pixels):
    """A PNG with 8 bits; the array is blue first, the file red first."""
    rows = b"".join(b"\0" + row[:, ::-1].tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows))
                     + chunk(b"IEND", b""))


def smooth(rng, height, width):
    """A picture whose pixels differ, by steps that make errors of one row or column visible."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / rng.uniform(2, 9) + rng.uniform(0, 6)) * np.cos(y / rng.uniform(2, 9)) for _ in range(3)]
    return np.uint8(np.stack([127 + 120 * wave for wave in waves], axis=2))


# ---- Caffe's definition ------------------------------------------------------------------------------


def rounded(value):
    """C's round: halves away from zero."""
    return int(np.sign(value) * np.floor(np.abs(value) + np.float32(0.5)))


def bilinear(pixels, height, width):
    """OpenCV's INTER_LINEAR: centers of pixels at halves, the border repeated."""
    def taps(size, n):
        at = (np.arange(n) + 0.5) * size / n - 0.5
        low = np.floor(at)
        weight = at - low
        low = low.astype(int)
        return np.clip(low, 0, size - 1), np.clip(low + 1, 0, size - 1), weight

    y0, y1, wy = taps(pixels.shape[0], height)
    x0, x1, wx = taps(pixels.shape[1], width)
    p = pixels.astype(np.float64)
    upper = p[y0][:, x0] * (1 - wx)[:, None] + p[y0][:, x1] * wx[:, None]
    lower = p[y1][:, x0] * (1 - wx)[:, None] + p[y1][:, x1] * wx[:, None]
    return upper * (1 - wy)[:, None, None] + lower * wy[:, None, None]


def along(first, last, half, scale, size, crop):
    """One axis of the expanded window: the range that is read, its length after resizing, and the padding on
    both sides."""
    f = np.float32
    center = f(first) + f((last - first + 1) / 2)
    first, last = rounded(center - half * scale), rounded(center + half * scale)
    whole = last - first + 1
    before, behind = max(0, -first), max(0, last - size + 1)
    first, last = first + before, last - behind
    unit = f(crop) / f(whole)
    return (first, last, rounded(f(last - first + 1) * unit), rounded(f(before) * unit), rounded(f(behind) * unit))


def expected(pixels, window, mirror, crop=CROP, pad=0, square=False, mean=None, scale=1.0):
    x1, y1, x2, y2 = window
    height = width = crop
    top = left = 0
    if pad > 0 or square:
        f = np.float32
        grown = f(crop) / f(crop - 2 * pad)
        half_y, half_x = f((y2 - y1 + 1) / 2), f((x2 - x1 + 1) / 2)
        if square:
            half_y = half_x = max(half_y, half_x)
        x1, x2, width, left, right = along(x1, x2, half_x, grown, pixels.shape[1], crop)
        y1, y2, height, top, _ = along(y1, y2, half_y, grown, pixels.shape[0], crop)
        left = right if mirror else left
        height, width = min(height, crop - top), min(width, crop - left)
    warped = np.floor(bilinear(pixels[y1:y2 + 1, x1:x2 + 1], height, width) + 0.5)
    if mirror:
        warped = warped[:, ::-1]
    out = np.zeros((3, crop, crop), np.float64)
    for c in range(3):
        shift = 0
        if mean is not None and mean.ndim == 1:
            shift = mean[c if len(mean) == 3 else 0]
        elif mean is not None:
            at = (mean.shape[2] - crop) // 2
            shift = mean[c, at + top:at + top + height, at + left:at + left + width]
        out[c, top:top + height, left:left + width] = (warped[:, :, c] - shift) * scale
    return out


# ---- files and nets ----------------------------------------------------------------------------------


@pytest.fixture
def windows(tmp_path):
    """Two pictures, objects with labels of their own, at the borders, too, and background windows."""
    rng = np.random.default_rng(7)
    pictures = [smooth(rng, 40, 60), smooth(rng, 55, 33)]
    objects = [[(1, .9, 5, 6, 30, 25), (2, .5, 0, 0, 59, 39), (3, 1, 40, 20, 59, 39), (4, .7, 10, 3, 14, 36)],
               [(5, .75, 2, 2, 25, 50), (6, .6, 0, 30, 5, 54), (7, .8, 8, 8, 31, 31)]]
    background = [[(9, .2, 20, 10, 50, 35), (2, .05, 0, 0, 9, 9)], [(1, 0, 3, 20, 30, 40)]]
    ignored = [[(8, .4, 1, 1, 2, 2)], []]
    text = ""
    for i, pixels in enumerate(pictures):
        png(tmp_path / f"{i}.png", pixels)
        lines = objects[i] + background[i] + ignored[i]
        text += f"# {i}\n{i}.png\n3\n{pixels.shape[0]}\n{pixels.shape[1]}\n{len(lines)}\n"
        text += "".join("%d %g %d %d %d %d\n" % line for line in lines)
    (tmp_path / "windows.txt").write_text(text)
    of = lambda kind, label: [(i, label(w[0]), w[2:]) for i in range(2) for w in kind[i]]
    return tmp_path, pictures, of(objects, lambda label: label), of(background, lambda label: 0)


def open_net(device, folder, parameters="", transform="", batch=16, seed=1):
    text = f"""layer {{ name: "w" type: "WindowData" top: "data" top: "label"
      window_data_param {{ source: "windows.txt" batch_size: {batch} fg_fraction: 0.4 bg_threshold: 0.3 {parameters} }}
      transform_param {{ crop_size: {CROP} {transform} }} }}"""
    path = folder / "net.prototxt"
    path.write_text(text)
    return ferry.Net(device, path, seed=seed)


def best(item, pictures, candidates, mirror, **how):
    """The distance of the item to the nearest of the windows, and the index of that window."""
    wrongs = []
    for i, _, window in candidates:
        for turned in ([False, True] if mirror else [False]):
            wrong = np.abs(item - expected(pictures[i], window, turned, **how))
            wrongs.append((wrong.max(), (i, window, turned)))
    return min(wrongs)


WAYS = [
    ("", {}),
    ("context_pad: 4", {"pad": 4}),
    ("crop_mode: 'square'", {"square": True}),
    ("crop_mode: 'square' context_pad: 3", {"pad": 3, "square": True}),
    ("context_pad: 11 cache_images: true", {"pad": 11}),
]


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("parameters, how", WAYS)
def test_items_are_the_windows_that_caffe_computes(device, windows, parameters, how, mirror):
    folder, pictures, objects, background = windows
    net = open_net(device, folder, parameters, "mirror: true" if mirror else "")
    seen = set()
    for _ in range(12):
        net.forward()
        data, labels = (np.array(net.blobs[name].data) for name in ("data", "label"))
        assert data.shape == (16, 3, CROP, CROP)
        assert not labels[:10].any() and labels[10:].all()  # 16 * 0.4 are 6 objects, at the end
        for item, label in zip(data, labels):
            candidates = [w for w in objects + background if w[1] == label]
            wrong, which = best(item, pictures, candidates, mirror, **how)
            assert wrong <= 1, (label, which)  # a step of a byte, where float32 rounds a half in the other direction
            seen.add(which)
    assert len(seen) == (len(objects) + len(background)) * (2 if mirror else 1)


def test_most_pixels_have_no_error_at_all(device, windows):
    folder, pictures, objects, background = windows
    net = open_net(device, folder, "context_pad: 4")
    net.forward()
    wrong = []
    for item, label in zip(np.array(net.blobs["data"].data), np.array(net.blobs["label"].data)):
        candidates = [w for w in objects + background if w[1] == label]
        at = best(item, pictures, candidates, False, pad=4)[1]
        wrong.append(np.abs(item - expected(pictures[at[0]], at[1], False, pad=4)))
    assert np.mean(np.array(wrong) > 0) < 1e-2  # halves


def means(tmp_path):
    mean = np.random.default_rng(3).uniform(80, 160, (1, 3, 30, 32)).astype(np.float32)
    ferry.save(tmp_path / "mean.binaryproto", {"mean": mean})
    return mean[0]


def test_means_and_scale(device, windows):
    folder, pictures, objects, background = windows
    mean = means(folder)
    ways = [("mean_value: 100", np.array([100.0])), ("mean_value: 90 mean_value: 100 mean_value: 110",
                                                     np.array([90.0, 100.0, 110.0])),
            ("mean_file: 'mean.binaryproto'", mean)]
    for text, values in ways:
        net = open_net(device, folder, "context_pad: 4 scale: 0.5", text + " mirror: true")
        net.forward()
        for item, label in zip(np.array(net.blobs["data"].data), np.array(net.blobs["label"].data)):
            candidates = [w for w in objects + background if w[1] == label]
            assert best(item, pictures, candidates, True, pad=4, mean=values, scale=0.5)[0] <= 0.5 + 1e-4


def batches(net, n):
    out = []
    for _ in range(n):
        net.forward()
        out.append(np.concatenate([np.array(net.blobs["data"].data).ravel(), np.array(net.blobs["label"].data)]))
    return out


def test_random_windows_depend_only_on_the_seed(device, windows):
    folder = windows[0]
    first, again = (batches(open_net(device, folder, seed=3), 3) for _ in range(2))
    other = batches(open_net(device, folder, seed=4), 3)
    assert all((a == b).all() for a, b in zip(first, again))
    assert not all((a == b).all() for a, b in zip(first, other))
    assert not (first[0] == first[1]).all()
    cached = batches(open_net(device, folder, "cache_images: true", seed=3), 3)
    assert all((a == b).all() for a, b in zip(first, cached))


def test_cached_pictures_are_not_read_again(device, windows):
    folder = windows[0]
    net = open_net(device, folder, "cache_images: true")
    for i in range(2):
        (folder / f"{i}.png").unlink()
    net.forward()
    with pytest.raises(ferry.Error, match=r"\d\.png"):
        open_net(device, folder).forward()


BROKEN = [
    ("", "# 0\n0.png\n3 40 60\n1\n1 0.9 5 6 x 25\n", "line 5"),
    ("", "# 0\n0.png\n3 40 60\n2\n1 0.9 5 6 9 25\n", "is not a label"),
    ("", "# 0\n0.png\n3 40 60\n1\n0 0.9 5 6 9 25\n", "label is 0"),
    ("", "# 0\n0.png\n1 40 60\n0\n", "1 channels"),
    ("", "# 0\n0.png\n3 40 60\n2\n1 0.9 5 6 9 25\n1 0.4 1 1 2 2\n", "below bg_threshold"),
    ("", "# 0\n0.png\n3 40 60\n2\n1 0.1 5 6 9 25\n1 0.4 1 1 2 2\n", "from fg_threshold"),
    ("", "0\n0.png\n", "line 1"),
    ("", "", "no windows"),
    ("", "# 4\n0.png\n3 40 60\n2\n1 0.9 5 6 9 25\n1 0.1 1 1 2 2\n", "picture # 4"),
    ("", "# 0\n0.png\n3 40 60\n99999999999\n", "99999999999"),
    ("", "# 0\n0.png\n3 40 60\n2\n1 0.9 5 6 90 25\n1 0.1 1 1 200 200\n", "is not in the picture of 40 x 60"),
    ("context_pad: 2", "# 0\n0.png\n3 40 60\n2\n1 0.9 70 70 80 80\n1 0.1 70 70 80 80\n", "is not in the picture"),
    ("context_pad: 12", None, "context_pad of 12"),
    ("crop_mode: 'round'", None, "warp and square"),
    ("fg_fraction: 1.5", None, "fg_fraction"),
    ("batch_size: 0", None, "batch_size"),
    ("source: 'nowhere'", None, "nowhere"),
]


@pytest.mark.parametrize("parameters, text, word", BROKEN)
def test_invalid_window_files_give_one_error(device, windows, parameters, text, word):
    folder = windows[0]
    if text is not None:
        (folder / "windows.txt").write_text(text)
    for name in ("batch_size", "fg_fraction", "source"):
        if parameters.startswith(name):
            net = (folder / "net.prototxt")
            value = {"batch_size": "batch_size: 4", "fg_fraction": "fg_fraction: 0.5", "source": "source: 'windows.txt'"}
            base = " ".join(v for k, v in value.items() if k != name)
            net.write_text(f"layer {{ name: 'w' type: 'WindowData' top: 'data' top: 'label' window_data_param {{ {base} "
                           f"{parameters} }} transform_param {{ crop_size: {CROP} }} }}")
            with pytest.raises(ferry.Error, match=word):
                ferry.Net(device, net).forward()
            return
    with pytest.raises(ferry.Error, match=word):
        open_net(device, folder, parameters).forward()


def test_crop_size_is_that_of_transform_param(device, windows):
    path = windows[0] / "net.prototxt"
    path.write_text("layer { name: 'w' type: 'WindowData' top: 'data' top: 'label' window_data_param { source: "
                    "'windows.txt' batch_size: 2 crop_size: 24 } }")
    with pytest.raises(ferry.Error, match="crop_size of 0 in transform_param"):
        ferry.Net(device, path)


def test_the_older_form_of_the_layer_is_read(device, windows):
    folder, pictures, objects, background = windows
    path = folder / "net.prototxt"
    path.write_text("layers { name: 'w' type: WINDOW_DATA top: 'data' top: 'label' window_data_param { source: "
                    "'windows.txt' batch_size: 4 crop_size: 24 mirror: true scale: 0.25 fg_fraction: 1 bg_threshold: 0.3"
                    " } }")
    net = ferry.Net(device, path)
    net.forward()
    for item, label in zip(np.array(net.blobs["data"].data), np.array(net.blobs["label"].data)):
        candidates = [w for w in objects if w[1] == label]
        assert best(item, pictures, candidates, True, scale=0.25)[0] <= 0.25 + 1e-4
