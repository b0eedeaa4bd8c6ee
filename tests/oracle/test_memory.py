# SPDX-License-Identifier: BSD-2-Clause
"""Blobs that share memory, layers in place, automatic tops, and bounds that include float32's rounding
errors."""

import numpy as np
import pytest

import oracle

X = 'layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }\n'
VALUES = np.array([[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]])


def net_of(body, forced=True, **options):
    net = oracle.Net(('force_backward: true\n' if forced else '') + X + body, **options)
    net.set_input('x', VALUES)
    return net


def layer(kind, bottom, top, more=''):
    return 'layer { name: "%s%s" type: "%s" bottom: "%s" top: "%s" %s }\n' % (
        kind,
        top,
        kind,
        bottom,
        top,
        more,
    )


SHARES = {
    'Split': '',
    'Flatten': 'flatten_param { axis: 0 }',
    'Reshape': 'reshape_param { shape { dim: 3 dim: 2 } }',
    'Concat': '',
    'Slice': '',
    'Permute': 'permute_param { order: 0 }',
}


@pytest.mark.parametrize('kind', SHARES)
def test_a_layer_in_place_changes_all_blobs_of_the_memory(kind):
    net = net_of(layer(kind, 'x', 'y', SHARES[kind]) + layer('ReLU', 'y', 'y'))
    net.forward()
    np.testing.assert_array_equal(net.blobs['x'], np.maximum(VALUES, 0))


def test_a_copy_keeps_its_contents():
    net = net_of(layer('Dropout', 'x', 'y') + layer('ReLU', 'y', 'y'))
    net.forward()
    np.testing.assert_array_equal(net.blobs['x'], VALUES)


def test_a_blob_that_was_read_before_it_is_overwritten_is_told():
    between = layer('Split', 'x', 'y') + layer('Power', 'x', 'p')
    for body, told in ((between, False), (between + layer('ReLU', 'y', 'y'), True)):
        net = net_of(body)
        net.forward()
        assert net.overwritten == told


def test_an_operand_of_a_layer_in_place_counts_as_read():
    scale = layer('Scale', 'p" bottom: "y', 'p', 'scale_param { axis: 0 }')
    net = net_of(layer('Split', 'x', 'y') + layer('Power', 'x', 'p') + scale)
    net.forward()
    assert not net.overwritten
    split = layer('Power', 'x', 'p') + layer('Split', 'x', 'y') + layer('Split', 'y', 'z')
    net = net_of(split + scale + layer('ReLU', 'z', 'z'))
    net.forward()
    assert net.overwritten


def test_reshape_has_its_bottoms_diff():
    net = net_of(
        layer('Sigmoid', 'x', 'x')
        + layer('Reshape', 'x', 'y', 'reshape_param { shape { dim: 6 } }')
        + layer('Reduction', 'y', 'z', 'loss_weight: 1')
    )
    net.forward()
    net.backward()
    s = 1 / (1 + np.exp(-VALUES))
    np.testing.assert_allclose(net.blob_diffs['y'], (s * (1 - s)).ravel())


def test_gradients_in_place_are_those_of_the_bottom():
    net = net_of(layer('BNLL', 'x', 'x') + layer('TanH', 'x', 'x') + layer('Reduction', 'x', 'z', 'loss_weight: 1'))
    net.forward()
    net.backward()
    slope = (1 - np.tanh(np.log1p(np.exp(VALUES))) ** 2) / (1 + np.exp(-VALUES))
    np.testing.assert_allclose(net.blob_diffs['x'], slope)


def test_a_loss_without_a_top_can_go_backward():
    target = 'layer { name: "t" type: "Input" top: "t" input_param { shape { dim: 2 dim: 3 } } }\n'
    net = net_of(target + 'layer { name: "l" type: "EuclideanLoss" bottom: "x" bottom: "t" }')
    net.set_input('t', 0 * VALUES)
    assert net.forward() == (VALUES**2).sum() / 4
    net.backward()
    np.testing.assert_allclose(net.blob_diffs['x'], VALUES / 2)


def test_normalize_with_a_scale_for_each_channel_has_the_functions_gradient():
    net = net_of(
        layer('Normalize', 'x', 'y', 'norm_param { channel_shared: false }')
        + layer('Reduction', 'y', 'z', 'loss_weight: 1')
    )
    net.set_param('Normalizey', 0, [0.5, -1, 2])
    net.forward()
    net.backward()
    got, step = net.blob_diffs['x'][1, 1], 1e-6
    losses = []
    for sign in (1, -1):
        moved = VALUES.copy()
        moved[1, 1] += sign * step
        net.set_input('x', moved)
        losses.append(net.forward())
    assert abs(got - (losses[0] - losses[1]) / (2 * step)) < 1e-6


