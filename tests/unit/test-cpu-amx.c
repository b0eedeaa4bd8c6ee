/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "op-rig.h"
#include "plugin-driver.h"

#include "tests/plugins/amx-model.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Products by AMX, as the plugin of tests/plugins/amx computes them by a model of the instructions:
 * every edge of tiles and steps, the kernel's permission, and the faults of the model itself.
 */

#define PLUGIN "tests/plugins/amx/ferry_cpu.so"

_Atomic bool model_is_permitted = true;
_Atomic uint64_t ferry_amx_model_products;

/* ---- products ------------------------------------------------------------------------------- */

/* The number of products that the plugin's model has computed. */
static uint64_t products(void)
{
    static _Atomic uint64_t *count;
    void *library = NULL;

    if (!count && driver_load(PLUGIN, &library))
        count = dlsym(library, "ferry_amx_model_products");
    CU_ASSERT_PTR_NOT_NULL_FATAL(count);
    return atomic_load(count);
}

/* Numbers whose products and sums are exact in F32, and also as BF16. */
static void fill(const struct rig *r)
{
    for (uint32_t k = 0; k < r->op.n_in; k++) {
        const ferry_operand *o = &r->op.in[k];

        for (int64_t i = 0; i < rig_count(o); i++)
            r->in[k][i] = o->dtype == FERRY_F32  ? (double)(rig_random(31) - 15) / 8
                          : o->dtype == FERRY_U8 ? (double)rig_random(256)
                                                 : (double)(rig_random(256) - 128);
    }
}

/* y (m × n) = x (m × k) · wᵀ; x is U8, I8, or F32 that may be rounded to BF16. */
static void multiply(uint32_t dtype, int64_t m, int64_t n, int64_t k)
{
    const uint32_t w = dtype == FERRY_F32 ? FERRY_F32 : FERRY_I8;
    const uint64_t before = products();
    int64_t groups = (k + (w == FERRY_I8 ? 3 : 1)) / (w == FERRY_I8 ? 4 : 2);
    struct rig r;

    rig_begin(&r, FERRY_OP_INNER_PRODUCT);
    rig_in(&r, dtype, RIG_PLAIN, 2, (int64_t[]){ m, k });
    rig_in(&r, w, RIG_PLAIN, 2, (int64_t[]){ n, k });
    fill(&r);
    rig_out(&r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ m, n });
    r.op.math = dtype == FERRY_F32 ? FERRY_MATH_BF16 : 0;
    r.op.constants = 2;
    r.tolerance = 1e-12;
    rig_run(&r, NULL);
    /* at least one of each 16 × 16 × 16 groups */
    CU_ASSERT(products() - before >=
              (uint64_t)(((m + 15) / 16) * ((n + 15) / 16) * ((groups + 15) / 16)));
}

static void every_edge_of_a_tile_agrees_with_the_oracle(void)
{
    static const int64_t sizes[] = { 1, 2, 15, 16, 17, 31, 32, 33, 40, 57, 64, 65 };
    const size_t step = ferry_test_is_slow() ? 5 : 1;

    for (size_t i = 0; i < FERRY_TEST_COUNT(sizes); i += step)
        for (size_t k = i % 2; k < FERRY_TEST_COUNT(sizes); k += 2) {
            multiply(FERRY_U8, sizes[i], sizes[k], 64 + sizes[(i + k) % 12]);
            multiply(FERRY_I8, sizes[k], sizes[i], 64 + 4 * sizes[(i + k) % 12]);
            /* products of fewer rows round weights only */
            multiply(FERRY_F32, 64 + sizes[k], sizes[i],
                     2 * sizes[(i + k) % 12] - (int64_t)(k % 2));
        }
}

/* Groups that are a step, two, or steps with zeros at the end; and parts of a group. */
static void every_length_of_a_sum_agrees_with_the_oracle(void)
{
    const int64_t least = ferry_test_is_slow() ? 10 : 1;

    for (int64_t k = 1; k < 330; k += k < 80 ? least : 7 * least) {
        multiply(k % 2 ? FERRY_U8 : FERRY_I8, 18, 20, k);
        multiply(FERRY_F32, 66, 20, k);
    }
}

