/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels as nvcc compiles them, executed by tests/ptx and compared with the oracle: random
 * operations whose buffers have exact bounds. The program ends at the first failure. Environment:
 *
 *     FERRY_TEST_PTX      files of PTX, separated by colons; the first file that has a kernel
 *                         provides it
 *     FERRY_TEST_PTX_RUN  options of the executor (tests/ptx/ptx.h)
 *     FERRY_TEST_KERNELS  names of kernels, separated by commas; only operations that use one of
 *                         them are tried
 *     FERRY_TEST_OPS      the number of operations of each kind (20)
 *     FERRY_TEST_SEED     the first seed
 *     FERRY_TEST_SLACK    a factor of the tolerance
 */
#include "ferry-test.h"
#include "kernel-trial.h"

#include "tests/ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FILES 8
#define SEARCHES   10 /* the maximum number of seeds per tested operation */

/* The target of the CUDA plugin. Its backends/cuda/target.h must not be included here. */
static const struct kernel_target target = { .vec = 4, .group = 128, .busy = 3 };

static struct {
    struct ptx_module *module[MOST_FILES];
    unsigned count, tried;
    struct ptx_options options;
    bool has_failed;
} ptx;

/* ---- files ---- */

static void add_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL, error[256] = "";
    long size = -1;

    if (file && !fseek(file, 0, SEEK_END))
        size = ftell(file);
    if (size >= 0 && !fseek(file, 0, SEEK_SET))
        text = calloc(1, (size_t)size + 1);
    if (!text || ptx.count == MOST_FILES || fread(text, 1, (size_t)size, file) != (size_t)size)
        CU_FAIL_FATAL("a file of FERRY_TEST_PTX cannot be read");
    fclose(file);
    ptx.module[ptx.count] = ptx_module_new(text, error, sizeof(error));
    free(text);
    if (!ptx.module[ptx.count])
        printf("%s: %s\n", path, error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ptx.module[ptx.count]);
    ptx.count++;
}

static bool has_files(void)
{
    const char *files = getenv("FERRY_TEST_PTX"), *run = getenv("FERRY_TEST_PTX_RUN");
    char path[4096];

    if (!files || !*files) {
        ferry_test_skip("FERRY_TEST_PTX names no file (tests/scripts/check-ptx.sh makes one)");
        return false;
    }
    CU_ASSERT_FATAL(ptx_options_parse(run ? run : "race,unknown", &ptx.options));
    if (ptx.count) /* an earlier case has read them */
        return true;
    for (; *files; files += strcspn(files, ":"), files += *files == ':') {
        snprintf(path, sizeof(path), "%.*s", (int)strcspn(files, ":"), files);
        add_file(path);
    }
    return true;
}

/* ---- launches ---- */

static const struct ptx_kernel *find(const char *name)
{
    const struct ptx_kernel *kernel = NULL;

    for (unsigned i = 0; i < ptx.count && !kernel; i++)
        kernel = ptx_kernel_find(ptx.module[i], name);
    return kernel;
}

struct memory {
    struct ptx_launch launch;
    unsigned char params[sizeof(union kernel_args) + 8 * BUFFERS + 16];
};

/*
 * Operands have contents. Packed weights and the workspace have contents only where a kernel of the
 * same operation stored them.
 */
static unsigned char *packed_written, *workspace_written;

static void forget_scratch(const struct trial *t)
{
    free(packed_written);
    free(workspace_written);
    packed_written = calloc(1, (size_t)t->plan.answer.packed_bytes + 1);
    workspace_written = calloc(1, (size_t)t->plan.answer.workspace_bytes + 1);
    CU_ASSERT_FATAL(packed_written && workspace_written);
}

static void add_window(struct memory *m, unsigned char *bytes, uint64_t size,
                       unsigned char *written)
{
    struct ptx_launch *l = &m->launch;

    if (size)
        l->windows[l->window_count++] =
            (struct ptx_window){ (uintptr_t)bytes, (size_t)size, bytes, written };
}

