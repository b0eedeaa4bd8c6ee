# SPDX-License-Identifier: BSD-2-Clause
"""Compares each layer's backward pass with finite differences of its forward pass, in float64."""

import zlib

import numpy as np
import pytest

import oracle
from oracle.real import real

STEP = 1e-6
LIMIT = 2e-6
LIMITS = {'ContrastiveLoss': 1e-3}  # it divides by d + 1e-4

# TYPE, its parameters, the bottoms. A bottom is a shape, after a letter for its contents: none: any values;
# +: above 0.2; i3: integers below 3; c: 0 or 1, the first 0
CASES = [
    ('AbsVal', '', '2,3,4'),
    ('Axpy', '', '2,3,1,1 2,3,4,2 2,3,4,2'),
    ('BN', 'bn_param { }', '3,2,4,3'),
    ('BN', 'bn_param { bn_mode: INFERENCE }', '3,2,4,3'),
    ('BNLL', '', '2,3,4'),
    ('BatchNorm', 'batch_norm_param { use_global_stats: false }', '3,2,4'),
    ('BatchNorm', 'batch_norm_param { use_global_stats: true scale_bias: true }', '3,2,4'),
    ('BatchNorm', 'batch_norm_param { use_global_stats: false scale_bias: true }', '3,4'),
    ('BatchReindex', '', '4,3,2 i4:5'),
    ('Bias', 'bias_param { axis: 0 num_axes: -1 }', '2,3,4'),
    ('Binary', '', '2,3,1 4'),
    ('Binary', 'binary_param { operation: SUBTRACT }', '1,3,4 2,1,4'),
    ('Binary', 'binary_param { operation: MULTIPLY }', '2,1,3 2,4,1'),
    ('Binary', 'binary_param { operation: DIVIDE }', '2,1,3 +:2,4,1'),
    ('Bias', 'bias_param { axis: 1 }', '2,3,4 3,4'),
    ('Bias', 'bias_param { num_axes: 0 }', '2,3,4'),
    ('Clip', 'clip_param { min: -0.5 max: 0.7 }', '2,3,4'),
    ('Concat', 'concat_param { axis: -2 }', '2,3,4 2,1,4 2,2,4'),
    ('ContrastiveLoss', 'contrastive_loss_param { margin: 2 }', '4,3 4,3 c:4'),
    ('ContrastiveLoss', 'contrastive_loss_param { margin: 9 legacy_version: true }', '4,3 4,3 c:4'),
    (
        'Convolution',
        'convolution_param { num_output: 4 kernel_size: 3 pad: 1 stride: 2 group: 2 }',
        '2,4,5,6',
    ),
    (
        'Convolution',
        'convolution_param { num_output: 2 kernel_h: 2 kernel_w: 3 dilation: 2 pad: 2 '
        'bias_term: false }',
        '2,3,5,6 2,3,5,6',
    ),
    (
        'Convolution',
        'convolution_param { num_output: 2 kernel_size: 2 kernel_size: 1 kernel_size: 3 }',
        '1,2,3,2,4',
    ),
    ('Convolution', 'convolution_param { num_output: 3 kernel_size: 1 }', '2,4'),
    ('Convolution', 'convolution_param { axis: 2 num_output: 3 kernel_size: 2 }', '2,2,3,4'),
    (
        'ConvolutionDepthwise',
        'convolution_param { num_output: 3 kernel_size: 3 stride: 2 pad: 1 }',
        '2,3,5,4',
    ),
    ('Crop', 'crop_param { axis: 2 offset: 1 offset: 0 }', '2,3,4,5 1,1,2,3'),
    (
        'Deconvolution',
        'convolution_param { num_output: 4 kernel_size: 3 stride: 2 pad: 1 group: 2 dilation: 2 }',
        '2,2,3,4',
    ),
    ('Deconvolution', 'convolution_param { num_output: 2 kernel_size: 3 }', '1,2,3,2,3'),
    ('Dropout', '', '2,3'),
    ('ELU', 'elu_param { alpha: 0.7 }', '2,3,4'),
    ('ELU', 'elu_param { alpha: -0.7 }', '2,3,4'),
    ('Eltwise', 'eltwise_param { coeff: 2 coeff: -1 coeff: 0.5 }', '2,3 2,3 2,3'),
    ('Eltwise', 'eltwise_param { operation: PROD }', '2,3 2,3 2,3'),
    ('Eltwise', 'eltwise_param { operation: PROD stable_prod_grad: false }', '+:2,3 +:2,3'),
    ('Eltwise', 'eltwise_param { operation: MAX }', '2,3 2,3 2,3'),
    ('Embed', 'embed_param { num_output: 3 input_dim: 4 }', 'i4:2,3'),
    ('EuclideanLoss', '', '3,4 3,2,2'),
    ('Exp', 'exp_param { base: 2 scale: 0.5 shift: 0.3 }', '2,3'),
    ('Filter', '', '3,2 3,2,2 c:3'),
    ('Flatten', 'flatten_param { axis: -2 }', '2,3,4'),
    ('HingeLoss', '', '4,5 i5:4'),
    ('HingeLoss', 'hinge_loss_param { norm: L2 }', '4,5,1,1 i5:4'),
    ('Im2col', 'convolution_param { kernel_size: 3 pad: 1 stride: 2 dilation: 1 }', '2,3,5,4'),
    ('InfogainLoss', '', '4,3,2 i3:4,2 3,3'),
    ('InnerProduct', 'inner_product_param { num_output: 4 axis: -2 }', '2,3,2,3'),
    ('InnerProduct', 'inner_product_param { num_output: 4 transpose: true }', '2,3'),
    ('InnerProduct', 'inner_product_param { num_output: 2 axis: 0 }', '3,2'),
    ('Interp', 'interp_param { height: 5 width: 3 }', '2,2,3,7'),
    ('Interp', 'interp_param { zoom_factor: 2 pad_beg: -1 }', '1,2,4,5'),
    ('Interp', 'interp_param { shrink_factor: 2 }', '1,2,4,5'),
    ('LRN', 'lrn_param { local_size: 3 alpha: 2 beta: 0.6 k: 1.5 }', '2,5,2,3'),
    ('LRN', 'lrn_param { local_size: 3 alpha: 2 norm_region: WITHIN_CHANNEL }', '2,2,4,5'),
    ('LSTM', 'recurrent_param { num_output: 3 }', '4,2,3 c:4,2'),
    ('LSTM', 'recurrent_param { num_output: 2 }', '3,2,2,2 c:3,2 2,3'),
    ('LSTMUnit', '', '1,2,3 1,2,12 c:1,2'),
    ('LayerNorm', '', '2,3,4'),
    ('LayerNorm', 'layer_norm_param { axis: -1 eps: 0.1 }', '2,3,4'),
    ('LogSoftmax', 'softmax_param { axis: -1 }', '2,3,4'),
    ('Log', 'log_param { base: 2 scale: 0.5 shift: 0.3 }', '+:2,3'),
    ('MVN', '', '2,3,4,2'),
    ('MVN', 'mvn_param { across_channels: true normalize_variance: false }', '2,3,4,2'),
    ('MultinomialLogisticLoss', '', '+:4,3 i3:4'),
    ('Normalize', '', '2,3,2,2'),
    ('Normalize', 'norm_param { across_spatial: false }', '2,3,2,2'),
    ('PReLU', '', '2,3,4'),
    ('PReLU', 'prelu_param { channel_shared: true }', '2,3,4'),
    (
        'PSROIPooling',
        'psroi_pooling_param { spatial_scale: 0.5 output_dim: 2 group_size: 2 }',
        '2,8,5,6 r:3,5',
    ),
    ('Pad', 'pad_param { begin: 1 begin: -1 begin: 0 end: 0 end: 1 end: 2 value: 3 }', '2,3,4'),
    ('Parameter', 'parameter_param { shape { dim: 2 dim: 3 } }', ''),
    ('Permute', 'permute_param { order: 2 order: 0 }', '2,3,4,2'),
    ('Pooling', 'pooling_param { kernel_size: 3 stride: 2 pad: 1 }', '2,2,6,5'),
    (
        'Pooling',
        'pooling_param { pool: AVE kernel_h: 3 kernel_w: 2 stride: 2 pad_h: 1 pad_w: 0 }',
        '2,2,6,5',
    ),
    ('Pooling', 'pooling_param { pool: AVE global_pooling: true }', '2,2,3,4'),
    ('Power', 'power_param { power: 2 scale: 0.5 shift: 0.3 }', '2,3'),
    ('Power', 'power_param { power: 1.5 scale: 0.5 shift: 0.3 }', '+:2,3'),
    ('Power', 'power_param { power: -0.5 }', '+:2,3'),
    ('Power', 'power_param { power: 0 }', '2,3'),
    ('RNN', 'recurrent_param { num_output: 3 }', '4,2,3 c:4,2'),
    ('RNN', 'recurrent_param { num_output: 2 }', '3,2,2 c:3,2 2,2,2'),
    (
        'ROIPooling',
        'roi_pooling_param { pooled_h: 2 pooled_w: 3 spatial_scale: 0.5 }',
        '2,2,5,6 r:3,5',
    ),
    ('ReLU', 'relu_param { negative_slope: 0.1 }', '2,3,4'),
    ('ReLU6', '', '2,3,4'),
    ('Reduce', 'reduce_param { axis: 0 axis: -1 }', '2,3,4'),
    ('Reduce', 'reduce_param { operation: MEAN axis: 1 keep_axes: false }', '2,3,4'),
    ('Reduce', 'reduce_param { operation: ASUM axis: 1 axis: 2 }', '2,3,4'),
    ('Reduce', 'reduce_param { operation: SUMSQ axis: 2 keep_axes: false }', '2,3,4'),
    ('Reduction', 'reduction_param { operation: ASUM axis: 1 coeff: 2 }', '2,3,4'),
    ('Reduction', 'reduction_param { operation: SUMSQ }', '2,3'),
    ('Reduction', 'reduction_param { operation: MEAN axis: -1 coeff: 3 }', '2,3,4'),
    ('Reshape', 'reshape_param { shape { dim: 0 dim: -1 } axis: 1 }', '2,3,4'),
    ('Resize', 'resize_param { axis: 2 axis: 3 size: 4 size: 7 }', '2,2,2,3'),
    ('Resize', 'resize_param { axis: 2 axis: 3 scale: 1.7 scale: 0.6 method: LINEAR }', '2,2,3,5'),
    (
        'Resize',
        'resize_param { axis: 1 size: 5 method: CUBIC sampling: ALIGN_CORNERS }',
        '2,4,3',
    ),
    ('SPP', 'spp_param { pyramid_height: 3 }', '2,2,7,6'),
    ('SPP', 'spp_param { pyramid_height: 2 pool: AVE }', '2,2,5,6'),
    ('Scale', 'scale_param { axis: 1 num_axes: 2 bias_term: true }', '2,3,4,2'),
    ('Scale', 'scale_param { axis: 0 bias_term: true }', '2,3,4 2,3'),
    ('Scale', 'scale_param { num_axes: 0 }', '2,3,4'),
    ('Scale', 'scale_param { axis: 0 num_axes: -1 }', '2,3'),
    ('ShuffleChannel', 'shuffle_channel_param { group: 2 }', '2,6,3'),
    ('Sigmoid', '', '2,3'),
    ('SigmoidCrossEntropyLoss', 'loss_param { ignore_label: 1 normalization: VALID }', '3,4 c:3,4'),
    ('Slice', 'slice_param { slice_point: 1 axis: -1 }', '2,3,4'),
    ('Softmax', 'softmax_param { axis: -2 }', '2,3,4'),
    ('SoftmaxWithLoss', 'loss_param { ignore_label: 1 normalization: FULL }', '3,4,2 i4:3,2'),
    (
        'SoftmaxWithLoss',
        'softmax_param { axis: 2 } loss_param { normalize: false }',
        '3,2,4 i4:3,2',
    ),
    ('Split', '', '2,3'),
    ('Swish', 'swish_param { beta: 1.5 }', '2,3'),
    ('Softplus', '', '2,3,4'),
    ('Softsign', '', '2,3,4'),
    ('Mish', '', '2,3,4'),
    ('HardSigmoid', '', '2,3,4'),
    ('HSigmoid', '', '2,3,4'),
    ('HardSwish', '', '2,3,4'),
    ('HSwish', '', '2,3,4'),
    ('GELU', '', '2,3,4'),
    ('TanH', '', '2,3'),
    ('Tile', 'tile_param { axis: 1 tiles: 3 }', '2,3,4'),
    ('Upsample', '', '2,3,2,3'),
    ('Upsample', '', '1,2,2,2 m:1,2,2,2'),
    (
        'StridedSlice',
        'strided_slice_param { axis: 0 axis: 2 begin: 1 begin: -4 end: 9 end: 4 step: 1 step: 2 }',
        '3,2,5',
    ),
]
TOPS = {'Filter': 2, 'Split': 2, 'Slice': 2, 'LSTMUnit': 2}
# bottoms without a gradient: labels, indices, conts, regions
WITHOUT = ('i', 'c', 'r', 'm')


