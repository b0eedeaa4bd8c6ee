/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BatchNorm (batch_norm_param): (x − mean) / √(variance + eps) for each channel. Parameters: sums
 * of means and of variances, and the factor that they are divided by (with 0 both count as 0). With
 * use_global_stats (the default in TEST) the parameters are used; otherwise the statistics of the
 * batch, which are then added to the parameters: the previous sums decay by
 * moving_average_fraction, and the variance is scaled by m / (m − 1). (Caffe: BatchNormLayer.)
 */
#include "common/affine.h"
#include "net/layers/emit.h"

#include <ferry/status.h>

struct batch_norm {
    int64_t channels;
    double eps, decay;
    bool global;
};

/* The layer's scratch blobs. */
enum { MEAN, SPREAD, VARIANCE, RESULT };

static int setup(ferry_layer *layer)
{
    struct batch_norm *s = ferry_layer_state(layer);
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "batch_norm_param", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    ferry_layer_param param = { .struct_size = sizeof param, .rank = 1, .shape = &s->channels };
    int i, err = 0;

    s->channels = ferry_blob_rank(bottom) == 1 ? 1 : ferry_blob_dim(bottom, 1);
    s->eps = ferry_proto_real(p, "eps", 0);
    s->decay = ferry_proto_real(p, "moving_average_fraction", 0);
    s->global = ferry_proto_value_count(p, "use_global_stats")
                    ? ferry_proto_boolean(p, "use_global_stats", 0)
                    : ferry_layer_phase(layer) == FERRY_PHASE_TEST;
    if (ferry_blob_rank(bottom) < 1)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom is a scalar");
    for (i = 0; !err && i < 3; i++) {
        int64_t one = 1;

        if (i == 2)
            param.shape = &one;
        err = ferry_layer_declare_param(layer,
                                        &param); /* lr_mult and decay_mult are 0, so that solvers do
                                                  * not change it */
    }
    return err;
}

/* Converts the parameters, which are small, to the operation's operands. */
static int prepare(ferry_layer *layer)
{
    const struct batch_norm *s = ferry_layer_state(layer);
    const float *sums = ferry_blob_host_data(ferry_layer_param_at(layer, 0));
    const float *variances = ferry_blob_host_data(ferry_layer_param_at(layer, 1));
    const float *factor = ferry_blob_host_data(ferry_layer_param_at(layer, 2));
    float *mean, *spread;
    int64_t i;

    if (!s->global)
        return 0;
    if (!sums || !variances || !factor)
        return ferry_last_error_code();
    mean = ferry_blob_overwrite_host_data(ferry_layer_scratch_at(layer, MEAN));
    spread = ferry_blob_overwrite_host_data(ferry_layer_scratch_at(layer, SPREAD));
    if (!mean || !spread)
        return ferry_last_error_code();
    for (i = 0; i < s->channels; i++) {
        double m, r;

        ferry__affine_statistics((double)sums[i], (double)variances[i], (double)*factor, s->eps, &m,
                                 &r);
        mean[i] = (float)m;
        spread[i] = (float)r;
    }
    return 0;
}

/* The bottom as images × channels × positions. */
static ferry_operand image(const ferry_blob *b, const struct batch_norm *s)
{
    int64_t shape[3] = { 1, s->channels, 1 };

    if (ferry_blob_rank(b) > 1) {
        shape[0] = ferry_blob_dim(b, 0);
        shape[2] = ferry_blob_element_count_range(b, 2, ferry_blob_rank(b));
    } else {
        shape[2] = ferry_blob_dim(b, 0);
    }
    return ferry_operand_make(FERRY_F32, shape, 3, NULL);
}

static ferry_operand per_channel(const struct batch_norm *s)
{
    return ferry_operand_make(FERRY_F32, (int64_t[]){ 1, s->channels, 1 }, 3, NULL);
}

/* Emits running = decay · running + scale · latest. */
static int emit_running(ferry_layer *layer, const struct batch_norm *s, int param, int scratch,
                        double scale)
{
    ferry_operand o = per_channel(s);
    ferry_layer_operand in[2], out[1];
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_SUM;
    op.params.binary.a = s->decay;
    op.params.binary.b = scale;
    ferry__op_in(&op, in, o, ferry__of_param(param));
    ferry__op_in(&op, in, o, ferry__of_scratch(scratch));
    ferry__op_out(&op, out, o, ferry__of_param(param));
    op.constants = 0;
    return ferry_layer_emit(layer, &op, in, out);
}

