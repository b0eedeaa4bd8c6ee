/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "opencl-driver.h"

#include <ferry/op_plugin.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Coalescing of loads: counts the memory that ferry's own gemv and gemm of halves and its depthwise
 * convolutions read. Each load in the kernels' source is replaced by one that records its address,
 * on a driver whose items can access the test's memory (on a processor); the launches are the
 * plugin's own. A GPU fetches 32 bytes at a time for 32 items that run together. Ideally, the items
 * of one load access only as many such units as the data fill.
 */

#define RUN   32u        /* items that run together */
#define FETCH 32u        /* bytes */
#define ITEMS (1u << 13) /* the number of recorded items */
#define LOADS 256u       /* loads of each item */
#define N     96         /* the size of a matrix: no multiple of a gemv's group */

/*
 * Fixed addresses where possible, so that the source is the same each time and the driver's cache
 * is used.
 */
#define PLACE ((void *)0x200000000000)

static struct trace {
    cl_ulong count, at[LOADS];
} * traces;

/* ---- the text ------------------------------------------------------------------------------- */

static const char marker[] = "/* ---- products ---- */";

/* Text before each source of the operations. */
static const char behind[] = "\n#undef LANES";

/* The number of an item: the items of a group are numbered consecutively, as a GPU runs them. */
static char *note(void)
{
    char *out = NULL;

    return asprintf(&out,
                    "inline void note(ulong p) {\n"
                    "  size_t g = get_group_id(1) * get_num_groups(0) + get_group_id(0);\n"
                    "  size_t i = get_local_id(1) * get_local_size(0) + get_local_id(0);\n"
                    "  size_t item = g * get_local_size(0) * get_local_size(1) + i;\n"
                    "  global ulong *t = (global ulong *)0x%llxul + item * %u;\n"
                    "  if (item < %u && t[0] < %u) t[++t[0]] = p; }\n",
                    (unsigned long long)(uintptr_t)traces, LOADS + 1, ITEMS, LOADS) < 0
               ? NULL
               : out;
}

/*
 * `loads`: the replacements of the loads from `at` on, in the part of the source that begins there.
 */
static char *with(const char *text, const char *at, const char *loads)
{
    char *noting = note(), *out = NULL;
    int length =
        noting ? asprintf(&out, "%.*s\n%s%s%s", (int)(at - text), text, noting, loads, at) : -1;

    free(noting);
    return length < 0 ? NULL : out;
}

/* NULL: this load is not recorded. */
static char *watch(const char *text)
{
    const char *halves = strstr(text, marker), *rest = strstr(text, behind);

    if (halves)
        return with(text, halves,
                    "#if X == 2\n"
                    "inline float traced(global const stored *p) {\n"
                    "  note((ulong)p); return vload_half(0, p); }\n"
                    "#undef LOAD\n#define LOAD(p) traced(p)\n#endif\n");
    if (rest && strstr(rest, "KERNEL(slide,"))
        return with(text, rest,
                    "inline vec traced(global const f32 *p) {\n"
                    "  note((ulong)p); return vload4(0, p); }\n"
                    "#undef vec_load\n#define vec_load(p) traced(p)\n");
    return NULL;
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **lines,
                                     const size_t *sizes, cl_int *error)
{
    cl_program (*next)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
    char *text = NULL, *watched;
    const char *one;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    cl_program program;

    *(void **)&next = dlsym(RTLD_NEXT, "clCreateProgramWithSource");
    for (cl_uint i = 0; i < count; i++)
        fputs(lines[i], f);
    fclose(f);
    watched = sizes ? NULL : watch(text);
    one = watched ? watched : text;
    program = next(context, 1, &one, NULL, error);
    free(watched);
    free(text);
    return program;
}

/* ---- counting ------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const cl_ulong *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static unsigned distinct(cl_ulong *of, unsigned n)
{
    unsigned found = 0;

    qsort(of, n, sizeof(*of), by_number);
    for (unsigned i = 0; i < n; i++)
        found += i == 0 || of[i] != of[i - 1];
    return found;
}

/*
 * The ratio of fetched to needed units: for the `k`-th loads of that many bytes by items that run
 * together, over all loads and runs.
 */
