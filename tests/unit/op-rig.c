/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-rig.h"

#include "arith.h"
#include "ferry-test.h"
#include "op-results.h"
#include "plugin-driver.h"

#include "tests/reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ferry_op_table *rig_table;
void *rig_device;

/* ---- buffers -------------------------------------------------------------------------------- */

#define GUARD 0xA5

/* Bytes from the first element to the last. */
static size_t span(const ferry_operand *o)
{
    int64_t last = 0;

    for (uint32_t i = 0; i < o->rank; i++) {
        if (o->shape[i] == 0)
            return 0;
        last += o->shape[i] == 1 ? 0 : (o->shape[i] - 1) * o->stride[i];
    }
    return (size_t)(last + 1) * arith_size((ferry_dtype)o->dtype);
}

static int64_t place(const ferry_operand *o, int64_t i)
{
    int64_t at = 0;

    for (uint32_t a = o->rank; a-- > 0; i /= o->shape[a])
        at += o->shape[a] == 1 ? 0 : i % o->shape[a] * o->stride[a];
    return at;
}

static void *put(const ferry_operand *o, const double *from)
{
    char *p = malloc(span(o) + 1);

    memset(p, GUARD, span(o) + 1);
    for (int64_t i = 0; i < rig_count(o); i++)
        arith_put((ferry_dtype)o->dtype, p, place(o, i), from[i]);
    return p;
}

static double *get(const ferry_operand *o, const void *p)
{
    double *v = malloc(sizeof(*v) * (size_t)(rig_count(o) + 1));

    for (int64_t i = 0; i < rig_count(o); i++)
        v[i] = (double)arith_get((ferry_dtype)o->dtype, p, place(o, i));
    return v;
}

/* Whether the bytes between the elements are unchanged. */
static int gaps_are_left(const ferry_operand *o, const void *p)
{
    size_t size = arith_size((ferry_dtype)o->dtype);
    unsigned char *copy = malloc(span(o) + 1);
    int left = 1;

    memcpy(copy, p, span(o));
    for (int64_t i = 0; i < rig_count(o); i++)
        memset(copy + (size_t)place(o, i) * size, GUARD, size);
    for (size_t i = 0; i < span(o); i++)
        left &= copy[i] == GUARD;
    free(copy);
    return left;
}

/* ---- running -------------------------------------------------------------------------------- */

static const ferry_plugin_ops *plugin;

/* Whether handles are addresses of the host. */
static bool is_on_host(void)
{
    return strcmp(rig_option, "isa") == 0;
}

struct buffers {
    void *in[FERRY_OP_INPUTS], *out[FERRY_OP_OUTPUTS], *packed, *workspace;
};

static void *aligned(uint64_t bytes)
{
    void *p = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;

    if (p)
        memset(p, 0xFF, bytes); /* NaN */
    return p;
}

/* The bytes before an operand in a block of a device. */
#define BEFORE 4

static void *block(const void *from, uint64_t bytes)
{
    void *handle = NULL;
    uint32_t flags;

    if (!bytes && !from)
        return NULL;
    CU_ASSERT_EQUAL_FATAL(plugin->alloc(rig_device, NULL, bytes + BEFORE, 0, &handle, &flags), 0);
    if (from && bytes)
        driver_put(plugin, rig_device, driver_ref(handle, BEFORE), from, bytes);
    return handle;
}

/* The operands in blocks of the device, whose memory the host does not see. */
static void to_device(const struct rig *r, const ferry_op_answer *answer,
                      const struct buffers *host, struct buffers *out)
{
    for (uint32_t i = 0; i < r->op.n_in; i++)
        out->in[i] = block(host->in[i], span(&r->op.in[i]));
    for (uint32_t i = 0; i < r->op.n_out; i++)
        out->out[i] = block(host->out[i], span(&r->op.out[i]));
    out->packed = block(NULL, answer->packed_bytes);
    out->workspace = block(NULL, answer->workspace_bytes);
}

/* Copies the results to the host and frees the blocks. */
static void from_device(const struct rig *r, struct buffers *b, const struct buffers *host)
{
    void *blocks[FERRY_OP_INPUTS + FERRY_OP_OUTPUTS + 2];
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->op.n_out; i++) {
        if (span(&r->op.out[i]))
            driver_get(plugin, rig_device, driver_cref(b->out[i], BEFORE), host->out[i],
                       span(&r->op.out[i]));
        blocks[n++] = b->out[i];
    }
    for (uint32_t i = 0; i < r->op.n_in; i++)
        blocks[n++] = b->in[i];
    blocks[n++] = b->packed;
    blocks[n++] = b->workspace;
    CU_ASSERT_EQUAL(plugin->synchronize(rig_device), 0);
    while (n-- > 0)
        CU_ASSERT(!blocks[n] || plugin->free(rig_device, NULL, blocks[n]) == 0);
}

