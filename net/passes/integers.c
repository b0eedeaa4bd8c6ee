/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/passes/integers.h"

#include "net/passes/fold.h"

#include "net/model/narrow.h"

#include "common/rows.h"
#include "op/origin.h"

#include <ferry/status.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void discard(struct ferry__integers *c)
{
    int i;

    if (c->made[0])
        ferry__origin_forget(ferry_blob_data_memory(c->made[0]));
    for (i = 0; i < 3; i++)
        ferry_blob_destroy(c->made[i]);
    free(c);
}

static struct ferry__integers *make(const struct ferry__integers *like)
{
    struct ferry__integers *c = malloc(sizeof *c);
    ferry_device *device = like->layer->device;
    const int64_t *outputs = &like->w.shape[0];

    if (!c)
        return NULL;
    *c = *like;
    c->version = 0;
    memset(c->made, 0, sizeof c->made);
    if (ferry_blob_create(device, FERRY_I8, like->w.shape, (int)like->w.rank, &c->made[0]) ||
        ferry_blob_create(device, FERRY_F32, outputs, 1, &c->made[1]) ||
        ferry_blob_create(device, FERRY_F32, outputs, 1, &c->made[2])) {
        discard(c);
        return NULL;
    }
    c->next = c->layer->integers;
    c->layer->integers = c;
    return c;
}

struct ferry__integers *ferry__integers_of(const struct ferry__integers *like)
{
    struct ferry__integers *c;

    for (c = like->layer->integers; c; c = c->next)
        if (c->number == like->number && c->weights == like->weights && c->bias == like->bias &&
            c->x_scale == like->x_scale && c->unit == like->unit && c->x_zero == like->x_zero &&
            c->add_zero == like->add_zero && !memcmp(&c->w, &like->w, sizeof c->w))
            return c;
    return make(like);
}

/* Whether the weights of one output are contiguous, in logical order. */
static bool is_contiguous(const ferry_operand *w)
{
    int64_t step = 1;
    uint32_t axis;

    for (axis = w->rank; axis-- > 1; step *= w->shape[axis])
        if (w->shape[axis] > 1 && w->stride[axis] != step)
            return false;
    return true;
}

/* The offset of weight `i`, in logical order, of output 0. */
static int64_t weight_at(const ferry_operand *w, int64_t i)
{
    int64_t at = 0;
    uint32_t axis;

    for (axis = w->rank; axis-- > 1; i /= w->shape[axis])
        at += i % w->shape[axis] * w->stride[axis];
    return at;
}

static double sum_of(const int8_t *integers, int64_t count)
{
    int64_t sum = 0, i;

    for (i = 0; i < count; i++)
        sum += integers[i];
    return (double)sum;
}

/* Where the constants are written; `integers` may be NULL, or `bias` and `factor` both. */
struct places {
    int8_t *integers;
    float *bias, *factor;
};

/* Whether the constants need the integers: without a zero of x, their sums do not matter. */
static bool needs_integers(const struct ferry__integers *c, const struct places *to)
{
    return to->integers || c->x_zero != 0;
}

/* Computes the bias and the factor of output `o` from the scale of its weights and their sum. */
static void fill_output(const struct ferry__integers *c, const struct places *to, int64_t o,
                        double scale, double sum)
{
    const float *bias = c->bias ? ferry_blob_host_data(c->bias) : NULL;
    double unit = (double)c->x_scale * scale;

    to->bias[o] = (float)((bias ? (double)bias[o] / unit : 0) - (double)c->x_zero * sum -
                          (double)c->add_zero * (double)c->unit / unit);
    to->factor[o] = (float)(unit / (double)c->unit);
}

static int fill(const struct ferry__integers *c, const struct places *to)
{
    const float *w = ferry_blob_host_data(c->weights);
    int64_t outputs = c->w.shape[0], count, o, i;
    bool contiguous = is_contiguous(&c->w);
    int8_t *bytes;
    float *row;

    if (!w || (c->bias && !ferry_blob_host_data(c->bias)))
        return ferry_last_error_code();
    count = outputs ? ferry_blob_element_count(c->made[0]) / outputs : 0;
    row = malloc((size_t)count * (sizeof *row + 1) + 1);
    if (!row)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its integers");
    for (o = 0; o < outputs; o++) {
        const float *from = w + o * c->w.stride[0];
        float magnitude;

        for (i = 0; !contiguous && i < count; i++)
            row[i] = from[weight_at(&c->w, i)];
        from = contiguous ? from : row;
        bytes = to->integers ? to->integers + o * count : (int8_t *)(row + count);
        magnitude = ferry__row_magnitude(from, count);
        if (needs_integers(c, to))
            ferry__row_round(from, count, magnitude, bytes);
        if (to->bias)
            fill_output(c, to, o, ferry__row_scale(magnitude),
                        needs_integers(c, to) ? sum_of(bytes, count) : 0);
    }
    free(row);
    return 0;
}

/* Rows of integers that a file has, as the weights of a product; `fold` may multiply them. */
struct rows {
    struct ferry__narrow narrow;
    const struct ferry__fold *fold; /* NULL: the weights are the rows themselves */
};

/* Whether the rows are the outputs of a product. */
static bool are_outputs(const struct ferry__integers *c, const ferry_blob *rows)
{
    return is_contiguous(&c->w) && c->w.shape[0] > 0 && c->w.shape[0] == ferry_blob_dim(rows, 0) &&
           c->w.stride[0] == ferry_blob_element_count(rows) / c->w.shape[0];
}

