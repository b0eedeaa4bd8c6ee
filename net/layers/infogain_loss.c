/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * InfogainLoss (infogain_loss_param, loss_param): −Σ H[label][k] · log p[k], where p is the softmax
 * of bottom 0 along `axis` (1), at least 1e−20, and H is a matrix of classes × classes: bottom 2,
 * or the BlobProto in the file `source`. Ignored labels and the divisor are those of
 * SoftmaxWithLoss. A second top gets the softmax. (Caffe: InfogainLossLayer.)
 */
#include "net/layers/loss.h"

#include <ferry/io.h>
#include <ferry/status.h>

#include <math.h>
#include <stdlib.h>

struct infogain {
    struct ferry__loss loss;
    ferry_blob *matrix; /* the matrix of the file; NULL: bottom 2 is the matrix */
};

static int read_matrix(ferry_layer *layer, const char *path, struct infogain *s)
{
    const ferry_io_entry *entry = NULL;
    ferry_io *io;
    int err = ferry_io_open(path, &io);

    if (err)
        return err;
    err = ferry_io_next(io, &entry);
    if (!err && !entry)
        err = ferry_layer_error(layer, FERRY_EFORMAT, "\"%.400s\" does not contain a matrix", path);
    if (!err)
        err = ferry_blob_create(ferry_layer_device(layer), FERRY_F32, NULL, FERRY_UNSHAPED,
                                &s->matrix);
    if (!err)
        err = ferry_io_read(io, entry, s->matrix);
    ferry_io_close(io);
    return err;
}

static int read_source(ferry_layer *layer, const ferry_proto *p, struct infogain *s)
{
    char *path = NULL;
    int err = ferry__file_of(layer, p, "source", &path);

    if (!err)
        err = read_matrix(layer, path, s);
    free(path);
    return err;
}

static int setup(ferry_layer *layer)
{
    struct infogain *s = ferry_layer_state(layer);
    const ferry_proto *p =
        ferry_proto_message(ferry_layer_message(layer), "infogain_loss_param", 0);

    ferry__loss_read(layer, FERRY__NORMALIZE_VALID, &s->loss);
    if (ferry_layer_bottom_count(layer) > 2)
        return 0;
    if (!ferry_proto_value_count(p, "source"))
        return ferry_proto_error(p, NULL, 0, FERRY_EFORMAT,
                                 "layer \"%s\": its matrix is missing: set a third bottom or a "
                                 "source",
                                 ferry_layer_name(layer));
    return read_source(layer, p, s);
}

static void destroy(ferry_layer *layer)
{
    struct infogain *s = ferry_layer_state(layer);

    ferry_blob_destroy(s->matrix);
}

static const ferry_blob *matrix_of(const ferry_layer *layer, const struct infogain *s)
{
    return s->matrix ? s->matrix : ferry_layer_bottom_at(layer, 2);
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p =
        ferry_proto_message(ferry_layer_message(layer), "infogain_loss_param", 0);
    struct infogain *s = ferry_layer_state(layer);
    int64_t elements = ferry_blob_element_count(matrix_of(layer, s));
    int axis, err;

    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0),
                         ferry_blob_rank(ferry_layer_bottom_at(layer, 0)), &axis);
    if (!err)
        err = ferry__loss_around(layer, axis, &s->loss);
    if (!err && elements != s->loss.classes * s->loss.classes)
        err = ferry_layer_error(layer, FERRY_ESHAPE,
                                "its matrix has %lld elements, but there are %lld classes",
                                (long long)elements, (long long)s->loss.classes);
    if (!err)
        err = ferry__loss_scalar(layer);
    return err ? err : ferry__loss_softmax(layer, axis);
}

/* The loss of one position: −Σ row[k] · log p[k]; elements of p are `step` apart. */
static double lost(const float *row, const float *p, int64_t classes, int64_t step)
{
    double sum = 0;
    int64_t k;

    for (k = 0; k < classes; k++)
        sum -= row[k] * log(ferry__loss_at_least((double)p[k * step]));
    return sum;
}