/* `bytes` bytes at the end of a page, whose next page cannot be read; they are never freed. */
static uint8_t *before_a_guard(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    char *p = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CU_ASSERT_FATAL(p != MAP_FAILED);
    CU_ASSERT_EQUAL_FATAL(mprotect(p + whole, page, PROT_NONE), 0);
    return (uint8_t *)p + whole - bytes;
}

/* x has m · k bytes, w n · k and y m · n floats. */
static void run_product(uint32_t dtype, int64_t m, int64_t n, int64_t k, void *x, void *w, float *y)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };
    ferry_cref in[2] = { { x, 0 }, { w, 0 } };
    ferry_ref out[1] = { { y, 0 } };
    ferry_op_run_args args = { .struct_size = sizeof(args), .in = in, .out = out };
    void *prepared = NULL;
    struct rig r;

    rig_begin(&r, FERRY_OP_INNER_PRODUCT);
    free(rig_in(&r, dtype, RIG_PLAIN, 2, (int64_t[]){ m, k }));
    free(rig_in(&r, FERRY_I8, RIG_PLAIN, 2, (int64_t[]){ n, k }));
    free(rig_out(&r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ m, n }));
    CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r.op, &answer), 0);
    CU_ASSERT_EQUAL_FATAL(rig_table->create(rig_device, &r.op, &prepared), 0);
    CU_ASSERT_EQUAL(answer.packed_bytes, 0);
    args.workspace.handle = aligned_alloc(64, (answer.workspace_bytes + 63) / 64 * 64);
    CU_ASSERT_EQUAL_FATAL(rig_table->run(rig_device, NULL, prepared, &args), 0);
    free(args.workspace.handle);
    rig_table->destroy(rig_device, prepared);
}

/* Rows are read in place if a sum has whole steps. */
static void nothing_after_x_is_read(void)
{
    static const int64_t rows[] = { 1, 17, 31, 33, 47, 57 }, lengths[] = { 4, 64, 68, 76, 320 };
    const int64_t n = 3;

    for (size_t i = 0; i < FERRY_TEST_COUNT(rows) * FERRY_TEST_COUNT(lengths); i++) {
        const int64_t m = rows[i / FERRY_TEST_COUNT(lengths)];
        const int64_t k = lengths[i % FERRY_TEST_COUNT(lengths)];
        uint8_t *x = before_a_guard((size_t)(m * k)), *w = before_a_guard((size_t)(n * k));
        float y[57 * 3];

        for (int64_t at = 0; at < m * k; at++)
            x[at] = (uint8_t)rig_random(256);
        for (int64_t at = 0; at < n * k; at++)
            w[at] = (uint8_t)rig_random(256);
        run_product(i % 2 ? FERRY_U8 : FERRY_I8, m, n, k, x, w, y);
        for (int64_t at = 0; at < m * n; at++) {
            int32_t want = 0;

            for (int64_t j = 0; j < k; j++) {
                const uint8_t value = x[at / n * k + j];

                want += (i % 2 ? value : (int8_t)value) * (int8_t)w[at % n * k + j];
            }
            CU_ASSERT_EQUAL(y[at], (float)want);
        }
    }
}

static void results_do_not_depend_on_the_number_of_threads(void)
{
    struct rig r;

    for (int i = 0; i < 3; i++) {
        const uint32_t dtype = i == 0 ? FERRY_U8 : i == 1 ? FERRY_I8 : FERRY_F32;
        const int64_t x[4] = { 2, 64, 9, 11 }, w[4] = { 100, 64, 3, 3 }, y[4] = { 2, 100, 9, 11 };

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.params.window.group = 1;
        r.op.params.window.axes = 2;
        for (int a = 0; a < 2; a++) {
            r.op.params.window.kernel[a] = 3;
            r.op.params.window.stride[a] = r.op.params.window.dilation[a] = 1;
            r.op.params.window.pad[a] = r.op.params.window.pad_end[a] = 1;
        }
        rig_in(&r, dtype, RIG_LAST, 4, x);
        rig_in(&r, i == 2 ? FERRY_F32 : FERRY_I8, RIG_PLAIN, 4, w);
        fill(&r);
        rig_out(&r, FERRY_F32, RIG_LAST, 4, y);
        r.op.math = i == 2 ? FERRY_MATH_BF16 : 0;
        r.op.constants = 2;
        rig_check_threads(&r);
        rig_end(&r);
    }
}

