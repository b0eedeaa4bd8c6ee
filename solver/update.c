/* SPDX-License-Identifier: BSD-2-Clause */
/* Updates: one operation for each parameter, on the parameter's device. */
#include "solver/state.h"

#include "net/model/training.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <math.h>
#include <stdlib.h>

/*
 * ---- the trained parameters
 * ----------------------------------------------------------------------
 */

static int count_params(const ferry_net *net)
{
    int i, n = 0;

    for (i = 0; i < ferry_net_layer_count(net); i++)
        n += ferry_net_param_count(net, i);
    return n;
}

/* Creates a history of zeros on the parameter's device. */
static int make_history(const ferry_blob *like, ferry_blob **out)
{
    int err = ferry_blob_create(ferry_blob_home(like), FERRY_F32, ferry_blob_shape(like),
                                ferry_blob_rank(like), out);

    return err ? err : ferry_blob_fill_data(*out, 0);
}

static int begin_one(const ferry_solver *s, int layer, int index,
                     const struct ferry__training_param *p, struct ferry__learned *out)
{
    int i, err = 0, n = s->settings.type >= FERRY_UPDATE_ADADELTA ? 2 : 1;

    out->blob = p->blob;
    out->layer = ferry_layer_name(ferry_net_layer_at(s->net, layer));
    out->number = layer;
    out->index = index;
    out->lr_mult = (float)p->lr_mult;
    out->decay_mult = (float)p->decay_mult;
    out->has_diff = p->has_diff;
    for (i = 0; !err && i < n; i++)
        err = make_history(p->blob, &out->history[i]);
    return err;
}

int ferry__update_begin(ferry_solver *s)
{
    struct ferry__training_param p;
    int i, k, err = 0;

    s->learned = calloc((size_t)count_params(s->net) + 1, sizeof *s->learned);
    if (!s->learned)
        return ferry_error_set(FERRY_ENOMEM, "%s: no memory for its histories", s->path);
    for (i = 0; i < ferry_net_layer_count(s->net); i++)
        for (k = 0; !err && ferry__training_param_at(s->net, i, k, &p); k++)
            if (p.is_owned)
                err = begin_one(s, i, k, &p, &s->learned[s->n_learned++]);
    return err;
}

void ferry__update_end(ferry_solver *s)
{
    int i;

    for (i = 0; i < s->n_learned; i++) {
        ferry_operation_destroy(s->learned[i].update);
        ferry_blob_destroy(s->learned[i].history[0]);
        ferry_blob_destroy(s->learned[i].history[1]);
    }
    free(s->learned);
}

/* ---- the operation --------------------------------------------------------------------------- */

/* Prepares the update for the parameter's current device; the histories move with it. */
static int prepare(const ferry_solver *s, struct ferry__learned *l)
{
    ferry_device *where = ferry_blob_home(l->blob);
    int64_t count = ferry_blob_element_count(l->blob);
    ferry_operation *made;
    ferry_op_desc op;
    uint32_t i;
    int err = 0;

    if (l->update && l->where == where)
        return 0;
    ferry_op_desc_init(&op, FERRY_OP_UPDATE);
    op.params.update.solver = s->settings.type;
    op.n_in = 1;
    op.n_out = l->history[1] ? 3 : 2;
    op.in[0] = ferry_operand_make(FERRY_F32, &count, 1, NULL);
    for (i = 0; i < op.n_out; i++)
        op.out[i] = op.in[0];
    for (i = 1; !err && i < op.n_out; i++)
        err = ferry_blob_move_to(l->history[i - 1], where);
    if (!err)
        err = ferry_operation_create(where, &op, &made);
    if (err)
        return err;
    ferry_operation_destroy(l->update);
    l->update = made;
    l->where = where;
    return 0;
}

/* Adam's rate with bias correction. */
static float corrected(const struct ferry__solver_settings *s, float rate, int t)
{
    double first = 1 - pow((double)s->momentum, t), second = 1 - pow((double)s->momentum2, t);

    return rate * (float)(sqrt(second) / first);
}

static int update_one(const ferry_solver *s, struct ferry__learned *l, float scale, float rate)
{
    const struct ferry__solver_settings *set = &s->settings;
    float decay = set->weight_decay * l->decay_mult, own = rate * l->lr_mult;
    double scalars[FERRY_UPDATE_SCALARS] = { (double)scale,     0, 0, 0, (double)set->momentum, 0,
                                             (double)set->delta };
    ferry_operation_location in, out[3] = { { NULL, 0 } };
    ferry_operation_args args = { .struct_size = sizeof args, .in = &in, .out = out };
    int err = prepare(s, l), i;

    if (err)
        return err;
    if (set->type == FERRY_UPDATE_ADAM)
        own = corrected(set, own, s->iter + 1);
    scalars[set->l1 ? 2 : 1] = (double)decay;
    scalars[3] = (double)own;
    scalars[5] = (double)(set->type == FERRY_UPDATE_RMSPROP ? set->rms_decay : set->momentum2);
    in = (ferry_operation_location){ ferry_blob_diff_memory(l->blob), 0 };
    out[0].memory = ferry_blob_data_memory(l->blob);
    for (i = 0; i < 2 && l->history[i]; i++)
        out[1 + i].memory = ferry_blob_data_memory(l->history[i]);
    args.scalars = scalars;
    args.scalar_count = FERRY_UPDATE_SCALARS;
    return ferry_operation_run(l->update, NULL, &args);
}

/*
 * ---- all parameters
 * ------------------------------------------------------------------------------
 */

/* Sets the factor of clip_gradients: 1 if the gradients are small enough. */
static int clip(const ferry_solver *s, int ranks, float *out)
{
    double sum = 0, one;
    float norm;
    int i, err = 0;

    *out = 1;
    if (s->settings.clip < 0)
        return 0;
    for (i = 0; !err && i < s->n_learned; i++) {
        err = ferry_blob_sumsq_diff(s->learned[i].blob, &one);
        sum += err ? 0 : one;
    }
    if (err)
        return err;
    norm = (float)(sqrt(sum) / ranks);
    if (!(norm > s->settings.clip)) /* the condition is also false for a NaN norm, as in Caffe */
        return 0;
    *out = s->settings.clip / norm;
    ferry_log_write(
        FERRY_LOG_INFO,
        "Gradient clipping: scaling down gradients (L2 norm %g > %g) by scale factor %g",
        (double)norm, (double)s->settings.clip, (double)*out);
    return 0;
}

int ferry__update(ferry_solver *s, int ranks)
{
    float scale, rate = ferry__rate_now(s);
    int i, err;

    s->rate = (double)rate;
    if (s->settings.display && s->iter % s->settings.display == 0)
        ferry_log_write(FERRY_LOG_INFO, "Iteration %d, lr = %g", s->iter, (double)rate);
    err = clip(s, ranks, &scale);
    if (s->settings.iter_size > 1)
        scale *= 1.0f / (float)s->settings.iter_size;
    if (ranks > 1)
        scale *= 1.0f / (float)ranks;
    for (i = 0; !err && i < s->n_learned; i++)
        if (ferry_blob_element_count(s->learned[i].blob) > 0)
            err = update_one(s, &s->learned[i], scale, rate);
    return err;
}
