/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * ops-reuse: operations that share packed constants, operations of several threads, and hundreds of
 * operations, which must not leak.
 */

/* ---- operations ----------------------------------------------------------------------------- */

struct shape {
    int64_t n, c, o, h, w, kernel, pad, stride, group;
};

static ferry_op_desc convolution(const struct shape *s)
{
    ferry_op_desc op = op_begin(FERRY_OP_CONVOLUTION, 3, 1);

    op.params.window = (ferry_op_window){ .axes = 2,
                                          .group = (uint32_t)s->group,
                                          .kernel = { s->kernel, s->kernel, 1 },
                                          .stride = { s->stride, s->stride, 1 },
                                          .dilation = { 1, 1, 1 },
                                          .pad = { s->pad, s->pad, 0 },
                                          .pad_end = { s->pad, s->pad, 0 } };
    OP_SHAPE(&op.in[0], FERRY_F32, s->n, s->c, s->h, s->w);
    OP_SHAPE(&op.in[1], FERRY_F32, s->o, s->c / s->group, s->kernel, s->kernel);
    OP_SHAPE(&op.in[2], FERRY_F32, s->o);
    OP_SHAPE(&op.out[0], FERRY_F32, s->n, s->o, (s->h + 2 * s->pad - s->kernel) / s->stride + 1,
             (s->w + 2 * s->pad - s->kernel) / s->stride + 1);
    op.constants = 6;
    return op;
}

static ferry_op_desc inner_product(int64_t m, int64_t k, int64_t n)
{
    ferry_op_desc op = op_begin(FERRY_OP_INNER_PRODUCT, 3, 1);

    OP_SHAPE(&op.in[0], FERRY_F32, m, k);
    OP_SHAPE(&op.in[1], FERRY_F32, n, k);
    OP_SHAPE(&op.in[2], FERRY_F32, n);
    OP_SHAPE(&op.out[0], FERRY_F32, m, n);
    op.constants = 6;
    return op;
}

static void fill(struct op_whole *w)
{
    for (uint32_t i = 0; i < w->op.n_in; i++) /* equal constants are equal in all operations */
        op_array_fill(&w->in[i], -1, 1, i);
}

/* ---- packed constants ----------------------------------------------------------------------- */

static bool same_constants(const ferry_op_desc *a, const ferry_op_desc *b)
{
    return a->kind == b->kind &&
           memcmp(a->in[1].shape, b->in[1].shape, sizeof(a->in[1].shape)) == 0;
}

/* The bytes that prepare writes, over the same pattern. */
static unsigned char *packed_bytes(struct op_whole *w)
{
    uint64_t bytes = w->answer.packed_bytes;
    unsigned char *host = kit_host(bytes);

    kit_pattern(host, bytes, 9);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D, (ferry_ref){ w->packed, 0 },
                          (ferry_cref){ host, 0 }, bytes),
           "memcpy H2D");
    kit_wait(NULL);
    op_whole_run(w, NULL, true);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ host, 0 },
                          (ferry_cref){ w->packed, 0 }, bytes),
           "memcpy D2H");
    kit_wait(NULL);
    return host;
}

/* b runs with the constants that a has packed. */
static void share(struct op_whole *a, struct op_whole *b)
{
    void *own = b->packed;
    unsigned char *of_a, *of_b;

    op_say(&b->op, "", "with the packed constants of another operation of its packed_key");
    if (a->answer.packed_bytes != b->answer.packed_bytes ||
        a->answer.packed_inputs != b->answer.packed_inputs)
        kit_fail("query's packed_bytes are %" PRIu64 ", %" PRIu64 " for the other",
                 b->answer.packed_bytes, a->answer.packed_bytes);
    of_a = packed_bytes(a);
    of_b = packed_bytes(b);
    for (uint64_t at = 0; at < a->answer.packed_bytes; at++)
        if (of_a[at] != of_b[at])
            kit_fail("byte %" PRIu64 " of the packed constants is 0x%02x, 0x%02x in the other's",
                     at, of_b[at], of_a[at]);
    b->packed = a->packed;
    op_whole_run(b, NULL, false);
    b->packed = own;
    op_whole_check(b, INT64_MAX, NULL);
    free(of_a);
    free(of_b);
}