def test_accuracys_bound_covers_a_floats_division():
    labels = 'layer { name: "t" type: "Input" top: "t" input_param { shape { dim: 3 } } }\n'
    shape = '{ dim: 3 dim: 2 }'
    net = oracle.Net(X.replace('{ dim: 2 dim: 3 }', shape) + labels
                     + 'layer { name: "a" type: "Accuracy" bottom: "x" bottom: "t" top: "a" }')
    net.set_input('x', [[1, 0], [0, 1], [0, 1]])
    net.set_input('t', [0, 0, 0])
    net.forward()
    assert 0 < abs(np.float32(1) / np.float32(3) - net.blobs['a']) <= net.bounds['a']


def tiled(channels, more):
    """Bounds of a convolution of ones, over those of the same one that cannot use Winograd's algorithm."""
    image = 'layer { name: "i" type: "Input" top: "i" input_param { shape { %s } } }\n' % ' '.join(
        'dim: %d' % n for n in (1, channels, 6, 6)
    )
    conv = layer('Convolution', 'i', 'y', 'convolution_param { num_output: 2 %s }' % more)
    bounds = []
    for tiles in (True, False):
        net = net_of(image + conv, tiles=tiles)
        net.set_input('i', np.ones((1, channels, 6, 6)))
        net.set_param('Convolutiony', 0, np.ones(net.layers[-1].params[0].shape))
        net.forward()
        bounds.append(net.bounds['y'])
    return (bounds[0] / bounds[1]).min()


def test_a_convolution_that_may_be_winograds_has_a_wider_bound():
    assert tiled(4, 'kernel_size: 3') > 4


@pytest.mark.parametrize(
    'channels, more',
    [
        (3, 'kernel_size: 3'),
        (4, 'kernel_size: 3 stride: 2'),
        (4, 'kernel_size: 3 dilation: 2'),
        (4, 'kernel_size: 3 group: 2'),
        (4, 'kernel_size: 2'),
        (4, 'kernel_h: 3 kernel_w: 1'),
    ],
)
def test_other_convolutions_keep_their_bound(channels, more):
    assert tiled(channels, more) == 1


def test_propagate_down_does_not_part_diffs_of_one_memory():
    net = net_of(
        layer('InnerProduct', 'x', 'a', 'inner_product_param { num_output: 3 }')
        + layer('Concat', 'a', 'b', 'propagate_down: false')
        + layer('Reduction', 'b', 'y', 'loss_weight: 1')
        + layer('Reduction', 'a', 'z', 'loss_weight: 1'),
        forced=False,
    )
    net.forward()
    net.backward()
    np.testing.assert_array_equal(net.blob_diffs['a'], 2 * np.ones((2, 3)))


def test_a_sum_in_place_on_a_later_bottom_is_unsupported():
    text = (
        'layer { name: "s" type: "Split" bottom: "x" top: "a" top: "b" }\n'
        'layer { name: "e" type: "Eltwise" bottom: "a" bottom: "x" bottom: "b" top: "a" }\n'
    )
    with pytest.raises(oracle.Unsupported):
        net_of(text)


def test_a_crop_gives_its_second_bottom_the_gradient_0():
    net = net_of(
        layer('Power', 'x', 'a')
        + 'layer { name: "c" type: "Crop" bottom: "x" bottom: "a" top: "y" '
        'crop_param { axis: 1 } loss_weight: 1 }\n'
    )
    net.forward()
    net.backward()
    np.testing.assert_array_equal(net.blob_diffs['a'], np.zeros((2, 3)))


def test_relu6_of_nan_is_nan():
    net = net_of(layer('ReLU6', 'x', 'y'))
    net.set_input('x', [[np.nan, -1, 7]])
    net.forward()
    np.testing.assert_array_equal(net.blobs['y'], [[np.nan, 0, 6]])


def test_sigmoid_far_below_0_is_not_0():
    net = net_of(layer('Sigmoid', 'x', 'y'))
    net.set_input('x', [[-43.0, 0, np.nan]])
    net.forward()
    np.testing.assert_allclose(net.blobs['y'], [[np.exp(-43.0), 0.5, np.nan]])


def test_a_softmax_loss_of_nan_is_nan():
    labels = 'layer { name: "t" type: "Input" top: "t" input_param { shape { dim: 2 } } }\n'
    net = net_of(
        labels + 'layer { name: "l" type: "SoftmaxWithLoss" bottom: "x" bottom: "t" top: "l" }'
    )
    net.set_input('x', [[np.nan, 0, 1], [0, 1, 2]])
    assert np.isnan(net.forward())