static int forward(ferry_layer *layer)
{
    const struct infogain *s = ferry_layer_state(layer);
    const struct ferry__loss *l = &s->loss;
    const float *labels = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    const float *matrix = ferry_blob_host_data(matrix_of(layer, s));
    const float *p = ferry__loss_probabilities(layer);
    int64_t i, k, class, valid = 0;
    double loss = 0;

    if (!labels || !matrix || !p)
        return ferry_last_error_code();
    for (i = 0; i < l->outer; i++)
        for (k = 0; k < l->inner; k++) {
            float label = labels[i * l->inner + k];

            if (!ferry__loss_counts(l, label))
                continue;
            if (ferry__loss_class(layer, label, l->classes, &class))
                return FERRY_EINVAL;
            loss += lost(&matrix[class * l->classes], &p[i * l->classes * l->inner + k], l->classes,
                         l->inner);
            valid++;
        }
    return ferry__loss_store(layer, loss / ferry__loss_divisor(l, valid));
}

/*
 * Writes the gradient of one position: p times the row's sum minus the row; elements are `step`
 * apart.
 */
static void fill_diff(const float *row, const float *p, int64_t classes, int64_t step, float *diff)
{
    double sum = 0;
    int64_t k;

    for (k = 0; k < classes; k++)
        sum += row[k];
    for (k = 0; k < classes; k++)
        diff[k * step] = (float)(p[k * step] * sum - row[k]);
}

static int fill_diffs(const ferry_layer *layer, const struct ferry__loss *l, const float *labels,
                      const float *matrix, const float *p, float *diff, int64_t *out_valid)
{
    int64_t i, k, c, class;

    for (i = 0; i < l->outer; i++)
        for (k = 0; k < l->inner; k++) {
            int64_t at = i * l->classes * l->inner + k;
            float label = labels[i * l->inner + k];

            if (!ferry__loss_counts(l, label)) {
                for (c = 0; c < l->classes; c++)
                    diff[at + c * l->inner] = 0;
                continue;
            }
            if (ferry__loss_class(layer, label, l->classes, &class))
                return FERRY_EINVAL;
            fill_diff(&matrix[class * l->classes], &p[at], l->classes, l->inner, &diff[at]);
            ++*out_valid;
        }
    return 0;
}

static int backward(ferry_layer *layer)
{
    const struct infogain *s = ferry_layer_state(layer);
    const float *labels = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    const float *matrix = ferry_blob_host_data(matrix_of(layer, s));
    const float *p = ferry__loss_probabilities(layer);
    int64_t valid = 0;
    double factor;
    float *diff;
    int err =
        labels && matrix && p ? ferry__loss_begin(layer, &factor, &diff) : ferry_last_error_code();

    if (err || !diff)
        return err;
    err = fill_diffs(layer, &s->loss, labels, matrix, p, diff, &valid);
    if (!err)
        ferry__loss_scale(&s->loss, valid, factor, diff);
    return err;
}

static const char *refuses(const ferry_layer *layer, int index)
{
    static const char *const why[] = { NULL, "Layer cannot backpropagate to label inputs.",
                                       "Layer cannot backpropagate to infogain inputs." };

    (void)layer;
    return why[index < 3 ? index : 2];
}

static const char *const messages[] = { "infogain_loss_param", "loss_param", NULL };

const ferry_layer_type ferry__infogain_loss_layer = {
    .struct_size = sizeof ferry__infogain_loss_layer,
    .name = "InfogainLoss",
    .state_size = sizeof(struct infogain),
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 2,
    .flags = FERRY_LAYER_LOSS | FERRY_LAYER_AUTO_TOPS,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
    .backward = backward,
    .destroy = destroy,
    .refuses = refuses,
};
