/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/repeat.h"

#include "op/operation.h"
#include "op/run.h"

#include <ferry/queue.h>

#include <stdlib.h>
#include <string.h>

/* A list of runs as it was last announced to the plugin. */
struct ferry__list {
    struct ferry__target target; /* borrowed from its operations; no table: the list was not
                                  * announced yet */
    ferry_op_list told;
    uint64_t *words; /* its runs, serialised: their operations and arguments */
    size_t n_words;
};

/* ---- comparing ------------------------------------------------------------------------------- */

/* Serialises a list: counts its words, compares them with those at `at`, or stores them there. */
struct writing {
    uint64_t *at; /* NULL: only counts the words */
    size_t n, room;
    bool store, differs;
};

static void put(struct writing *w, uint64_t word)
{
    if (w->at && w->store)
        w->at[w->n] = word;
    else if (w->at && (w->n >= w->room || w->at[w->n] != word))
        w->differs = true;
    w->n++;
}

static void put_refs(struct writing *w, const ferry_ref *refs, uint32_t n)
{
    for (; n-- > 0; refs++) {
        put(w, (uintptr_t)refs->handle);
        put(w, refs->offset);
    }
}

static void put_run(struct writing *w, const struct ferry__run *run)
{
    const ferry_operation *o = run->operation;
    uint32_t i;

    put(w, (uintptr_t)o);
    put_refs(w, run->refs.in, o->op.n_in);
    put_refs(w, run->refs.out, o->op.n_out);
    put_refs(w, run->packed, o->plan.n_packed);
    put(w, run->args.seed);
    put(w, run->args.offset);
    for (i = 0; i < run->args.scalar_count; i++) {
        uint64_t bits;

        memcpy(&bits, &run->args.scalars[i], sizeof bits);
        put(w, bits);
    }
}

static void put_list(struct writing *w, ferry_queue *q, const struct ferry__run *runs, size_t n,
                     ferry_ref workspace)
{
    size_t i;

    put(w, (uintptr_t)q);
    put_refs(w, &workspace, 1);
    for (i = 0; i < n; i++)
        put_run(w, &runs[i]);
}

/*
 * ---- the plugin's entries ----------------------------------------------------------------------
 */

struct call {
    const struct ferry__target *target;
    const ferry_op_list *list;
    uint32_t action, discard;
};

static int call_begin(void *ctx, void *queue, void *arg)
{
    struct call *c = arg;
    int err = c->target->table->begin(ctx, queue, c->list, &c->action);

    if (err == FERRY_EUNSUPPORTED)
        c->action = FERRY_OP_LIST_RUN;
    return err == FERRY_EUNSUPPORTED ? 0 : err;
}

static int call_end(void *ctx, void *queue, void *arg)
{
    const struct call *c = arg;

    return c->target->table->end(ctx, queue, c->list->id, c->discard);
}

static void forget(struct ferry__list *list)
{
    if (list->target.table) {
        ferry_device_synchronize(list->target.device);
        list->target.table->forget(list->target.ctx, list->told.id);
    }
    list->target.table = NULL;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The pass's next list, created if it does not exist. NULL: no memory, which is not an error. */
static struct ferry__list *next_list(struct ferry__repeats *r)
{
    if (r->at == r->room) {
        size_t room = r->room ? 2 * r->room : 4;
        struct ferry__list *grown = realloc(r->lists, room * sizeof *grown);

        if (!grown)
            return NULL;
        r->lists = grown;
        r->room = room;
    }
    if (r->at == r->count)
        memset(&r->lists[r->count++], 0, sizeof *r->lists);
    return &r->lists[r->at++];
}

static uint64_t next_id(void)
{
    static _Atomic uint64_t ids;

    return 1 + atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed);
}

static uint64_t calls_of(const struct ferry__run *runs, size_t n)
{
    uint64_t calls = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        const struct ferry__plan *plan = &runs[i].operation->plan;

        calls += (uint64_t)(plan->repeated * plan->repeat) + plan->n_steps - plan->repeated;
    }
    return calls;
}

/* Replaces the contents of the list by these runs. False without memory. */
static bool renew(struct ferry__list *list, ferry_queue *q, const struct ferry__run *runs, size_t n,
                  ferry_ref workspace)
{
    struct writing w = { 0 };
    uint64_t *words;

    forget(list);
    put_list(&w, q, runs, n, workspace);
    words = realloc(list->words, w.n * sizeof *words);
    if (!words)
        return false;
    list->words = words;
    list->n_words = w.n;
    w = (struct writing){ .at = words, .room = w.n, .store = true };
    put_list(&w, q, runs, n, workspace);
    list->told = (ferry_op_list){ .struct_size = sizeof list->told,
                                  .id = next_id(),
                                  .count = calls_of(runs, n) };
    list->target = runs[0].operation->plan.target;
    return true;
}

int ferry__repeats_announce(struct ferry__repeats *r, ferry_queue *q, const struct ferry__run *runs,
                            size_t n, ferry_ref workspace, uint32_t *out_action)
{
    struct ferry__list *list;
    struct writing w = { 0 };
    struct call c = { 0 };
    int err;

    *out_action = FERRY_OP_LIST_RUN;
    if (!runs[0].operation->plan.target.lists)
        return 0;
    list = next_list(r);
    if (!list)
        return 0;
    w.at = list->words;
    w.room = list->n_words;
    if (list->target.table)
        put_list(&w, q, runs, n, workspace);
    if ((!list->target.table || w.differs || w.n != w.room) && !renew(list, q, runs, n, workspace))
        return 0;
    c.target = &list->target;
    c.list = &list->told;
    err = ferry_queue_call(q, "begin of a list", call_begin, &c);
    list->told.repeats = err ? 0 : list->told.repeats + 1;
    if (!err)
        *out_action = c.action;
    return err;
}

int ferry__repeats_close(struct ferry__repeats *r, ferry_queue *q, bool discard)
{
    struct ferry__list *list = &r->lists[r->at - 1];
    struct call c = { .target = &list->target, .list = &list->told, .discard = discard };
    int err = ferry_queue_call(q, "end of a list", call_end, &c);

    if (err || discard)
        list->told.repeats = 0;
    return err;
}

void ferry__repeats_end(struct ferry__repeats *r)
{
    size_t i;

    for (i = 0; i < r->count; i++) {
        forget(&r->lists[i]);
        free(r->lists[i].words);
    }
    free(r->lists);
    memset(r, 0, sizeof *r);
}
