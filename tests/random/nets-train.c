/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"
#include "nets.h"

#include <ferry/net.h>

#include <stdio.h>
#include <string.h>

/*
 * A random net, each output of which has a loss, trained three times: with memory of its own for
 * each blob, with plan_training, and with recompute. The passes compute the same operations, so
 * that losses and gradients agree.
 */

enum { PLAIN, PLANNED, RECOMPUTED, NETS };

struct trained {
    struct net_maker made;
    ferry_net *net[NETS];
};

/* Adds a loss, half the sum of squares, for each output. */
static int add_losses(struct net_maker *m)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = m->text, .text_size = m->length };
    ferry_net *net = NULL;
    int err = ferry_net_open(fx_device(), "net.prototxt", &o, &net);

    for (int i = 0; !err && i < ferry_net_output_count(net); i++) {
        const char *name = ferry_blob_name(ferry_net_output_at(net, i));

        m->length += (size_t)snprintf(
            m->text + m->length, NET_TEXT - m->length,
            "layer { name: 'loss%d' type: 'Reduction' bottom: '%s' top: 'loss%d' loss_weight: %d "
            "reduction_param { operation: SUMSQ coeff: 0.5 } }\n",
            i, name, i, i + 1);
        err = m->length < NET_TEXT ? 0 : FERRY_EINVAL;
    }
    ferry_net_close(net);
    return err;
}

static int open_nets(struct trained *t)
{
    ferry_net_options o = { .struct_size = sizeof o, .phase = FERRY_PHASE_TRAIN };
    const ferry_net *from;
    int err = add_losses(&t->made);

    o.text = t->made.text;
    o.text_size = t->made.length;
    for (int k = 0; !err && k < NETS; k++) {
        o.plan_training = k == PLANNED;
        o.recompute = k == RECOMPUTED;
        err = ferry_net_open(fx_device(), "net.prototxt", &o, &t->net[k]);
    }
    if (err)
        return err;
    from = t->net[PLAIN];
    net_fill_params(&t->made, t->net[PLAIN]);
    for (int i = 0; !err && i < ferry_net_layer_count(from); i++)
        for (int k = 0; !err && k < ferry_net_param_count(from, i); k++)
            for (int to = PLANNED; !err && to < NETS; to++)
                err = ferry_blob_copy_from(ferry_net_param_at(t->net[to], i, k),
                                           ferry_net_param_at(from, i, k), 0);
    return err;
}

/* The batch of round 0, a larger one, and the first one again. */
static int fill_inputs(struct trained *t, int round)
{
    ferry_blob *x = ferry_net_input_at(t->net[PLAIN], 0);
    const struct net_blob *b = &t->made.blob[0];
    int err = ferry_blob_reshape4(x, b->shape[0] + (round == 1 ? 2 : 0), b->shape[1], b->shape[2],
                                  b->shape[3]);

    if (err)
        return err;
    net_fill(&t->made, x, -1, 1);
    for (int k = PLANNED; !err && k < NETS; k++)
        err = ferry_blob_copy_from(ferry_net_input_at(t->net[k], 0), x, FERRY_COPY_RESHAPE);
    return err;
}

static bool same_gradients(const struct trained *t, int of)
{
    const ferry_net *from = t->net[PLAIN];

    for (int i = 0; i < ferry_net_layer_count(from); i++)
        for (int k = 0; k < ferry_net_param_count(from, i); k++) {
            const ferry_blob *b = ferry_net_param_at(from, i, k);
            const float *x = ferry_blob_host_diff(b);
            const float *y = ferry_blob_host_diff(ferry_net_param_at(t->net[of], i, k));

            if (!x || !y ||
                !net_same(ferry_layer_name(ferry_net_layer_at(from, i)), x, y,
                          ferry_blob_element_count(b)))
                return false;
        }
    return true;
}

/* An iteration without its update. 1, 0 if results differ, or an error. */
static int run_round(struct trained *t, int round)
{
    double loss[NETS];
    int back[NETS], err = fill_inputs(t, round);

    for (int k = 0; !err && k < NETS; k++)
        err = ferry_net_forward(t->net[k], &loss[k]);
    for (int k = 0; !err && k < NETS; k++) {
        back[k] = ferry_net_backward(t->net[k]);
        err = back[k] == FERRY_EUNSUPPORTED ? 0 : back[k];
    }
    if (err)
        return err;
    for (int k = PLANNED; k < NETS; k++)
        if (back[k] != back[PLAIN] ||
            !net_same("loss", (float[]){ (float)loss[PLAIN] }, (float[]){ (float)loss[k] }, 1) ||
            !(back[PLAIN] || same_gradients(t, k)))
            return 0;
    return 1;
}

int net_run_training(uint64_t seed, int layers, bool print)
{
    struct trained t = { .net = { NULL } };
    int good, err;

    net_make(&t.made, seed, layers);
    err = open_nets(&t);
    good = !err;
    for (int round = 0; good > 0 && round < 3; round++)
        good = run_round(&t, round);
    if (err || good < 0)
        printf("     %s\n", ferry_last_error());
    if (good <= 0 && print)
        printf("%.*s     repeat: tests/random/test-random-nets --seed %llu --layers %d\n",
               (int)t.made.length, t.made.text, (unsigned long long)seed, layers);
    for (int k = 0; k < NETS; k++)
        ferry_net_close(t.net[k]);
    return good > 0 ? t.made.layers : 0;
}