static double fetches_of(unsigned items, unsigned bytes)
{
    double made = 0, needed = 0;

    for (unsigned first = 0; first < items; first += RUN)
        for (unsigned k = 0; k < LOADS; k++) {
            cl_ulong address[RUN], fetch[RUN];
            unsigned n = 0;

            for (unsigned i = first; i < first + RUN && i < items; i++)
                if (k < traces[i].count)
                    address[n++] = traces[i].at[k];
            for (unsigned i = 0; i < n; i++)
                fetch[i] = address[i] / FETCH;
            made += distinct(fetch, n);
            needed += (distinct(address, n) * bytes + FETCH - 1) / FETCH;
        }
    return needed > 0 ? made / needed : 0;
}

static double gemv(uint32_t trans_a)
{
    void *a = ocl_block(N * N * 2), *x = ocl_block(N * 2), *y = ocl_block(N * 2);
    double ratio;

    memset(traces, 0, ITEMS * sizeof(*traces));
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(a, 0), 0, N * N * 2), 0);
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(x, 0), 0, N * 2), 0);
    CU_ASSERT_EQUAL(ocl->gemv(dev, NULL, FERRY_F16, trans_a, N, N, 1, driver_cref(a, 0), N,
                              driver_cref(x, 0), 1, 0, driver_ref(y, 0), 1),
                    0);
    CU_ASSERT_EQUAL(ocl->synchronize(dev), 0);
    CU_ASSERT(traces[0].count > 0);
    ratio = fetches_of(ITEMS, 2);
    ocl_free_block(a);
    ocl_free_block(x);
    ocl_free_block(y);
    return ratio;
}

static double gemm(uint32_t trans_a, uint32_t trans_b)
{
    void *a = ocl_block(N * N * 2), *b = ocl_block(N * N * 2), *c = ocl_block(N * N * 2);
    double ratio;

    memset(traces, 0, ITEMS * sizeof(*traces));
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(a, 0), 0, N * N * 2), 0);
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(b, 0), 0, N * N * 2), 0);
    CU_ASSERT_EQUAL(ocl->gemm(dev, NULL, FERRY_F16, trans_a, trans_b, N, N, N, 1, driver_cref(a, 0),
                              N, driver_cref(b, 0), N, 0, driver_ref(c, 0), N),
                    0);
    CU_ASSERT_EQUAL(ocl->synchronize(dev), 0);
    CU_ASSERT(traces[0].count > 0);
    ratio = fetches_of(ITEMS, 2);
    ocl_free_block(a);
    ocl_free_block(b);
    ocl_free_block(c);
    return ratio;
}

/* 20 rows of 24 pixels of 64 channels, `kernel` taps a side; nothing is constant. */
static void describe(int64_t kernel, ferry_op_desc *op)
{
    const int64_t w[] = { 64, 1, kernel, kernel };
    ferry_op_window *window = &op->params.window;

    *op = (ferry_op_desc){
        .struct_size = sizeof(*op), .kind = FERRY_OP_CONVOLUTION, .n_in = 2, .n_out = 1
    };
    *window = (ferry_op_window){ .axes = 2, .group = 64 };
    for (int i = 0; i < 2; i++) {
        window->kernel[i] = kernel;
        window->stride[i] = window->dilation[i] = 1;
        window->pad[i] = window->pad_end[i] = kernel / 2;
    }
    op->in[0] = op->out[0] = (ferry_operand){ .dtype = FERRY_F32,
                                              .rank = 4,
                                              .shape = { 1, 64, 20, 24 },
                                              .stride = { 20 * 24 * 64, 1, 24 * 64, 64 } };
    op->in[1] = (ferry_operand){ .dtype = FERRY_F32, .rank = 4 };
    for (int64_t i = 4, stride = 1; i-- > 0; stride *= w[i]) {
        op->in[1].shape[i] = w[i];
        op->in[1].stride[i] = stride;
    }
}