/* ---- permission ----------------------------------------------------------------------------- */

/* The result of opening a device with that set, which is closed again. */
static int open_with(const ferry_plugin_ops *plugin, const char *isa)
{
    void *device = NULL;
    int err;

    driver_reset();
    driver_set("isa", isa);
    err = plugin->device_open(plugin->plugin, 0, &device);
    if (!err)
        plugin->device_close(device);
    return err;
}

static void the_kernels_refusal_is_an_error_of_the_option(void)
{
    const ferry_plugin_ops *plugin = driver_load(PLUGIN, NULL);
    char number[16];

    if (!plugin)
        return;
    if (open_with(plugin, "amx") != 0) {
        ferry_test_skip("%s", driver_error());
        return;
    }
    snprintf(number, sizeof(number), "%d", ENOSPC);
    setenv("FERRY_TEST_AMX_ERRNO", number, 1);
    CU_ASSERT(driver_failed(open_with(plugin, "amx"), FERRY_ECONF, strerror(ENOSPC)));
    CU_ASSERT(driver_failed(open_with(plugin, "amx"), FERRY_ECONF, "signal stack is too small"));
    CU_ASSERT_EQUAL(open_with(plugin, "auto"), 0); /* which does not ask */
    snprintf(number, sizeof(number), "%d", EPERM);
    setenv("FERRY_TEST_AMX_ERRNO", number, 1);
    CU_ASSERT(driver_failed(open_with(plugin, "amx"), FERRY_ECONF, strerror(EPERM)));
    CU_ASSERT_PTR_NULL(strstr(driver_error(), "signal"));
    unsetenv("FERRY_TEST_AMX_ERRNO");
    CU_ASSERT_EQUAL(open_with(plugin, "amx"), 0);
}

/* ---- the model ------------------------------------------------------------------------------ */

/* a is 3 × 2 groups, b 2 groups × 5 columns; byte `at` of the configuration becomes `value`. */
static void shapes(int at, int value)
{
    unsigned char c[64] = { 1 };

    c[16] = 5 * 4; /* the sums */
    c[18] = 2 * 4; /* a */
    c[20] = 5 * 4; /* b */
    c[48] = c[49] = 3;
    c[50] = 2;
    c[at] = (unsigned char)value;
    AMX_CONFIGURE(c);
}

static void multiply_small(int32_t *y, bool is_signed)
{
    unsigned char x[3][8], w[2][20];

    for (int i = 0; i < 24; i++)
        x[i / 8][i % 8] = (unsigned char)(i * 37);
    for (int i = 0; i < 40; i++)
        w[i / 20][i % 20] = (unsigned char)(i * 91 + 5);
    AMX_ZERO(0);
    AMX_LOAD(1, x, 8);
    AMX_LOAD(2, w, 20);
    if (is_signed)
        AMX_DOT_I8(0, 1, 2);
    else
        AMX_DOT_U8(0, 1, 2);
    AMX_STORE(0, y, 20);
    AMX_RELEASE();
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 5; j++) {
            int32_t want = 0;

            for (int k = 0; k < 8; k++)
                want += (is_signed ? (signed char)x[i][k] : (int)x[i][k]) *
                        (signed char)w[k / 4][4 * j + k % 4];
            CU_ASSERT_EQUAL(y[5 * i + j], want);
        }
}

static void the_model_multiplies_bytes(void)
{
    int32_t y[15];

    for (int i = 0; i < 2; i++) {
        shapes(0, 1);
        multiply_small(y, i);
    }
}

