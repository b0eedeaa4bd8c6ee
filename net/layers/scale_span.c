/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/layers/scale.h"

#include <ferry/status.h>

int ferry__span_read(ferry_layer *layer, const ferry_proto *p, struct ferry__span *out)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int rank = ferry_blob_rank(bottom), err;
    int64_t n = ferry_proto_integer(p, "num_axes", 0);

    out->first = 0;
    out->count = 0;
    if (ferry_layer_bottom_count(layer) == 1 && n == 0)
        return 0; /* a scalar matches any axis */
    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0), rank, &out->first);
    if (err || ferry_layer_bottom_count(layer) > 1)
        return err;
    if (n < -1 || out->first + (n < 0 ? 0 : n) > rank)
        return ferry_proto_error(p, "num_axes", 0, FERRY_ESHAPE,
                                 "layer \"%s\": %lld axes from axis %d on; its bottom has %d",
                                 ferry_layer_name(layer), (long long)n, out->first, rank);
    out->count = n < 0 ? rank - out->first : (int)n;
    return 0;
}

int ferry__span_declare(ferry_layer *layer, const struct ferry__span *span,
                        const ferry_proto *filler, double value)
{
    ferry_layer_param param = { .struct_size = sizeof param, .rank = span->count };

    param.shape = ferry_blob_shape(ferry_layer_bottom_at(layer, 0)) + span->first;
    param.filler = filler;
    param.value = value;
    param.lr_mult = param.decay_mult = 1;
    return ferry_layer_declare_param(layer, &param);
}

ferry_operand ferry__span_image(const ferry_blob *b, const struct ferry__span *span)
{
    int end = span->first + span->count;
    int64_t shape[3];

    shape[0] = ferry_blob_element_count_range(b, 0, span->first);
    shape[1] = ferry_blob_element_count_range(b, span->first, end);
    shape[2] = ferry_blob_element_count_range(b, end, ferry_blob_rank(b));
    return ferry_operand_make(FERRY_F32, shape, 3, NULL);
}

ferry_operand ferry__span_operand(const ferry_blob *b, const struct ferry__span *span)
{
    int64_t shape[3] = { 1,
                         ferry_blob_element_count_range(b, span->first, span->first + span->count),
                         1 };

    return ferry_operand_make(FERRY_F32, shape, 3, NULL);
}

int ferry__span_fit(ferry_layer *layer, struct ferry__span *span)
{
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0), *u = ferry_layer_bottom_at(layer, 1);
    int i;

    if (!u)
        return 0;
    span->count = ferry_blob_rank(u);
    if (span->first + span->count > ferry_blob_rank(x))
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "bottom 1 has %d axes, bottom 0 has %d from axis %d on",
                                 span->count, ferry_blob_rank(x) - span->first, span->first);
    for (i = 0; i < span->count; i++)
        if (ferry_blob_dim(u, i) != ferry_blob_dim(x, span->first + i))
            return ferry_layer_error(layer, FERRY_ESHAPE,
                                     "axis %d of bottom 1 is %lld, axis %d of bottom 0 is %lld", i,
                                     (long long)ferry_blob_dim(u, i), span->first + i,
                                     (long long)ferry_blob_dim(x, span->first + i));
    return 0;
}