/* Of rig_tasks: the plugin's "cpu_count_work", for what follows the packing; NULL: not in use. */
static void (*count_work)(uint64_t *counts);
static uint64_t counts[5]; /* in its order */

static int run_prepared(struct rig *r, const ferry_op_answer *answer, void *prepared,
                        struct buffers *b)
{
    ferry_cref *in = calloc(r->op.n_in, sizeof(*in)); /* exact size: a sanitizer detects reads past
                                                       * the end */
    ferry_ref out[FERRY_OP_OUTPUTS];
    ferry_op_run_args args = { .struct_size = sizeof(args), .in = in, .out = out };
    uint64_t at = is_on_host() ? 0 : BEFORE;
    int err = 0;

    CU_ASSERT_FATAL(in || !r->op.n_in);
    for (uint32_t i = 0; i < r->op.n_in; i++)
        in[i] = (ferry_cref){ answer->packed_inputs >> i & 1u ? b->in[i] : NULL, at };
    if (answer->packed_bytes)
        err = rig_table->prepare(rig_device, NULL, prepared, in, (ferry_ref){ b->packed, 0 });
    for (uint32_t i = 0; i < r->op.n_in; i++)
        in[i].handle = answer->packed_inputs >> i & 1u ? NULL : b->in[i];
    for (uint32_t i = 0; i < r->op.n_out; i++)
        out[i] = (ferry_ref){ b->out[i], at };
    args.packed = (ferry_ref){ b->packed, 0 };
    args.workspace = (ferry_ref){ b->workspace, 0 };
    args.seed = r->seed;
    args.offset = r->offset;
    if (count_work)
        count_work(counts);
    if (!err)
        err = rig_table->run(rig_device, NULL, prepared, &args);
    free(in);
    return err;
}

static int run_plugin(struct rig *r, ferry_op_answer *answer, struct buffers *b)
{
    void *prepared = NULL;
    int err;

    memset(answer, 0, sizeof(*answer));
    answer->struct_size = sizeof(*answer);
    err = rig_table->query(rig_device, &r->op, answer);
    if (!err)
        err = rig_table->create(rig_device, &r->op, &prepared);
    if (err)
        return err;
    b->packed = aligned(answer->packed_bytes);
    b->workspace = aligned(answer->workspace_bytes);
    for (uint32_t i = 0; i < r->op.n_in; i++)
        b->in[i] = put(&r->op.in[i], r->in[i]);
    for (uint32_t i = 0; i < r->op.n_out; i++)
        b->out[i] = i == 0 && r->in_place ? b->in[r->in_place - 1] : put(&r->op.out[i], r->out[i]);
    if (is_on_host()) {
        err = run_prepared(r, answer, prepared, b);
    } else {
        struct buffers there = { { NULL }, { NULL }, NULL, NULL };

        to_device(r, answer, b, &there);
        err = run_prepared(r, answer, prepared, &there);
        from_device(r, &there, b);
    }
    rig_table->destroy(rig_device, prepared);
    return err;
}

static void free_buffers(const struct rig *r, struct buffers *b)
{
    for (uint32_t i = 0; i < r->op.n_in; i++)
        free(b->in[i]);
    for (uint32_t i = r->in_place ? 1 : 0; i < r->op.n_out; i++)
        free(b->out[i]);
    free(b->packed);
    free(b->workspace);
}

int rig_run_plugin(struct rig *r, double **out)
{
    struct buffers b = { { NULL }, { NULL }, NULL, NULL };
    ferry_op_answer answer;
    int err = run_plugin(r, &answer, &b);

    for (uint32_t i = 0; i < r->op.n_out && !err; i++)
        out[i] = get(&r->op.out[i], b.out[i]);
    free_buffers(r, &b);
    return err;
}

void rig_end(struct rig *r)
{
    for (uint32_t i = 0; i < r->op.n_in; i++)
        free(r->in[i]);
    for (uint32_t i = 0; i < r->op.n_out; i++)
        free(r->out[i]);
}

/* ---- the plugin ----------------------------------------------------------------------------- */

const char *rig_plugin = "cpu", *rig_option = "isa";
static const char *set; /* the current one */

static void set_options(const char *threads)
{
    driver_reset();
    driver_set(rig_option, set);
    driver_set("threads", threads);
}

