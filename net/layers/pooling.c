/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pooling (pooling_param): MAX or AVE over a window on the last two of four axes; kernel_size,
 * stride, pad, global_pooling, round_mode (CEIL). With padding the last window is dropped if it
 * would begin in the padding after the image. A second top gets the mask of MAX. The divisor of AVE
 * includes padding, that of AVE_EXC_PAD does not. With a stride larger than the kernel the last
 * window may be empty: MAX then gives −FLT_MAX with mask −1; AVE gives NaN if the window begins
 * directly after the image, otherwise 0, since Caffe divides by the window's clipped length.
 * STOCHASTIC is not supported. (Caffe: PoolingLayer. `ceil_mode: false` of forks is round_mode:
 * FLOOR; AVE_EXC_PAD is from a fork too.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

struct pooling {
    ferry_op_window window;
    bool global, average, unpadded, floor;
};

/* Reads NAME_h and NAME_w, or NAME for both (kernel_size for the kernel), or takes the default. */
static void pair(const ferry_proto *p, const char *both, const char *h, const char *w, int64_t *out)
{
    bool split = ferry_proto_value_count(p, h) || ferry_proto_value_count(p, w);

    out[0] = ferry_proto_integer(p, split ? h : both, 0);
    out[1] = ferry_proto_integer(p, split ? w : both, 0);
}

static int window_fits(const ferry_layer *layer, const struct pooling *s, const ferry_proto *p)
{
    int i;

    for (i = 0; i < 2; i++) {
        if (!s->global && (s->window.kernel[i] < 1 || s->window.kernel[i] > INT32_MAX))
            return ferry_proto_error(p, "kernel_size", 0, FERRY_EFORMAT,
                                     "layer \"%s\": a kernel of %lld", ferry_layer_name(layer),
                                     (long long)s->window.kernel[i]);
        if (s->window.stride[i] < 1 || s->window.stride[i] > INT32_MAX)
            return ferry_proto_error(p, "stride", 0, FERRY_EFORMAT,
                                     "layer \"%s\": a stride of %lld", ferry_layer_name(layer),
                                     (long long)s->window.stride[i]);
        if (s->window.pad[i] < 0 || (!s->global && s->window.pad[i] >= s->window.kernel[i]))
            return ferry_proto_error(p, "pad", 0, FERRY_EFORMAT,
                                     "layer \"%s\": a pad of %lld with a kernel of %lld",
                                     ferry_layer_name(layer), (long long)s->window.pad[i],
                                     (long long)s->window.kernel[i]);
    }
    return 0;
}

static int setup(ferry_layer *layer)
{
    struct pooling *s = ferry_layer_state(layer);
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "pooling_param", 0);
    const char *method = ferry_proto_enum(p, "pool", 0);
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_POOL);
    s->window = op.params.window;
    s->global = ferry_proto_boolean(p, "global_pooling", 0);
    s->unpadded = !strcmp(method, "AVE_EXC_PAD");
    s->average = s->unpadded || !strcmp(method, "AVE");
    s->floor = !strcmp(ferry_proto_enum(p, "round_mode", 0), "FLOOR") ||
               (ferry_proto_value_count(p, "ceil_mode") && !ferry_proto_boolean(p, "ceil_mode", 0));
    if (!s->average && strcmp(method, "MAX"))
        return ferry_proto_error(p, "pool", 0, FERRY_EUNSUPPORTED,
                                 "layer \"%s\": %s pooling is random; MAX and AVE are supported",
                                 ferry_layer_name(layer), method);
    if (s->average && ferry_layer_top_count(layer) > 1)
        return ferry_layer_error(layer, FERRY_EFORMAT, "only MAX has a mask for a second top");
    if (s->global &&
        (ferry_proto_value_count(p, "kernel_size") || ferry_proto_value_count(p, "kernel_h") ||
         ferry_proto_value_count(p, "kernel_w")))
        return ferry_proto_error(p, "global_pooling", 0, FERRY_EFORMAT,
                                 "layer \"%s\": global pooling excludes a kernel",
                                 ferry_layer_name(layer));
    pair(p, "kernel_size", "kernel_h", "kernel_w", s->window.kernel);
    pair(p, "stride", "stride_h", "stride_w", s->window.stride);
    pair(p, "pad", "pad_h", "pad_w", s->window.pad);
    return window_fits(layer, s, p);
}

/* The number of windows along an axis of `in` elements. */
static int64_t windows(const struct pooling *s, int i, int64_t in)
{
    int64_t room = in + 2 * s->window.pad[i] - s->window.kernel[i];
    int64_t stride = s->window.stride[i], out;

    if (room < 0)
        return s->floor ? 0 : room / stride + 1; /* integer division rounds toward 0, which for a
                                                  * negative number rounds up */
    out = (s->floor ? room / stride : (room + stride - 1) / stride) + 1;
    if ((s->window.pad[0] || s->window.pad[1]) && (out - 1) * stride >= in + s->window.pad[i])
        out--;
    return out;
}

/* The mask for backward of MAX: the second top, or a scratch blob. */
static ferry_layer_operand mask_of(const ferry_layer *layer)
{
    return ferry_layer_top_count(layer) > 1 ? ferry__of_top(1) : ferry__of_scratch(0);
}

