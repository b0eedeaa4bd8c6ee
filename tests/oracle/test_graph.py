# SPDX-License-Identifier: BSD-2-Clause
"""Nets connected as in Caffe, and layers whose numbers are computed by hand."""

import numpy as np
import pytest

import oracle
from oracle.real import EPS


def input_of(name, *shape):
    shape = ' '.join('dim: %d' % n for n in shape)
    return 'layer { name: "%s" type: "Input" top: "%s" input_param { shape { %s } } }' % (
        name,
        name,
        shape,
    )


def layer(name, kind, bottoms, tops, rest=''):
    text = ' '.join('bottom: "%s"' % b for b in bottoms.split())
    text += ' ' + ' '.join('top: "%s"' % t for t in tops.split())
    return 'layer { name: "%s" type: "%s" %s %s }' % (name, kind, text, rest)


def learned(name, bottom, top, rest='', spec='param { lr_mult: 1 }'):
    """A scale of 2 for the whole blob, which is learned."""
    more = spec + ' scale_param { axis: 0 num_axes: 0 filler { value: 2 } } ' + rest
    return layer(name, 'Scale', bottom, top, more)


def total(name, bottom, weight=1):
    return layer(name, 'Reduction', bottom, name, 'loss_weight: %g' % weight)


def net(*texts, phase='TRAIN', **inputs):
    result = oracle.Net(' '.join(texts), phase=phase)
    for name, array in inputs.items():
        result.set_input(name, array)
    result.forward()
    result.backward()
    return result


def one(kind, rest, arrays, tops=1, phase='TRAIN'):
    """The tops of one layer."""
    names = ['x%d' % i for i in range(len(arrays))]
    text = ' '.join(input_of(n, *np.shape(a)) for n, a in zip(names, arrays))
    text += layer('l', kind, ' '.join(names), ' '.join('y%d' % i for i in range(tops)), rest)
    made = oracle.Net(text, phase=phase)
    for name, array in zip(names, arrays):
        made.set_input(name, array)
    made.forward()
    return made, [made.blobs['y%d' % i] for i in range(tops)]


# ---- diffs -------------------------------------------------------------------------------------


def test_an_in_place_blob_holds_the_first_versions_diff():
    made = net(
        input_of('x', 2),
        learned('s', 'x', 'a'),
        layer('r', 'ReLU', 'a', 'a'),
        total('l', 'a'),
        x=[-1, 3],
    )
    assert made.blobs['a'].tolist() == [0, 6]
    assert made.top_diffs['a'].tolist() == [1, 1]
    assert made.blob_diffs['a'].tolist() == [0, 1]
    assert made.param_diffs['s'][0] == 3


def test_the_diffs_of_several_readers_add_up():
    made = net(
        input_of('x', 2), learned('s', 'x', 'a'), total('l', 'a', 3), total('m', 'a', 4), x=[1, 1]
    )
    assert made.blob_diffs['a'].tolist() == [7, 7]
    assert 'x' not in made.blob_diffs
    assert made.names == ['x', 'a', 'l', 'm'] and [l.name for l in made.layers] == [
        'x',
        's',
        'l',
        'm',
    ]


def test_a_loss_weight_of_the_text_adds_to_the_readers_diffs():
    made = net(
        input_of('x', 2), learned('s', 'x', 'a', 'loss_weight: 5'), total('l', 'a', 3), x=[1, 1]
    )
    assert made.blob_diffs['a'].tolist() == [8, 8]
    assert made.forward() == 5 * 4 + 3 * 4


def test_a_loss_layers_own_weight_is_replaced_by_its_readers_diff():
    loss = layer('e', 'EuclideanLoss', 'a y', 'e')
    made = net(
        input_of('x', 1),
        input_of('y', 1),
        learned('s', 'x', 'a'),
        loss,
        total('l', 'e', 3),
        x=[1],
        y=[1],
    )
    assert made.blob_diffs['e'] == 3
    assert made.blob_diffs['a'].tolist() == [3]


