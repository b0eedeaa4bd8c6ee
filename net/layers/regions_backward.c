/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The gradients of regions, on the host: each value of a region goes back to the elements that it
 * was computed from, the largest one of its bin or all of them equally. Bins are placed as in
 * FERRY_OP_ROI_POOL.
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <float.h>
#include <math.h>
#include <string.h>

struct regions {
    int64_t images, channels, h, w;         /* the shape of bottom 0 */
    int64_t count, outputs, bins_h, bins_w; /* the shape of the top */
    int64_t group;                          /* 0: the maximum of a bin is pooled */
    double scale;
};

struct bin {
    int64_t plane; /* a plane of bottom 0 */
    int64_t h[2], w[2];
};

static int64_t limited(double at, int64_t most)
{
    return at > 0 ? at > (double)most ? most : (int64_t)at : 0;
}

/* The range of bin `i` of `bins` along an axis, for a region from `first` to `last`. */
static void reach(const struct regions *r, double first, double last, int64_t i, int64_t bins,
                  int64_t most, int64_t out[2])
{
    double begin = r->group ? first * r->scale : first, size;

    size = r->group ? fmax((last + 1) * r->scale - begin, 0.1) : fmax(last - first + 1, 1);
    size /= (double)bins;
    if (r->group) {
        out[0] = limited(floor((double)i * size + begin), most);
        out[1] = limited(ceil((double)(i + 1) * size + begin), most);
    } else {
        out[0] = limited(floor((double)i * size) + begin, most);
        out[1] = limited(ceil((double)(i + 1) * size) + begin, most);
    }
}

static struct bin bin_of(const struct regions *r, const float *region, int64_t c, int64_t i,
                         int64_t k)
{
    int64_t image = limited(region[0], r->images - 1), channel = c, p;
    double corner[4];
    struct bin bin;

    for (p = 0; p < 4; p++)
        corner[p] = round((double)region[1 + p] * (r->group ? 1 : r->scale));
    if (r->group)
        channel = (c * r->group + i * r->group / r->bins_h) * r->group + k * r->group / r->bins_w;
    bin.plane = image * r->channels + channel;
    reach(r, corner[1], corner[3], i, r->bins_h, r->h, bin.h);
    reach(r, corner[0], corner[2], k, r->bins_w, r->w, bin.w);
    return bin;
}

/* The index of the first largest element; −1 in an empty bin. */
static int64_t largest(const struct regions *r, const struct bin *bin, const float *plane)
{
    float most = -FLT_MAX;
    int64_t i, k, at = -1;

    for (i = bin->h[0]; i < bin->h[1]; i++)
        for (k = bin->w[0]; k < bin->w[1]; k++)
            if (plane[i * r->w + k] > most) {
                most = plane[i * r->w + k];
                at = i * r->w + k;
            }
    return at;
}

static void give_back(const struct regions *r, const struct bin *bin, const float *x, float dy,
                      float *dx)
{
    int64_t plane = bin->plane * r->h * r->w, i, k, at;
    int64_t elements = (bin->h[1] - bin->h[0]) * (bin->w[1] - bin->w[0]);

    if (!r->group) {
        at = largest(r, bin, &x[plane]);
        if (at >= 0)
            dx[plane + at] += dy;
        return;
    }
    for (i = bin->h[0]; i < bin->h[1]; i++)
        for (k = bin->w[0]; k < bin->w[1]; k++)
            dx[plane + i * r->w + k] += dy / (float)elements;
}

static void measure(const ferry_layer *layer, uint32_t group, double scale, struct regions *out)
{
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0), *y = ferry_layer_top_at(layer, 0);

    out->images = ferry_blob_dim(x, 0);
    out->channels = ferry_blob_dim(x, 1);
    out->h = ferry_blob_dim(x, 2);
    out->w = ferry_blob_dim(x, 3);
    out->count = ferry_blob_dim(y, 0);
    out->outputs = ferry_blob_dim(y, 1);
    out->bins_h = ferry_blob_dim(y, 2);
    out->bins_w = ferry_blob_dim(y, 3);
    out->group = group;
    out->scale = scale;
}

int ferry__regions_backward(ferry_layer *layer, uint32_t group, double scale)
{
    ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    const float *x = ferry_blob_host_data(bottom);
    const float *regions = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    const float *dy = ferry_blob_host_diff(ferry_layer_top_at(layer, 0));
    float *dx = ferry_blob_overwrite_host_diff(bottom);
    int64_t n, c, i, k;
    struct regions r;

    if (!x || !regions || !dy || !dx)
        return ferry_last_error_code();
    memset(dx, 0, (size_t)ferry_blob_element_count(bottom) * sizeof *dx);
    measure(layer, group, scale, &r);
    for (n = 0; n < r.count; n++)
        for (c = 0; c < r.outputs; c++)
            for (i = 0; i < r.bins_h; i++)
                for (k = 0; k < r.bins_w; k++) {
                    struct bin bin = bin_of(&r, &regions[5 * n], c, i, k);

                    give_back(&r, &bin, x, *dy++, dx);
                }
    return 0;
}

const char *ferry__regions_refuse(const ferry_layer *layer, int index)
{
    (void)layer;
    return index ? "Layer: regions cannot be differentiated." : NULL;
}