static int compare(const ferry_op_desc *first, const ferry_op_desc *second)
{
    struct op_whole a, b;
    int shared = 0;

    if (!op_whole_open(&a, first, ""))
        return 0;
    if (!op_whole_open(&b, second, "")) {
        op_whole_close(&a);
        return 0;
    }
    fill(&a);
    fill(&b);
    if (a.answer.packed_key && a.answer.packed_key == b.answer.packed_key) {
        if (!same_constants(first, second))
            kit_fail("query's packed_key is that of an operation with constants of other shapes");
        share(&a, &b);
        shared = 1;
    }
    op_whole_close(&a);
    op_whole_close(&b);
    return shared;
}

static int packed_keys(void)
{
    static const struct shape shapes[] = {
        { 1, 6, 17, 9, 8, 3, 1, 1, 1 },  { 3, 6, 17, 9, 8, 3, 1, 1, 1 },
        { 2, 6, 17, 31, 5, 3, 0, 2, 1 }, { 1, 6, 17, 40, 41, 3, 1, 1, 1 },
        { 1, 12, 18, 9, 8, 3, 1, 1, 2 }, { 1, 17, 6, 9, 8, 3, 1, 1, 1 },
        { 1, 54, 17, 9, 8, 1, 0, 1, 1 }, { 4, 54, 17, 3, 3, 1, 0, 1, 1 },
        { 1, 32, 32, 7, 7, 3, 1, 1, 32 }
    };
    enum { CONVOLUTIONS = sizeof(shapes) / sizeof(shapes[0]), ALL = CONVOLUTIONS + 3 };
    ferry_op_desc ops[ALL];
    int shared = 0;

    for (int i = 0; i < CONVOLUTIONS; i++)
        ops[i] = convolution(&shapes[i]);
    ops[CONVOLUTIONS] = inner_product(1, 54, 17);
    ops[CONVOLUTIONS + 1] = inner_product(9, 54, 17);
    ops[CONVOLUTIONS + 2] = inner_product(9, 17, 54);
    for (int i = 0; i < ALL; i++)
        for (int k = i + 1; k < ALL; k++)
            shared += compare(&ops[i], &ops[k]);
    return shared;
}

/* ---- threads -------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 40 };

struct worker {
    pthread_t thread;
    struct op_whole w; /* arrays, and the first results */
    void *queue;
};

static pthread_mutex_t default_queue = PTHREAD_MUTEX_INITIALIZER;

/* Creates another operation on the thread's arrays, and runs it on the thread's own queue. */
static void one_round(struct worker *t)
{
    struct op_whole w = t->w;

    if (op_table->query(kit.dev, &w.op, &w.answer))
        kit_fail("query refuses what it accepted before");
    op_create(&w.op, &w.prepared);
    if (!t->queue)
        pthread_mutex_lock(&default_queue);
    op_whole_submit(&w, t->queue, true);
    kit_wait(t->queue);
    if (!t->queue)
        pthread_mutex_unlock(&default_queue);
    op_table->destroy(kit.dev, w.prepared);
}

static void *work(void *arg)
{
    struct worker *t = arg;

    for (int i = 0; i < ROUNDS; i++)
        one_round(t);
    kit_thread_manners();
    return NULL;
}

/* The results are those of a run without other threads, to the bit. */
static void check_worker(struct worker *t)
{
    struct op_array *y = &t->w.out[0];
    unsigned char *before = y->got;

    y->got = kit_host(y->bytes + OP_TAIL);
    op_whole_download(&t->w);
    if (memcmp(before, y->got, y->bytes) != 0)
        kit_fail("out[0] differs in bits from a run without other threads");
    free(before);
}

/*
 * Runs a different operation on each thread; the case is skipped if the plugin refuses all of them.
 */
