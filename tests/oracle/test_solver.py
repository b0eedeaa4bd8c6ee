# SPDX-License-Identifier: BSD-2-Clause
"""Compares the solvers with steps computed by hand, and with Caffe's training runs."""

import os

import numpy as np
import pytest

import oracle
from oracle import caffe_cases

needs_data = pytest.mark.skipif(
    'FERRY_TEST_DATA' not in os.environ, reason='FERRY_TEST_DATA is not set'
)

# y = w·x with x = 2, and the loss is y: the gradient of w is always 2
LAYER = """layer { name: "%s" type: "InnerProduct" bottom: "%s" top: "%s" param { name: "w" %s }
    inner_product_param { num_output: 1 bias_term: false weight_filler { value: 1 } } }"""
LOSS = 'layer { name: "l%s" type: "Reduction" bottom: "%s" top: "l%s" loss_weight: 1 }'
INPUT = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 1 } } }'


def net(spec='', readers='y'):
    text = INPUT
    for y in readers:
        text += LAYER % (y, 'x', y, spec) + LOSS % (y, y, y)
    result = oracle.Net(text, phase='TRAIN')
    result.set_input('x', [[2.0]])
    return result


def after(text, steps, spec='', readers='y'):
    """The weight, 1 at first, after a number of steps with a base_lr of 0.125."""
    made = net(spec, readers)
    solver = oracle.Solver(
        'base_lr: 0.125 ' + ('' if 'lr_policy' in text else 'lr_policy: "fixed" ') + text, made
    )
    for _ in range(steps):
        solver.step()
    return float(made.layers[1].params[0][0, 0])


HAND = [
    # history 0.25, then 0.5·0.25 + 0.25
    ('type: "SGD" momentum: 0.5', (1 - 0.25, 1 - 0.25 - 0.375)),
    # 1.5·0.25; then 1.5·0.375 - 0.5·0.25
    ('type: "Nesterov" momentum: 0.5', (1 - 0.375, 1 - 0.375 - 0.4375)),
    # 0.25 / (√4 + 1), then 0.25 / (√8 + 1)
    ('type: "AdaGrad" delta: 1', (1 - 0.25 / 3, 1 - 0.25 / 3 - 0.25 / (8**0.5 + 1))),
    # mean squares 1, then 0.75·1 + 0.25·4
    (
        'type: "RMSProp" rms_decay: 0.75 delta: 1',
        (1 - 0.25 / 2, 1 - 0.25 / 2 - 0.25 / (1.75**0.5 + 1)),
    ),
    # mean squares 2; update 2·√(1/3), its mean square 2/3; then 3 and 2·√((2/3 + 1) / 4)
    (
        'type: "AdaDelta" momentum: 0.5 delta: 1',
        (1 - 0.125 * 2 / 3**0.5, 1 - 0.125 * 2 / 3**0.5 - 0.125 * 2 * (5 / 12) ** 0.5),
    ),
    # moments 1 and 1; correction √(1/4) / (1/2) = 1. Then 1.5 and 1.75; √(7/16) / (3/4)
    (
        'type: "Adam" momentum: 0.5 momentum2: 0.75 delta: 1',
        (1 - 0.125 / 2, 1 - 0.125 / 2 - 0.125 * (7 / 16) ** 0.5 / 0.75 * 1.5 / (1.75**0.5 + 1)),
    ),
    ('solver_type: NESTEROV momentum: 0.5', (1 - 0.375, 1 - 0.375 - 0.4375)),
    # two passes add up to 4; clipped to 1, halved; the decay is added after: 0.5 + 0.25·1
    ('iter_size: 2 clip_gradients: 1 weight_decay: 0.25', (1 - 0.125 * 0.75, None)),
    ('clip_gradients: 3', (1 - 0.25, None)),
    ('weight_decay: 0.5 regularization_type: "L1"', (1 - 0.125 * 2.5, 1 - 0.125 * 5)),
]


@pytest.mark.parametrize('case', HAND, ids=lambda case: case[0].split()[1].strip('":'))
def test_the_weight_is_the_one_computed_by_hand(case):
    text, weights = case
    for steps, weight in enumerate(weights, 1):
        if weight is not None:
            assert after(text, steps) == pytest.approx(weight, rel=1e-12)


def test_multipliers_scale_the_rate_and_the_decay():
    assert after('weight_decay: 0.5', 1, 'lr_mult: 2 decay_mult: 3') == 1 - 0.25 * (2 + 1.5)
    assert after('', 1, 'lr_mult: 0') == 1