static double depthwise(int64_t kernel)
{
    const uint64_t image = 20 * 24 * 64 * 4, weights = (uint64_t)(kernel * kernel) * 64 * 4;
    void *x = ocl_block(image), *w = ocl_block(weights), *y = ocl_block(image);
    void *packed = ocl_block(weights), *prepared = NULL;
    const ferry_cref in[] = { driver_cref(x, 0), driver_cref(w, 0) };
    const ferry_ref out = driver_ref(y, 0);
    const ferry_op_run_args args = {
        .struct_size = sizeof(args), .in = in, .out = &out, .workspace = driver_ref(packed, 0)
    };
    const void *extension = NULL;
    const ferry_op_table *table;
    ferry_op_desc op;

    memset(traces, 0, ITEMS * sizeof(*traces));
    describe(kernel, &op);
    CU_ASSERT_EQUAL_FATAL(ocl->extension(dev, FERRY_OP_EXTENSION, &extension), 0);
    table = extension;
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(x, 0), 0, image), 0);
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(w, 0), 0, weights), 0);
    CU_ASSERT_EQUAL_FATAL(table->create(dev, &op, &prepared), 0);
    CU_ASSERT_EQUAL(table->run(dev, NULL, prepared, &args), 0);
    CU_ASSERT_EQUAL(ocl->synchronize(dev), 0);
    table->destroy(dev, prepared);
    CU_ASSERT(traces[0].count > 0);
    ocl_free_block(x);
    ocl_free_block(w);
    ocl_free_block(y);
    ocl_free_block(packed);
    return fetches_of(ITEMS, 16);
}

/* ---- cases ---------------------------------------------------------------------------------- */

static const uint32_t trans[] = { FERRY_NO_TRANS, FERRY_TRANS };

static bool begin(const char *items)
{
    cl_device_type type = 0;

    if (!ocl_open(0, "zero_copy", "off", "cache", "off", "f16", "on", "arithmetic", "own", "items",
                  items, NULL))
        return false;
    CU_ASSERT_EQUAL(clGetDeviceInfo(ocl_id(), CL_DEVICE_TYPE, sizeof(type), &type, NULL), 0);
    if (type & CL_DEVICE_TYPE_CPU)
        return true;
    ferry_test_skip("the device's items cannot access host memory");
    ocl_close();
    return false;
}

static void adjacent_items_read_adjacent_elements(void)
{
    if (!begin("many"))
        return;
    for (uint32_t i = 0; i < 2; i++) {
        double ratio = gemv(trans[i]);

        printf("     gemv %c: %.2f fetches for one\n", "NT"[i], ratio);
        CU_ASSERT(ratio >= 1 && ratio < 1.1);
    }
    for (uint32_t i = 0; i < 4; i++) {
        double ratio = gemm(trans[i & 1], trans[i >> 1]);

        printf("     gemm %c%c: %.2f fetches for one\n", "NT"[i & 1], "NT"[i >> 1], ratio);
        CU_ASSERT(ratio >= 1 && ratio < 1.1);
    }
    ocl_close();
}

/*
 * The order for processors, in which each item has a row of its own: the count that a GPU would
 * have with it.
 */
static void one_row_per_item_would_not_read_adjacent_elements(void)
{
    if (!begin("few"))
        return;
    CU_ASSERT(gemv(FERRY_NO_TRANS) > 5);
    CU_ASSERT(gemm(FERRY_NO_TRANS, FERRY_TRANS) > 5);
    ocl_close();
}

static void adjacent_items_of_depthwise_have_adjacent_channels(void)
{
    if (!begin("many"))
        return;
    for (int64_t kernel = 3; kernel <= 5; kernel += 2) {
        double ratio = depthwise(kernel);

        printf("     depthwise %d x %d: %.2f fetches for one\n", (int)kernel, (int)kernel, ratio);
        CU_ASSERT(ratio >= 1 && ratio < 1.1);
    }
    ocl_close();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(adjacent_items_read_adjacent_elements),
    FERRY_TEST(one_row_per_item_would_not_read_adjacent_elements),
    FERRY_TEST(adjacent_items_of_depthwise_have_adjacent_channels),
};

int main(int argc, char **argv)
{
    int result;

    traces = mmap(PLACE, ITEMS * sizeof(*traces), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (traces == MAP_FAILED)
        return 1;
    result = ferry_test_main(argc, argv, "opencl-neighbours", cases, FERRY_TEST_COUNT(cases));
    munmap(traces, ITEMS * sizeof(*traces));
    return result;
}
