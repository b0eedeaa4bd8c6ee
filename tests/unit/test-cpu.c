/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <ferry/plugin.h>

#include "arith.h"
#include "ferry-test.h"
#include "host-options.h"

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The CPU plugin's binary, tested by its table only, with a host of the test. */

/* ---- the host ------------------------------------------------------------------------------- */

static _Thread_local char said[512];
static const char *threads_option, *kernels_option;

static int host_error(int code, const char *fmt, ...) FERRY_PRINTF(2, 3);
static int host_error(int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(said, sizeof(said), fmt, args);
    va_end(args);
    return code;
}

static void host_log(int level, const char *fmt, ...) FERRY_PRINTF(2, 3);
static void host_log(int level, const char *fmt, ...)
{
    (void)level;
    (void)fmt;
}

static const char *host_option(const char *key)
{
    if (strcmp(key, "kernels") == 0)
        return kernels_option;
    return strcmp(key, "threads") == 0 ? threads_option : NULL;
}

HOST_OPTIONS(host_option, host_error)

static const ferry_host host = {
    .struct_size = sizeof(ferry_host),
    .abi_major = FERRY_ABI_MAJOR,
    .abi_minor = FERRY_ABI_MINOR,
    .error = host_error,
    .log = host_log,
    .option = host_option,
    HOST_OPTIONS_ENTRIES,
};

static const ferry_plugin_descriptor *note;
static const ferry_plugin_ops *ops;
static void *dev; /* with three threads, more than most loops here have pieces */

static void *device_with(const char *threads)
{
    void *out = NULL;

    threads_option = threads;
    CU_ASSERT_EQUAL_FATAL(ops->device_open(ops->plugin, 0, &out), 0);
    return out;
}

/* 0, or the reason why the plugin cannot be tested. */
static const char *load(void)
{
    const char *build = getenv("FERRY_TEST_BUILDDIR");
    int (*open_plugin)(const ferry_host *, const ferry_plugin_ops **);
    char path[4096];
    void *library;

    snprintf(path, sizeof(path), "%s/backends/.libs/ferry_cpu.so", build ? build : ".");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlerror();
    note = dlsym(library, "ferry_plugin");
    *(void **)&open_plugin = dlsym(library, "ferry_plugin_open");
    if (!note || !open_plugin || open_plugin(&host, &ops) != 0)
        return "the plugin does not open";
    threads_option = "3";
    return ops->device_open(ops->plugin, 0, &dev) == 0 ? NULL : "device_open failed";
}

static ferry_ref ref(void *p)
{
    return (ferry_ref){ p, 0 };
}

static ferry_cref cref(const void *p)
{
    return (ferry_cref){ p, 0 };
}

static void *alloc(uint64_t bytes)
{
    void *handle = NULL;
    uint32_t flags = 0;

    CU_ASSERT_EQUAL_FATAL(ops->alloc(dev, NULL, bytes, 0, &handle, &flags), 0);
    return handle;
}

/* ---- the plugin as an arithmetic ------------------------------------------------------------ */

/* Half of each address is passed as an offset: only their sum matters. */
static ferry_ref split(void *p)
{
    return (ferry_ref){ (char *)p - 64, 64 };
}

static ferry_cref csplit(const void *p)
{
    return (ferry_cref){ (const char *)p - 128, 128 };
}

static int plugin_axpy(ferry_dtype t, int64_t n, double alpha, const void *x, void *y)
{
    return ops->axpy(dev, NULL, t, n, alpha, csplit(x), split(y));
}

static int plugin_scal(ferry_dtype t, int64_t n, double alpha, void *x)
{
    return ops->scal(dev, NULL, t, n, alpha, split(x));
}

