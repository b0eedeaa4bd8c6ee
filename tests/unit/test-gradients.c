/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "net-data.h"

#include "net/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Every type that has a backward, against differences: the sum of its tops, each element times a number
 * of its own, a little to either side of elements of each bottom and parameter. Each pass draws the same
 * random numbers.
 */

#define STEP      (1.0 / 256)
#define TOLERANCE 5e-3 /* of the largest gradient of a blob */
#define MOST      5    /* bottoms, tops */

/* What an input holds. A grid's values are distinct and not near 0, so that no step passes a kink. */
enum kind { GRID, LABELS, CONTINUES, CHOSEN, INDICES, REGIONS, MASK, LIKELY };

struct input {
    enum kind kind;
    int64_t dims[4];
};

struct gradient {
    const char *type, *parameters;
    struct input inputs[MOST];
    int tops;      /* 0: in place; −1: none */
    bool constant; /* its parameters are not a solver's */
};

#define IMAGE      \
    {              \
        2, 3, 4, 4 \
    }

static const struct gradient gradients[] = {
    { "Convolution",
      "convolution_param { num_output: 4 kernel_size: 3 pad: 1 stride: 2 "
      "weight_filler { type: 'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Convolution",
      "convolution_param { num_output: 6 group: 3 kernel_size: 2 dilation: 2 "
      "weight_filler { type: 'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "DepthwiseConvolution",
      "convolution_param { num_output: 3 kernel_size: 3 weight_filler { type: "
      "'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "ConvolutionDepthwise",
      "convolution_param { num_output: 3 kernel_size: 2 stride: 2 weight_filler { type: "
      "'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Deconvolution",
      "convolution_param { num_output: 2 kernel_size: 3 stride: 2 weight_filler { type: "
      "'xavier' } }",
      { { GRID, { 1, 3, 3, 3 } } },
      1,
      false },
    { "InnerProduct",
      "inner_product_param { num_output: 5 weight_filler { type: 'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "InnerProduct",
      "inner_product_param { num_output: 5 transpose: true axis: -1 weight_filler { "
      "type: 'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Pooling",
      "pooling_param { kernel_size: 3 stride: 2 pad: 1 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Pooling",
      "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "ReLU", "relu_param { negative_slope: 0.1 }", { { GRID, IMAGE } }, 1, false },
    { "ReLU", "", { { GRID, IMAGE } }, 0, false },
    { "ReLU6", "", { { GRID, IMAGE } }, 1, false },
    { "PReLU", "", { { GRID, IMAGE } }, 1, false },
    { "PReLU", "", { { GRID, IMAGE } }, 0, false },
    { "ELU", "elu_param { alpha: 0.7 }", { { GRID, IMAGE } }, 1, false },
    { "Sigmoid", "", { { GRID, IMAGE } }, 0, false },
    { "TanH", "", { { GRID, IMAGE } }, 1, false },
    { "AbsVal", "", { { GRID, IMAGE } }, 1, false },
    { "Power", "power_param { power: 1.7 scale: 0.5 shift: 2 }", { { GRID, IMAGE } }, 1, false },
    { "Power", "power_param { power: 3 scale: 0.5 shift: 2 }", { { GRID, IMAGE } }, 0, false },
    { "Exp", "exp_param { base: 2 scale: 0.5 shift: 1 }", { { GRID, IMAGE } }, 1, false },
    { "Log", "log_param { base: 3 scale: 0.5 shift: 2 }", { { GRID, IMAGE } }, 1, false },
    { "BNLL", "", { { GRID, IMAGE } }, 1, false },
    { "Clip", "clip_param { min: -0.5 max: 0.5 }", { { GRID, IMAGE } }, 1, false },
    { "Swish", "swish_param { beta: 1.5 }", { { GRID, IMAGE } }, 0, false },
    { "Dropout", "", { { GRID, IMAGE } }, 1, false },
    { "Dropout", "dropout_param { dropout_ratio: 0.2 }", { { GRID, IMAGE } }, 0, false },
    { "LRN",
      "lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 k: 2 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "LRN",
      "lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 norm_region: WITHIN_CHANNEL }",
      { { GRID, IMAGE } },
      1,
      false },
    { "BatchNorm", "", { { GRID, IMAGE } }, 1, true },
    { "BatchNorm", "", { { GRID, IMAGE } }, 0, true },
    { "BatchNorm", "batch_norm_param { use_global_stats: true }", { { GRID, IMAGE } }, 1, true },
    { "BN",
      "bn_param { scale_filler { value: 1.5 } shift_filler { value: 0.5 } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "BN",
      "bn_param { bn_mode: INFERENCE scale_filler { value: 1.5 } }",
      { { GRID, IMAGE } },
      0,
      false },
    { "Scale", "scale_param { bias_term: true }", { { GRID, IMAGE } }, 1, false },
    { "Scale",
      "scale_param { bias_term: true axis: 2 num_axes: 2 }",
      { { GRID, IMAGE } },
      0,
      false },
    { "Scale", "", { { GRID, IMAGE }, { GRID, { 3, 4 } } }, 1, false },
    { "Bias", "", { { GRID, IMAGE } }, 1, false },
    { "Bias", "", { { GRID, IMAGE }, { GRID, { 3, 4 } } }, 0, false },
    { "Eltwise",
      "eltwise_param { coeff: 2 coeff: -1 coeff: 0.5 }",
      { { GRID, { 3, 5 } }, { GRID, { 3, 5 } }, { GRID, { 3, 5 } } },
      1,
      false },
    { "Eltwise",
      "eltwise_param { operation: PROD }",
      { { GRID, { 3, 5 } }, { GRID, { 3, 5 } }, { GRID, { 3, 5 } } },
      1,
      false },
    { "Eltwise",
      "eltwise_param { operation: PROD stable_prod_grad: false }",
      { { GRID, { 3, 5 } }, { GRID, { 3, 5 } } },
      1,
      false },
    { "Eltwise",
      "eltwise_param { operation: MAX }",
      { { GRID, { 3, 5 } }, { GRID, { 3, 5 } }, { GRID, { 3, 5 } }, { GRID, { 3, 5 } } },
      1,
      false },
    { "Concat", "", { { GRID, { 2, 3 } }, { GRID, { 2, 5 } } }, 1, false },
    { "Slice", "slice_param { slice_point: 1 }", { { GRID, { 2, 3 } } }, 2, false },
    { "Split", "", { { GRID, { 2, 3 } } }, 3, false },
    { "Silence", "", { { GRID, { 2, 3 } }, { GRID, { 2 } } }, -1, false },
    { "Flatten", "", { { GRID, IMAGE } }, 1, false },
    { "Reshape", "reshape_param { shape { dim: 0 dim: -1 } }", { { GRID, IMAGE } }, 1, false },
    { "Permute",
      "permute_param { order: 0 order: 2 order: 3 order: 1 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "ShuffleChannel",
      "shuffle_channel_param { group: 2 }",
      { { GRID, { 2, 4, 2, 2 } } },
      1,
      false },
    { "Crop", "crop_param { offset: 1 }", { { GRID, IMAGE }, { GRID, { 2, 3, 2, 3 } } }, 1, false },
    { "Tile", "tile_param { tiles: 3 }", { { GRID, { 2, 3, 4 } } }, 1, false },
    { "Reduction", "reduction_param { axis: 1 coeff: 2 }", { { GRID, { 2, 12 } } }, 1, false },
    { "Reduction",
      "reduction_param { axis: 1 operation: ASUM }",
      { { GRID, { 2, 12 } } },
      1,
      false },
    { "Reduction",
      "reduction_param { operation: SUMSQ coeff: 0.5 }",
      { { GRID, { 2, 12 } } },
      1,
      false },
    { "Reduction",
      "reduction_param { axis: 1 operation: MEAN }",
      { { GRID, { 2, 12 } } },
      1,
      false },
    { "Softmax", "", { { GRID, IMAGE } }, 1, false },
    { "Softmax", "softmax_param { axis: -1 }", { { GRID, IMAGE } }, 0, false },
    { "MVN", "", { { GRID, IMAGE } }, 1, false },
    { "MVN",
      "mvn_param { across_channels: true normalize_variance: false }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Normalize",
      "norm_param { across_spatial: false channel_shared: false }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Normalize", "norm_param { scale_filler { value: 3 } }", { { GRID, IMAGE } }, 1, false },
    { "Axpy", "", { { GRID, { 2, 3, 1, 1 } }, { GRID, IMAGE }, { GRID, IMAGE } }, 1, false },
    { "Embed",
      "embed_param { input_dim: 4 num_output: 3 weight_filler { type: 'xavier' } }",
      { { INDICES, { 5 } } },
      1,
      false },
    { "Im2col",
      "convolution_param { kernel_size: 3 pad: 1 stride: 2 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "SPP", "spp_param { pyramid_height: 2 }", { { GRID, IMAGE } }, 1, false },
    { "SPP", "spp_param { pyramid_height: 2 pool: AVE }", { { GRID, IMAGE } }, 1, false },
    { "Interp", "interp_param { height: 6 width: 5 }", { { GRID, IMAGE } }, 1, false },
    { "Interp", "interp_param { height: 5 width: 3 pad_beg: -1 }", { { GRID, IMAGE } }, 1, false },
    { "Upsample", "upsample_param { scale: 2 }", { { GRID, { 1, 2, 3, 3 } } }, 1, false },
    { "Upsample",
      "upsample_param { scale: 2 }",
      { { GRID, { 1, 2, 2, 2 } }, { MASK, { 1, 2, 2, 2 } } },
      1,
      false },
    { "ROIPooling",
      "roi_pooling_param { pooled_h: 2 pooled_w: 2 spatial_scale: 0.5 }",
      { { GRID, IMAGE }, { REGIONS, { 2, 5 } } },
      1,
      false },
    { "PSROIPooling",
      "psroi_pooling_param { group_size: 2 output_dim: 1 spatial_scale: 0.5 }",
      { { GRID, { 2, 4, 4, 4 } }, { REGIONS, { 2, 5 } } },
      1,
      false },
    { "Filter", "", { { GRID, { 4, 3 } }, { GRID, { 4, 2 } }, { CHOSEN, { 4 } } }, 2, false },
    { "BatchReindex", "", { { GRID, { 4, 3 } }, { INDICES, { 6 } } }, 1, false },
    { "Parameter", "parameter_param { shape { dim: 2 dim: 3 } }", { { GRID, { 0 } } }, 1, false },
    { "LSTMUnit",
      "",
      { { GRID, { 1, 2, 3 } }, { GRID, { 1, 2, 12 } }, { CONTINUES, { 1, 2 } } },
      2,
      false },
    { "LSTM",
      "recurrent_param { num_output: 3 weight_filler { type: 'xavier' } }",
      { { GRID, { 4, 2, 3 } }, { CONTINUES, { 4, 2 } }, { GRID, { 2, 2 } } },
      1,
      false },
    { "RNN",
      "recurrent_param { num_output: 3 weight_filler { type: 'xavier' } }",
      { { GRID, { 4, 2, 3 } }, { CONTINUES, { 4, 2 } } },
      1,
      false },
    { "EuclideanLoss", "loss_weight: 2", { { GRID, { 3, 4 } }, { GRID, { 3, 4 } } }, 1, false },
    { "SoftmaxWithLoss",
      "loss_param { ignore_label: 2 }",
      { { GRID, { 2, 3, 2, 2 } }, { LABELS, { 2, 2, 2 } } },
      1,
      false },
    { "SigmoidCrossEntropyLoss",
      "loss_weight: 0.5",
      { { GRID, { 3, 4 } }, { CONTINUES, { 3, 4 } } },
      1,
      false },
    { "HingeLoss", "", { { GRID, { 4, 3 } }, { LABELS, { 4 } } }, 1, false },
    { "HingeLoss",
      "hinge_loss_param { norm: L2 }",
      { { GRID, { 4, 3 } }, { LABELS, { 4 } } },
      1,
      false },
    { "MultinomialLogisticLoss", "", { { LIKELY, { 4, 3 } }, { LABELS, { 4 } } }, 1, false },
    { "InfogainLoss",
      "",
      { { GRID, { 4, 3 } }, { LABELS, { 4 } }, { LIKELY, { 3, 3 } } },
      1,
      false },
    { "ContrastiveLoss",
      "contrastive_loss_param { margin: 3 }",
      { { GRID, { 4, 3 } }, { GRID, { 4, 3 } }, { CHOSEN, { 4 } } },
      1,
      false },
    { "ContrastiveLoss",
      "contrastive_loss_param { margin: 3 legacy_version: true }",
      { { GRID, { 4, 3 } }, { GRID, { 4, 3 } }, { CHOSEN, { 4 } } },
      1,
      false },
};

/* ---- a net of one layer ---------------------------------------------------------------------------- */

struct trial {
    const struct gradient *g;
    ferry_net *net;
    const ferry_layer *layer;
    int n_inputs, n_tops;
    float *values[MOST]; /* of the inputs */
    uint64_t drawn;      /* random numbers before the first pass */
    bool good;
};

static float value_of(const struct input *in, int64_t i, int64_t n, int seed)
{
    static const float regions[] = { 0, 1, 1, 6, 5, 1, 0, 2, 4, 7 };
    static const float mask[] = { 0, 3, 9, 14, 1, 6, 8, 15 };

    switch (in->kind) {
    case GRID: /* 37 and 41 have no common factor with what there is of them */
        i = 2 * ((i + seed) * (seed % 2 ? 37 : 41) % n) + 1 - n;
        return ((float)i + (n % 2 ? 0.5f : 0) + 0.25f * (float)seed) / (float)n;
    case LABELS:
    case INDICES:
        return (float)(i * 2 % 3);
    case CONTINUES:
        return i >= in->dims[1] && i % 5 != 4;
    case CHOSEN:
        return i % 3 != 1;
    case REGIONS:
        return regions[i % 10];
    case MASK:
        return mask[i % 8];
    case LIKELY:
        return 0.2f + 0.6f * (float)((i * 5) % n) / (float)n;
    }
    return 0;
}

static int axes_of(const struct input *in)
{
    int n = 0;

    while (n < 4 && in->dims[n])
        n++;
    return n;
}

static char *text_of(const struct gradient *g)
{
    static char text[4096];
    int used = sprintf(text, "force_backward: true state { phase: TRAIN }\n"), i, k;

    for (i = 0; i < MOST && axes_of(&g->inputs[i]); i++) {
        used += sprintf(text + used,
                        "layer { name: 'x%d' type: 'Input' top: 'x%d' input_param { shape {", i, i);
        for (k = 0; k < axes_of(&g->inputs[i]); k++)
            used += sprintf(text + used, " dim: %lld", (long long)g->inputs[i].dims[k]);
        used += sprintf(text + used, " } } }\n");
    }
    used += sprintf(text + used, "layer { name: 'l' type: '%s' %s", g->type, g->parameters);
    for (k = 0; k < i; k++)
        used += sprintf(text + used, " bottom: 'x%d'", k);
    for (k = 0; k < g->tops; k++)
        used += sprintf(text + used, " top: 'y%d'", k);
    sprintf(text + used, "%s }\n", g->tops == 0 ? " top: 'x0'" : "");
    return text;
}

static bool say(struct trial *t, const char *what)
{
    printf("     %s { %s }: %s\n", t->g->type, t->g->parameters, what);
    t->good = false;
    return false;
}

static bool open_trial(struct trial *t)
{
    ferry_net_options o = { .struct_size = sizeof(o), .text = text_of(t->g), .backward = 1 };

    o.text_size = strlen(o.text);
    if (ferry_net_open(fx_device(), NULL, &o, &t->net))
        return say(t, ferry_last_error());
    t->layer = ferry_net_layer_at(t->net, nd_layer(t->net, "l"));
    t->drawn = t->net->drawn;
    t->n_inputs = ferry_net_n_inputs(t->net);
    t->n_tops = ferry_layer_n_tops(t->layer);
    for (int i = 0; i < t->n_inputs; i++) {
        int64_t n = ferry_blob_count(ferry_net_input(t->net, i));

        t->values[i] = calloc((size_t)n, sizeof(float));
        CU_ASSERT_PTR_NOT_NULL_FATAL(t->values[i]);
        for (int64_t k = 0; k < n; k++)
            t->values[i][k] = value_of(&t->g->inputs[i], k, n, i);
    }
    return true;
}

/* By what element i of a top is multiplied in the sum. */
static double factor_of(const struct trial *t, int top, int64_t i)
{
    double weight = ferry_layer_loss_weight(t->layer, top);

    return weight != 0 ? weight : 1 - 0.37 * (double)((i + top) % 6);
}

/* The sum of the tops; in place they take the inputs' place, so those are given each time. */
static double sum_of(struct trial *t)
{
    double sum = 0;

    for (int i = 0; i < t->n_inputs; i++) {
        ferry_blob *b = ferry_net_input(t->net, i);
        float *x = ferry_blob_overwrite_host_data(b);

        CU_ASSERT_PTR_NOT_NULL_FATAL(x);
        memcpy(x, t->values[i], (size_t)ferry_blob_count(b) * sizeof(*x));
    }
    t->net->drawn = t->drawn;
    if (ferry_net_forward(t->net, NULL) && t->good)
        say(t, ferry_last_error());
    for (int i = 0; t->good && i < t->n_tops; i++) {
        const ferry_blob *b = ferry_layer_top(t->layer, i);
        const float *y = ferry_blob_host_data(b);

        for (int64_t k = 0; k < ferry_blob_count(b); k++)
            sum += factor_of(t, i, k) * (double)y[k];
    }
    return sum;
}

static bool run_backward(struct trial *t)
{
    sum_of(t);
    for (int i = 0; t->good && i < t->n_tops; i++) {
        ferry_blob *b = ferry_layer_top(t->layer, i);
        float *dy;

        if (ferry_layer_loss_weight(t->layer, i) != 0)
            continue;
        dy = ferry_blob_overwrite_host_diff(b);
        CU_ASSERT_PTR_NOT_NULL_FATAL(dy);
        for (int64_t k = 0; k < ferry_blob_count(b); k++)
            dy[k] = (float)factor_of(t, i, k);
    }
    if (t->good && ferry_net_backward(t->net))
        return say(t, ferry_last_error());
    return t->good;
}

/* ---- differences --------------------------------------------------------------------------------- */

/* How the sum changes with element i of an input, or of a parameter. */
static double slope_of(struct trial *t, int input, ferry_blob *param, int64_t i)
{
    double sums[2];

    for (int side = 0; side < 2; side++) {
        float *at =
            input >= 0 ? &t->values[input][i] : (float *)ferry_blob_mutable_host_data(param) + i;
        float before = *at;

        *at = (float)(before + (side ? STEP : -STEP));
        sums[side] = sum_of(t);
        at = input >= 0 ? at : (float *)ferry_blob_mutable_host_data(param) + i;
        *at = before;
    }
    return (sums[1] - sums[0]) / (2 * STEP);
}

static void check_blob(struct trial *t, int input, ferry_blob *param, const float *diff, int64_t n)
{
    int64_t few = strcmp(ferry_test_backend(), "cpu") ? 2 : 6, step = n > few ? n / few : 1;
    double largest = 0.02;

    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)diff[i]));
    for (int64_t i = 0; t->good && i < n; i += step) {
        double slope = slope_of(t, input, param, i);
        char what[160];

        if (fabs(slope - (double)diff[i]) <= TOLERANCE * largest)
            continue;
        snprintf(what, sizeof(what), "%s %d[%lld]: its diff is %g, the difference says %g",
                 input >= 0 ? "bottom" : "parameter", input, (long long)i, (double)diff[i], slope);
        say(t, what);
    }
}