static void the_model_multiplies_bf16(void)
{
    /* 1.5 · 2 + 0.5 · −1, a denormal number, and infinity */
    const uint16_t x[3][4] = { { 0x3fc0, 0x3f00, 0, 0 }, { 1, 0, 0, 0 }, { 0x7f80, 0, 0, 0x3f80 } };
    uint16_t w[2][10] = { { 0x4000, 0xbf80 } };
    float y[15];

    w[1][1] = 0x3f80;
    shapes(0, 1);
    AMX_ZERO(0);
    AMX_LOAD(1, x, 8);
    AMX_LOAD(2, w, 20);
    AMX_DOT_BF16(0, 1, 2);
    AMX_DOT_BF16(0, 1, 2);
    AMX_STORE(0, y, 20);
    AMX_RELEASE();
    CU_ASSERT_EQUAL(y[0], 5.0f);
    CU_ASSERT_EQUAL(y[5], 0.0f);
    CU_ASSERT(isinf(y[10]));
    CU_ASSERT(isnan(y[11])); /* infinity times 0 */
}

/* A byte of the configuration and its value; the first is right. */
static const int wrong_bytes[][2] = {
    { 0, 1 },   { 0, 2 },             /* the palette */
    { 2, 1 },   { 32, 4 },            /* a reserved byte; a ninth register */
    { 48, 17 }, { 16, 68 },           /* rows, and bytes of a row, that a register lacks */
    { 51, 1 },  { 20, 0 },            /* one without the other */
    { 48, 2 },  { 49, 4 },            /* the rows of the sums, and of a */
    { 18, 4 },  { 18, 10 },           /* the columns of a, which are not whole groups */
    { 16, 16 }, { 20, 24 }, { 50, 1 } /* the columns of the sums and of b, and its rows */
};

static void configure_wrongly(int number)
{
    shapes(wrong_bytes[number][0], wrong_bytes[number][1]);
    AMX_DOT_BF16(0, 1, 2);
    AMX_DOT_I8(0, 1, 2);
    AMX_DOT_U8(0, 1, 2);
    AMX_RELEASE();
}

/* Other mistakes; number 0 makes no mistake. */
#define OTHER_MISTAKES 9
static void make_mistake(int number)
{
    char x[1024] = { 0 };

    if (number == 1)
        AMX_ZERO(0);
    if (number == 2)
        AMX_LOAD(0, x, 64);
    if (number == 3)
        AMX_STORE(0, x, 64);
    if (number == 4)
        model_is_permitted = false;
    shapes(0, number == 5 ? 0 : 1); /* which is as AMX_RELEASE */
    AMX_ZERO(0);
    if (number == 6)
        AMX_LOAD(3, x, 64);
    if (number == 7)
        AMX_DOT_U8(0, 1, 1);
    if (number == 8)
        AMX_DOT_U8(0, 0, 2);
    if (number != 9)
        AMX_RELEASE();
}

/* Whether a child ends by a fault; otherwise it has to exit with 0. */
static bool faults(void (*act)(int number), int number)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        act(number);
        exit(0);
    }
    CU_ASSERT_FATAL(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGABRT;
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return false;
}

static void the_model_finds_each_mistake(void)
{
    for (int i = 0; i < (int)FERRY_TEST_COUNT(wrong_bytes); i++)
        CU_ASSERT_EQUAL(faults(configure_wrongly, i), i > 0);
    for (int i = 0; i <= OTHER_MISTAKES; i++)
        CU_ASSERT_EQUAL(faults(make_mistake, i), i > 0);
}

static const ferry_test_case with_model[] = {
    FERRY_TEST(every_edge_of_a_tile_agrees_with_the_oracle),
    FERRY_TEST(every_length_of_a_sum_agrees_with_the_oracle),
    FERRY_TEST(nothing_after_x_is_read),
    FERRY_TEST(results_do_not_depend_on_the_number_of_threads),
};

static const ferry_test_case cases[] = {
    FERRY_TEST(the_kernels_refusal_is_an_error_of_the_option),
    FERRY_TEST(the_model_multiplies_bytes),
    FERRY_TEST(the_model_multiplies_bf16),
    FERRY_TEST(the_model_finds_each_mistake),
};

int main(int argc, char **argv)
{
    static const char *const sets[] = { "amx", NULL };
    int result = ferry_test_main(argc, argv, "test-cpu-amx", cases, FERRY_TEST_COUNT(cases));

    rig_plugin = PLUGIN;
    return ferry_test_worse(result, rig_main_with(argc, argv, "test-cpu-amx", with_model,
                                                  FERRY_TEST_COUNT(with_model), sets));
}
