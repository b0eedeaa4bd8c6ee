/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/data/resize.h"

#include <ferry/image.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_VALUES 0x1p60 /* a resized picture has fewer, so that its bytes can be counted */

/* The state of a picture between two steps, as planes. */
struct picture {
    int64_t channels, height, width;
    const float *values;
    float *own; /* values that the picture owns and has to free; NULL: they are borrowed */
};

/* The parameters of all steps, checked against each other before anything is computed. */
struct plan {
    int64_t resized[2], cut[2]; /* the size after resizing, and the offset of the covered part in
                                 * it */
    double steps[2];            /* source rows and columns of one output pixel */
    int64_t kept[2];            /* the size of the covered part, to which mean and crop apply */
    const float *mean;
    int64_t mean_count;
    bool mean_whole;        /* one value for each element, otherwise one for each channel */
    int64_t crop[2], at[2]; /* the size and the offset of the crop */
    double scale;
    bool mirror, swap;
};

/* ---- planning -------------------------------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/*
 * Sets the size after resizing: the requested size, or, with `cover`, a size that is larger along
 * one axis.
 */
static void plan_resize(const struct picture *p, const ferry_image_transform_options *o,
                        struct plan *plan)
{
    double factor;

    plan->kept[0] = o->height ? o->height : p->height;
    plan->kept[1] = o->width ? o->width : p->width;
    plan->steps[0] = (double)p->height / (double)plan->kept[0];
    plan->steps[1] = (double)p->width / (double)plan->kept[1];
    memcpy(plan->resized, plan->kept, sizeof(plan->resized));
    memset(plan->cut, 0, sizeof(plan->cut));
    if (!o->cover)
        return;
    factor = 1 / (plan->steps[0] < plan->steps[1] ? plan->steps[0] : plan->steps[1]);
    plan->steps[0] = plan->steps[1] = 1 / factor;
    plan->resized[0] = larger((int64_t)((double)p->height * factor + 0.5), plan->kept[0]);
    plan->resized[1] = larger((int64_t)((double)p->width * factor + 0.5), plan->kept[1]);
    for (int i = 0; i < 2; i++)
        plan->cut[i] = (plan->resized[i] - plan->kept[i]) / 2;
}

static int plan_mean(const struct picture *p, const ferry_blob *mean, struct plan *plan)
{
    int64_t count = mean ? ferry_blob_element_count(mean) : 0, area = plan->kept[0] * plan->kept[1];
    int rank = mean ? ferry_blob_rank(mean) : 0;
    char shape[160];

    plan->mean_count = count;
    plan->mean = NULL;
    plan->mean_whole = false;
    if (!mean)
        return FERRY_OK;
    plan->mean_whole = count == p->channels * area && rank >= 2 &&
                       ferry_blob_dim(mean, rank - 2) == plan->kept[0] &&
                       ferry_blob_dim(mean, rank - 1) == plan->kept[1];
    ferry_blob_shape_string(mean, shape, sizeof(shape));
    if (count != 1 && count != p->channels && !plan->mean_whole)
        return ferry_error_set(FERRY_ESHAPE,
                               "a mean of %s for a picture of %lld x %lld x %lld: it must have one "
                               "value, one per channel, or one per element",
                               shape, (long long)p->channels, (long long)plan->kept[0],
                               (long long)plan->kept[1]);
    if (ferry_blob_dtype(mean) != FERRY_F32)
        return ferry_error_set(FERRY_EINVAL, "a mean of %s: it must be F32", shape);
    plan->mean = ferry_blob_host_data(mean);
    return plan->mean ? FERRY_OK : ferry_last_error_code();
}