def test_what_feeds_no_loss_gets_no_diff():
    side = learned('t', 'x', 'b')
    made = net(input_of('x', 2), learned('s', 'x', 'a'), side, total('l', 'a'), x=[1, 1])
    assert made.param_diffs['t'] == [None] and 'b' not in made.blob_diffs


def test_a_learned_layer_below_a_blob_that_declines_gets_no_gradient():
    stop = layer('p', 'Power', 'a', 'b', 'propagate_down: false')
    made = net(
        input_of('x', 2),
        learned('s', 'x', 'a'),
        stop,
        learned('t', 'b', 'c'),
        total('l', 'c'),
        x=[1, 2],
    )
    assert made.param_diffs['s'] == [None] and made.param_diffs['t'] == [6]


def test_an_in_place_layer_that_declines_leaves_its_tops_diff_in_the_blob():
    made = net(
        input_of('x', 2),
        learned('s', 'x', 'a'),
        layer('f', 'Split', 'a', 'b c'),
        layer('p', 'Power', 'b', 'b', 'propagate_down: false power_param { scale: 3 }'),
        total('l', 'b'),
        x=[1, 2],
    )
    assert made.blob_diffs['a'].tolist() == [1, 1] and made.param_diffs['s'] == [3]


def test_lr_mult_0_needs_no_gradient_and_force_backward_asks_for_all():
    texts = input_of('x', 2), learned('s', 'x', 'a', spec='param { lr_mult: 0 }'), total('l', 'a')
    assert net(*texts, x=[1, 2]).param_diffs['s'] == [None]
    forced = net('force_backward: true', *texts, x=[1, 2])
    assert forced.param_diffs['s'] == [3] and forced.blob_diffs['x'].tolist() == [2, 2]


def test_shared_parameters_are_one_array_with_one_sum_of_gradients():
    spec = 'param { name: "w" }'
    texts = learned('s', 'x', 'a', spec=spec), learned('t', 'a', 'b', spec=spec)
    made = net(input_of('x', 1, 1), *texts, total('l', 'b'), x=[[3]])
    made.set_param('t', 0, 5)
    assert made.layers[1].params[0] == 5 and made.forward() == 75
    made.clear_param_diffs()
    made.backward()
    # the scale of a whole blob overwrites the diff: s, with 3·5, is the last writer
    assert made.param_diffs['s'][0] == made.param_diffs['t'][0] == 15


def test_parameter_diffs_add_up_until_they_are_cleared():
    product = layer('p', 'InnerProduct', 'x', 'a', 'inner_product_param { num_output: 1 }')
    made = net(input_of('x', 1, 2), product, total('l', 'a'), x=[[1, 2]])
    made.backward()
    assert made.param_diffs['p'][0].tolist() == [[2, 4]]
    made.clear_param_diffs()
    assert made.param_diffs['p'] == [None, None]


# ---- which layers ------------------------------------------------------------------------------


def test_rules_include_and_exclude_layers():
    rules = (
        ('include { phase: TRAIN }', 'a'),
        ('exclude { phase: TRAIN }', 'b'),
        ('include { min_level: 2 }', 'c'),
        ('include { stage: "s" stage: "t" }', 'd'),
        ('include { not_stage: "s" } include { phase: TEST max_level: 1 }', 'e'),
    )
    text = ' '.join(
        layer(name, 'DummyData', '', name, 'dummy_data_param { shape { dim: 1 } } ' + rule)
        for rule, name in rules
    )

    def names(**state):
        return ''.join(oracle.Net(text, **state).names)

    assert names(phase='TRAIN') == 'ae'
    assert names(phase='TEST', level=2, stages=('s', 't')) == 'bcd'
    assert names(phase='TEST', stages=('s',)) == 'be'
    assert names(phase=None) == 'be'