/* ferry passes only values that the integer type holds; the plugin need not check. */
static int plugin_fill(ferry_dtype t, int64_t n, double value, void *y)
{
    double whole = rint(value);
    bool is_unsigned = t == FERRY_U8 || t == FERRY_U32;
    double low = is_unsigned ? 0 : -ldexp(1, (int)(8 * arith_size(t)) - 1);
    double high = ldexp(1, (int)(8 * arith_size(t)) - (is_unsigned ? 0 : 1));

    if (!arith_is_real(t) && !(whole >= low && whole < high))
        return FERRY_EOVERFLOW;
    return ops->fill(dev, NULL, t, n, value, split(y));
}

static int plugin_convert(int64_t n, ferry_dtype xt, const void *x, ferry_dtype yt, void *y)
{
    return ops->convert(dev, NULL, n, xt, csplit(x), yt, split(y));
}

/* An element of F64 for F64, else of F32, and no byte more. */
static int reduced(ferry_dtype t, int err, const float *cell, double *out)
{
    double wide;

    CU_ASSERT(t == FERRY_F64 || cell[1] == 12345.0f);
    if (err)
        return err;
    memcpy(&wide, cell, sizeof(wide));
    *out = t == FERRY_F64 ? wide : (double)cell[0];
    return 0;
}

static int plugin_dot(ferry_dtype t, int64_t n, const void *x, const void *y, double *out)
{
    float cell[2] = { 0, 12345.0f };

    return reduced(t, ops->dot(dev, NULL, t, n, csplit(x), csplit(y), ref(cell)), cell, out);
}

static int plugin_asum(ferry_dtype t, int64_t n, const void *x, double *out)
{
    float cell[2] = { 0, 12345.0f };

    return reduced(t, ops->asum(dev, NULL, t, n, csplit(x), ref(cell)), cell, out);
}

static int plugin_sumsq(ferry_dtype t, int64_t n, const void *x, double *out)
{
    float cell[2] = { 0, 12345.0f };

    return reduced(t, ops->sumsq(dev, NULL, t, n, csplit(x), ref(cell)), cell, out);
}

static int plugin_gemv(ferry_dtype t, int trans, int64_t m, int64_t n, double alpha, const void *a,
                       int64_t lda, const void *x, int64_t incx, double beta, void *y, int64_t incy)
{
    return ops->gemv(dev, NULL, t, (uint32_t)trans, m, n, alpha, csplit(a), lda, csplit(x), incx,
                     beta, split(y), incy);
}

static int plugin_gemm(ferry_dtype t, int ta, int tb, int64_t m, int64_t n, int64_t k, double alpha,
                       const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c,
                       int64_t ldc)
{
    return ops->gemm(dev, NULL, t, (uint32_t)ta, (uint32_t)tb, m, n, k, alpha, csplit(a), lda,
                     csplit(b), ldb, beta, split(c), ldc);
}

static const struct arith plugin = {
    .axpy = plugin_axpy,
    .scal = plugin_scal,
    .fill = plugin_fill,
    .convert = plugin_convert,
    .dot = plugin_dot,
    .asum = plugin_asum,
    .sumsq = plugin_sumsq,
    .gemv = plugin_gemv,
    .gemm = plugin_gemm,
};

/* ---- properties ------------------------------------------------------------------------------ */

static int count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = -2; /* . and .. */

    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void the_descriptor_requires_only_the_compiler_s_options(void)
{
    CU_ASSERT_STRING_EQUAL(note->name, "cpu");
    CU_ASSERT_EQUAL(note->abi_major, FERRY_ABI_MAJOR);
    CU_ASSERT_EQUAL(note->cpu_features, FERRY_CPU_COMPILED);
}