def values(kind, shape, random):
    if kind.startswith('i'):
        return random.randint(0, int(kind[1:]), shape).astype(float)
    if kind == 'c':
        flags = np.ones(shape)
        flags.flat[:: max(flags.size // 2, 2)] = 0
        return flags
    if kind == 'm':
        return np.broadcast_to(np.array([[0, 3], [9, 14]], float), shape).copy()
    if kind == 'r':
        return np.array([[1, 0, 1, 7, 6], [0, 2, 2, 9, 9], [1, 5, 4, 5, 4]], float)
    # more than a step apart and away from 0, so that no maximum and no kink is near
    spread = random.permutation(int(np.prod(shape))) + 0.5
    spread = (spread / spread.size * 2 + 0.2).reshape(shape)
    return spread if kind == '+' else np.where(spread > 1.2, spread - 1.1, spread - 1.45)


def build(kind, parameters, bottoms):
    """The layer, and its bottoms as (kind, array)."""
    given, text = [], ''
    random = np.random.RandomState(zlib.crc32((kind + parameters + bottoms).encode()))
    for i, bottom in enumerate(bottoms.split()):
        what, _, shape = bottom.rpartition(':')
        shape = tuple(map(int, shape.split(',')))
        array = values(what, shape, random)
        # the values of different bottoms differ
        given.append((what, array + 0.013 * (i + 1) if what in ('', '+') else array))
        text += 'layer { name: "x%d" type: "Input" top: "x%d" input_param { shape { %s } } }' % (
            i,
            i,
            ' '.join('dim: %d' % n for n in shape),
        )
    names = ' '.join('bottom: "x%d"' % i for i in range(len(given)))
    tops = ' '.join(
        'top: "y%d"' % i for i in range(TOPS.get(kind, len(given) if kind == 'Convolution' else 1))
    )
    text += 'layer { name: "l" type: "%s" %s %s %s }' % (kind, names, tops, parameters)
    # only Dropout needs TEST; use_global_stats selects the statistics
    layer = next(layer for layer in oracle.Net(text).layers if layer.name == 'l')
    for i, param in enumerate(layer.blobs):
        param.data[...] = values(
            '+' if kind in ('BatchNorm', 'Normalize') else '', param.data.shape, random
        )
        param.needed = True
        if kind == 'Normalize':
            param.data[...] = 1.5
    return layer, given, random


def run(layer, arrays):
    layer.state = None  # resets a recurrent layer
    with np.errstate(all='ignore'):
        return layer.forward([real(a) for a in arrays])


def difference_quotient(layer, arrays, target, diffs):
    """The gradient of Σ diff·top by `target`, one of the bottoms or parameters."""
    saved = [param.data.copy() for param in layer.blobs]
    result = np.zeros(target.shape)
    for at in np.ndindex(*target.shape):
        sums, original = [], target[at]
        for step in (STEP, -STEP):
            target[at] = original + step
            sums.append(sum((d * t.v).sum() for d, t in zip(diffs, run(layer, arrays))))
            for param, data in zip(layer.blobs, saved):
                param.data[...] = data  # each pass changes the statistics
        target[at] = original
        result[at] = (sums[0] - sums[1]) / (2 * STEP)
    return result


def name_of(case):
    return '%s-%03d' % (case[0], zlib.crc32(repr(case).encode()) % 1000)


@pytest.mark.parametrize('case', CASES, ids=name_of)
def test_the_backward_pass_is_the_gradient(case):
    layer, given, random = build(*case)
    arrays = [array for _, array in given]
    needs = [kind[:1] not in WITHOUT for kind, _ in given]
    if case[0] == 'InfogainLoss':
        needs[2] = False
    saved = [param.data.copy() for param in layer.blobs]
    tops = run(layer, arrays)
    for param, data in zip(layer.blobs, saved):
        param.data[...] = data
    diffs = [random.uniform(0.5, 1.5, top.shape) for top in tops]
    bottoms = [real(a) for a in arrays]
    found = layer.backward(tops, [real(d) for d in diffs], bottoms, needs)
    learned = [
        (param.data, param.gradient()) for param in layer.blobs if param.gradient() is not None
    ]
    assert len(learned) == len(layer.blobs) or case[0] == 'BatchNorm'
    for i, (array, need) in enumerate(zip(arrays, needs)):
        if not need:
            assert found[i] is None
        elif case[0] == 'Crop' and i == 1:
            assert not found[i].v.any()
        else:
            learned.append((array, found[i]))
    for target, gradient in learned:
        assert gradient.shape == target.shape and np.isfinite(gradient.e).all()
        wanted = difference_quotient(layer, arrays, target, diffs)
        limit = LIMITS.get(case[0], LIMIT)
        apart = limit * max(1, abs(wanted).max())
        np.testing.assert_allclose(gradient.v, wanted, atol=apart, rtol=limit)


def test_every_type_with_a_gradient_has_a_case():
    without = 'Accuracy ArgMax Data DetectionOutput DummyData HDF5Data HDF5Output ImageData Input'
    without += ' MemoryData PriorBox Proposal Silence Threshold WindowData DepthwiseConvolution'
    assert {case[0] for case in CASES} == set(oracle.TYPES) - set(without.split())
