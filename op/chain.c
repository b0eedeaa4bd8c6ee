/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/chain.h"

#include "op/operation.h"

#include <ferry/status.h>

#include <pthread.h>
#include <string.h>

int64_t ferry__chains_most(const struct ferry__chains *c)
{
    return (c->images + c->pieces - 1) / c->pieces;
}

int64_t ferry__chains_least(const struct ferry__chains *c)
{
    return c->images / c->pieces;
}

void ferry__chains_of(ferry_device *dev, ferry_op_chains *out)
{
    struct ferry__target target;

    memset(out, 0, sizeof *out);
    if (ferry__target_own(dev, &target) || !target.chains)
        return;
    out->struct_size = sizeof *out;
    if (target.table->chains(target.ctx, out))
        memset(out, 0, sizeof *out);
}

struct work {
    const struct ferry__chains *chains;
    const struct ferry__run *runs;
    size_t n, failed;
    void *ctx, *queue;
    ferry_ref workspace;
    uint64_t space;
    pthread_mutex_t lock; /* protects `failed` */
};

static void move_refs(ferry_ref *refs, const struct ferry__shift *shift, uint32_t n, int64_t image,
                      uint32_t chain)
{
    uint32_t i;

    for (i = 0; i < n; i++)
        if (refs[i].handle)
            refs[i].offset += (uint64_t)(image * shift[i].image + chain * shift[i].chain);
}

static int run_piece(struct work *w, size_t at, int64_t image, uint32_t chain)
{
    struct ferry__run run = w->runs[at];
    const ferry_op_desc *op = &run.operation->op;
    int err;

    move_refs(run.refs.in, run.chained.in, op->n_in, image, chain);
    move_refs(run.refs.out, run.chained.out, op->n_out, image, chain);
    run.workspace = w->workspace;
    run.workspace.offset += chain * w->space;
    err = ferry__run_enqueue(&run, w->ctx, w->queue);
    if (err) {
        pthread_mutex_lock(&w->lock);
        w->failed = at < w->failed ? at : w->failed;
        pthread_mutex_unlock(&w->lock);
    }
    return err;
}

static int run_chain(void *arg, uint32_t chain)
{
    struct work *w = arg;
    const struct ferry__chains *c = w->chains;
    int64_t each = c->pieces / c->count, piece = chain * each + c->from;
    int err = 0;

    for (; !err && piece < chain * each + c->to; piece++) {
        int64_t image = piece * c->images / c->pieces;
        int64_t images = (piece + 1) * c->images / c->pieces - image;
        size_t i;

        for (i = 0; !err && i < w->n; i++)
            if (w->runs[i].chained.images == images)
                err = run_piece(w, i, image, chain);
    }
    return err;
}

static int run_all(void *ctx, void *queue, void *arg)
{
    struct work *w = arg;

    w->ctx = ctx;
    w->queue = queue;
    return w->runs[0].operation->plan.target.table->run_chains(ctx, queue, w->chains->count,
                                                               run_chain, w);
}

int ferry__chains_submit(const struct ferry__chains *c, const struct ferry__run *runs, size_t n,
                         ferry_queue *q, ferry_ref workspace, uint64_t space, size_t *out_failed)
{
    struct work w = { .chains = c,
                      .runs = runs,
                      .n = n,
                      .failed = n,
                      .workspace = workspace,
                      .space = space,
                      .lock = PTHREAD_MUTEX_INITIALIZER };
    int err = ferry_queue_call(q, "chains of operations", run_all, &w);

    pthread_mutex_destroy(&w.lock);
    *out_failed = w.failed;
    return err;
}
