/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "gradient-rows.h"
#include "net-data.h"

#include "net/model/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Every type with a backward pass, compared with finite differences of the sum of its tops, in
 * which each element has its own factor. Elements of each bottom and parameter are changed in both
 * directions. Each pass draws the same random numbers.
 */

#define STEP      (1.0 / 256)
#define TOLERANCE 5e-3 /* of the largest gradient of a blob */

/*
 * A layer in place after the layer's tops: none, or a Power that changes size and sign, directly or
 * through a Reshape.
 */
enum behind { NOTHING, POWER, RESHAPED };

/* ---- a net of one layer ---------------------------------------------------------------------- */

struct trial {
    const struct gradient *g;
    enum behind behind;
    ferry_net *net;
    const ferry_layer *layer;
    int n_inputs, n_tops;
    float *values[MOST]; /* of the inputs */
    uint64_t drawn;      /* random numbers before the first pass */
    bool good;
};

/* The layers after top `top`; returns the characters. */
static int put_behind(char *text, enum behind behind, const char *top)
{
    int used = 0;

    if (behind == RESHAPED)
        used =
            sprintf(text,
                    "layer { name: 'r%s' type: 'Reshape' bottom: '%s' top: 'r%s' reshape_param { "
                    "shape { dim: -1 } } }\n",
                    top, top, top);
    if (behind != NOTHING)
        used += sprintf(text + used,
                        "layer { name: 'b%s' type: 'Power' bottom: '%s%s' top: '%s%s' power_param "
                        "{ scale: -1.5 shift: 0.25 } }\n",
                        top, used ? "r" : "", top, used ? "r" : "", top);
    return used;
}

static char *text_of(const struct gradient *g, enum behind behind)
{
    static char text[4096];
    int used = sprintf(text, "force_backward: true state { phase: TRAIN }\n"), i, k;

    for (i = 0; i < MOST && axes_of(&g->inputs[i]); i++) {
        used += sprintf(text + used,
                        "layer { name: 'x%d' type: 'Input' top: 'x%d' input_param { shape {", i, i);
        for (k = 0; k < axes_of(&g->inputs[i]); k++)
            used += sprintf(text + used, " dim: %lld", (long long)g->inputs[i].shape[k]);
        used += sprintf(text + used, " } } }\n");
    }
    used += sprintf(text + used, "layer { name: 'l' type: '%s' %s", g->type, g->parameters);
    for (k = 0; k < i; k++)
        used += sprintf(text + used, " bottom: 'x%d'", k);
    for (k = 0; k < g->tops; k++)
        used += sprintf(text + used, " top: 'y%d'", k);
    used += sprintf(text + used, "%s }\n", g->tops == 0 ? " top: 'x0'" : "");
    if (g->tops == 0)
        put_behind(text + used, behind, "x0");
    for (k = 0; k < g->tops; k++)
        used += put_behind(text + used, behind, (const char *[]){ "y0", "y1", "y2" }[k]);
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
    ferry_net_options o = { .struct_size = sizeof(o),
                            .text = text_of(t->g, t->behind),
                            .backward = 1 };

    o.text_size = strlen(o.text);
    if (ferry_net_open(fx_device(), NULL, &o, &t->net))
        return say(t, ferry_last_error());
    t->layer = ferry_net_layer_at(t->net, nd_layer(t->net, "l"));
    t->drawn = t->net->drawn;
    t->n_inputs = ferry_net_input_count(t->net);
    t->n_tops = ferry_layer_top_count(t->layer);
    for (int i = 0; i < t->n_inputs; i++) {
        int64_t n = ferry_blob_element_count(ferry_net_input_at(t->net, i));

        t->values[i] = calloc((size_t)n, sizeof(float));
        CU_ASSERT_PTR_NOT_NULL_FATAL(t->values[i]);
        for (int64_t k = 0; k < n; k++)
            t->values[i][k] = value_of(&t->g->inputs[i], k, n, i);
    }
    return true;
}

/* The factor of element i of a top in the sum. */
static double factor_of(const struct trial *t, int top, int64_t i)
{
    double weight = ferry_layer_loss_weight(t->layer, top);

    return weight != 0 ? weight : 1 - 0.37 * (double)((i + top) % 6);
}

