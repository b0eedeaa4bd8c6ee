# SPDX-License-Identifier: BSD-2-Clause
"""Caffe's own outputs, blob by blob, computed by a few lines as in scripts for pycaffe. The models are not in
the repository: FERRY_TEST_DATA names their folder."""

import os

import numpy as np
import pytest

import ferry.caffe as caffe

FOLDER = os.path.join(os.environ.get("FERRY_TEST_DATA") or "/nowhere", "nets")
CASES = (("lenet", "lenet", "lenet_iter_10000", "mnist16"), ("mtcnn", "det1", "det1", "det1"),
         ("mtcnn", "det2", "det2", "det2"), ("mtcnn", "det3", "det3", "det3"),
         ("squeezenet_dc", "SqueezeNet_deploy", "squeezenet_v1.0_decoded", "rand_64"))

pytestmark = pytest.mark.skipif(not os.path.isdir(FOLDER), reason="FERRY_TEST_DATA names no folder of models")


@pytest.mark.parametrize("folder, prototxt, model, case", CASES, ids=[case[1] for case in CASES])
def test_every_blob_matches_caffe(folder, prototxt, model, case):
    at = os.path.join(FOLDER, folder)
    net = caffe.Net(os.path.join(at, prototxt + ".prototxt"), os.path.join(at, model + ".caffemodel"), caffe.TEST)
    stored = np.load(os.path.join(at, case + ".npz"))
    for key in (key for key in stored.files if key.startswith("input/")):
        net.blobs[key[len("input/"):]].reshape(*stored[key].shape)
        net.blobs[key[len("input/"):]].data[...] = stored[key]
    net.forward()
    names = [key[len("blob/"):] for key in stored.files if key.startswith("blob/")]
    assert names
    for name in names:
        want, have = stored["blob/" + name], net.blobs[name].data
        assert have.shape == want.shape
        assert np.abs(have - want).max() <= 1e-4 * np.abs(want).max(), name
