# SPDX-License-Identifier: BSD-2-Clause
"""Compares the oracle with Caffe's own numbers: single layers, forward and backward, and small models."""

import json
import os

import numpy as np

from . import wire
from .graph import Net
from .real import Real, real, rounded, zeros


def folder():
    return os.path.join(os.environ['FERRY_TEST_DATA'], 'nets')


def cases():
    with open(os.path.join(folder(), 'layers', 'cases.json')) as file:
        return json.load(file)


def beside(found, wanted):
    """The largest difference over the largest value; two NaNs are equal."""
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    assert found.size == wanted.size, '%s beside %s' % (found.shape, wanted.shape)
    found = found.reshape(wanted.shape)
    both = np.isnan(found) & np.isnan(wanted)
    apart = np.where(both | (found == wanted), 0, abs(found - wanted))
    largest = np.nanmax(np.where(np.isfinite(wanted), abs(wanted), 0), initial=0)
    return np.max(apart, initial=0) / (largest or 1)


def share(found, wanted):
    """The largest fraction of its bound that the error of a float32 result reaches."""
    wanted = np.asarray(wanted, np.float64).reshape(found.v.shape)
    apart = abs(found.v - wanted)
    shares = np.where((apart == 0) | np.isnan(wanted), 0, apart / np.maximum(found.e, 1e-300))
    return float(np.max(shares, initial=0))


def both(found, wanted):
    """(difference, fraction of the bound)."""
    found = rounded(found)
    return beside(found.v, wanted), share(found, wanted)


def node_of(case):
    with open(os.path.join(folder(), 'layers', case['name'] + '.prototxt')) as file:
        net = Net(file.read(), phase=case['phase'])
    return next(node for node in net.nodes if node.layer.name == 'l')


def needs_of(case, count):
    flags = case['propagate_down']
    return [True] * count if flags == 'all' else [flag == '1' for flag in flags]


def layer_case(case):
    """key -> (difference, fraction of the bound), for each array that Caffe wrote for the case."""
    data = np.load(os.path.join(folder(), 'layers', case['name'] + '.npz'))
    node = node_of(case)
    layer, n = node.layer, len(node.bottoms)
    for i, param in enumerate(layer.blobs):
        param.data[...] = data['param%d' % i].reshape(param.data.shape)
        param.needed = True
    result = {}
    with np.errstate(all='ignore'):
        for run in range(1, case['forward_runs'] + 1):
            keys = ['bottom%d_run%d' % (i, run) if run > 1 else 'bottom%d' % i for i in range(n)]
            bottoms = [
                real(data[key if key in data else 'bottom%d' % i]) for i, key in enumerate(keys)
            ]
            tops = layer.forward(bottoms)
            for i, top in enumerate(tops):
                key = 'top%d_run%d' % (i, run) if run < case['forward_runs'] else 'top%d' % i
                if key in data:
                    result[key] = both(top, data[key])
        for i, param in enumerate(layer.blobs):
            if 'param%d_after' % i in data:
                result['param%d_after' % i] = beside(param.data, data['param%d_after' % i]), 0
        if case['propagate_down'] != 'none':
            diffs_of(case, node, tops, bottoms, data, result)
    return result


def diffs_of(case, node, tops, bottoms, data, result):
    layer = node.layer
    given = [
        data['top%d_diff' % i] if 'top%d_diff' % i in data else zeros(t.shape).v
        for i, t in enumerate(tops)
    ]
    if case['inplace'] and not layer.keeps:
        bottoms = [tops[0]] + bottoms[1:]
    needs = needs_of(case, len(bottoms))
    diffs = [real(np.reshape(g, t.shape)) for g, t in zip(given, tops)]
    for i, (need, diff) in enumerate(zip(needs, layer.backward(tops, diffs, bottoms, needs))):
        key = 'bottom%d_diff' % i
        if need and key in data and diff is not None:
            wanted = data[key]
            if layer.type == 'HingeLoss':
                # its forward pass stores the margins in the bottom's diff, which was overwritten before this
                # backward pass: where the margin is 0, the numbers are meaningless
                wanted = np.where(diff.v == 0, 0, wanted)
            result[key] = both(diff, wanted)
        elif need and key in data and key not in case.get('never_written', ''):
            assert not data[key].any(), '%s is missing' % key
    for i, param in enumerate(layer.blobs):
        key = 'param%d_diff' % i
        if key in data:
            found = param.gradient()
            result[key] = both(found or zeros(param.data.shape), data[key])


MODELS = (
    ('lenet/lenet.prototxt', 'lenet/lenet_iter_10000.caffemodel', 'lenet/mnist16.npz'),
    (
        'cifar10_quick/cifar10_quick.prototxt',
        'cifar10_quick/cifar10_quick_iter_5000.caffemodel',
        'cifar10_quick/rand4.npz',
    ),
    ('mtcnn/det1.prototxt', 'mtcnn/det1.caffemodel', 'mtcnn/det1.npz'),
    ('mtcnn/det2.prototxt', 'mtcnn/det2.caffemodel', 'mtcnn/det2.npz'),
    ('mtcnn/det3.prototxt', 'mtcnn/det3.caffemodel', 'mtcnn/det3.npz'),
    ('mtcnn/det4.prototxt', 'mtcnn/det4.caffemodel', 'mtcnn/det4.npz'),
)


def load(net, path):
    """Copies a model's weights into the layers of the same names; shapes in old files have leading ones."""
    for name, blobs in wire.read_weights(path).items():
        if any(layer.name == name and layer.params for layer in net.layers):
            for i, blob in enumerate(blobs):
                net.set_param(name, i, blob)


def model_case(model):
    """blob -> difference, and blob -> the largest fraction of its bound that Caffe's float32 error reaches."""
    text, weights, numbers = (os.path.join(folder(), path) for path in model)
    data = np.load(numbers)
    inputs = {key[6:]: data[key] for key in data.files if key.startswith('input/')}
    with open(text) as file:
        net = Net(file.read(), shapes={name: array.shape for name, array in inputs.items()})
    load(net, weights)
    for name, array in inputs.items():
        net.set_input(name, array)
    net.forward()
    blobs, bounds, differences, shares = net.blobs, net.bounds, {}, {}
    for key in data.files:
        name = key[5:]
        if key.startswith('blob/') and name in blobs:
            differences[name] = beside(blobs[name], data[key])
            shares[name] = share(Real(blobs[name], bounds[name]), data[key])
    return differences, shares


REFERENCES = {
    # opencv_caffe_refs: the model, its weights, its input unless it is blob.npy, the output
    'layer_convolution': True,
    'layer_deconvolution': True,
    'layer_inner_product': True,
    'layer_lrn_channels': False,
    'layer_lrn_spatial': False,
    'layer_mvn': False,
    'layer_pooling_ave': False,
    'layer_pooling_max': False,
    'layer_softmax': False,
}


def reference_case(name):
    """The difference from the output of Caffe's layer that OpenCV's tests contain."""
    path = os.path.join(folder(), 'opencv_caffe_refs', name)
    own = path + '.input.npy'
    given = np.load(own if os.path.exists(own) else os.path.join(os.path.dirname(path), 'blob.npy'))
    with open(path + '.prototxt') as file:
        text = file.read()
    net = Net(text, shapes={'input': given.shape})
    if REFERENCES[name]:
        load(net, path + '.caffemodel')
    net.set_input(net.inputs[0], given)
    net.forward()
    return beside(net.blobs[net.outputs[0]], np.load(path + '.npy'))
