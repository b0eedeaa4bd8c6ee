# SPDX-License-Identifier: BSD-2-Clause
"""Layers with windows or weights: convolutions, pooling, inner products."""

from draw import Refused, count
from model import Word

NAMES = {"kernel": "kernel_size", "stride": "stride", "pad": "pad", "dilation": "dilation"}


def _window(d, sides, transposed=False):
    """Kernel, stride, pad and dilation for these sides, and the resulting sides."""
    kernel, stride, pad, dilation, outs = [], [], [], [], []
    for side in sides:
        k, s, t = d.one(1, 1, 2, 3, 3, 4, 5), d.one(1, 1, 1, 2, 3), d.one(1, 1, 1, 1, 2, 3)
        reach = t * (k - 1) + 1
        p = d.one(0, 0, 1, k // 2, d.integer(0, k))
        out = s * (side - 1) + reach - 2 * p if transposed else (side + 2 * p - reach) // s + 1
        if out < 1 or (not transposed and side + 2 * p < reach):
            k, s, p, t, out = 1, 1, 0, 1, side
        kernel.append(k), stride.append(s), pad.append(p), dilation.append(t), outs.append(out)
    return {"kernel": kernel, "stride": stride, "pad": pad, "dilation": dilation}, outs


def _even(window, sides, transposed):
    """The same window on every axis, that of the first, if it fits; returns the resulting sides."""
    k, s, p, t = (window[name][0] for name in ("kernel", "stride", "pad", "dilation"))
    reach = t * (k - 1) + 1
    outs = [s * (n - 1) + reach - 2 * p if transposed else (n + 2 * p - reach) // s + 1 for n in sides]
    fits = min(outs) >= 1 and (transposed or min(sides) + 2 * p >= reach)
    return ({name: [value[0]] for name, value in window.items()}, outs) if fits else (None, None)


def _fields(d, window, n):
    """The fields of a window over n axes: once, by axis, or as _h and _w."""
    out = []
    by_side = n == 2 and d.chance(0.3) and len(window["kernel"]) == 2
    for name, values in window.items():
        default = {"kernel": None, "stride": 1, "pad": 0, "dilation": 1}[name]
        if all(v == default for v in values) and d.chance(0.6):
            continue
        if by_side and name != "dilation":
            out += [[f"{name}_h", values[0]], [f"{name}_w", values[1]]]
        elif len(set(values)) == 1 and d.chance(0.5):
            out.append([NAMES[name], values[0]])
        else:
            out += [[NAMES[name], v] for v in values]
    return out


def convolve(d, bottom, axis, transposed=False):
    """A window over the axes after `axis`; returns its fields and the resulting sides."""
    sides = bottom.shape[axis + 1:]
    window, outs = _window(d, sides, transposed)
    if sides and d.chance(0.5):
        even, even_outs = _even(window, sides, transposed)
        window, outs = (even, even_outs) if even else (window, outs)
    fields = _fields(d, window, len(sides)) if sides else [["kernel_size", d.one(1, 3)]]
    if axis != 1 or d.chance(0.1):
        fields.append(["axis", d.axis(axis, bottom.rank)])
    if d.chance(0.1):
        fields.append(["force_nd_im2col", True])
    return fields, outs


def _where(d):
    """A bottom for a convolution, and its channel axis: mostly images, sometimes any number of axes."""
    if d.chance(0.75):
        return d.bottom(4, 4), 1
    bottom = d.bottom(1, 6)
    axis = 1 if bottom.rank > 1 and d.chance(0.7) else d.integer(0, bottom.rank - 1)
    return bottom, max(axis, bottom.rank - 5)


def _divisors(n):
    return [g for g in range(1, n + 1) if n % g == 0]


def _convolution(kind, transposed=False):
    def make(d):
        bottom, axis = _where(d)
        channels = bottom.shape[axis]
        fields, outs = convolve(d, bottom, axis, transposed)
        group = d.one(*_divisors(channels)) if d.chance(0.4) else 1
        n_out = group * d.integer(1, max(1, 6 // group))
        fields.append(["num_output", n_out])
        if group > 1:
            fields.append(["group", group])
        bias = d.chance(0.7)
        if not bias:
            fields.append(["bias_term", False])
        name, filler = _filler(d)
        fields += filler
        bottoms = [bottom]
        if d.chance(0.08):
            bottoms.append(d.other(bottom.shape))
        shape = bottom.shape[:axis] + [n_out] + outs
        d.layer(kind, bottoms, [shape] * len(bottoms),
                [["convolution_param", fields]] + _params(d, [channels, group, n_out, _cells(fields, len(outs))], bias),
                name=name)
    return make


def _filler(d):
    """Sometimes parameters keep their filler's values, which the layer's name indicates."""
    if not d.chance(0.08):
        return None, []
    return d.name("filled"), [["weight_filler", [["type", "constant"], ["value", d.real(-1, 1)]]],
                              ["bias_filler", [["type", "constant"], ["value", d.real(-1, 1)]]]]


def _bilinear(d):
    """An upsampling deconvolution with the weights of the bilinear filler."""
    bottom = d.bottom(4, 4)
    k, s = d.integer(1, 8), d.integer(1, 3)
    channels = bottom.shape[1]
    p = d.integer(0, (k - 1) // 2)
    outs = [s * (n - 1) + k - 2 * p for n in bottom.shape[2:]]
    fields = [["num_output", channels], ["group", channels], ["kernel_size", k], ["stride", s], ["pad", p],
              ["bias_term", False], ["weight_filler", [["type", "bilinear"]]]]
    d.layer("Deconvolution", [bottom], [bottom.shape[:2] + outs], [["convolution_param", fields]],
            name=d.name("filled"))


def _deconvolution(d):
    if d.chance(0.15):
        _bilinear(d)
    else:
        _convolution("Deconvolution", True)(d)


def _depthwise(kind):
    def make(d):
        bottom = d.bottom(4, 4)
        fields, outs = convolve(d, bottom, 1)
        channels = bottom.shape[1]
        fields = [f for f in fields if f[0] not in ("force_nd_im2col", "axis")]
        bias = d.chance(0.7)
        fields += [["num_output", channels], ["bias_term", bias]]
        if d.chance(0.5):
            fields.append(["group", channels])
        d.layer(kind, [bottom], [[bottom.shape[0], channels] + outs],
                [["convolution_param", fields]] + _params(d, [channels, _cells(fields, 2)], bias))
    return make


def _params(d, weight, bias):
    """param messages for weights, and for a bias if there is one."""
    return d.params(weight, "bias") if bias else d.params(weight)


def _cells(fields, n):
    """The kernel's sides over n axes."""
    sizes = [f[1] for f in fields if f[0] in ("kernel_size", "kernel_h", "kernel_w")]
    return sizes * n if len(sizes) == 1 else sizes


def _im2col(d):
    bottom = d.bottom(3, 5)
    fields, outs = convolve(d, bottom, 1)
    fields = [f for f in fields if f[0] not in ("axis",)]
    channels = bottom.shape[1] * count(_cells(fields, len(outs)))
    d.layer("Im2col", [bottom], [[bottom.shape[0], channels] + outs], [["convolution_param", fields]])


def _pooled(side, k, s, p, floor):
    out = (side + 2 * p - k) // s + 1 if floor else -((side + 2 * p - k) // -s) + 1
    if p and (out - 1) * s >= side + p:
        out -= 1
    return out


def _pooling(d):
    bottom = d.bottom(4, 4)
    mean = d.chance(0.5)
    fields = [["pool", Word("AVE")]] if mean else [["pool", Word("MAX")]] if d.chance(0.5) else []
    if d.chance(0.15):
        fields.append(["global_pooling", True])
        outs = [1, 1]
    else:
        more, outs = _pool_window(d, bottom)
        fields += more
    tops = 2 if not mean and d.chance(0.15) else 1
    made = d.layer("Pooling", [bottom], [bottom.shape[:2] + outs] * tops, [["pooling_param", fields]])
    if tops == 2:
        made[1].values = "mask"


def _pool_window(d, bottom):
    floor = d.chance(0.15)
    alike = d.chance(0.6)
    window, outs = [], []
    for side in bottom.shape[2:]:
        if not window or not alike:
            k, s = d.integer(1, 4), d.integer(1, 3)
            window.append((k, s, d.integer(0, k - 1)))
        k, s, p = window[-1]
        if side + 2 * p < k:
            raise Refused
        outs.append(_pooled(side, k, s, p, floor))
    fields = [["round_mode", Word("FLOOR")]] if floor else []
    for i, name in enumerate(("kernel", "stride", "pad")):
        if len(window) == 1:
            fields.append(["kernel_size" if name == "kernel" else name, window[0][i]])
        else:
            fields += [[f"{name}_h", window[0][i]], [f"{name}_w", window[1][i]]]
    return fields, outs


def _spp(d):
    bottom = d.bottom(4, 4, lambda b: min(b.shape[2:]) >= 4)
    height = d.integer(1, 3)
    fields = [["pyramid_height", height], ["pool", Word(d.one("MAX", "AVE"))]]
    cells = sum(4 ** level for level in range(height))
    shape = bottom.shape if height == 1 else [bottom.shape[0], bottom.shape[1] * cells]
    if height == 1:
        shape = [bottom.shape[0], bottom.shape[1], 1, 1]
    d.layer("SPP", [bottom], [shape], [["spp_param", fields]])


def _inner_product(d):
    bottom = d.bottom(1, 6)
    axis = 1 if bottom.rank > 1 and d.chance(0.7) else d.integer(0, bottom.rank - 1)
    fields = [["num_output", d.integer(1, 6)]]
    if axis != 1 or d.chance(0.1):
        fields.append(["axis", d.axis(axis, bottom.rank)])
    if d.chance(0.3):
        fields.append(["transpose", True])
    bias = d.chance(0.7)
    if not bias:
        fields.append(["bias_term", False])
    name, filler = _filler(d)
    d.layer("InnerProduct", [bottom], [bottom.shape[:axis] + [fields[0][1]]],
            [["inner_product_param", fields + filler]] +
            _params(d, [count(bottom.shape[axis:]), fields[0][1], ["transpose", True] in fields], bias), name=name)


def _embed(d):
    bottom = d.input(d.shape(d.integer(1, 3)), "integers 0 4")
    n_out, bias = d.integer(1, 5), d.chance(0.7)
    fields = [["input_dim", 5], ["num_output", n_out], ["bias_term", bias]]
    d.layer("Embed", [bottom], [bottom.shape + [n_out]],
            [["embed_param", fields]] + _params(d, [5, n_out], bias))


def _interp(d):
    bottom = d.bottom(4, 4, lambda b: min(b.shape[2:]) > 2)
    cut = [-d.integer(0, 1), -d.integer(0, 1)] if d.chance(0.3) else [0, 0]
    fields = [["pad_beg", cut[0]], ["pad_end", cut[1]]] if any(cut) else []
    sides = [side + sum(cut) for side in bottom.shape[2:]]
    way = d.integer(0, 2)
    if way == 0:
        outs = [d.integer(1, 9), d.integer(1, 9)]
        fields += [["height", outs[0]], ["width", outs[1]]]
    else:
        shrink, zoom = (d.integer(1, 2), d.integer(1, 3)) if way == 2 else (1, d.integer(1, 3))
        outs = [(side - 1) // shrink + 1 for side in sides]
        outs = [side + (side - 1) * (zoom - 1) for side in outs]
        fields += [["shrink_factor", shrink]] if shrink > 1 else []
        fields += [["zoom_factor", zoom]]
    d.layer("Interp", [bottom], [bottom.shape[:2] + outs], [["interp_param", fields]])


def _upsample(d):
    if d.chance(0.5):
        bottom, scale = d.bottom(4, 4), d.integer(1, 3)
        d.layer("Upsample", [bottom], [bottom.shape[:2] + [scale * n for n in bottom.shape[2:]]],
                [["upsample_param", [["scale", scale]]]])
        return
    bottom = d.bottom(4, 4, lambda b: min(b.shape[2:]) > 1)
    sides = bottom.shape[2:]
    half = [-(-n // 2) for n in sides]
    pooled, mask = d.layer("Pooling", [bottom], [bottom.shape[:2] + half] * 2,
                           [["pooling_param", [["kernel_size", 2], ["stride", 2]]]])
    mask.values = "mask"
    fields = [["upsample_h", sides[0]], ["upsample_w", sides[1]]]
    if all(n % 2 == 0 for n in sides) and d.chance(0.5):
        fields = [["scale", 2]]
    d.layer("Upsample", [pooled, mask], [bottom.shape], [["upsample_param", fields]])


KINDS = {
    "Convolution": _convolution("Convolution"),
    "ConvolutionDepthwise": _depthwise("ConvolutionDepthwise"),
    "Deconvolution": _deconvolution,
    "DepthwiseConvolution": _depthwise("DepthwiseConvolution"),
    "Embed": _embed,
    "Im2col": _im2col,
    "InnerProduct": _inner_product,
    "Interp": _interp,
    "Pooling": _pooling,
    "SPP": _spp,
    "Upsample": _upsample,
}
