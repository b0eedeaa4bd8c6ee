/* SPDX-License-Identifier: BSD-2-Clause */
/* Layers of regions of interest. */
#include "net/onnx/layers.h"

void ferry__onnx_roi_pooling(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "roi_pooling_param");
    int64_t shape[2] = { ferry_proto_integer(p, "pooled_h", 0),
                         ferry_proto_integer(p, "pooled_w", 0) };
    int64_t rows[2] = { ferry_blob_dim(ferry__onnx_bottom_blob(o, 1), 0), 5 };
    int rois = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 1), 2, rows);
    int y = ONNX_OP(o, "MaxRoiPool", ferry__onnx_bottom(o, 0), rois);

    ferry__onnx_set_ints(o, "pooled_shape", 2, shape);
    ferry__onnx_set_float(o, "spatial_scale", ferry_proto_real(p, "spatial_scale", 0));
    ferry__onnx_top(o, 0, y);
}

/* ---- PSROIPooling --------------------------------------------------------------------------- */

/*
 * Pooling by products: the sum of a bin is a product with masks that are 1 for the rows of the bin
 * and for its columns. It supports one image, since regions of several images would require a copy
 * of the image for each region.
 */
struct grouped {
    int64_t group, outputs, rois, size[2];
    double scale;
};

/* Coordinate `column` of the regions: rois × 1. */
static int coordinate(struct ferry__onnx *o, int rois, int64_t column)
{
    int at = ferry__onnx_slice_of(o, rois, 1, column, column + 1);

    return ONNX_OP(o, "Floor", ferry__onnx_scaled(o, at, 1, 0.5)); /* rounds to nearest; coordinates
                                                                    * are not negative */
}

/* The numbers first, first + 1, … as floats. */
static int counted(struct ferry__onnx *o, int64_t n, int64_t first, int rank, const int64_t *dims)
{
    float *numbers = ferry__onnx_alloc(o, (size_t)(n + 1) * sizeof *numbers);

    for (int64_t i = 0; numbers && i < n; i++)
        numbers[i] = (float)(first + i);
    return numbers ? ferry__onnx_floats(o, rank, dims, numbers) : 0;
}

/*
 * For axis 0 (rows) or 1: masks of rois × bins × positions; *out_length is the number of positions
 * in each bin, rois × bins.
 */
static int masks(struct ferry__onnx *o, const struct grouped *g, int rois, int axis,
                 int *out_length)
{
    int64_t bins[2] = { 1, g->group }, places[3] = { 1, 1, g->size[axis] }, behind = 2;
    int start = ferry__onnx_scaled(o, coordinate(o, rois, 2 - axis), g->scale, 0), end, bin,
        edge[2];
    int at = counted(o, g->size[axis], 0, 3, places), i, in;

    end = ferry__onnx_scaled(o, coordinate(o, rois, 4 - axis), 1, 1);
    bin = ONNX_OP(o, "Sub", ferry__onnx_scaled(o, end, g->scale, 0), start);
    bin = ONNX_OP(o, "Max", bin, ferry__onnx_float(o, 0.1));
    bin = ferry__onnx_scaled(o, bin, 1 / (double)g->group, 0);
    for (i = 0; i < 2; i++) {
        edge[i] = ONNX_OP(o, "Mul", bin, counted(o, g->group, i, 2, bins));
        edge[i] = ONNX_OP(o, i ? "Ceil" : "Floor", ONNX_OP(o, "Add", edge[i], start));
        edge[i] = ferry__onnx_clip_to(o, edge[i], 0, (double)g->size[axis]);
    }
    *out_length = ONNX_OP(o, "Sub", edge[1], edge[0]);
    for (i = 0; i < 2; i++)
        edge[i] = ferry__onnx_unsqueeze(o, edge[i], 1, &behind);
    in = ONNX_OP(o, "And", ONNX_OP(o, "Not", ONNX_OP(o, "Less", at, edge[0])),
                 ONNX_OP(o, "Less", at, edge[1]));
    return ferry__onnx_cast(o, in, FERRY__ONNX_FLOAT);
}

/* The sums of all bins: rois × outputs × group × group. */
static int bin_sums(struct ferry__onnx *o, const struct grouped *g, const int mask[2])
{
    int64_t n = g->group, h = g->size[0], w = g->size[1], last = 4;
    int64_t split[5] = { g->outputs, n, n, h, w }, flat[3] = { n, h, g->outputs * n * w };
    int64_t wide[5] = { n, g->rois, g->outputs, n, w }, columns[5] = { 1, g->rois, 1, n, w };
    int x = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 0), 5, split), rows, y;

    x = ferry__onnx_transpose(o, x, 5, (int64_t[]){ 1, 3, 0, 2, 4 });
    x = ferry__onnx_reshape_to(o, x, 3, flat);
    rows = ferry__onnx_transpose(o, mask[0], 3, (int64_t[]){ 1, 0, 2 });
    y = ferry__onnx_reshape_to(o, ONNX_OP(o, "MatMul", rows, x), 5, wide);
    y = ONNX_OP(o, "Mul", y, ferry__onnx_reshape_to(o, mask[1], 5, columns));
    y = ferry__onnx_reduce(o, "ReduceSum", y, 1, &last, false);
    return ferry__onnx_transpose(o, y, 4, (int64_t[]){ 1, 2, 0, 3 });
}

void ferry__onnx_psroi_pooling(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "psroi_pooling_param");
    const ferry_blob *x = ferry__onnx_bottom_blob(o, 0);
    struct grouped g = { .group = ferry_proto_integer(p, "group_size", 0),
                         .outputs = ferry_proto_integer(p, "output_dim", 0),
                         .rois = ferry_blob_dim(ferry__onnx_bottom_blob(o, 1), 0),
                         .size = { ferry_blob_dim(x, 2), ferry_blob_dim(x, 3) },
                         .scale = ferry_proto_real(p, "spatial_scale", 0) };
    int64_t table[2] = { g.rois, 5 }, high[2] = { 1, 3 }, wide[2] = { 1, 2 };
    int rois = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 1), 2, table), mask[2], length[2];
    int area, i;

    for (i = 0; i < 2; i++)
        mask[i] = masks(o, &g, rois, i, &length[i]);
    area = ONNX_OP(o, "Mul", ferry__onnx_unsqueeze(o, length[0], 2, high),
                   ferry__onnx_unsqueeze(o, length[1], 2, wide));
    area = ONNX_OP(o, "Max", area, ferry__onnx_float(o, 1)); /* the sum of an empty bin is 0 */
    ferry__onnx_top(o, 0, ONNX_OP(o, "Div", bin_sums(o, &g, mask), area));
}

const char *ferry__onnx_psroi_pooling_refuse(const struct ferry__onnx *o, const ferry_layer *layer)
{
    if (ferry_blob_dim(ferry_layer_bottom_at(layer, 0), 0) != 1)
        return "its regions are of several images";
    return ferry__onnx_one_batch(o, layer);
}