static int emit_count(ferry_layer *layer, const struct batch_norm *s)
{
    ferry_layer_operand in[1], out[1];
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.params.unary.function = FERRY_UNARY_POWER;
    op.params.unary.a = 1;
    op.params.unary.b = s->decay;
    op.params.unary.c = 1;
    ferry__op_in(&op, in, ferry__whole(layer, ferry__of_param(2)), ferry__of_param(2));
    ferry__op_out(&op, out, ferry__whole(layer, ferry__of_param(2)), ferry__of_param(2));
    op.constants = 0;
    return ferry_layer_emit(layer, &op, in, out);
}

/* Emits the moments of the batch, and their contribution to the running statistics. */
static int emit_batch(ferry_layer *layer, const struct batch_norm *s)
{
    ferry_operand x = image(ferry_layer_bottom_at(layer, 0), s), o = per_channel(s);
    double m = (double)(x.shape[0] * x.shape[2]);
    ferry_layer_operand in[1], out[2];
    ferry_op_desc op;
    int err;

    ferry_op_desc_init(&op, FERRY_OP_MOMENTS);
    op.params.reduce.axes = 1u << 0 | 1u << 2;
    ferry__op_in(&op, in, x, ferry__of_bottom(0));
    ferry__op_out(&op, out, o, ferry__of_scratch(MEAN));
    ferry__op_out(&op, out, o, ferry__of_scratch(VARIANCE));
    err = ferry_layer_emit(layer, &op, in, out);
    if (!err)
        err = emit_running(layer, s, 0, MEAN, 1);
    if (!err)
        err = emit_running(layer, s, 1, VARIANCE, m > 1 ? m / (m - 1) : 1);
    if (!err)
        err = emit_count(layer, s);
    if (!err)
        err = ferry__emit_unary(layer, FERRY_UNARY_POWER, -0.5, 1, s->eps,
                                ferry__of_scratch(VARIANCE), ferry__of_scratch(SPREAD));
    return err;
}

/*
 * Emits the gradient. With global statistics dx is dy times the spread. Otherwise the gradient also
 * passes through the statistics and needs the result, which is kept because a later layer in place
 * would overwrite the top.
 */
static int emit_backward(ferry_layer *layer, const struct batch_norm *s, ferry_operand x)
{
    struct ferry__term dy = { x, ferry__diff(ferry__of_top(0)) };
    struct ferry__term dx = { x, ferry__diff(ferry__of_bottom(0)) };
    struct ferry__term result = { x, ferry__of_scratch(RESULT) };
    struct ferry__term spread = { per_channel(s), ferry__of_scratch(SPREAD) };
    const ferry_blob *top = ferry_layer_top_at(layer, 0);
    ferry_op_desc op;
    int err;

    if (s->global)
        return ferry__emit_product(layer, dy, spread, dx);
    if (!ferry_layer_scratch(layer, RESULT, 1, ferry_blob_shape(top), ferry_blob_rank(top)))
        return ferry_last_error_code();
    err = ferry__emit_copy(layer, x, ferry__of_top(0), x, result.at);
    if (err)
        return err;
    ferry_op_desc_init(&op, FERRY_OP_MOMENTS);
    op.params.reduce.axes = 1u << 0 | 1u << 2;
    return ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 3,
                            (struct ferry__term[]){ dy, result, spread }, dx);
}

static int reshape(ferry_layer *layer)
{
    const struct batch_norm *s = ferry_layer_state(layer);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    ferry_layer_operand in[3], out[1];
    ferry_operand x, o = per_channel(s);
    ferry_op_desc op;
    int i, err = ferry__top_like(layer, 0, bottom);

    if (err)
        return err;
    if (ferry_blob_rank(bottom) > 1 && ferry_blob_dim(bottom, 1) != s->channels)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "its bottom has %lld channels, the layer was set up for %lld",
                                 (long long)ferry_blob_dim(bottom, 1), (long long)s->channels);
    for (i = MEAN; i <= VARIANCE; i++)
        if (!ferry_layer_scratch(layer, i, 1, &s->channels, 1))
            return ferry_last_error_code();
    if (!s->global)
        err = emit_batch(layer, s);
    if (err)
        return err;
    x = image(bottom, s);
    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_NORMALISE;
    ferry__op_in(&op, in, x, ferry__of_bottom(0));
    ferry__op_in(&op, in, o, ferry__of_scratch(MEAN));
    ferry__op_in(&op, in, o, ferry__of_scratch(SPREAD));
    ferry__op_out(&op, out, x, ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    return err || !ferry_layer_propagates(layer, 0) ? err : emit_backward(layer, s, x);
}

static const char *const messages[] = { "batch_norm_param", NULL };

const ferry_layer_type ferry__batch_norm_layer = {
    .struct_size = sizeof ferry__batch_norm_layer,
    .name = "BatchNorm",
    .state_size = sizeof(struct batch_norm),
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .setup = setup,
    .prepare = prepare,
    .reshape = reshape,
};