static void one_device_exists_and_its_memory_is_the_hosts(void)
{
    ferry_plugin_properties p = { .struct_size = sizeof(p) };
    uint64_t free_bytes = 0, total = 0;
    uint32_t count = 0;
    void *out = NULL;

    CU_ASSERT(ops->device_count(ops->plugin, &count) == 0 && count == 1);
    CU_ASSERT_EQUAL(ops->properties(ops->plugin, 0, NULL, &p), 0);
    CU_ASSERT_EQUAL(p.flags,
                    FERRY_DEVICE_HOST_MEMORY | FERRY_DEVICE_CONCURRENT | FERRY_DEVICE_POINTERS);
    CU_ASSERT(p.memory_total > 0 && p.description[0] != '\0');
    CU_ASSERT_EQUAL(ops->memory_info(dev, &free_bytes, &total), 0);
    CU_ASSERT(total == p.memory_total && free_bytes > 0 && free_bytes <= total);
    CU_ASSERT_EQUAL(ops->device_open(ops->plugin, 1, &out), FERRY_ENODEV);
    CU_ASSERT_PTR_NULL(out);
}

static void the_plugin_reports_its_supported_operations(void)
{
    for (uint32_t t = 0; t < FERRY_DTYPE_COUNT; t++) {
        CU_ASSERT_EQUAL(ops->supports(dev, FERRY_OP_GEMM, t), t <= FERRY_BF16);
        CU_ASSERT_EQUAL(ops->supports(dev, FERRY_OP_AXPY, t), t <= FERRY_BF16);
        CU_ASSERT_EQUAL(ops->supports(dev, FERRY_OP_FILL, t), 1);
        CU_ASSERT_EQUAL(ops->supports(dev, FERRY_OP_CONVERT, t), 1);
    }
    CU_ASSERT_EQUAL(ops->supports(dev, FERRY_OP_AXPY, 99), 0);
    CU_ASSERT_EQUAL(ops->supports(dev, FERRY_OP_COUNT, FERRY_F32), 0);
}

static void unknown_names_of_kernels_are_refused(void)
{
    void *out = NULL;

    threads_option = NULL;
    kernels_option = "fastest";
    CU_ASSERT_EQUAL(ops->device_open(ops->plugin, 0, &out), FERRY_ECONF);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "fastest"));
    kernels_option = NULL;
}

static void an_invalid_number_of_threads_is_refused(void)
{
    static const char *const bad[] = { "two", "-1", "3x", "100000", " " };
    void *out = NULL;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        threads_option = bad[i];
        CU_ASSERT_EQUAL(ops->device_open(ops->plugin, 0, &out), FERRY_ECONF);
        CU_ASSERT_PTR_NOT_NULL(strstr(said, bad[i]));
    }
    CU_ASSERT_PTR_NULL(out);
}

/* ---- memory --------------------------------------------------------------------------------- */

static ferry_plugin_counters counts(void)
{
    ferry_plugin_counters c = { .struct_size = sizeof(c) };

    CU_ASSERT_EQUAL(ops->counters(dev, &c), 0);
    return c;
}

static void every_block_is_aligned_distinct_and_freed(void)
{
    static const uint64_t sizes[] = { 1,       63,      64,      65,      480,
                                      4096,    1048575, 1048576, 1048576, 1048576,
                                      1048577, 8388607, 8388608, 8388608, 20000001 };
    ferry_plugin_counters before = counts();
    char *block[15];

    for (int i = 0; i < 15; i++) {
        block[i] = alloc(sizes[i]);
        CU_ASSERT_EQUAL((uintptr_t)block[i] % 64, 0);
        memset(block[i], i + 1, sizes[i]);
    }
    CU_ASSERT_EQUAL(counts().live_blocks, before.live_blocks + 15);
    for (int i = 0; i < 15; i++) {
        CU_ASSERT(block[i][0] == i + 1 && block[i][sizes[i] - 1] == i + 1);
        CU_ASSERT_EQUAL(ops->free(dev, NULL, block[i]), 0);
    }
    CU_ASSERT_EQUAL(counts().live_blocks, before.live_blocks);
    CU_ASSERT_EQUAL(counts().live_bytes, before.live_bytes);
}

