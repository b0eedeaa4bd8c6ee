/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accuracy (accuracy_param): the fraction of positions whose label is among the top_k (1) classes
 * along `axis` (1). Another class with the same value counts as better. Positions whose label is
 * ignore_label are not counted. A second top gets the accuracy of each class, 0 for a class without
 * positions. (Caffe: AccuracyLayer.)
 */
#include "net/layers/loss.h"

#include <ferry/status.h>

#include <string.h>

struct accuracy {
    struct ferry__loss places;
    int64_t top_k;
};

static int setup(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "accuracy_param", 0);
    struct accuracy *s = ferry_layer_state(layer);

    s->top_k = ferry_proto_integer(p, "top_k", 0);
    s->places.ignores = ferry_proto_value_count(p, "ignore_label") > 0;
    s->places.ignored = ferry_proto_integer(p, "ignore_label", 0);
    return 0;
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "accuracy_param", 0);
    struct accuracy *s = ferry_layer_state(layer);
    int axis, err;

    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0),
                         ferry_blob_rank(ferry_layer_bottom_at(layer, 0)), &axis);
    if (!err)
        err = ferry__loss_around(layer, axis, &s->places);
    if (!err && s->top_k > s->places.classes)
        err = ferry_proto_error(
            p, "top_k", 0, FERRY_ESHAPE, "layer \"%s\": top_k is %lld, there are %lld classes",
            ferry_layer_name(layer), (long long)s->top_k, (long long)s->places.classes);
    if (!err)
        err = ferry__loss_scalar(layer);
    if (!err && ferry_layer_top_count(layer) > 1)
        err = ferry_blob_reshape(ferry_layer_top_at(layer, 1), &s->places.classes, 1, NULL);
    if (!err && ferry_layer_top_count(layer) > 1 &&
        !ferry_layer_scratch(layer, 0, 0, &s->places.classes, 1))
        err = ferry_last_error_code();
    return err;
}

/*
 * Whether fewer than top_k other classes have at least the value of `class`; values are `inner`
 * elements apart.
 */
static bool is_right(const struct accuracy *s, const float *x, int64_t class)
{
    int64_t k, better = 0;

    for (k = 0; k < s->places.classes; k++)
        better += k != class && x[k * s->places.inner] >= x[class * s->places.inner];
    return better < s->top_k;
}

/*
 * Counts correct positions in total and, if requested, per class; *out_all is the number of counted
 * positions.
 */
static int count(const ferry_layer *layer, const struct accuracy *s, float *rights, float *alls,
                 double *out_right, double *out_all)
{
    const float *x = ferry_blob_host_data(ferry_layer_bottom_at(layer, 0));
    const float *labels = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    const struct ferry__loss *l = &s->places;
    int64_t i, k, class;

    if (!x || !labels)
        return ferry_last_error_code();
    for (i = 0; i < l->outer; i++)
        for (k = 0; k < l->inner; k++) {
            float label = labels[i * l->inner + k];
            bool right;

            if (!ferry__loss_counts(l, label))
                continue;
            if (ferry__loss_class(layer, label, l->classes, &class))
                return FERRY_EINVAL;
            right = is_right(s, &x[i * l->classes * l->inner + k], class);
            *out_right += right;
            *out_all += 1;
            if (rights) {
                rights[class] += right;
                alls[class] += 1;
            }
        }
    return 0;
}

static int forward(ferry_layer *layer)
{
    const struct accuracy *s = ferry_layer_state(layer);
    float *rights = NULL, *alls = NULL;
    double right = 0, all = 0;
    int64_t i;
    int err;

    if (ferry_layer_top_count(layer) > 1) {
        rights = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 1));
        alls = ferry_blob_overwrite_host_data(ferry_layer_scratch_at(layer, 0));
        if (!rights || !alls)
            return ferry_last_error_code();
        memset(rights, 0, (size_t)s->places.classes * sizeof *rights);
        memset(alls, 0, (size_t)s->places.classes * sizeof *alls);
    }
    err = count(layer, s, rights, alls, &right, &all);
    for (i = 0; !err && rights && i < s->places.classes; i++)
        rights[i] = alls[i] > 0 ? rights[i] / alls[i] : 0;
    return err ? err : ferry__loss_store(layer, all > 0 ? right / all : 0);
}

static const char *const messages[] = { "accuracy_param", NULL };

const ferry_layer_type ferry__accuracy_layer = {
    .struct_size = sizeof ferry__accuracy_layer,
    .name = "Accuracy",
    .state_size = sizeof(struct accuracy),
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 2,
    .flags = FERRY_LAYER_FORWARD_ONLY,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
};