BAD = [
    (layer('r', 'ReLU', 'nothing', 'y'), 'nothing'),
    (input_of('x', 1) + input_of('x', 1), 'produced'),
    (
        input_of('x', 1)
        + layer('r', 'ReLU', 'x', 'x')
        + layer('s', 'ReLU', 'x', 'x')
        + layer('t', 'ReLU', 'x', 'x'),
        None,
    ),
    (input_of('x', 1) + layer('p', 'Power', 'x', 'y') + layer('r', 'ReLU', 'x', 'x'), 'produced'),
    (input_of('x', 2, 3) + layer('c', 'Concat', 'x', 'y', 'concat_param { axis: 2 }'), 'axis'),
    (
        input_of('x', 2) + layer('r', 'Reshape', 'x', 'y', 'reshape_param { shape { dim: 3 } }'),
        'elements',
    ),
    (
        input_of('x', 3, 5, 5, 1) + input_of('u', 3, 5, 5) + layer('b', 'Binary', 'x u', 'y'),
        'shapes .* differ',
    ),
    (input_of('x', 3, 1, 5) + input_of('u', 2, 1) + layer('b', 'Binary', 'x u', 'y'), None),
    ('layer { name: "x"', 'missing'),
]


@pytest.mark.parametrize('case', BAD, ids=lambda case: str(case[1]))
def test_a_wrong_net_is_refused_with_its_reason(case):
    text, reason = case
    if reason is None:
        oracle.Net(text)
        return
    with pytest.raises(oracle.NetError, match=reason):
        oracle.Net(text)


def test_what_is_random_is_unsupported():
    for kind, rest in (
        ('Dropout', ''),
        ('Pooling', 'pooling_param { pool: STOCHASTIC kernel_size: 2 }'),
    ):
        with pytest.raises(oracle.Unsupported):
            oracle.Net(input_of('x', 1, 1, 2, 2) + layer('l', kind, 'x', 'y', rest), phase='TRAIN')


def test_old_texts_are_read():
    text = """input: 'x'  # an input of old
    input_dim: [1, 2, 3, 3]
    layers { name: "c" type: CONVOLUTION bottom: "x" top: "c" blobs_lr: 2 blobs_lr: 0
        convolution_param: < num_output: 0x2; kernel_size: 3 > }"""
    made = oracle.Net(text)
    assert [p.lr_mult for p in made.learnable] == [2, 0]
    assert made.layers[1].params[0].shape == (2, 2, 3, 3) and made.blobs['c'].shape == (1, 2, 1, 1)


# ---- bounds ------------------------------------------------------------------------------------


def test_an_open_sign_widens_the_bound_of_the_diff_alone():
    third = np.float64(np.float32(1 / 3))
    # 3·(1/3) - 1 is 0 in float32, -3e-8 in float64: the sign is undetermined
    cube = layer('p', 'Power', 'x', 'a', 'power_param { scale: 3 shift: -1 }')
    made = net(
        'force_backward: true',
        input_of('x', 2),
        cube,
        layer('r', 'ReLU', 'a', 'b'),
        total('l', 'b'),
        x=[third, 2],
    )
    assert made.fragile == {'x', 'a'} and made.fragile_values == set()
    np.testing.assert_allclose(made.diff_bounds['a'], [1, 0], atol=1e-6)
    assert 0 < made.bounds['b'][0] < 4 * EPS


def test_an_open_index_has_no_bound():
    text = layer('p', 'Power', 'x', 'a', 'power_param { scale: 3 shift: -1 }') + layer(
        'm', 'ArgMax', 'a', 'b'
    )
    made = oracle.Net(input_of('x', 2, 3) + text)
    made.set_input('x', [[1, 1, 0], [0, 1, 2]])
    made.forward()
    assert made.blobs['b'].ravel().tolist() == [1, 2]
    assert np.isinf(made.bounds['b']).ravel().tolist() == [True, False]
    assert made.fragile_values == {'b'}


# ---- layers by hand ----------------------------------------------------------------------------