/* Otherwise reads of one would wait for writes to another at the same offset in its page. */
static void blocks_of_many_pages_start_at_different_offsets_in_a_page(void)
{
    static const uint64_t sizes[] = { 1 << 17, 401408, 1 << 20, 3 << 20, 8 << 20 };

    for (int i = 0; i < 5; i++) {
        char *block[3];

        for (int k = 0; k < 3; k++)
            block[k] = alloc(sizes[i]);
        for (int k = 0; k < 3; k++) {
            CU_ASSERT_NOT_EQUAL((uintptr_t)block[k] % 4096, (uintptr_t)block[(k + 1) % 3] % 4096);
            memset(block[k], 0xff, sizes[i]);
        }
        for (int k = 0; k < 3; k++)
            CU_ASSERT_EQUAL(ops->free(dev, NULL, block[k]), 0);
    }
}

static void zero_initialised_memory_is_zero(void)
{
    static const uint64_t sizes[] = { 480, 1 << 20, (1 << 20) + 7, 8 << 20, (8 << 20) + 4097 };

    for (int i = 0; i < 5; i++) {
        unsigned char *block = alloc(sizes[i]);
        uint32_t flags = 0;
        uint64_t nonzero = 0;

        memset(block, 0xff, sizes[i]);
        CU_ASSERT_EQUAL(ops->free(dev, NULL, block), 0);
        CU_ASSERT_EQUAL(ops->alloc(dev, NULL, sizes[i], FERRY_ALLOC_ZERO, (void **)&block, &flags),
                        0);
        CU_ASSERT_EQUAL(flags & FERRY_ALLOC_WAS_ZEROED, i > 0 ? FERRY_ALLOC_WAS_ZEROED : 0);
        for (uint64_t k = 0; (flags & FERRY_ALLOC_WAS_ZEROED) && k < sizes[i]; k++)
            nonzero += block[k] != 0;
        CU_ASSERT_EQUAL(nonzero, 0);
        CU_ASSERT_EQUAL(ops->free(dev, NULL, block), 0);
    }
}

static void an_allocation_beyond_memory_is_refused_with_both_numbers(void)
{
    ferry_plugin_counters before = counts();
    void *handle = NULL;
    uint32_t flags = 7;
    char total[32];
    ferry_plugin_properties p = { .struct_size = sizeof(p) };

    CU_ASSERT_EQUAL(ops->properties(ops->plugin, 0, dev, &p), 0);
    snprintf(total, sizeof(total), "%llu", (unsigned long long)p.max_alloc);
    CU_ASSERT_EQUAL(ops->alloc(dev, NULL, UINT64_MAX, 0, &handle, &flags), FERRY_ENOMEM);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "18446744073709551615"));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, total));
    CU_ASSERT(!handle && flags == 7 && counts().live_blocks == before.live_blocks);
}

static void copies_work_in_all_directions_and_may_overlap(void)
{
    const uint64_t bytes = 3000000;
    char *a = alloc(bytes), *b = alloc(bytes);
    ferry_plugin_counters before = counts(), after;

    for (uint64_t i = 0; i < bytes; i++)
        a[i] = (char)(i * 7);
    for (uint32_t kind = FERRY_MEMCPY_H2D; kind <= FERRY_MEMCPY_D2D; kind++) {
        memset(b, 0, bytes);
        CU_ASSERT_EQUAL(ops->memcpy(dev, NULL, kind, ref(b), cref(a), bytes), 0);
        CU_ASSERT_EQUAL(memcmp(a, b, bytes), 0);
    }
    after = counts();
    CU_ASSERT(after.copies_h2d == before.copies_h2d + 1 &&
              after.bytes_d2d == before.bytes_d2d + bytes);
    CU_ASSERT_EQUAL(
        ops->memcpy(dev, NULL, FERRY_MEMCPY_D2D, (ferry_ref){ a, 1 }, cref(a), bytes - 1), 0);
    CU_ASSERT_EQUAL(memcmp(a + 1, b, bytes - 1), 0);
    CU_ASSERT_EQUAL(
        ops->memcpy(dev, NULL, FERRY_MEMCPY_D2D, ref(a), (ferry_cref){ a, 1 }, bytes - 1), 0);
    CU_ASSERT_EQUAL(memcmp(a, b, bytes - 1), 0);
    CU_ASSERT_EQUAL(ops->memcpy(dev, NULL, 9, ref(b), cref(a), bytes), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ops->copy(dev, NULL, FERRY_F16, 1000, (ferry_cref){ a, 2 }, ref(b)), 0);
    CU_ASSERT(memcmp(a + 2, b, 2000) == 0 && memcmp(a + 2002, b + 2000, 2) != 0);
    ops->free(dev, NULL, a);
    ops->free(dev, NULL, b);
}