/* Finds the rows from which the weights are made; false if there are none. */
static bool find_rows(const struct ferry__integers *c, struct rows *out)
{
    out->fold = ferry__fold_of_outputs(c->layer, c->weights);
    out->narrow = ferry__narrow_of(c->layer, out->fold ? out->fold->weights : c->weights);
    return out->narrow.magnitudes && are_outputs(c, out->narrow.values);
}

/*
 * Takes the integers of one output times the sign of a scale, and returns the scale of their
 * products with its magnitude, as rounding these products would.
 */
static double take_row(const int8_t *from, int64_t count, double by, float magnitude, int8_t *to)
{
    float product = (float)(fabs(by) * (double)magnitude);
    int sign = !(product > 0 && product <= FLT_MAX) ? 0 : by < 0 ? -1 : 1;
    int64_t i;

    for (i = 0; i < count; i++)
        to[i] = (int8_t)(sign * from[i]);
    return ferry__row_scale(product);
}

/* Computes the constants from rows; `scales` are those of the fold, if there is one. */
static int fill_rows(const struct ferry__integers *c, const struct rows *rows, const double *scales,
                     const struct places *to)
{
    int64_t outputs = c->w.shape[0], count = c->w.stride[0], o;
    const float *magnitudes = ferry_blob_host_data(rows->narrow.magnitudes);
    const int8_t *from = ferry_blob_host_data(rows->narrow.values);
    int8_t *row = NULL; /* room for one output, if the integers are not wanted */

    if (!from || !magnitudes || (c->bias && !ferry_blob_host_data(c->bias)))
        return ferry_last_error_code();
    if (!to->integers && !(row = malloc((size_t)count + 1)))
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its integers");
    for (o = 0; o < outputs; o++) {
        int8_t *at = to->integers ? to->integers + o * count : row;
        double scale =
            take_row(from + o * count, count, scales ? scales[o] : 1, magnitudes[o], at);

        if (to->bias)
            fill_output(c, to, o, scale, sum_of(at, count));
    }
    free(row);
    return 0;
}

/* As `fill`, from rows, whose integers may have an origin. */
static int fill_from_rows(const struct ferry__integers *c, const struct rows *rows,
                          const struct places *to)
{
    double *scales = rows->fold ? calloc((size_t)c->w.shape[0], 2 * sizeof *scales) : NULL;
    struct ferry__origin *origin = NULL;
    int err = rows->fold && !scales ? ferry_error_set(FERRY_ENOMEM, "net: no memory for its scales")
              : rows->fold          ? ferry__fold_scales(rows->fold, scales)
                                    : 0;

    if (!err)
        err = ferry__origin_begin(ferry_blob_data_memory(rows->narrow.values), &origin);
    if (!err)
        err = fill_rows(c, rows, scales, to);
    ferry__origin_end(origin);
    free(scales);
    return err;
}

/* As `fill`, from weights that may have an origin. */
static int fill_from_origin(const struct ferry__integers *c, const struct places *to)
{
    struct ferry__origin *origin;
    struct rows rows;
    int err;

    if (find_rows(c, &rows))
        return fill_from_rows(c, &rows, to);
    err = ferry__origin_begin(ferry_blob_data_memory(c->weights), &origin);
    if (!err)
        err = fill(c, to);
    ferry__origin_end(origin);
    return err;
}

/* Computes the integers when they are packed. */
static int fill_later(void *arg, void *bytes)
{
    return fill_from_origin(arg, &(struct places){ .integers = bytes });
}

/* Whether the integers exist only while they are packed (op/origin.h). */
static bool is_large(const struct ferry__integers *c)
{
    return ferry_device_get_properties(ferry_blob_home(c->made[0]))->host_memory &&
           (uint64_t)ferry_blob_element_count(c->made[0]) >= FERRY__ORIGIN_BYTES;
}

/* Computes the constants; large integers get an origin, also if they had one. */
static int compute(struct ferry__integers *c)
{
    bool large = is_large(c);
    struct places to = { .integers = large ? NULL : ferry_blob_overwrite_host_data(c->made[0]),
                         .bias = ferry_blob_overwrite_host_data(c->made[1]),
                         .factor = ferry_blob_overwrite_host_data(c->made[2]) };
    int err;

    if ((!large && !to.integers) || !to.bias || !to.factor)
        return ferry_last_error_code();
    err = fill_from_origin(c, &to);
    if (err || !large)
        return err;
    return ferry__origin_create(ferry_blob_data_memory(c->made[0]), fill_later, NULL, c);
}

int ferry__integers_refresh(struct ferry__integers *c, bool kept)
{
    uint64_t version = ferry__contents(ferry__contents(1, c->weights), c->bias);
    int err = 0;

    if (version != c->version) {
        c->version = 0;
        err = compute(c);
        c->version = err ? 0 : version;
    }
    return err || !kept ? err : ferry__origin_keep(ferry_blob_data_memory(c->made[0]));
}

void ferry__integers_forget(ferry_layer *layer)
{
    struct ferry__integers *c;

    for (c = layer->integers; c; c = c->next)
        c->version = 0;
}

void ferry__integers_end(ferry_net *net)
{
    int i;

    for (i = 0; i < net->n_layers; i++)
        while (net->layers[i].integers) {
            struct ferry__integers *c = net->layers[i].integers;

            net->layers[i].integers = c->next;
            discard(c);
        }
}