static void the_plugin_opens_with_this_instruction_set(void)
{
    const void *found = NULL;

    rig_table = NULL;
    rig_begin_random();
    plugin = driver_load(rig_plugin, NULL);
    if (!plugin)
        return;
    if (plugin->device_open(plugin->plugin, 0, &rig_device) != 0) {
        CU_ASSERT(!is_on_host() || strstr(driver_error(), "isa"));
        ferry_test_skip("%s", driver_error());
        return;
    }
    CU_ASSERT_EQUAL_FATAL(plugin->extension(rig_device, FERRY_OP_EXTENSION, &found), 0);
    rig_table = found;
}

static void the_device_closes_with_nothing_left(void)
{
    driver_close(plugin, rig_device);
}

int rig_main(int argc, char **argv, const char *suite, const ferry_test_case *cases, size_t ncases)
{
    static const char *const sets[] = { "avx512", "avx2", "neon", "portable", NULL };

    return rig_main_with(argc, argv, suite, cases, ncases, sets);
}

int rig_main_with(int argc, char **argv, const char *suite, const ferry_test_case *cases,
                  size_t ncases, const char *const *sets)
{
    static const ferry_test_case opens[] = { FERRY_TEST(
        the_plugin_opens_with_this_instruction_set) };
    static const ferry_test_case closes[] = { FERRY_TEST(the_device_closes_with_nothing_left) };
    int result = 77;

    for (int i = 0; sets[i]; i++) {
        char name[64];

        snprintf(name, sizeof(name), "%s, %s", suite, sets[i]);
        set = sets[i];
        set_options(i & 1 ? "1" : "3");
        ferry_test_main(1, argv, name, opens, 1);
        if (!rig_table)
            continue;
        result = ferry_test_worse(result, ferry_test_main(argc, argv, name, cases, ncases));
        result = ferry_test_worse(result, ferry_test_main(1, argv, name, closes, 1));
    }
    return result;
}

const char *rig_set(void)
{
    return set;
}

void rig_reopen(const char *threads)
{
    driver_close(plugin, rig_device);
    set_options(threads);
    CU_ASSERT_EQUAL_FATAL(plugin->device_open(plugin->plugin, 0, &rig_device), 0);
}

void rig_check_threads(struct rig *r)
{
    static const char *const threads[] = { "1", "2", "3", "8" };
    size_t bytes = (size_t)rig_count(&r->op.out[0]) * sizeof(double);
    double *want[1] = { NULL };

    for (int t = 0; t < 4; t++) {
        double *got[1] = { NULL };

        rig_reopen(threads[t]);
        CU_ASSERT_EQUAL_FATAL(rig_run_plugin(r, t == 0 ? want : got), 0);
        if (t == 0)
            continue;
        CU_ASSERT_EQUAL(memcmp(got[0], want[0], bytes), 0);
        free(got[0]);
    }
    free(want[0]);
    rig_reopen("3");
}

uint64_t rig_tasks(struct rig *r, const char *threads, double **out)
{
    rig_reopen(threads);
    memset(counts, 0, sizeof(counts));
    CU_ASSERT_EQUAL_FATAL(
        plugin->native(rig_device, "cpu_count_work", &count_work, sizeof count_work), 0);
    CU_ASSERT_EQUAL(rig_run_plugin(r, out), 0);
    count_work(NULL);
    count_work = NULL;
    rig_reopen("3");
    return counts[2];
}

/* ---- the reference -------------------------------------------------------------------------- */

/* The same operand in doubles, row-major without gaps: the rig's own values. */
static void make_plain(ferry_operand *o)
{
    int64_t stride = 1;

    o->dtype = FERRY_F64;
    for (uint32_t i = o->rank; i-- > 0; stride *= o->shape[i])
        o->stride[i] = stride;
}

/* The operation with only the first `steps` of its epilogue, and their operands. */
static ferry_op_desc cut_epilogue(const ferry_op_desc *op, uint32_t steps)
{
    ferry_op_desc cut = *op;

    for (uint32_t i = op->n_epilogue; i-- > steps;)
        cut.n_in -= op->epilogue[i].step != FERRY_STEP_UNARY;
    cut.n_epilogue = steps;
    return cut;
}

