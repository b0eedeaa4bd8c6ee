# SPDX-License-Identifier: BSD-2-Clause
"""Sources, recurrent layers, and the layers of detectors."""

from model import Word


def _dims(shape):
    return ["shape", [["dim", n] for n in shape]]


def _parameter(d):
    shape = d.shape(d.integer(1, 5))
    d.layer("Parameter", [], [shape], [["parameter_param", [_dims(shape)]]] + d.params(shape))


def _dummy(d):
    shapes = [d.shape(d.integer(1, 5)) for _ in range(d.integer(1, 2))]
    fields = [_dims(shape) for shape in shapes]
    for _ in range(d.one(0, 1, len(shapes))):
        fields.append(["data_filler", [["type", "constant"], ["value", d.real(0.1, 2)]]])
    d.layer("DummyData", [], shapes, [["dummy_data_param", fields]])


def _memory(d):
    shape = d.shape(4)
    fields = [[name, n] for name, n in zip(("batch_size", "channels", "height", "width"), shape)]
    tops = d.layer("MemoryData", [], [shape, shape[:1]], [["memory_data_param", fields]])
    tops[1].values = "labels"


def _recurrent(kind, states):
    """`states`: the number of blobs that a step passes to the next one."""
    def make(d):
        steps, streams, n_out = d.integer(1, 5), d.integer(1, 3), d.integer(1, 4)
        x = d.input([steps, streams] + [d.size() for _ in range(d.integer(1, 2))])
        if d.chance(0.5):
            x = d.layer(d.one("TanH", "Sigmoid"), [x], [x.shape])[0]
        bottoms = [x, d.input([steps, streams], "continued")]
        if d.chance(0.3):
            bottoms.append(d.input([streams, d.size()]))
        exposed = d.chance(0.4)
        if exposed:
            bottoms += [d.input([1, streams, n_out]) for _ in range(states)]
        fields = [["num_output", n_out]] + ([["expose_hidden", True]] if exposed else [])
        shapes = [[steps, streams, n_out]] + [[1, streams, n_out]] * (states if exposed else 0)
        d.layer(kind, bottoms, shapes, [["recurrent_param", fields]])
    return make


def _lstm_unit(d):
    streams, n = d.integer(1, 4), d.integer(1, 5)
    bottoms = [d.other([1, streams, n]), d.other([1, streams, 4 * n]), d.input([1, streams], "binary 0.7")]
    d.layer("LSTMUnit", bottoms, [[1, streams, n]] * 2)


def _rois(d, batch, height, width, scale):
    rows = d.integer(1, 4)
    return d.input([rows, 5], f"rois {batch} {int(height / scale)} {int(width / scale)}"), rows


def _roi_pooling(d):
    bottom = d.bottom(4, 4)
    scale = d.one(1.0, 0.5)
    rois, rows = _rois(d, bottom.shape[0], *bottom.shape[2:], scale)
    h, w = d.integer(1, 4), d.integer(1, 4)
    d.layer("ROIPooling", [bottom, rois], [[rows, bottom.shape[1], h, w]],
            [["roi_pooling_param", [["pooled_h", h], ["pooled_w", w], ["spatial_scale", scale]]]])


def _psroi_pooling(d):
    group, out = d.integer(1, 3), d.integer(1, 3)
    batch, height, width = d.integer(1, 2), d.integer(2, 6), d.integer(2, 6)
    bottom = d.other([batch, out * group * group, height, width])
    scale = d.one(1.0, 0.5)
    rois, rows = _rois(d, batch, height, width, scale)
    d.layer("PSROIPooling", [bottom, rois], [[rows, out, group, group]],
            [["psroi_pooling_param", [["spatial_scale", scale], ["output_dim", out], ["group_size", group]]]])


def _prior_box(d):
    bottom, image = d.bottom(4, 4), d.input([1, 3, d.integer(8, 12), d.integer(8, 12)])
    sizes = d.integer(1, 2)
    fields = [["min_size", 2.0 + i] for i in range(sizes)]
    largest, n = d.chance(0.5), 1
    if largest:
        fields += [["max_size", 4.0 + i] for i in range(sizes)]
    ratios, flip = d.chance(0.5), d.chance(0.7)
    if ratios:
        fields += [["aspect_ratio", 2.0]]
        n += 1 + flip
    fields += [["flip", flip], ["clip", d.chance(0.5)]]
    fields += [["variance", v] for v in d.one([], [0.1], [0.1, 0.1, 0.2, 0.2])]
    if d.chance(0.3):
        fields.append(["step", d.one(2.0, 4.0)])
    boxes = bottom.shape[2] * bottom.shape[3] * sizes * (n + largest)
    top = d.layer("PriorBox", [bottom, image], [[1, 2, 4 * boxes]], [["prior_box_param", fields]])[0]
    top.values = "chosen"


def _detection_output(d):
    boxes, classes, batch = d.integer(1, 6), d.integer(2, 4), d.integer(1, 2)
    shared = d.chance(0.8)
    places = boxes * 4 * (1 if shared else classes)
    bottoms = [d.input([batch, places]), d.input([batch, boxes * classes], "probability"),
               d.input([1, 2, boxes * 4], "boxes")]
    fields = [["num_classes", classes], ["share_location", shared], ["background_label_id", d.one(0, 0, -1)],
              ["nms_param", [["nms_threshold", d.one(0.3, 0.45)], ["top_k", d.one(400, 2)]]],
              ["code_type", Word(d.one("CORNER", "CENTER_SIZE"))], ["keep_top_k", d.one(-1, 3, 200)],
              ["confidence_threshold", d.one(0.01, 0.4)]]
    if d.chance(0.3):
        fields.append(["clip", True])
    top = d.layer("DetectionOutput", bottoms, [[1, 1, 1, 7]], [["detection_output_param", fields]])[0]
    top.values = "chosen"


def _proposal(d):
    ratios, scales = d.integer(1, 2), d.integer(1, 2)
    anchors = ratios * scales
    height, width, rows = d.integer(1, 4), d.integer(1, 4), d.integer(1, 6)
    bottoms = [d.input([1, 2 * anchors, height, width], "probability"), d.input([1, 4 * anchors, height, width]),
               d.input([1, 3], f"picture {height * 8} {width * 8}")]
    fields = [["feat_stride", 8], ["base_size", 8], ["min_size", 2], ["pre_nms_topn", 20], ["post_nms_topn", rows],
              ["nms_thresh", 0.7]]
    fields += [["ratio", r] for r in (0.5, 2.0)[:ratios]] + [["scale", s] for s in (1.0, 2.0)[:scales]]
    shapes = [[rows, 5], [rows, 1]][:d.integer(1, 2)]
    for top in d.layer("Proposal", bottoms, shapes, [["proposal_param", fields]]):
        top.values = "chosen"


KINDS = {
    "DetectionOutput": _detection_output,
    "DummyData": _dummy,
    "LSTM": _recurrent("LSTM", 2),
    "LSTMUnit": _lstm_unit,
    "MemoryData": _memory,
    "PSROIPooling": _psroi_pooling,
    "Parameter": _parameter,
    "PriorBox": _prior_box,
    "Proposal": _proposal,
    "RNN": _recurrent("RNN", 1),
    "ROIPooling": _roi_pooling,
}