static void add_windows(struct memory *m, const struct trial *t)
{
    for (uint32_t i = 0; i < t->op.n_in + t->op.n_out; i++)
        add_window(m, t->ours[i] + TRIAL_MARGIN, t->size[i] - 2 * TRIAL_MARGIN, NULL);
    add_window(m, t->on.buffer[FROM_PACKED], t->plan.answer.packed_bytes, packed_written);
    add_window(m, t->on.buffer[FROM_WORKSPACE], t->plan.answer.workspace_bytes, workspace_written);
}

static bool executed(const struct trial *t, const struct kernel_launch *l)
{
    union kernel_args args = l->args;
    const struct ptx_kernel *kernel = find(kernel_function(l->kernel));
    struct memory m = { .launch = { .kernel = kernel,
                                    .grid = { (uint32_t)l->groups, 1, 1 },
                                    .block = { target.group, 1, 1 },
                                    .options = ptx.options } };

    if (!l->groups)
        return true;
    CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
    CU_ASSERT_FATAL(ptx_kernel_params(kernel) == BUFFERS + 1 &&
                    ptx_params_size(kernel) <= sizeof(m.params) &&
                    ptx_param_size(kernel, BUFFERS) == l->size);
    for (unsigned i = 0; i < BUFFERS; i++)
        memcpy(m.params + ptx_param_offset(kernel, i), &t->on.buffer[l->from[i]], sizeof(void *));
    kernel_seed(l, t->on.seed, t->on.offset, &args);
    kernel_scalars(l, t->on.scalars, &args);
    memcpy(m.params + ptx_param_offset(kernel, BUFFERS), &args, (size_t)l->size);
    m.launch.params = m.params;
    add_windows(&m, t);
    if (ptx_run(&m.launch))
        return true;
    printf("%s\n", m.launch.report);
    return false;
}

/* ---- trials ---- */

static bool is_wanted(const struct kernel_launch *l, const char *names)
{
    const char *name = kernel_function(l->kernel);

    while (*names) {
        size_t length = strcspn(names, ",");

        if (strlen(name) == length && !strncmp(name, names, length))
            return true;
        names += length + (names[length] == ',');
    }
    return false;
}

static bool uses(const struct trial *t, const char *names)
{
    bool any = !names || !*names;

    if (!any && t->plan.answer.packed_bytes)
        any = is_wanted(&t->plan.pack, names);
    for (uint32_t i = 0; i < t->plan.launches && !any; i++)
        any = is_wanted(&t->plan.launch[i], names);
    return any;
}

static void try_many(struct trying what)
{
    const char *names = getenv("FERRY_TEST_KERNELS");
    uint64_t n = om_number_of("FERRY_TEST_OPS", 20), first = om_number_of("FERRY_TEST_SEED", 1);
    static struct trial t;
    uint64_t tried = 0;

    for (uint64_t seed = first; tried < n && seed < first + n * SEARCHES && !ptx.has_failed;
         seed++) {
        if (!trial_plan(what, seed, &target, &t) || !uses(&t, names))
            continue;
        tried++;
        forget_scratch(&t);
        if (trial_agrees(&t, executed))
            continue;
        printf("kind %u pass %u seed %llu: %s\n", what.kind, t.op.pass, (unsigned long long)seed,
               om_text(&t.op));
        ptx.has_failed = true;
    }
    ptx.tried += (unsigned)tried;
}

static void kernels_compiled_by_nvcc_agree_with_the_oracle(void)
{
    if (!has_files())
        return;
    for (int k = 0; k < om_kind_count; k++)
        try_many((struct trying){ om_kinds[k], NULL });
    for (int k = 0; k < ob_pass_count; k++)
        try_many((struct trying){ ob_passes[k].kind, &ob_passes[k] });
    printf("     %u operations\n", ptx.tried);
    CU_ASSERT_FALSE(ptx.has_failed);
}