def test_a_shared_parameter_moves_once_by_the_sum_of_its_gradients():
    assert after('', 1, readers='yz') == 1 - 0.125 * 4


def test_a_second_sharer_with_another_multiplier_is_refused():
    text = INPUT + LAYER % ('y', 'x', 'y', 'lr_mult: 1') + LAYER % ('z', 'x', 'z', 'lr_mult: 2')
    with pytest.raises(oracle.NetError, match='lr_mult'):
        oracle.Net(text)


RATES = [
    ('lr_policy: "fixed"', (1, 1, 1, 1)),
    ('lr_policy: "step" stepsize: 2 gamma: 0.5', (1, 1, 0.5, 0.5)),
    ('lr_policy: "exp" gamma: 0.5', (1, 0.5, 0.25, 0.125)),
    ('lr_policy: "inv" gamma: 1 power: 2', (1, 1 / 4, 1 / 9, 1 / 16)),
    # both values are reached at 1; one step per iteration
    ('lr_policy: "multistep" stepvalue: 1 stepvalue: 1 gamma: 0.5', (1, 0.5, 0.25, 0.25)),
    ('lr_policy: "poly" power: 2 max_iter: 4', (1, 9 / 16, 1 / 4, 1 / 16)),
    (
        'lr_policy: "sigmoid" gamma: 1 stepsize: 1',
        tuple(1 / (1 + np.exp(1.0 - t)) for t in range(4)),
    ),
]


@pytest.mark.parametrize('case', RATES, ids=lambda case: case[0].split()[1].strip('"'))
def test_the_rate_follows_its_policy(case):
    solver = oracle.Solver('base_lr: 1 ' + case[0], net())
    for rate in case[1]:
        assert solver.rate() == pytest.approx(rate, rel=1e-12)
        solver.iter += 1


# ---- compared with Caffe -----------------------------------------------------------------------


def run_folder(name):
    return os.path.join(caffe_cases.folder(), 'train', name)


@needs_data
@pytest.mark.parametrize('policy', 'exp fixed inv multistep poly sigmoid step'.split())
def test_the_rates_are_those_of_caffes_runs(policy):
    with open(os.path.join(run_folder('policy_' + policy), 'solver.prototxt')) as file:
        solver = oracle.Solver(file.read(), net())
    for rate in np.load(os.path.join(run_folder('policy_' + policy), 'run.npz'))['lr']:
        assert solver.rate() == pytest.approx(rate, rel=2e-6)
        solver.iter += 1


def rows(path):
    """The first rows of the training data, for at least ten iterations."""
    h5py = pytest.importorskip('h5py')
    with h5py.File(os.path.join(path, 'train_a.h5'), 'r') as file:
        return file['data'][:1500].astype(float), file['label'][:1500].astype(float)


@needs_data
@pytest.mark.parametrize('run', ('sgd_smooth', 'adam'))
def test_iterations_train_as_caffes(run):
    path = run_folder('')
    data, labels = rows(path)
    numbers = np.load(os.path.join(run_folder(run), 'run.npz'))
    model = 'lenet_smooth' if 'smooth' in run else 'lenet_small'
    with open(os.path.join(path, model + '.prototxt')) as file:
        text = file.read()
    batch = int(text.split('batch_size:')[1].split()[0])
    shapes = {'data': data[:batch].shape, 'label': labels[:batch].shape}
    made = oracle.Net(text, phase='TRAIN', shapes=shapes)
    weights = model + '.caffemodel' if 'smooth' in run else 'init.caffemodel'
    caffe_cases.load(made, os.path.join(path, weights))
    at = [0]

    def feed(fed):
        part = slice(at[0], at[0] + batch)
        at[0] += batch
        fed.set_input('data', data[part])
        fed.set_input('label', labels[part])

    with open(os.path.join(run_folder(run), 'solver.prototxt')) as file:
        solver = oracle.Solver(file.read(), made, feed)
    # FERRY_TEST_QUICK=2, as in `make check`: the losses of the first three
    short = os.environ.get('FERRY_TEST_QUICK') == '2'
    for i in range(3 if short else 10):
        assert solver.step() == pytest.approx(float(numbers['loss'][i]), abs=1e-5)
        if i == 0:
            for j, param in enumerate(made.learnable):
                assert caffe_cases.beside(param.diff.v, numbers['grad0_%d' % j]) < 1e-5
    if short:
        return
    for j, param in enumerate(made.learnable):
        assert caffe_cases.beside(param.data, numbers['w10_%d' % j]) < 1e-4
