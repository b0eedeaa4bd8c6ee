#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the pictures of this folder, and opencv.npz: OpenCV's pixels of each picture, and of some after
resizing.

Run once, with opencv-python-headless 4.14.0.94, Pillow and numpy, in this folder."""
import io
import struct
import zlib

import cv2
import numpy as np
from PIL import Image

H, W = 9, 13
rng = np.random.default_rng(7)
y, x = np.mgrid[0:H, 0:W]
rgb = np.stack([x * 19, y * 27, 255 - x * 10 - y * 7], -1).astype(np.uint8)
rgb[2:5, 3:6] = rng.integers(0, 256, (3, 3, 3))
alpha = ((x + y) * 12).astype(np.uint8)
gray = rgb[..., 1] ^ rgb[..., 0]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(name, depth, color, rows, *chunks):
    """Makes a PNG from packed rows, for formats that Pillow does not write."""
    body = b"".join(b"\0" + row for row in rows)
    with open(name, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", W, H, depth, color, 0, 0, 0)))
        f.write(b"".join(chunks) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b""))


def packed(values, bits):
    wide = [[(v >> b) & 1 for v in row for b in range(bits - 1, -1, -1)] for row in values.tolist()]
    return [np.packbits(row).tobytes() for row in wide]


Image.fromarray(rgb).save("rgb.png")
Image.fromarray(gray).save("gray.png")
Image.fromarray(np.dstack([rgb, alpha])).save("rgba.png")
Image.fromarray(np.dstack([gray, alpha])).save("graya.png")
palette = rng.integers(0, 256, 16 * 3, dtype=np.uint8).tobytes()
index = ((x * 3 + y) % 16).astype(int)
png("palette.png", 4, 3, packed(index, 4), chunk(b"PLTE", palette))
png("palette_alpha.png", 4, 3, packed(index, 4), chunk(b"PLTE", palette), chunk(b"tRNS", bytes(range(0, 160, 10))))
png("gray1.png", 1, 0, packed(index & 1, 1))
png("gray2.png", 2, 0, packed(index & 3, 2))
deep = (rgb.astype(np.uint32) * 257 + rng.integers(0, 200, rgb.shape)).clip(0, 65535)
png("rgb16.png", 16, 2, [row.astype(">u2").tobytes() for row in deep])
png("gray16.png", 16, 0, [row.astype(">u2").tobytes() for row in deep[..., 1]])
png("gamma.png", 8, 2, [row.tobytes() for row in rgb], chunk(b"gAMA", struct.pack(">I", 45455)))
# interlaced: seven passes
passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
body = b"".join(b"\0" + row.tobytes() for a, b, c, d in passes for row in rgb[a::c, b::d] if row.size)
with open("interlaced.png", "wb") as f:
    f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", W, H, 8, 2, 0, 0, 1)))
    f.write(chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b""))

pil = Image.fromarray(rgb)
pil.save("rgb444.jpg", quality=92, subsampling=0)
pil.save("rgb420.jpg", quality=85, subsampling=2)
pil.save("progressive.jpg", quality=85, progressive=True)
Image.fromarray(gray).save("gray.jpg", quality=90)
pil.convert("CMYK").save("cmyk.jpg", quality=95)
exif = Image.Exif()
exif[0x0112] = 6  # to be turned by 90 degrees
pil.save("turned.jpg", quality=92, subsampling=0, exif=exif)

out = {}
names = ["rgb.png gray.png rgba.png graya.png palette.png palette_alpha.png gray1.png gray2.png rgb16.png",
         "gray16.png gamma.png interlaced.png rgb444.jpg rgb420.jpg progressive.jpg gray.jpg cmyk.jpg turned.jpg"]
for name in " ".join(names).split():
    color = cv2.imread(name, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    out[name + "/3"] = color.transpose(2, 0, 1).copy()
    out[name + "/1"] = cv2.imread(name, cv2.IMREAD_GRAYSCALE | cv2.IMREAD_IGNORE_ORIENTATION)[None]
bgr = rgb[..., ::-1].copy()
for h, w in (20, 31), (4, 5), (9, 30), (1, 1), (100, 3):
    out[f"resize/{h}x{w}"] = cv2.resize(bgr.astype(np.float32), (w, h), interpolation=cv2.INTER_LINEAR).transpose(2, 0, 1).copy()
    out[f"resize_u8/{h}x{w}"] = cv2.resize(bgr, (w, h), interpolation=cv2.INTER_LINEAR).transpose(2, 0, 1).copy()
mean = (10.0, 20.0, 30.0)
out["blob"] = cv2.dnn.blobFromImage(bgr, 1 / 58.8, (7, 8), mean, swapRB=False, crop=False)
out["blob_crop"] = cv2.dnn.blobFromImage(bgr, 1 / 58.8, (7, 8), mean, swapRB=False, crop=True)
out["blob_swap"] = cv2.dnn.blobFromImage(bgr, 2.0, (7, 8), mean[::-1], swapRB=True, crop=False)
np.savez("opencv.npz", **out)