static int emit_backward(ferry_layer *layer, const ferry_op_desc *op)
{
    bool masked = op->params.pool.method == FERRY_POOL_MAX;
    struct ferry__term in[2] = { ferry__term(layer, ferry__diff(ferry__of_top(0))) };
    ferry_layer_operand mask = mask_of(layer);
    int err = 0;

    if (masked && mask.from == FERRY_FROM_TOP)
        err = ferry__result_kept(layer, mask.index, 0, &mask);
    if (err)
        return err;
    if (masked)
        in[1] = ferry__term(layer, mask);
    return ferry__emit_pass(layer, op, FERRY_PASS_BACKWARD_DATA, masked ? 2 : 1, in,
                            ferry__term(layer, ferry__diff(ferry__of_bottom(0))));
}

/*
 * The padding that has to be added after an axis so that its last window begins inside, if that
 * window begins after both image and padding. Caffe drops such a window only if there is padding.
 * 0: nothing has to be added.
 */
static int64_t beyond_the_end(const ferry_layer *layer, const struct pooling *s, int i)
{
    int64_t in = ferry_blob_dim(ferry_layer_bottom_at(layer, 0), i + 2);
    int64_t out = ferry_blob_dim(ferry_layer_top_at(layer, 0), i + 2);
    int64_t begin = (out - 1) * s->window.stride[i] - s->window.pad[i];

    return begin >= in + s->window.pad[i] ? begin - in + 1 : 0;
}

/* Emits the values of the last windows along an axis that begin directly after the image. */
static int emit_empty_windows(ferry_layer *layer, const struct pooling *s, int i)
{
    ferry_operand last = ferry__whole(layer, ferry__of_top(0));
    ferry_layer_operand at = ferry__of_top(0), in[1], out[1];
    ferry_op_desc op;

    at.offset = (last.shape[i + 2] - 1) * last.stride[i + 2];
    last.shape[i + 2] = 1;
    if (at.offset / last.stride[i + 2] * s->window.stride[i] !=
        ferry_blob_dim(ferry_layer_bottom_at(layer, 0), i + 2))
        return 0;
    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.params.unary.function = FERRY_UNARY_LOG; /* the logarithm of −1, which is NaN */
    op.params.unary.a = 0;
    op.params.unary.b = -1;
    op.params.unary.c = 1;
    ferry__op_in(&op, in, last, at);
    ferry__op_out(&op, out, last, at);
    return ferry_layer_emit(layer, &op, in, out);
}

static int emit(ferry_layer *layer, const struct pooling *s)
{
    bool propagates = ferry_layer_propagates(layer, 0);
    const ferry_blob *top = ferry_layer_top_at(layer, 0);
    ferry_layer_operand in[1], out[2];
    ferry_op_desc op;
    int i, err;

    ferry_op_desc_init(&op, FERRY_OP_POOL);
    op.params.window = s->window;
    op.params.pool.method = s->average ? FERRY_POOL_AVERAGE : FERRY_POOL_MAX;
    op.params.pool.divisor = s->unpadded ? FERRY_POOL_DIVISOR_VALID : FERRY_POOL_DIVISOR_PADDED;
    for (i = 0; i < 2; i++) {
        int64_t beyond = beyond_the_end(layer, s, i);

        op.params.window.pad_end[i] = beyond > 0 ? beyond : s->window.pad[i];
        if (beyond > 0) /* there is no padding in this case, so the divisor need not count it */
            op.params.pool.divisor = FERRY_POOL_DIVISOR_VALID;
    }
    ferry__op_in(&op, in, ferry__whole(layer, ferry__of_bottom(0)), ferry__of_bottom(0));
    ferry__op_out(&op, out, ferry__whole(layer, ferry__of_top(0)), ferry__of_top(0));
    if (propagates && !s->average && ferry_layer_top_count(layer) == 1 &&
        !ferry_layer_scratch(layer, 0, 1, ferry_blob_shape(top), 4))
        return ferry_last_error_code();
    if (ferry_layer_top_count(layer) > 1 || (propagates && !s->average))
        ferry__op_out(&op, out, ferry__whole(layer, mask_of(layer)), mask_of(layer));
    err = ferry_layer_emit(layer, &op, in, out);
    for (i = 0; !err && s->average && !s->unpadded && i < 2; i++)
        if (beyond_the_end(layer, s, i))
            err = emit_empty_windows(layer, s, i);
    return err || !propagates ? err : emit_backward(layer, &op);
}

static int reshape(ferry_layer *layer)
{
    struct pooling *s = ferry_layer_state(layer);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t shape[4];
    int i, err = 0;

    if (ferry_blob_rank(bottom) != 4)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom has %d axes, not 4",
                                 ferry_blob_rank(bottom));
    for (i = 0; i < 4; i++) {
        shape[i] = ferry_blob_dim(bottom, i);
        if (i < 2)
            continue;
        if (s->global)
            s->window.kernel[i - 2] = shape[i] > 0 ? shape[i] : 1;
        shape[i] = windows(s, i - 2, shape[i]);
        if (shape[i] < 1)
            return ferry_layer_error(layer, FERRY_ESHAPE, "its window of %lld does not fit on %lld",
                                     (long long)s->window.kernel[i - 2],
                                     (long long)ferry_blob_dim(bottom, i));
    }
    for (i = 0; !err && i < ferry_layer_top_count(layer); i++)
        err = ferry_blob_reshape(ferry_layer_top_at(layer, i), shape, 4, NULL);
    return err ? err : emit(layer, s);
}

static const char *const messages[] = { "pooling_param", NULL };

const ferry_layer_type ferry__pooling_layer = {
    .struct_size = sizeof ferry__pooling_layer,
    .name = "Pooling",
    .state_size = sizeof(struct pooling),
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 2,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