/* ---- products of halves ---- */

/* Tries convolutions and products of a dtype, without an epilogue, which only `tensor` computes. */
static void try_halves(uint32_t kind, ferry_dtype half)
{
    struct kernel_target with = target;
    const char *names = getenv("FERRY_TEST_KERNELS");
    uint64_t n = om_number_of("FERRY_TEST_OPS", 20), first = om_number_of("FERRY_TEST_SEED", 1);
    static struct trial t;
    uint64_t tried = 0;

    with.f16 = with.bf16 = true;
    for (uint64_t seed = first; tried < n && seed < first + n * SEARCHES && !ptx.has_failed;
         seed++) {
        if (!trial_plan_half(kind, half, seed, &with, &t) || !uses(&t, names))
            continue;
        tried++;
        forget_scratch(&t);
        if (trial_is_bounded(&t, executed))
            continue;
        printf("kind %u of dtype %d seed %llu: %s\n", kind, (int)half, (unsigned long long)seed,
               om_text(&t.op));
        ptx.has_failed = true;
    }
    ptx.tried += (unsigned)tried;
}

static void products_of_halves_are_within_the_bounds_of_their_sums(void)
{
    static const uint32_t kinds[] = { FERRY_OP_CONVOLUTION, FERRY_OP_INNER_PRODUCT,
                                      FERRY_OP_BATCHED_GEMM };
    unsigned before = ptx.tried;

    if (!has_files() || ptx.has_failed)
        return;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        try_halves(kinds[k], FERRY_F16);
        try_halves(kinds[k], FERRY_BF16);
    }
    printf("     %u operations\n", ptx.tried - before);
    CU_ASSERT_FALSE(ptx.has_failed);
    CU_ASSERT(ptx.tried > 0);
}

/* ---- a gradient in segments ---- */

static ferry_operand matrix(int64_t rows, int64_t columns)
{
    const int64_t shape[] = { rows, columns };

    return ferry_operand_make(FERRY_F32, shape, 2, NULL);
}

/*
 * A gradient of weights in two segments or more, which need more rows than random operations have:
 * the last segment is shorter than the others.
 */
static void a_gradient_in_segments_agrees_with_the_oracle(void)
{
    enum { PIXELS = 1030, OUTPUTS = 5, INPUTS = 3 };
    static struct trial t;
    const struct gradient_args *a = &t.plan.launch[0].args.gradient;
    ferry_op_desc op;

    if (!has_files())
        return;
    ferry_op_desc_init(&op, FERRY_OP_INNER_PRODUCT);
    op.pass = FERRY_PASS_BACKWARD_WEIGHTS;
    op.n_in = 2;
    op.n_out = 1;
    op.in[0] = matrix(PIXELS, OUTPUTS);
    op.in[1] = matrix(PIXELS, INPUTS);
    op.out[0] = matrix(OUTPUTS, INPUTS);
    CU_ASSERT_FATAL(trial_plan_operation(&op, (struct om_numbers){ 1 }, &target, &t));
    CU_ASSERT_FATAL(t.plan.launch[0].kernel == KERNEL_GRADIENT && a->segments > 1);
    CU_ASSERT(a->segments * a->segment > a->pixels);
    if (!uses(&t, getenv("FERRY_TEST_KERNELS")))
        return;
    forget_scratch(&t);
    if (!trial_agrees(&t, executed)) {
        printf("kind %u pass %u: %s\n", op.kind, op.pass, om_text(&op));
        CU_FAIL("the gradient differs");
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(kernels_compiled_by_nvcc_agree_with_the_oracle),
    FERRY_TEST(products_of_halves_are_within_the_bounds_of_their_sums),
    FERRY_TEST(a_gradient_in_segments_agrees_with_the_oracle),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "kernels, PTX", cases, FERRY_TEST_COUNT(cases));
}