static int plan_crop(const ferry_image_transform_options *o, struct plan *plan)
{
    plan->crop[0] = o->crop_height ? o->crop_height : plan->kept[0];
    plan->crop[1] = o->crop_width ? o->crop_width : plan->kept[1];
    for (int i = 0; i < 2; i++)
        plan->at[i] = o->crop_at ? o->crop_at[i] : (plan->kept[i] - plan->crop[i]) / 2;
    for (int i = 0; i < 2; i++)
        if (plan->crop[i] < 0 || plan->at[i] < 0 || plan->crop[i] > plan->kept[i] - plan->at[i])
            return ferry_error_set(FERRY_ESHAPE,
                                   "a crop of %lld x %lld at %lld, %lld from a picture of %lld x "
                                   "%lld",
                                   (long long)plan->crop[0], (long long)plan->crop[1],
                                   (long long)plan->at[0], (long long)plan->at[1],
                                   (long long)plan->kept[0], (long long)plan->kept[1]);
    return FERRY_OK;
}

static int make_plan(const struct picture *p, const ferry_image_transform_options *o,
                     struct plan *plan)
{
    int err;

    if (o->height < 0 || o->width < 0 || o->height > INT32_MAX || o->width > INT32_MAX)
        return ferry_error_set(FERRY_EINVAL, "a picture cannot be resized to %lld x %lld",
                               (long long)o->height, (long long)o->width);
    if (!isfinite(o->scale))
        return ferry_error_set(FERRY_EINVAL, "ferry_image_transform: scale is %g", o->scale);
    plan_resize(p, o, plan);
    if ((double)p->channels * (double)plan->resized[0] * (double)plan->resized[1] >= MOST_VALUES)
        return ferry_error_set(FERRY_EOVERFLOW, "a picture of %lld x %lld is too large",
                               (long long)plan->resized[0], (long long)plan->resized[1]);
    plan->scale = o->scale == 0 ? 1 : o->scale;
    plan->mirror = o->mirror != 0;
    plan->swap = o->swap_rb && p->channels >= 3;
    err = plan_mean(p, o->mean, plan);
    return err ? err : plan_crop(o, plan);
}

/*
 * ---- running
 * -------------------------------------------------------------------------------------
 */

static int take(const ferry_blob *image, struct picture *p)
{
    int64_t count = ferry_blob_element_count(image);
    const void *values;

    if (ferry_blob_rank(image) != 3 || count == 0)
        return ferry_error_set(FERRY_ESHAPE,
                               "a picture must have three axes, channels, height and width");
    *p = (struct picture){ ferry_blob_dim(image, 0), ferry_blob_dim(image, 1),
                           ferry_blob_dim(image, 2), NULL, NULL };
    values = ferry_blob_host_data(image);
    if (!values)
        return ferry_last_error_code();
    if (ferry_blob_dtype(image) == FERRY_F32) {
        p->values = values;
        return FERRY_OK;
    }
    p->own = malloc((size_t)count * sizeof(*p->own));
    if (!p->own)
        return ferry_error_set(FERRY_ENOMEM, "no memory for a picture");
    for (int64_t i = 0; i < count; i++)
        p->own[i] = ((const unsigned char *)values)[i];
    p->values = p->own;
    return FERRY_OK;
}

static int resize(struct picture *p, const struct plan *plan, bool round)
{
    size_t count = (size_t)p->channels * (size_t)(plan->resized[0] * plan->resized[1]);
    float *to;
    int err;

    if (plan->resized[0] == p->height && plan->resized[1] == p->width)
        return FERRY_OK;
    to = malloc(count * sizeof(*to));
    if (!to)
        return ferry_error_set(FERRY_ENOMEM, "no memory for a picture of %lld x %lld",
                               (long long)plan->resized[1], (long long)plan->resized[0]);
    err = ferry__resize(p->values, p->channels, p->height, p->width, to, plan->resized[0],
                        plan->resized[1], plan->steps);
    for (size_t i = 0; !err && round && i < count; i++)
        to[i] = (float)(int)(to[i] + 0.5f);
    free(p->own);
    p->values = p->own = to;
    p->height = plan->resized[0];
    p->width = plan->resized[1];
    return err;
}

static float mean_at(const struct plan *plan, int64_t channel, int64_t y, int64_t x)
{
    int64_t area = plan->kept[0] * plan->kept[1];

    if (!plan->mean)
        return 0;
    if (plan->mean_count == 1)
        return plan->mean[0];
    if (plan->mean_whole)
        return plan->mean[channel * area + y * plan->kept[1] + x];
    return plan->mean[channel];
}

