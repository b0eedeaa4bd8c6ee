/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ferry__top_like(ferry_layer *layer, int top, const ferry_blob *b)
{
    ferry_blob *to = ferry_layer_top_at(layer, top);

    return to == b ? 0 : ferry_blob_reshape_like(to, b);
}

int ferry__bottoms_differ(ferry_layer *layer, int index, int other, const char *differ)
{
    char a[160], b[160];

    if (ferry_blob_shape_string(ferry_layer_bottom_at(layer, index), a, sizeof a) ||
        ferry_blob_shape_string(ferry_layer_bottom_at(layer, other), b, sizeof b))
        return ferry_layer_error(layer, FERRY_ESHAPE, "bottoms %d and %d %s", index, other, differ);
    return ferry_layer_error(layer, FERRY_ESHAPE, "bottom %d is %s, bottom %d is %s: they %s",
                             index, a, other, b, differ);
}

int ferry__axis_of(const ferry_layer *layer, const ferry_proto *p, const char *field, int64_t axis,
                   int rank, int *out)
{
    if ((axis < -rank || axis >= rank) && !ferry_proto_value_count(p, field))
        return ferry_layer_error(layer, FERRY_ESHAPE, "%s is %lld, its bottom has %d axes", field,
                                 (long long)axis, rank);
    if (axis < -rank || axis >= rank)
        return ferry_proto_error(p, field, 0, FERRY_ESHAPE,
                                 "layer \"%s\": %s is %lld, its bottom has %d axes",
                                 ferry_layer_name(layer), field, (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return 0;
}

int ferry__find_file(const char *path, const char *namer, char **out)
{
    const char *slash = namer ? strrchr(namer, '/') : NULL;
    bool here = access(path, F_OK) == 0, alone = path[0] == '/' || !slash;
    size_t folder = here || alone ? 0 : (size_t)(slash + 1 - namer);
    char *found = malloc(folder + strlen(path) + 1);

    if (!found)
        return ferry_error_set(FERRY_ENOMEM, "%.400s: no memory for its path", path);
    if (folder)
        memcpy(found, namer, folder);
    strcpy(found + folder, path);
    if (here || access(found, F_OK) == 0) {
        *out = found;
        return FERRY_OK;
    }
    if (folder)
        ferry_error_set(FERRY_EIO, "\"%.300s\": %s; likewise \"%.400s\"", path, strerror(errno),
                        found);
    else
        ferry_error_set(FERRY_EIO, "\"%.400s\": %s", path, strerror(errno));
    free(found);
    return FERRY_EIO;
}

int ferry__file_of(const ferry_layer *layer, const ferry_proto *p, const char *field, char **out)
{
    const char *path = ferry_proto_string(p, field, 0, NULL);
    bool given = ferry_proto_value_count(p, field) > 0;
    char why[900];
    int err;

    if (!*path)
        return ferry_proto_error(p ? p : ferry_layer_message(layer), given ? field : NULL, 0,
                                 FERRY_EFORMAT, "layer \"%s\": its %s names no file",
                                 ferry_layer_name(layer), field);
    err = ferry__find_file(path, ferry_proto_get_location(p, NULL, 0).file, out);
    if (!err)
        return FERRY_OK;
    snprintf(why, sizeof why, "%s", ferry_last_error());
    return ferry_proto_error(p, field, 0, err, "layer \"%s\": %s", ferry_layer_name(layer), why);
}

/* The blob of an operand, for operands that a layer type's functions may use. */
static const ferry_blob *blob_at(const ferry_layer *layer, ferry_layer_operand at)
{
    switch (at.from) {
    case FERRY_FROM_BOTTOM:
        return ferry_layer_bottom_at(layer, at.index);
    case FERRY_FROM_TOP:
        return ferry_layer_top_at(layer, at.index);
    case FERRY_FROM_PARAM:
        return ferry_layer_param_at(layer, at.index);
    default:
        return ferry_layer_scratch_at(layer, at.index);
    }
}

ferry_operand ferry__whole(const ferry_layer *layer, ferry_layer_operand at)
{
    ferry_operand operand;

    ferry_layer_operand_of(blob_at(layer, at), &operand);
    return operand;
}

ferry_operand ferry__around(const ferry_layer *layer, ferry_layer_operand at, int axis)
{
    const ferry_blob *b = blob_at(layer, at);
    int64_t shape[3];

    shape[0] = ferry_blob_element_count_range(b, 0, axis);
    shape[1] = ferry_blob_dim(b, axis);
    shape[2] = ferry_blob_element_count_range(b, axis + 1, ferry_blob_rank(b));
    return ferry_operand_make(ferry_blob_dtype(b), shape, 3, NULL);
}

void ferry__op_in(ferry_op_desc *op, ferry_layer_operand *list, ferry_operand o,
                  ferry_layer_operand at)
{
    list[op->n_in] = at;
    if (at.from == FERRY_FROM_PARAM && !at.diff)
        op->constants |= 1u << op->n_in;
    op->in[op->n_in++] = o;
}

void ferry__op_out(ferry_op_desc *op, ferry_layer_operand *list, ferry_operand o,
                   ferry_layer_operand at)
{
    list[op->n_out] = at;
    op->out[op->n_out++] = o;
}

int ferry__emit_unary(ferry_layer *layer, uint32_t function, double a, double b, double c,
                      ferry_layer_operand from, ferry_layer_operand to)
{
    ferry_layer_operand in[1], out[1];
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.params.unary.function = function;
    op.params.unary.a = a;
    op.params.unary.b = b;
    op.params.unary.c = c;
    ferry__op_in(&op, in, ferry__whole(layer, from), from);
    ferry__op_out(&op, out, ferry__whole(layer, to), to);
    return ferry_layer_emit(layer, &op, in, out);
}

int ferry__emit_binary(ferry_layer *layer, uint32_t function, double a, double b, ferry_operand x,
                       ferry_layer_operand x_at, ferry_operand u, ferry_layer_operand u_at,
                       ferry_operand y, ferry_layer_operand y_at)
{
    ferry_layer_operand in[2], out[1];
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = function;
    op.params.binary.a = a;
    op.params.binary.b = b;
    ferry__op_in(&op, in, x, x_at);
    ferry__op_in(&op, in, u, u_at);
    ferry__op_out(&op, out, y, y_at);
    return ferry_layer_emit(layer, &op, in, out);
}

int ferry__emit_copy(ferry_layer *layer, ferry_operand x, ferry_layer_operand x_at, ferry_operand y,
                     ferry_layer_operand y_at)
{
    ferry_layer_operand in[1], out[1];
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_STRIDED_COPY);
    ferry__op_in(&op, in, x, x_at);
    ferry__op_out(&op, out, y, y_at);
    return ferry_layer_emit(layer, &op, in, out);
}

int ferry__regions(ferry_layer *layer, int64_t outputs, int64_t h, int64_t w, uint32_t group,
                   double scale)
{
    const ferry_blob *regions = ferry_layer_bottom_at(layer, 1);
    ferry_layer_operand in[2], out[1];
    int64_t count;
    ferry_op_desc op;
    int err;

    count = ferry_blob_rank(regions) ? ferry_blob_dim(regions, 0) : 0;
    if (ferry_blob_element_count(regions) != 5 * count)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its regions have %lld values, not 5 each",
                                 (long long)ferry_blob_element_count(regions));
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), (int64_t[]){ count, outputs, h, w }, 4,
                             NULL);
    if (err)
        return err;
    ferry_op_desc_init(&op, FERRY_OP_ROI_POOL);
    op.params.roi.group = group;
    op.params.roi.spatial_scale = scale;
    ferry__op_in(&op, in, ferry__whole(layer, ferry__of_bottom(0)), ferry__of_bottom(0));
    ferry__op_in(&op, in, ferry_operand_make(FERRY_F32, (int64_t[]){ count, 5 }, 2, NULL),
                 ferry__of_bottom(1));
    ferry__op_out(&op, out, ferry__whole(layer, ferry__of_top(0)), ferry__of_top(0));
    return ferry_layer_emit(layer, &op, in, out);
}
