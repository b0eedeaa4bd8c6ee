/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "gradient-rows.h"
#include "net-data.h"

#include "net/model/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Every type with a backward pass, with a gradient for only one of its bottoms, as in a net that is
 * trained on top of fixed weights. If Caffe can compute that gradient, ferry must compute it
 * without an error. It equals the gradient of a pass for all bottoms.
 */

#define TOLERANCE 1e-5

struct trial {
    const struct gradient *g;
    ferry_phase phase;
    int wanted; /* the bottom */
    bool forced;
    ferry_net *net;
};

/* Adds a layer before each input; only the layer before the wanted bottom learns. */
static int put_inputs(char *text, const struct trial *t)
{
    int used = 0, i, k;

    for (i = 0; i < MOST && axes_of(&t->g->inputs[i]); i++) {
        used += sprintf(text + used,
                        "layer { name: 'x%d' type: 'Input' top: 'x%d' input_param { shape {", i, i);
        for (k = 0; k < axes_of(&t->g->inputs[i]); k++)
            used += sprintf(text + used, " dim: %lld", (long long)t->g->inputs[i].shape[k]);
        used += sprintf(text + used,
                        " } } }\nlayer { name: 'w%d' type: 'Scale' bottom: 'x%d' top: 'b%d' param "
                        "{ lr_mult: %d } scale_param { axis: 0 num_axes: 0 } }\n",
                        i, i, i, i == t->wanted);
    }
    return used;
}

static const char *text_of(const struct trial *t, int n_params)
{
    bool weighted = strstr(t->g->parameters, "loss_weight") ||
                    ferry_layer_type_find(t->g->type)->flags & FERRY_LAYER_LOSS;
    static char text[4096];
    int used = sprintf(text, "%s", t->forced ? "force_backward: true\n" : ""), i;

    used += put_inputs(text + used, t);
    used += sprintf(text + used, "layer { name: 'l' type: '%s' %s", t->g->type, t->g->parameters);
    for (i = 0; i < n_params; i++)
        used += sprintf(text + used, " param { lr_mult: 0 }");
    for (i = 0; i < MOST && axes_of(&t->g->inputs[i]); i++)
        used += sprintf(text + used, " bottom: 'b%d'", i);
    for (i = 0; i < t->g->tops; i++)
        used += sprintf(text + used, " top: 'y%d'%s", i, weighted ? "" : " loss_weight: 2");
    sprintf(text + used, "%s }\n", t->g->tops == 0 ? " top: 'b0' loss_weight: 2" : "");
    return text;
}

static int open_net(struct trial *t, int n_params)
{
    ferry_net_options o = { .struct_size = sizeof(o), .phase = t->phase, .backward = 1 };

    o.text = text_of(t, n_params);
    o.text_size = strlen(o.text);
    return ferry_net_open(fx_device(), NULL, &o, &t->net);
}

/* Opens the net without learning the layer's own parameters. */
static int open_trial(struct trial *t)
{
    int n, err = open_net(t, 0);

    if (err)
        return err;
    n = ferry_net_param_count(t->net, nd_layer(t->net, "l"));
    ferry_net_close(t->net);
    t->net = NULL;
    return open_net(t, n);
}

static int run(struct trial *t)
{
    int err;

    for (int i = 0; i < ferry_net_input_count(t->net); i++) {
        ferry_blob *b = ferry_net_input_at(t->net, i);
        float *x = ferry_blob_overwrite_host_data(b);

        CU_ASSERT_PTR_NOT_NULL_FATAL(x);
        for (int64_t k = 0; k < ferry_blob_element_count(b); k++)
            x[k] = value_of(&t->g->inputs[i], k, ferry_blob_element_count(b), i);
    }
    err = ferry_net_forward(t->net, NULL);
    return err ? err : ferry_net_backward(t->net);
}

/* The gradient of the factor before the wanted bottom; NaN after an error, which is printed. */
static double gradient(const struct gradient *g, ferry_phase phase, int wanted, bool forced)
{
    struct trial t = { .g = g, .phase = phase, .wanted = wanted, .forced = forced };
    char layer[16];
    int err = open_trial(&t);
    double d = NAN;

    if (!err)
        err = run(&t);
    snprintf(layer, sizeof(layer), "w%d", wanted);
    if (!err)
        d = (double)*(const float *)ferry_blob_host_diff(
            ferry_net_param_at(t.net, nd_layer(t.net, layer), 0));
    else
        printf("     %s { %s } in %s, bottom %d: %s\n", g->type, g->parameters,
               phase == FERRY_PHASE_TEST ? "TEST" : "TRAIN", wanted, ferry_last_error());
    ferry_net_close(t.net);
    fx_end();
    return d;
}

/* Whether Caffe computes the gradient of this bottom. */
static bool has_gradient(const struct gradient *g, int bottom)
{
    struct trial t = { .g = g, .phase = FERRY_PHASE_TRAIN, .wanted = bottom };
    bool refused = true;

    if (!open_trial(&t))
        refused = t.net->layers[nd_layer(t.net, "l")].refused != NULL;
    else
        printf("     %s { %s }: %s\n", g->type, g->parameters, ferry_last_error());
    ferry_net_close(t.net);
    fx_end();
    return !refused;
}

static bool check(const struct gradient *g, int bottom)
{
    bool good = true;

    for (int phase = FERRY_PHASE_TRAIN; phase <= FERRY_PHASE_TEST; phase++) {
        double alone = gradient(g, (ferry_phase)phase, bottom, false);
        double all = gradient(g, (ferry_phase)phase, bottom, true);

        if (fabs(alone - all) <= TOLERANCE * fmax(1, fabs(all)))
            continue;
        printf("     %s { %s }, bottom %d: %g, and with all bottoms %g\n", g->type, g->parameters,
               bottom, alone, all);
        good = false;
    }
    return good;
}

static void the_gradient_of_a_single_bottom_is_computed(void)
{
    size_t good = 0, all = 0;

    for (size_t i = 0; i < FERRY_TEST_COUNT(gradients); i++) {
        const struct gradient *g = &gradients[i];

        for (int k = 0; g->tops >= 0 && k < MOST && axes_of(&g->inputs[k]); k++)
            if (g->inputs[k].shape[0] && has_gradient(g, k)) {
                all++;
                good += check(g, k);
            }
    }
    printf("     %zu of %zu bottoms\n", good, all);
    CU_ASSERT(all > 80);
    CU_ASSERT_EQUAL(good, all);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_gradient_of_a_single_bottom_is_computed),
};

int main(int argc, char **argv)
{
    return ferry_test_main_plain_backends(argc, argv, "gradients wanted", cases,
                                          FERRY_TEST_COUNT(cases));
}