static void finish(const struct picture *p, const struct plan *plan, float *out)
{
    for (int64_t c = 0; c < p->channels; c++) {
        int64_t to = plan->swap && c < 3 ? 2 - c : c;
        float *row = out + to * plan->crop[0] * plan->crop[1];

        for (int64_t y = 0; y < plan->crop[0]; y++, row += plan->crop[1]) {
            int64_t line = y + plan->at[0];
            const float *from = p->values + (c * p->height + line + plan->cut[0]) * p->width +
                                plan->cut[1] + plan->at[1];

            for (int64_t x = 0; x < plan->crop[1]; x++) {
                float value = from[x] - mean_at(plan, c, line, x + plan->at[1]);

                row[plan->mirror ? plan->crop[1] - 1 - x : x] = (float)(value * plan->scale);
            }
        }
    }
}

/*
 * ---- the output
 * ----------------------------------------------------------------------------------
 */

/*
 * The place of the result: all of a blob with one item, which is reshaped, or one item of a blob.
 */
static float *room_in(ferry_blob *out, int64_t item, const struct picture *p,
                      const struct plan *plan)
{
    int64_t dims[4] = { 1, p->channels, plan->crop[0], plan->crop[1] };
    int64_t count = dims[1] * dims[2] * dims[3];
    char shape[160];
    float *values;

    if (item < 0)
        return ferry_blob_reshape(out, dims, 4, NULL) ? NULL : ferry_blob_overwrite_host_data(out);
    if (ferry_blob_rank(out) != 4 || item >= ferry_blob_dim(out, 0) ||
        memcmp(ferry_blob_shape(out) + 1, dims + 1, 3 * sizeof(*dims)) != 0) {
        ferry_blob_shape_string(out, shape, sizeof(shape));
        ferry_error_set(FERRY_ESHAPE, "a picture of %lld x %lld x %lld for item %lld of %s",
                        (long long)dims[1], (long long)dims[2], (long long)dims[3], (long long)item,
                        shape);
        return NULL;
    }
    values = ferry_blob_mutable_host_data(out);
    return values ? values + item * count : NULL;
}

static int transform(struct picture *p, const ferry_image_transform_options *o, bool round,
                     ferry_blob *out, int64_t item)
{
    struct plan plan;
    float *to;
    int err = make_plan(p, o, &plan);

    if (!err)
        err = resize(p, &plan, round);
    if (err)
        return err;
    to = room_in(out, item, p, &plan);
    if (!to)
        return ferry_last_error_code();
    finish(p, &plan, to);
    return FERRY_OK;
}

int ferry_image_transform(const ferry_blob *image, const ferry_image_transform_options *options,
                          ferry_blob *out, int64_t item)
{
    ferry_image_transform_options o = { 0 };
    ferry_dtype dtype = image ? ferry_blob_dtype(image) : FERRY_F32;
    struct picture p = { 0 };
    int err;

    if (!image || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_image_transform: %s is NULL",
                               image ? "out" : "image");
    if (out == image || item < -1)
        return ferry_error_set(FERRY_EINVAL, "ferry_image_transform: %s %lld",
                               item < -1 ? "there is no item" : "out is the image; item",
                               (long long)item);
    if (options && options->struct_size < sizeof options->struct_size)
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_image_transform: the options' struct_size is %zu",
                               options->struct_size);
    if ((dtype != FERRY_U8 && dtype != FERRY_F32) || ferry_blob_dtype(out) != FERRY_F32)
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_image_transform: converts U8 or F32 to F32, not %s to %s",
                               ferry_dtype_name(dtype), ferry_dtype_name(ferry_blob_dtype(out)));
    if (options) /* the caller's structure may be from an older or a newer version */
        memcpy(&o, options, options->struct_size < sizeof o ? options->struct_size : sizeof o);
    err = take(image, &p);
    if (!err)
        err = transform(&p, &o, dtype == FERRY_U8, out, item);
    free(p.own);
    return err;
}