/* The sum of the tops; layers in place overwrite the inputs, which are therefore set each time. */
static double sum_of(struct trial *t)
{
    double sum = 0;

    for (int i = 0; i < t->n_inputs; i++) {
        ferry_blob *b = ferry_net_input_at(t->net, i);
        float *x = ferry_blob_overwrite_host_data(b);

        CU_ASSERT_PTR_NOT_NULL_FATAL(x);
        memcpy(x, t->values[i], (size_t)ferry_blob_element_count(b) * sizeof(*x));
    }
    t->net->drawn = t->drawn;
    if (ferry_net_forward(t->net, NULL) && t->good)
        say(t, ferry_last_error());
    for (int i = 0; t->good && i < t->n_tops; i++) {
        const ferry_blob *b = ferry_layer_top_at(t->layer, i);
        const float *y = ferry_blob_host_data(b);

        for (int64_t k = 0; k < ferry_blob_element_count(b); k++)
            sum += factor_of(t, i, k) * (double)y[k];
    }
    return sum;
}

static bool run_backward(struct trial *t)
{
    sum_of(t);
    for (int i = 0; t->good && i < t->n_tops; i++) {
        ferry_blob *b = ferry_layer_top_at(t->layer, i);
        float *dy;

        if (ferry_layer_loss_weight(t->layer, i) != 0)
            continue;
        dy = ferry_blob_overwrite_host_diff(b);
        CU_ASSERT_PTR_NOT_NULL_FATAL(dy);
        for (int64_t k = 0; k < ferry_blob_element_count(b); k++)
            dy[k] = (float)factor_of(t, i, k);
    }
    if (t->good && ferry_net_backward(t->net))
        return say(t, ferry_last_error());
    return t->good;
}

/* ---- differences ----------------------------------------------------------------------------- */

/* The change of the sum with element i of an input, or of a parameter. */
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

/* A copy of a diff, which no forward pass writes. */
static float *copy_of(const ferry_blob *b)
{
    size_t n = (size_t)ferry_blob_element_count(b);
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
            ferry_blob *b = ferry_net_input_at(t->net, i);
            float *diff = copy_of(b);

            check_blob(t, i, NULL, diff, ferry_blob_element_count(b));
            free(diff);
            checked++;
        }
    for (int i = 0; t->good && !t->g->constant && i < ferry_net_param_count(t->net, layer); i++) {
        ferry_blob *b = ferry_net_param_at(t->net, layer, i);
        float *diff = copy_of(b);

        check_blob(t, -1, b, diff, ferry_blob_element_count(b));
        free(diff);
        checked++;
    }
    if (t->good && !checked)
        say(t, "nothing was differentiated");
}

/*
 * A loss's top has a weight, and the tops of a Split share memory: layers after them use a split's
 * top.
 */
static bool has_room_behind(const struct gradient *g)
{
    return !(ferry_layer_type_find(g->type)->flags & FERRY_LAYER_LOSS) &&
           strcmp(g->type, "Split") != 0;
}

static void check_every_gradient(enum behind behind)
{
    size_t good = 0, all = 0;

    for (size_t i = 0; i < FERRY_TEST_COUNT(gradients); i++) {
        struct trial t = { .g = &gradients[i], .behind = behind, .good = true };

        if (behind != NOTHING && !has_room_behind(t.g))
            continue;
        all++;
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

static void every_gradient_equals_its_finite_difference(void)
{
    check_every_gradient(NOTHING);
}

static void a_later_layer_in_place_changes_no_gradient(void)
{
    check_every_gradient(POWER);
}

static void a_layer_in_place_on_an_alias_of_the_top_changes_no_gradient(void)
{
    check_every_gradient(RESHAPED);
}

/* Whether there is something to differentiate: it has bottoms or parameters, and supports it. */
static bool has_gradients(const ferry_layer_type *type)
{
    return !(type->flags & FERRY_LAYER_FORWARD_ONLY) &&
           (type->max_bottoms != 0 || strcmp(type->name, "Parameter") == 0);
}

static void every_differentiable_layer_type_has_a_gradient_test(void)
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
    FERRY_TEST(every_gradient_equals_its_finite_difference),
    FERRY_TEST(a_later_layer_in_place_changes_no_gradient),
    FERRY_TEST(a_layer_in_place_on_an_alias_of_the_top_changes_no_gradient),
    FERRY_TEST(every_differentiable_layer_type_has_a_gradient_test),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "gradients", cases, FERRY_TEST_COUNT(cases));
}