/* A copy of a diff; the blob's is written by no forward. */
static float *copy_of(const ferry_blob *b)
{
    size_t n = (size_t)ferry_blob_count(b);
    float *copy = calloc(n + 1, sizeof(*copy));
    const float *diff = ferry_blob_host_diff(b);

    CU_ASSERT_FATAL(copy && diff);
    memcpy(copy, diff, n * sizeof(*copy));
    return copy;
}

/* Crop's second bottom is a shape, ContrastiveLoss's third a label: Caffe writes neither diff. */
static bool is_written(const struct trial *t, int bottom)
{
    return t->g->inputs[bottom].kind == GRID && !(bottom && strcmp(t->g->type, "Crop") == 0);
}

static void check_all(struct trial *t)
{
    int layer = nd_layer(t->net, "l"), checked = 0;

    for (int i = 0; t->good && i < t->n_inputs; i++)
        if (ferry_layer_propagates(t->layer, i) &&
            (is_written(t, i) || t->g->inputs[i].kind == LIKELY)) {
            ferry_blob *b = ferry_net_input(t->net, i);
            float *diff = copy_of(b);

            check_blob(t, i, NULL, diff, ferry_blob_count(b));
            free(diff);
            checked++;
        }
    for (int i = 0; t->good && !t->g->constant && i < ferry_net_n_params(t->net, layer); i++) {
        ferry_blob *b = ferry_net_param(t->net, layer, i);
        float *diff = copy_of(b);

        check_blob(t, -1, b, diff, ferry_blob_count(b));
        free(diff);
        checked++;
    }
    if (t->good && !checked)
        say(t, "nothing was differentiated");
}

