/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"
#include "oom.h"

#include "net/ir/program.h"
#include "net/passes/divide.h"
#include "op/operation.h"

#include <ferry/memory.h>
#include <ferry/net.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Batches that chains compute by sub-batches: the results have the bits of the undivided pass, and
 * values inside of a division have memory for the sub-batches alone.
 */

#define LAYER(name, type, bottoms, top, more) \
    "layer { name: '" name "' type: '" type "' " bottoms " top: '" top "' " more " }\n"
#define CONV(bottom, top, outputs, kernel, more)                                              \
    LAYER(top, "Convolution", "bottom: '" bottom "'", top,                                    \
          "convolution_param { num_output: " outputs " kernel_size: " kernel " " more         \
          " weight_filler { type: 'gaussian' std: 0.2 } bias_filler { type: 'gaussian' std: " \
          "0.2 } }")
#define RELU(blob) LAYER("r" blob, "ReLU", "bottom: '" blob "'", blob, "")

static const char text[] = LAYER("in", "Input", "", "x",
                                 "input_param { shape { dim: 12 dim: 16 dim: 24 dim: 24 } }")
    CONV("x", "a", "32", "1", "") RELU("a") CONV("a", "d", "32", "3", "pad: 1 group: 32") RELU("d")
        CONV("d", "b", "64", "1", "") CONV("d", "c", "32", "3", "pad: 1 group: 4")
            LAYER("cat", "Concat", "bottom: 'b' bottom: 'c'", "cat", "")
                LAYER("p", "Pooling", "bottom: 'cat'", "p",
                      "pooling_param { kernel_size: 3 stride: 2 }") CONV("p", "e", "96", "1", "")
                    LAYER("sum", "Eltwise", "bottom: 'e' bottom: 'p'", "sum", "") RELU("sum")
                        LAYER("g", "Pooling", "bottom: 'sum'", "g",
                              "pooling_param { pool: AVE global_pooling: true }")
                            LAYER("s", "Softmax", "bottom: 'g'", "s", "");

/*
 * A division between layers that are not divided: it reads images of "m" and writes larger ones.
 */
static const char between[] = LAYER("in", "Input", "", "x",
                                    "input_param { shape { dim: 12 dim: 16 dim: 24 dim: 24 } }")
    LAYER("m", "MVN", "bottom: 'x'", "m", "") CONV("m", "a", "32", "1", "")
        CONV("a", "d", "32", "3", "pad: 1 group: 32") CONV("d", "b", "64", "1", "")
            LAYER("s", "MVN", "bottom: 'b'", "s", "");

/* ---- nets ------------------------------------------------------------------------------------ */

static ferry_device *dev;

/*
 * Whether the device has chains; skips the case otherwise. The cpu plugin then computes with at
 * most two threads.
 */
static bool has_chains(void)
{
    void (*limit)(unsigned) = NULL;
    ferry_op_chains chains;

    dev = fx_device();
    if (!ferry_device_native(dev, "cpu_limit_threads", &limit, sizeof limit))
        limit(2);
    ferry__chains_of(dev, &chains);
    if (!chains.count)
        ferry_test_skip("the plugin has no chains");
    return chains.count > 0;
}

static int open_text(const char *of, const char *kept, ferry_net **out)
{
    ferry_net_options o = { .struct_size = sizeof o,
                            .text = of,
                            .text_size = strlen(of),
                            .seed = 7,
                            .keep = &kept,
                            .keep_count = kept ? 1 : 0 };

    return ferry_net_open(dev, "divide", &o, out);
}

static int open_net(const char *kept, ferry_net **out)
{
    return open_text(text, kept, out);
}