def test_pooling_drops_a_last_window_that_starts_in_the_padding():
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    _, (y,) = one('Pooling', 'pooling_param { pool: AVE kernel_size: 3 stride: 3 pad: 1 }', [x])
    # windows at -1 and 2; the first divides by 9, the one at 2 by the 3 of [2, 5)
    assert y.shape == (1, 1, 2, 2)
    np.testing.assert_allclose(y[0, 0], [[10 / 9, 18 / 9], [42 / 9, 50 / 9]])


def test_pooling_rounds_up_and_gives_the_mask():
    x = np.array([[[[1, 5, 5, 2, 7]]]], float)
    _, (y, mask) = one(
        'Pooling', 'pooling_param { kernel_h: 1 kernel_w: 2 stride: 2 }', [x], tops=2
    )
    assert y.ravel().tolist() == [5, 5, 7] and mask.ravel().tolist() == [1, 2, 4]


def test_in_place_clip_sees_the_top_and_negative_elu_the_bottom():
    clip = layer('c', 'Clip', 'x', 'x', 'clip_param { min: 0 max: 1 }')
    made = net('force_backward: true', input_of('x', 2), clip, total('l', 'x'), x=[-1, 2])
    assert made.blob_diffs['x'].tolist() == [1, 1]
    elu = layer('e', 'ELU', 'x', '%s', 'elu_param { alpha: -1 }')
    apart = net('force_backward: true', input_of('x', 1), elu % 'y', total('l', 'y'), x=[-1])
    assert apart.blob_diffs['x'][0] == pytest.approx(-np.exp(-1))
    within = net('force_backward: true', input_of('x', 1), elu % 'x', total('l', 'x'), x=[-1])
    assert within.blob_diffs['x'][0] == pytest.approx(-np.exp(-1))


def test_argmax_puts_the_larger_index_of_equals_first():
    x = np.array([[3, 7, 7, 1]], float)
    _, (y,) = one('ArgMax', 'argmax_param { top_k: 3 out_max_val: true }', [x])
    assert y.tolist() == [[[2, 1, 0], [7, 7, 3]]]


def test_accuracy_counts_an_equal_prediction_against_the_label():
    x, labels = np.array([[1, 1, 0], [0, 2, 1], [3, 0, 0]], float), np.array([0, 1, 0.0])
    _, (y, each) = one('Accuracy', '', [x, labels], tops=2, phase='TEST')
    assert y == pytest.approx(2 / 3) and each.tolist() == [0.5, 1, 0]


def test_the_exposed_last_state_has_no_effect_on_the_diffs():
    lstm = layer(
        'r', 'LSTM', 'x c h0 c0', 'h hT cT', 'recurrent_param { num_output: 2 expose_hidden: true }'
    )
    texts = (
        input_of('x', 3, 1, 2),
        input_of('c', 3, 1),
        input_of('h0', 1, 1, 2),
        input_of('c0', 1, 1, 2),
        lstm,
    )
    inputs = dict(
        x=np.ones((3, 1, 2)), c=np.ones((3, 1)), h0=np.ones((1, 1, 2)), c0=np.ones((1, 1, 2))
    )
    made = net('force_backward: true', *texts, total('l', 'hT'), total('m', 'cT'), **inputs)
    assert not made.blob_diffs['x'].any() and 'h0' not in made.blob_diffs
    np.testing.assert_array_equal(made.blobs['hT'], made.blobs['h'][2:])


def test_a_recurrent_layer_goes_on_where_it_ended():
    text = layer(
        'r', 'RNN', 'x c', 'o', 'recurrent_param { num_output: 1 weight_filler { value: 0.5 } }'
    )
    made = oracle.Net(input_of('x', 1, 1, 1) + input_of('c', 1, 1) + text)
    for cont, state in ((1, 0.0), (1, np.tanh(0.5)), (0, 0.0)):
        made.set_input('x', [[[1]]])
        made.set_input('c', [[cont]])
        made.forward()
        assert made.blobs['o'].ravel() == pytest.approx(np.tanh(0.5 * np.tanh(0.5 + 0.5 * state)))


