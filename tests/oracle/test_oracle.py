# SPDX-License-Identifier: BSD-2-Clause
"""Compares the oracle's layers with Caffe's numbers, finite differences and small cases computed by hand."""

import os

import numpy as np
import pytest

import oracle
from oracle import caffe_cases

needs_data = pytest.mark.skipif(
    'FERRY_TEST_DATA' not in os.environ, reason='FERRY_TEST_DATA is not set'
)
LIMIT = 1e-5  # relative to a blob's largest value: the error of Caffe's own float32


# ---- compared with Caffe -----------------------------------------------------------------------


@needs_data
def test_each_layer_case_has_caffes_numbers():
    cases = caffe_cases.cases()
    worst = ('', 0)
    for case in cases:
        for key, (difference, share) in caffe_cases.layer_case(case).items():
            assert difference < LIMIT, '%s: %s differs by %g' % (case['name'], key, difference)
            assert share <= 1, '%s: %s is beyond the bound by %g' % (case['name'], key, share)
            worst = max(
                worst, ('%s %s' % (case['name'], key), difference), key=lambda pair: pair[1]
            )
    print(
        '%d cases; the largest difference: %s, %.2g of the largest value' % ((len(cases),) + worst)
    )
    assert len(cases) >= 141


@needs_data
@pytest.mark.parametrize('model', caffe_cases.MODELS, ids=lambda model: model[1])
def test_each_small_model_has_caffes_numbers_within_the_bounds(model):
    differences, shares = caffe_cases.model_case(model)
    assert differences and max(differences.values()) < LIMIT
    assert max(shares.values()) < 1


@needs_data
@pytest.mark.parametrize('name', caffe_cases.REFERENCES)
def test_each_stored_reference_is_reproduced(name):
    assert caffe_cases.reference_case(name) < LIMIT


def test_the_bilinear_filler_is_caffes_tent():
    filler = oracle.parse('type: "bilinear"')
    side = np.array([0.25, 0.75, 0.75, 0.25])  # f = 2, c = 3/4
    np.testing.assert_allclose(oracle.fill(filler, (2, 1, 4, 4))[1, 0], np.outer(side, side))