/* Sets images first … first + n − 1 of an endless list. */
static void set_images(ferry_net *net, int64_t first, int64_t n)
{
    ferry_blob *x = ferry_net_blob_find(net, "x");
    int64_t each = 16 * 24 * 24;
    float *v;

    FX_OK_FATAL(ferry_blob_reshape4(x, n, 16, 24, 24));
    v = ferry_blob_overwrite_host_data(x);
    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    for (int64_t i = 0; i < n * each; i++)
        v[i] = (float)((first * each + i) * 7919 % 1021) / 1021 - 0.4f;
}

static const struct ferry__program *program_of(const ferry_net *net)
{
    return net->stages[0].now;
}

/* Whether two arrays have the same bits; with `near` other than 0, whether all are that near. */
static bool are_alike(const float *a, const float *b, int64_t n, float near)
{
    for (int64_t i = 0; near > 0 && i < n; i++)
        if (!(fabsf(a[i] - b[i]) <= near))
            return false;
    return near > 0 || !memcmp(a, b, (size_t)n * sizeof *a);
}

/* Compares a blob with the results of `one`, which gets one image at a time. */
static void compare_near(ferry_net *net, ferry_net *one, const char *name, int64_t images,
                         float near)
{
    const ferry_blob *all = ferry_net_blob_find(net, name), *b = ferry_net_blob_find(one, name);
    const float *got = ferry_blob_host_data(all);
    int64_t wrong = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(got);
    for (int64_t i = 0; i < images; i++) {
        int64_t each = ferry_blob_element_count(all) / images;
        const float *wanted;

        set_images(one, i, 1);
        FX_OK(ferry_net_forward(one, NULL));
        CU_ASSERT_EQUAL(program_of(one)->n_divisions, 0);
        wanted = ferry_blob_host_data(b);
        CU_ASSERT_PTR_NOT_NULL_FATAL(wanted);
        wrong += !are_alike(got + i * each, wanted, each, near);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void compare_images(ferry_net *net, ferry_net *one, const char *name, int64_t images)
{
    compare_near(net, one, name, images, 0);
}

/* Runs the net with that many images several times, and compares a blob. */
static void compare(ferry_net *net, ferry_net *one, const char *name, int64_t images)
{
    set_images(net, 0, images);
    for (int i = 0; i < 3; i++)
        FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT(program_of(net)->n_divisions > 0);
    compare_images(net, one, name, images);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void a_divided_batch_has_the_bits_of_single_images(void)
{
    ferry_net *net = NULL, *one = NULL;

    if (!has_chains())
        return;
    FX_OK_FATAL(open_net(NULL, &net));
    FX_OK_FATAL(open_net(NULL, &one));
    compare(net, one, "s", 12);
    compare(net, one, "s", 22);
    compare(net, one, "s", 11); /* chains of 5 and 6 images */
    ferry_net_close(one);
    ferry_net_close(net);
    fx_end();
}

static void sub_batches_may_differ_by_one_image(void)
{
    struct ferry__chains c = { .count = 2, .images = 11, .pieces = 4 };
    int64_t at = 0;

    CU_ASSERT_EQUAL(ferry__chains_most(&c), 3);
    CU_ASSERT_EQUAL(ferry__chains_least(&c), 2);
    for (int64_t s = 0; s < c.pieces; s++) {
        int64_t n = (s + 1) * c.images / c.pieces - s * c.images / c.pieces;

        CU_ASSERT(n == 2 || n == 3);
        at += n;
    }
    CU_ASSERT_EQUAL(at, 11);
}

/* A net that has run with 22 images; NULL on a device without chains. */
static ferry_net *net_of_22_images(void)
{
    ferry_net *net = NULL;

    if (!has_chains())
        return NULL;
    FX_OK_FATAL(open_net(NULL, &net));
    set_images(net, 0, 22);
    FX_OK(ferry_net_forward(net, NULL));
    return net;
}

static void values_of_a_division_have_memory_for_its_sub_batches(void)
{
    ferry_net *net = net_of_22_images();
    const struct ferry__program *p;
    int own = 0;

    if (!net)
        return;
    p = program_of(net);
    for (int i = 0; i < p->n_values; i++) {
        const struct ferry__value *v = &p->values[i];
        const struct ferry__division *d = v->division ? &p->divisions[v->division - 1] : NULL;

        if (!d)
            continue;
        own++;
        CU_ASSERT(v->first >= d->first && v->end <= d->last);
        CU_ASSERT_EQUAL(v->count % ferry__chains_most(&d->chains), 0);
        CU_ASSERT(v->offset + (uint64_t)v->count * 4 <= d->chain_bytes);
        CU_ASSERT(v->count <= ferry_blob_element_count(v->blob ? v->blob : net->blobs[0].blob));
    }
    CU_ASSERT(own > 0);
    ferry_net_close(net);
    fx_end();
}

/* Layout copies of what the program sets are such values: the first item copies "x". */
static void copies_of_visible_blobs_have_memory_for_its_sub_batches(void)
{
    ferry_net *net = net_of_22_images();
    const struct ferry__program *p;
    int copies = 0;

    if (!net)
        return;
    p = program_of(net);
    for (int i = 0; i < p->n_items; i++) {
        const struct ferry__item *item = &p->items[i];
        const struct ferry__value *v = &p->values[ferry__value_root(p, item->out[0].value)];

        if (!item->border || !item->division || v->blob)
            continue;
        copies++;
        CU_ASSERT_FALSE(v->seen);
        CU_ASSERT_EQUAL(v->division, item->division);
    }
    CU_ASSERT(copies > 0);
    ferry_net_close(net);
    fx_end();
}

/*
 * A chain writes images of the division's result while another one still reads those of its input,
 * so that the two must not share memory. The bits of MVN depend on the batch.
 */
static void what_a_division_reads_and_writes_lives_as_long_as_it(void)
{
    ferry_net *net = NULL, *one = NULL;

    if (!has_chains())
        return;
    FX_OK_FATAL(open_text(between, NULL, &net));
    FX_OK_FATAL(open_text(between, NULL, &one));
    set_images(net, 0, 12);
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT_EQUAL(program_of(net)->n_divisions, 1);
    compare_near(net, one, "s", 12, 1e-4f);
    ferry_net_close(one);
    ferry_net_close(net);
    fx_end();
}

static void a_kept_blob_has_all_images(void)
{
    ferry_net *net = NULL, *one = NULL;

    if (!has_chains())
        return;
    FX_OK_FATAL(open_net("cat", &net));
    FX_OK_FATAL(open_net("cat", &one));
    compare(net, one, "cat", 12);
    compare(net, one, "s", 12);
    ferry_net_close(one);
    ferry_net_close(net);
    fx_end();
}

/* A division overwrites all of a kept blob, whose former contents it does not need. */
static void a_pass_overwrites_a_lost_blob(void)
{
    ferry_net *net = NULL;

    if (!has_chains())
        return;
    FX_OK_FATAL(open_net("d", &net));
    set_images(net, 0, 12);
    FX_OK(ferry_net_forward(net, NULL));
    ferry_memory_mark_lost(ferry_blob_data_memory(ferry_net_blob_find(net, "d")));
    FX_OK(ferry_net_forward(net, NULL));
    ferry_net_close(net);
    fx_end();
}

/* The operations of all layers, and the number of layers that run by sub-batches. */
static double flops_of(const ferry_net *net, int *divided)
{
    double flops = 0;

    *divided = 0;
    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        FX_OK(ferry_net_get_layer_info(net, i, &info));
        flops += info.flops;
        *divided += info.sub_batch > 0;
        CU_ASSERT(info.sub_batch >= 0 && info.sub_batch <= 6);
    }
    return flops;
}

static void measured_passes_count_all_images(void)
{
    ferry_net *net = NULL, *one = NULL;
    double flops;
    int divided, undivided;

    if (!has_chains())
        return;
    FX_OK_FATAL(open_net(NULL, &net));
    FX_OK_FATAL(open_net(NULL, &one));
    FX_OK(ferry_net_set_measuring(net, FERRY_NET_MEASURE_HOST));
    FX_OK(ferry_net_set_measuring(one, FERRY_NET_MEASURE_HOST));
    compare(net, one, "s", 11);
    flops = 11 * flops_of(one, &undivided);
    CU_ASSERT_DOUBLE_EQUAL(flops_of(net, &divided), flops, flops * 1e-9);
    CU_ASSERT(flops > 0);
    CU_ASSERT(divided > 5);
    CU_ASSERT_EQUAL(undivided, 0);
    ferry_net_close(one);
    ferry_net_close(net);
    fx_end();
}

/*
 * Every allocation with FERRY_TEST_LONG; otherwise every ninth, from a different first one in each
 * run. FERRY_TEST_SEED repeats a run.
 */
static void every_allocation_of_a_divided_pass_may_fail(void)
{
    const char *told = getenv("FERRY_TEST_SEED");
    unsigned seed = told ? (unsigned)strtoul(told, NULL, 10) : (unsigned)time(NULL);
    unsigned n, step = getenv("FERRY_TEST_LONG") ? 1 : 9;
    ferry_net *net = NULL, *one = NULL;
    bool failed = true;

    if (!has_chains())
        return;
    FX_OK_FATAL(open_net(NULL, &one));
    printf("     FERRY_TEST_SEED=%u\n", seed);
    for (n = 1 + seed % step; failed; n += step) {
        FX_OK_FATAL(open_net(NULL, &net));
        set_images(net, 0, 11);
        oom_arm(n);
        (void)ferry_net_forward(net, NULL);
        failed = oom_disarm();
        FX_OK(ferry_net_forward(net, NULL));
        CU_ASSERT(program_of(net)->n_divisions > 0);
        if (!failed)
            compare_images(net, one, "s", 11);
        ferry_net_close(net);
    }
    CU_ASSERT(n > 20);
    ferry_net_close(one);
    fx_end();
}

/* ---- the estimate ---------------------------------------------------------------------------- */

static const ferry_op_chains two = {
    .struct_size = sizeof two, .count = 2, .own_bytes = 1 << 20, .shared_bytes = 16 << 20
};

/* Fills in items with that many bytes of values and of weights. */
static void fill(struct ferry__divisible *items, int n, double values, double weights)
{
    for (int i = 0; i < n; i++)
        items[i] = (struct ferry__divisible){
            .item = i, .in = values, .out = values, .weights = weights, .products = 1e6, .least = 1
        };
}

static void large_values_are_divided_into_more_rounds_than_small_ones(void)
{
    struct ferry__divisible items[8];
    struct ferry__divided out[8];

    fill(items, 4, 3e6, 1e4);
    fill(items + 4, 4, 1e5, 2e6);
    CU_ASSERT_EQUAL_FATAL(ferry__divide_choose(&two, items, 8, 10, out), 2);
    CU_ASSERT_EQUAL(out[0].first, 0);
    CU_ASSERT(out[0].rounds >= 2);
    CU_ASSERT_EQUAL(out[0].last + 1, out[1].first);
    CU_ASSERT_EQUAL(out[1].last, 7);
    CU_ASSERT_EQUAL(out[1].rounds, 1);
}

static void some_batches_and_items_stay_undivided(void)
{
    struct ferry__divisible items[4];
    struct ferry__divided out[4];
    ferry_op_chains four = two;

    four.count = 4;
    fill(items, 4, 3e6, 1e4);
    CU_ASSERT_EQUAL(ferry__divide_choose(&two, items, 4, 1, out), 0);
    CU_ASSERT_EQUAL(ferry__divide_choose(&two, items, 4, 3, out), 0);   /* 2 and 1 images */
    CU_ASSERT_EQUAL(ferry__divide_choose(&four, items, 4, 10, out), 0); /* 3, 3, 2, 2 */
    CU_ASSERT_EQUAL(ferry__divide_choose(&two, items, 4, 10, out), 1);
    fill(items, 4, 1e4, 1e8); /* weights that both processors would read */
    CU_ASSERT_EQUAL(ferry__divide_choose(&two, items, 4, 10, out), 0);
    fill(items, 4, 1e3, 1e2); /* less work than starting a thread */
    items[0].products = items[1].products = items[2].products = items[3].products = 0;
    CU_ASSERT_EQUAL(ferry__divide_choose(&two, items, 4, 10, out), 0);
}

static void an_item_limits_the_rounds_of_its_division(void)
{
    struct ferry__divisible items[4];
    struct ferry__divided out[4];
    int n;

    fill(items, 4, 3e6, 1e4);
    items[2].least = 5;
    n = ferry__divide_choose(&two, items, 4, 10, out);
    CU_ASSERT_FATAL(n > 0);
    for (int i = 0; i < n; i++)
        CU_ASSERT(out[i].first > 2 || out[i].last < 2 || out[i].rounds == 1);
}

/* ---- runs of chains, recorded by a table of this file ---------------------------------------- */

#define CALLS 32

static struct call {
    const char *name;
    uint64_t in, out, workspace;
} calls[CALLS];
static int n_calls, fails_at; /* the number of the call that fails; −1: none */

static int record(void *d, void *queue, void *prepared, const ferry_op_run_args *args)
{
    (void)d, (void)queue;
    CU_ASSERT_FATAL(n_calls < CALLS);
    calls[n_calls] =
        (struct call){ prepared, args->in[0].offset, args->out[0].offset, args->workspace.offset };
    return n_calls++ == fails_at ? FERRY_EINVAL : 0;
}

/* Runs the chains one after the other, the last first. */
static int run_last_first(void *d, void *queue, uint32_t n, ferry_op_chain_fn chain, void *arg)
{
    int err = 0;

    (void)d, (void)queue;
    while (n-- > 0) {
        int answer = chain(arg, n);

        err = answer ? answer : err;
    }
    return err;
}

static const ferry_op_table recorder = { .struct_size = sizeof recorder,
                                         .run = record,
                                         .run_chains = run_last_first };

/* An operation of one step, with one input and one output. */
static void set_operation(struct ferry_operation *o, struct ferry__step *step, char *name)
{
    static const struct ferry__binding first_in = { FERRY__FROM_IN, 0, 0, 0 };
    static const struct ferry__binding first_out = { FERRY__FROM_OUT, 0, 0, 0 };

    memset(o, 0, sizeof *o);
    memset(step, 0, sizeof *step);
    o->op.n_in = o->op.n_out = step->op.n_in = step->op.n_out = 1;
    o->plan.target.table = &recorder;
    o->plan.steps = step;
    o->plan.n_steps = 1;
    step->prepared = name;
    step->answer.workspace_bytes = 64;
    step->in[0] = first_in;
    step->out[0] = first_out;
}

/*
 * Submits two operations for 5 images: sub-batches of 1, 1, 1 and 2 images on two chains. `a` reads
 * images of 100 bytes and writes a value of the chain; `b` reads that and writes images of 7 bytes.
 */
static int submit(size_t *failed)
{
    static const struct ferry__chains chains = {
        .count = 2, .images = 5, .pieces = 4, .from = 0, .to = 2
    };
    static char handle, names[4][4] = { "a2", "a1", "b2", "b1" };
    struct ferry_operation o[4];
    struct ferry__step step[4];
    struct ferry__run run[4];

    memset(run, 0, sizeof run);
    for (int i = 0; i < 4; i++) {
        set_operation(&o[i], &step[i], names[i]);
        run[i].operation = &o[i];
        run[i].chained.images = i % 2 ? 1 : 2;
        run[i].refs.in[0] = (ferry_ref){ &handle, i < 2 ? 1000 : 5000 };
        run[i].refs.out[0] = (ferry_ref){ &handle, i < 2 ? 5000 : 9000 };
        run[i].chained.in[0] = (struct ferry__shift){ i < 2 ? 100 : 0, i < 2 ? 0 : 64 };
        run[i].chained.out[0] = (struct ferry__shift){ i < 2 ? 0 : 7, i < 2 ? 64 : 0 };
    }
    n_calls = 0;
    return ferry__chains_submit(&chains, run, 4, ferry_device_queue(dev), (ferry_ref){ &handle, 0 },
                                128, failed);
}

static void check_call(int i, const char *name, uint64_t in, uint64_t out, uint64_t workspace)
{
    CU_ASSERT_STRING_EQUAL(calls[i].name, name);
    CU_ASSERT_EQUAL(calls[i].in, in);
    CU_ASSERT_EQUAL(calls[i].out, out);
    CU_ASSERT_EQUAL(calls[i].workspace, workspace);
}

static void a_chain_runs_all_operations_on_its_sub_batches(void)
{
    size_t failed = 0;

    dev = fx_device();
    fails_at = -1;
    FX_OK(submit(&failed));
    CU_ASSERT_EQUAL(failed, 4);
    CU_ASSERT_EQUAL_FATAL(n_calls, 8);
    check_call(0, "a1", 1200, 5064, 128);
    check_call(1, "b1", 5064, 9014, 128);
    check_call(2, "a2", 1300, 5064, 128);
    check_call(3, "b2", 5064, 9021, 128);
    check_call(4, "a1", 1000, 5000, 0);
    check_call(5, "b1", 5000, 9000, 0);
    check_call(6, "a1", 1100, 5000, 0);
    check_call(7, "b1", 5000, 9007, 0);
    fx_end();
}

static void a_failure_ends_its_chain_and_names_the_run(void)
{
    static const size_t who[] = { 1, 3, 0, 2, 1, 3, 1, 3 };
    size_t failed;

    dev = fx_device();
    for (fails_at = 0; fails_at < 8; fails_at++) {
        failed = 9;
        CU_ASSERT_NOT_EQUAL(submit(&failed), 0);
        CU_ASSERT_EQUAL(failed, who[fails_at]);
        CU_ASSERT_EQUAL(n_calls, fails_at < 4 ? fails_at + 5 : fails_at + 1);
    }
    fx_end();
}

static const ferry_test_case nets[] = {
    FERRY_TEST(a_divided_batch_has_the_bits_of_single_images),
    FERRY_TEST(values_of_a_division_have_memory_for_its_sub_batches),
    FERRY_TEST(copies_of_visible_blobs_have_memory_for_its_sub_batches),
    FERRY_TEST(what_a_division_reads_and_writes_lives_as_long_as_it),
    FERRY_TEST(a_kept_blob_has_all_images),
    FERRY_TEST(a_pass_overwrites_a_lost_blob),
    FERRY_TEST(measured_passes_count_all_images),
    FERRY_TEST(every_allocation_of_a_divided_pass_may_fail),
    FERRY_TEST(a_chain_runs_all_operations_on_its_sub_batches),
    FERRY_TEST(a_failure_ends_its_chain_and_names_the_run),
};

static const ferry_test_case estimates[] = {
    FERRY_TEST(sub_batches_may_differ_by_one_image),
    FERRY_TEST(large_values_are_divided_into_more_rounds_than_small_ones),
    FERRY_TEST(some_batches_and_items_stay_undivided),
    FERRY_TEST(an_item_limits_the_rounds_of_its_division),
};

int main(int argc, char **argv)
{
    int result =
        ferry_test_main(1, argv, "divide: estimates", estimates, FERRY_TEST_COUNT(estimates));

    return ferry_test_worse(
        result, ferry_test_main_backends(argc, argv, "divide: nets", nets, FERRY_TEST_COUNT(nets)));
}