def test_a_prior_box_lists_sizes_then_ratios():
    rest = 'prior_box_param { min_size: 4.9 max_size: 9 aspect_ratio: 4 clip: false variance: 0.5 }'
    _, (y,) = one('PriorBox', rest, [np.zeros((1, 1, 1, 1)), np.zeros((1, 1, 20, 10))])
    boxes = y[0, 0].reshape(-1, 4)
    sides = [(4, 4), (6, 6), (8, 2), (2, 8)]
    wanted = [
        ((5 - w / 2) / 10, (10 - h / 2) / 20, (5 + w / 2) / 10, (10 + h / 2) / 20) for w, h in sides
    ]
    np.testing.assert_allclose(boxes, wanted)
    assert (y[0, 1] == 0.5).all()


def test_detection_keeps_the_best_of_boxes_that_overlap():
    priors = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.4], [0.5, 0.5, 1, 1]])
    scores = np.array([[0.1, 0.75], [0.5, 0.875], [0.5, 0.25]])
    rest = """detection_output_param { num_classes: 2 confidence_threshold: 0.125
        code_type: CENTER_SIZE nms_param { nms_threshold: 0.5 } keep_top_k: 5 }"""
    both = np.stack([priors.ravel(), np.ones(12)])[None]
    _, (y,) = one('DetectionOutput', rest, [np.zeros((1, 12)), scores.reshape(1, 6), both])
    assert y.shape == (1, 1, 2, 7)
    np.testing.assert_allclose(
        y[0, 0], [[0, 1, 0.875, 0, 0, 0.5, 0.4], [0, 1, 0.25, 0.5, 0.5, 1, 1]], atol=1e-12
    )


def test_a_proposal_is_an_anchor_cut_to_the_image():
    rest = """proposal_param { feat_stride: 16 base_size: 16 min_size: 1 ratio: 1 scale: 1 scale: 2
        nms_thresh: 0.5 post_nms_topn: 2 }"""
    scores = np.array([0, 0, 0.25, 0.75]).reshape(1, 4, 1, 1)
    info = np.array([[16, 20, 1, 1.0]])
    _, (y, s) = one('Proposal', rest, [scores, np.zeros((1, 8, 1, 1)), info], tops=2)
    # the larger anchor, [-8, 23], is clipped to 20 × 16; the smaller, [0, 15], covers 0.8 of it
    assert y.tolist() == [[0, 0, 0, 19, 15], [0] * 5] and s.tolist() == [[0.75], [0]]


def test_a_region_bin_is_rounded_outwards():
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    rest = 'roi_pooling_param { pooled_h: 2 pooled_w: 2 }'
    _, (y,) = one('ROIPooling', rest, [x, np.array([[0, 0, 0, 2, 2.0]])])
    # 3 × 3 in 2 × 2 bins: [0, 2) and [1, 3)
    assert y[0, 0].tolist() == [[5, 6], [9, 10]]


def test_roi_pooling_of_nan_is_the_smallest_float():
    rest = 'roi_pooling_param { pooled_h: 1 pooled_w: 1 }'
    x = np.full((1, 1, 2, 2), np.nan)
    _, (y,) = one('ROIPooling', rest, [x, np.array([[0, 0, 0, 1, 1.0]])])
    assert y.reshape(()) == -np.finfo(np.float32).max


def test_roi_pooling_beside_nan_gives_the_gradient_to_the_number():
    made = net(
        input_of('x', 1, 1, 1, 3) + input_of('r', 2, 5) + learned('s', 'x', 'a'),
        layer('p', 'ROIPooling', 'a r', 'y', 'roi_pooling_param { pooled_h: 1 pooled_w: 1 }'),
        total('l', 'y'),
        x=[[[[-2, np.nan, np.nan]]]],
        r=[[0, 0, 0, 1, 0], [0, 1, 0, 2, 0]],
    )
    assert made.top_diffs['a'].ravel().tolist() == [1, 0, 0]