/* The result of the reference with the first `steps` of the epilogue, into r->out. */
static void run_reference(struct rig *r, uint32_t steps)
{
    ferry_op_desc op = cut_epilogue(&r->op, steps);
    ferry_cref in[FERRY_OP_INPUTS];
    ferry_ref out[FERRY_OP_OUTPUTS];
    const ferry_op_run_args args = {
        .struct_size = sizeof(args), .in = in, .out = out, .seed = r->seed, .offset = r->offset
    };
    void *prepared = NULL;
    uint64_t hash;

    for (uint32_t i = 0; i < op.n_in; i++) {
        make_plain(&op.in[i]);
        in[i] = (ferry_cref){ r->in[i], 0 };
    }
    for (uint32_t i = 0; i < op.n_out; i++) {
        make_plain(&op.out[i]);
        out[i] = (ferry_ref){ r->out[i], 0 };
    }
    hash = rig_hash(r, &op);
    if (rig_recall(r, hash))
        return;
    CU_ASSERT_EQUAL_FATAL(reference_table.create(NULL, &op, &prepared), 0);
    CU_ASSERT_EQUAL(reference_table.run(NULL, NULL, prepared, &args), 0);
    reference_table.destroy(NULL, prepared);
    rig_keep(r, hash);
}

/* ---- comparing ------------------------------------------------------------------------------ */

static void describe(const char *what, const ferry_operand *o)
{
    printf(" %s[", what);
    for (uint32_t i = 0; i < o->rank; i++)
        printf("%s%lld:%lld", i ? " " : "", (long long)o->shape[i], (long long)o->stride[i]);
    printf("]");
}

static void describe_all(const struct rig *r)
{
    const ferry_op_window *w = &r->op.params.window;

    int is_window = r->op.kind == FERRY_OP_CONVOLUTION || r->op.kind == FERRY_OP_POOL ||
                    r->op.kind == FERRY_OP_IM2COL || r->op.kind == FERRY_OP_COL2IM;

    printf("\n    kind %u", r->op.kind);
    for (uint32_t i = 0; i < r->op.n_in; i++)
        describe("in", &r->op.in[i]);
    for (uint32_t i = 0; i < r->op.n_out; i++)
        describe("out", &r->op.out[i]);
    for (uint32_t i = 0; is_window && i < w->axes; i++)
        printf(" k%lld s%lld d%lld p%lld,%lld", (long long)w->kernel[i], (long long)w->stride[i],
               (long long)w->dilation[i], (long long)w->pad[i], (long long)w->pad_end[i]);
    printf(" group %u, %u steps\n", w->group, r->op.n_epilogue);
}

/* The reference's values rounded to the output's type. */
static void round_to(const ferry_operand *o, double *values)
{
    char element[8];

    for (int64_t i = 0; i < rig_count(o); i++) {
        arith_put((ferry_dtype)o->dtype, element, 0, values[i]);
        values[i] = (double)arith_get((ferry_dtype)o->dtype, element, 0);
    }
}

static double largest(const ferry_operand *o, const double *values)
{
    double most = 1e-30;

    for (int64_t i = 0; i < rig_count(o); i++)
        most = fabs(values[i]) < INFINITY ? fmax(most, fabs(values[i])) : most;
    return most;
}

/* `most` is the largest value before or after the epilogue: a sum is rounded by its own magnitude,
 * and no step of the rig (factors up to 1, slopes up to 1) increases that error. */
static int compare(const struct rig *r, uint32_t o, const double *got, const double *want,
                   double most)
{
    double tolerance = r->tolerance > 0                  ? r->tolerance
                       : r->op.out[o].dtype == FERRY_F64 ? 1e-12
                                                         : 1e-5;

    for (int64_t i = 0; i < rig_count(&r->op.out[o]); i++) {
        if (arith_near(got[i], want[i], tolerance * most))
            continue;
        describe_all(r);
        printf("    out[%u] element %lld: %.9g, not %.9g\n", o, (long long)i, got[i], want[i]);
        return 0;
    }
    return 1;
}

void rig_run(struct rig *r, ferry_op_answer *out_answer)
{
    struct buffers b = { { NULL }, { NULL }, NULL, NULL };
    ferry_op_answer answer;
    int err = run_plugin(r, &answer, &b);

    if (err)
        describe_all(r);
    if (err)
        printf("     %s\n", driver_error());
    CU_ASSERT_EQUAL(err, 0);
    if (!err) {
        double before = 0;

        if (answer.epilogue > 0) {
            run_reference(r, 0);
            before = largest(&r->op.out[0], r->out[0]);
        }
        run_reference(r, answer.epilogue);
        for (uint32_t i = 0; i < r->op.n_out; i++) {
            double *got = get(&r->op.out[i], b.out[i]);
            double most = fmax(before, largest(&r->op.out[i], r->out[i]));

            round_to(&r->op.out[i], r->out[i]);
            CU_ASSERT(compare(r, i, got, r->out[i], most));
            CU_ASSERT(gaps_are_left(&r->op.out[i], b.out[i]));
            free(got);
        }
    }
    if (out_answer)
        *out_answer = answer;
    free_buffers(r, &b);
    rig_end(r);
}