static void every_gradient_is_what_differences_say(void)
{
    size_t good = 0, all = FERRY_TEST_COUNT(gradients);

    for (size_t i = 0; i < all; i++) {
        struct trial t = { .g = &gradients[i], .good = true };

        fx_device();
        if (open_trial(&t) && run_backward(&t))
            check_all(&t);
        for (int k = 0; k < MOST; k++)
            free(t.values[k]);
        ferry_net_close(t.net);
        fx_end();
        good += t.good;
    }
    printf("     %zu of %zu layers\n", good, all);
    CU_ASSERT_EQUAL(good, all);
}

/* Whether there is something to differentiate: it takes bottoms or has parameters, and does not refuse. */
static bool has_gradients(const ferry_layer_type *type)
{
    return !(type->flags & FERRY_LAYER_FORWARD_ONLY) &&
           (type->max_bottoms != 0 || strcmp(type->name, "Parameter") == 0);
}

static void every_type_that_can_be_differentiated_is_here(void)
{
    int found = 0;

    for (int i = 0; i < ferry_layer_type_count(); i++) {
        const ferry_layer_type *type = ferry_layer_type_at(i);
        size_t k = 0;

        while (k < FERRY_TEST_COUNT(gradients) && strcmp(gradients[k].type, type->name) != 0)
            k++;
        if (has_gradients(type) && k == FERRY_TEST_COUNT(gradients))
            printf("     %s has no row\n", type->name);
        CU_ASSERT_EQUAL(k < FERRY_TEST_COUNT(gradients), has_gradients(type));
        found += has_gradients(type);
    }
    printf("     %d types\n", found);
    CU_ASSERT(found > 50);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_gradient_is_what_differences_say),
    FERRY_TEST(every_type_that_can_be_differentiated_is_here),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "gradients", cases, FERRY_TEST_COUNT(cases));
}