static void memset_uses_the_low_byte_and_stops_at_the_end(void)
{
    unsigned char *a = alloc(2000001);
    int wrong = 0;

    memset(a, 1, 2000001);
    CU_ASSERT_EQUAL(ops->memset(dev, NULL, (ferry_ref){ a, 1 }, 0x1fe, 1999999), 0);
    for (int i = 1; i < 2000000; i++)
        wrong += a[i] != 0xfe;
    CU_ASSERT(wrong == 0 && a[0] == 1 && a[2000000] == 1);
    ops->free(dev, NULL, a);
}

/* ---- threads -------------------------------------------------------------------------------- */

#define MANY 700001

static void threads_start_with_the_first_large_loop_and_end_with_the_device(void)
{
    float *x = calloc(MANY, sizeof(*x));
    int before = count_threads();
    void *d = device_with("4");

    CU_ASSERT_EQUAL(ops->axpy(d, NULL, FERRY_F32, 1000, 2, cref(x), ref(x)), 0);
    CU_ASSERT_EQUAL(count_threads(), before);
    CU_ASSERT_EQUAL(ops->axpy(d, NULL, FERRY_F32, MANY, 2, cref(x), ref(x)), 0);
    CU_ASSERT_EQUAL(count_threads(), before + 3);
    ops->device_close(d);
    /* A joined thread may still be listed for a moment. */
    for (int i = 0; i < 10000 && count_threads() != before; i++)
        usleep(1000);
    CU_ASSERT_EQUAL(count_threads(), before);
    free(x);
}

static void the_result_does_not_depend_on_the_threads(void)
{
    static const char *const threads[] = { "1", "2", "3", "8" };
    float *x = malloc(MANY * sizeof(*x));
    float want = 0, got = 0;

    arith_random(FERRY_F32, x, MANY, 1, 5);
    for (int i = 0; i < 4; i++) {
        void *d = device_with(threads[i]);

        for (int round = 0; round < 20; round++) {
            CU_ASSERT_EQUAL(ops->dot(d, NULL, FERRY_F32, MANY, cref(x), cref(x + 1 - 1), ref(&got)),
                            0);
            if (i == 0 && round == 0)
                want = got;
            CU_ASSERT_EQUAL(got, want);
        }
        ops->device_close(d);
    }
    free(x);
}

struct worker {
    pthread_t thread;
    int number, wrong;
};

/* Large loops on memory of its own, checked; sizes differ, so that different loops run at once. */
static void *compute(void *arg)
{
    struct worker *w = arg;
    int64_t n = MANY - 50000 * w->number;
    int rounds = ferry_test_is_slow() ? 4 : 40;
    float *x = alloc((uint64_t)n * sizeof(*x)), *y = alloc((uint64_t)n * sizeof(*y));

    ops->fill(dev, NULL, FERRY_F32, n, w->number + 1, ref(x));
    ops->fill(dev, NULL, FERRY_F32, n, 1, ref(y));
    for (int round = 1; round <= rounds; round++) {
        float sum = 0;
        double want = (1.0 + (double)round * (w->number + 1)) * (double)n;

        w->wrong += ops->axpy(dev, NULL, FERRY_F32, n, 1, cref(x), ref(y)) != 0;
        w->wrong += ops->asum(dev, NULL, FERRY_F32, n, cref(y), ref(&sum)) != 0;
        w->wrong += sum != (float)want;
    }
    ops->free(dev, NULL, x);
    ops->free(dev, NULL, y);
    return NULL;
}

