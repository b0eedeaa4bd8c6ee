/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/layers/loss.h"

#include "net/layers/emit.h"

#include <ferry/status.h>

void ferry__loss_read(const ferry_layer *layer, enum ferry__normalization otherwise,
                      struct ferry__loss *out)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "loss_param", 0);

    out->ignores = ferry_proto_value_count(p, "ignore_label") > 0;
    out->ignored = ferry_proto_integer(p, "ignore_label", 0);
    out->normalization = otherwise;
    if (ferry_proto_value_count(p, "normalization"))
        out->normalization = (enum ferry__normalization)ferry_proto_integer(p, "normalization", 0);
    else if (ferry_proto_value_count(p, "normalize"))
        out->normalization = ferry_proto_boolean(p, "normalize", 0) ? FERRY__NORMALIZE_VALID
                                                                    : FERRY__NORMALIZE_BATCH_SIZE;
}

int ferry__loss_around(const ferry_layer *layer, int axis, struct ferry__loss *out)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t labels = ferry_blob_element_count(ferry_layer_bottom_at(layer, 1));

    out->outer = ferry_blob_element_count_range(bottom, 0, axis);
    out->classes = ferry_blob_dim(bottom, axis);
    out->inner = ferry_blob_element_count_range(bottom, axis + 1, ferry_blob_rank(bottom));
    if (labels != out->outer * out->inner)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "%lld labels for %lld × %lld predictions of %lld classes",
                                 (long long)labels, (long long)out->outer, (long long)out->inner,
                                 (long long)out->classes);
    return 0;
}

double ferry__loss_divisor(const struct ferry__loss *loss, int64_t valid)
{
    double places = (double)loss->outer * (double)loss->inner, divisor = 1;

    switch (loss->normalization) {
    case FERRY__NORMALIZE_FULL:
        divisor = places;
        break;
    case FERRY__NORMALIZE_VALID:
        divisor = (double)valid;
        break;
    case FERRY__NORMALIZE_BATCH_SIZE:
        divisor = (double)loss->outer;
        break;
    case FERRY__NORMALIZE_NONE:
        break;
    }
    return divisor > 1 ? divisor : 1;
}

bool ferry__loss_counts(const struct ferry__loss *loss, float label)
{
    return !(loss->ignores && label > -1e9f && label < 1e9f && (int64_t)label == loss->ignored);
}

int ferry__loss_class(const ferry_layer *layer, float label, int64_t classes, int64_t *out)
{
    if (!(label > -1) || !(label < (float)classes))
        return ferry_layer_error(layer, FERRY_EINVAL, "a label is %g, there are %lld classes",
                                 (double)label, (long long)classes);
    *out = (int64_t)label;
    return 0;
}

int ferry__loss_scalar(ferry_layer *layer)
{
    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), NULL, 0, NULL);
}

int ferry__loss_store(ferry_layer *layer, double loss)
{
    float *top = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 0));

    if (!top)
        return ferry_last_error_code();
    *top = (float)loss;
    return 0;
}

int ferry__loss_diff(const ferry_layer *layer, double *out)
{
    const float *diff = ferry_blob_host_diff(ferry_layer_top_at(layer, 0));

    if (!diff)
        return ferry_last_error_code();
    *out = *diff;
    return 0;
}

int ferry__loss_begin(ferry_layer *layer, double *out_factor, float **out_diff)
{
    *out_diff = NULL;
    if (!ferry_layer_propagates(layer, 0))
        return 0;
    *out_diff = ferry_blob_overwrite_host_diff(ferry_layer_bottom_at(layer, 0));
    return *out_diff ? ferry__loss_diff(layer, out_factor) : ferry_last_error_code();
}

void ferry__loss_scale(const struct ferry__loss *loss, int64_t valid, double factor, float *diff)
{
    int64_t i;

    factor /= ferry__loss_divisor(loss, valid);
    for (i = 0; i < loss->outer * loss->classes * loss->inner; i++)
        diff[i] = (float)(diff[i] * factor);
}

int ferry__loss_softmax(ferry_layer *layer, int axis)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    bool shown = ferry_layer_top_count(layer) > 1;
    ferry_layer_operand to = shown ? ferry__of_top(1) : ferry__of_scratch(0), in[1], out[1];
    ferry_op_desc op;
    int err = shown ? ferry__top_like(layer, 1, bottom) : 0;

    if (err)
        return err;
    if (!shown &&
        !ferry_layer_scratch(layer, 0, 1, ferry_blob_shape(bottom), ferry_blob_rank(bottom)))
        return ferry_last_error_code();
    ferry_op_desc_init(&op, FERRY_OP_SOFTMAX);
    op.params.softmax.axis = 1;
    ferry__op_in(&op, in, ferry__around(layer, ferry__of_bottom(0), axis), ferry__of_bottom(0));
    ferry__op_out(&op, out, ferry__around(layer, to, axis), to);
    err = ferry_layer_emit(layer, &op, in, out);
    return err || !shown ? err : ferry__result_kept(layer, 1, 0, &to);
}

const float *ferry__loss_probabilities(const ferry_layer *layer)
{
    const ferry_blob *own = ferry_layer_scratch_at(layer, 0);

    return ferry_blob_host_data(own ? own : ferry_layer_top_at(layer, 1));
}