static void four_threads(const ferry_op_desc *ops)
{
    struct worker workers[THREADS];
    bool own_queues = kit.ops.queue_create && kit.ops.queue_destroy;
    int n = 0;

    for (int i = 0; i < THREADS; i++) {
        struct worker *t = &workers[n];

        t->queue = NULL;
        if (!op_whole_open(&t->w, &ops[i], ""))
            continue;
        fill(&t->w);
        op_whole_run(&t->w, NULL, true);
        if (own_queues)
            kit_ok(kit.ops.queue_create(kit.dev, 0, &t->queue), "queue_create");
        n++;
    }
    kit_case("%d operations, each created, run and destroyed %d times by a thread of its own", n,
             ROUNDS);
    for (int i = 0; i < n; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            kit_fail("the check itself cannot start a thread");
    for (int i = 0; i < n; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < n; i++) {
        check_worker(&workers[i]);
        if (workers[i].queue)
            kit_ok(kit.ops.queue_destroy(kit.dev, workers[i].queue), "queue_destroy");
        op_whole_close(&workers[i].w);
    }
}

/* ---- leaks ---------------------------------------------------------------------------------- */

enum { CYCLES = 75 }; /* and four times as many, in rounds */

static struct op_whole again;

static void create_run_destroy(void)
{
    struct op_whole w = again;

    op_create(&w.op, &w.prepared);
    op_whole_submit(&w, NULL, true);
    kit_wait(NULL);
    op_table->destroy(kit.dev, w.prepared);
}

static void leaves_nothing(const ferry_op_desc *op)
{
    ferry_plugin_counters before, after;
    bool counts;
    char what[96];

    if (!op_whole_open(&again, op, ""))
        return;
    fill(&again);
    op_whole_run(&again, NULL, true);
    counts = kit_counters(&before);
    snprintf(what, sizeof(what), "create, run and destroy of an operation of kind %" PRIu32,
             op->kind);
    kit_does_not_grow(what, create_run_destroy, CYCLES);
    if (counts && kit_counters(&after) && after.live_blocks != before.live_blocks)
        kit_fail("live_blocks was %" PRIu64 ", is %" PRIu64, before.live_blocks,
                 after.live_blocks);
    op_whole_close(&again);
}

/*
 * One operation for each way in which plugins prepare operations: with packed constants, with
 * workspaces, with neither.
 */
static void some_operations(ferry_op_desc *ops)
{
    const struct shape s = { 2, 16, 24, 12, 11, 3, 1, 1, 1 };

    ops[0] = convolution(&s);
    ops[1] = inner_product(7, 300, 40);
    ops[2] = op_begin(FERRY_OP_REDUCE, 1, 1);
    ops[2].params.reduce.scale = 1;
    ops[2].params.reduce.axes = 1;
    OP_SHAPE(&ops[2].in[0], FERRY_F32, 3000);
    OP_SHAPE(&ops[2].out[0], FERRY_F32, 1);
    ops[3] = op_begin(FERRY_OP_UNARY, 1, 1);
    ops[3].params.unary.function = FERRY_UNARY_TANH;
    OP_SHAPE(&ops[3].in[0], FERRY_F32, 5, 999);
    ops[3].out[0] = ops[3].in[0];
    ops[4] = op_begin(FERRY_OP_STRIDED_COPY, 1, 1);
    OP_SHAPE(&ops[4].in[0], FERRY_F32, 31, 99);
    ops[4].out[0] = ops[4].in[0];
}

void group_ops_reuse(void)
{
    ferry_op_desc ops[5];
    int shared;

    op_open();
    some_operations(ops);
    shared = packed_keys();
    four_threads(ops);
    four_threads(ops + 1);
    for (int i = 0; i < 5; i++)
        leaves_nothing(&ops[i]);
    if (!op_tally.taken)
        kit_not_offered("its table accepts none of %d operations", op_tally.tried);
    kit_remark("%d pairs share packed constants; four threads; %d times in a row", shared,
               5 * CYCLES);
}