static void eight_threads_compute_at_once(void)
{
    struct worker worker[8] = { 0 };

    for (int i = 0; i < 8; i++) {
        worker[i].number = i;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&worker[i].thread, NULL, compute, &worker[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(worker[i].thread, NULL);
        CU_ASSERT_EQUAL(worker[i].wrong, 0);
    }
}

static void a_forked_child_computes_with_one_thread_and_frees(void)
{
    float *block = alloc(MANY * sizeof(*block));
    float *small = alloc(480);
    struct worker w = { .number = 1 };
    int status = -1;
    pid_t child;

    CU_ASSERT_EQUAL(ops->fill(dev, NULL, FERRY_F32, MANY, 2, ref(block)), 0);
    fflush(stdout);
    child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        alarm(60);
        compute(&w);
        _exit(w.wrong + (block[MANY - 1] != 2.0f) + (ops->free(dev, NULL, block) != 0) +
              (ops->free(dev, NULL, small) != 0));
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    compute(&w);
    CU_ASSERT_EQUAL(w.wrong, 0);
    ops->free(dev, NULL, block);
    ops->free(dev, NULL, small);
}

static void all_blocks_are_freed(void)
{
    CU_ASSERT_EQUAL(counts().live_blocks, 0);
    CU_ASSERT_EQUAL(ops->synchronize(dev), 0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_descriptor_requires_only_the_compiler_s_options),
    FERRY_TEST(one_device_exists_and_its_memory_is_the_hosts),
    FERRY_TEST(the_plugin_reports_its_supported_operations),
    FERRY_TEST(an_invalid_number_of_threads_is_refused),
    FERRY_TEST(unknown_names_of_kernels_are_refused),
    FERRY_TEST(every_block_is_aligned_distinct_and_freed),
    FERRY_TEST(blocks_of_many_pages_start_at_different_offsets_in_a_page),
    FERRY_TEST(zero_initialised_memory_is_zero),
    FERRY_TEST(an_allocation_beyond_memory_is_refused_with_both_numbers),
    FERRY_TEST(copies_work_in_all_directions_and_may_overlap),
    FERRY_TEST(memset_uses_the_low_byte_and_stops_at_the_end),
    FERRY_TEST(threads_start_with_the_first_large_loop_and_end_with_the_device),
    FERRY_TEST(the_result_does_not_depend_on_the_threads),
    FERRY_TEST(eight_threads_compute_at_once),
    FERRY_TEST(a_forked_child_computes_with_one_thread_and_frees),
#define CASE(name) FERRY_TEST(name),
    ARITH_CASES(CASE) FERRY_TEST(all_blocks_are_freed),
};

/* The loops for any CPU, which would not be selected on this one. */
static const ferry_test_case base_cases[] = { ARITH_CASES(CASE) };

int main(int argc, char **argv)
{
    const char *why = load();
    int result;

    if (why) {
        printf("ferry-test: cpu: %s\nferry-test: cpu: 0 passed, 0 failed, 1 skipped\n", why);
        return 77;
    }
    arith = &plugin;
    result = ferry_test_main(argc, argv, "cpu", cases, FERRY_TEST_COUNT(cases));
    ops->device_close(dev);
    kernels_option = "base";
    if (ops->device_open(ops->plugin, 0, &dev) != 0)
        return 1;
    result = ferry_test_worse(
        result, ferry_test_main(argc, argv, "cpu, base", base_cases, FERRY_TEST_COUNT(base_cases)));
    ops->device_close(dev);
    return result;
}
