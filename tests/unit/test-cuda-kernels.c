/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"
#include "fixture.h"

#include "kernels/plan.h"

#include <ferry/op.h>
#include <ferry/op_plugin.h>

#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The source of the CUDA plugin's kernels, and their launches, on the doubles. test-kernels and
 * test-op-random test the results.
 */

#define COUNT 1000

static const ferry_op_table *table_of(void *dev)
{
    const void *table = NULL;

    return cuda->extension(dev, FERRY_OP_EXTENSION, &table) ? NULL : table;
}

/* y = |x|, whose kernel is in the first program. */
static ferry_op_desc absolute(void)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ COUNT }, 1, NULL);
    op.params.unary.function = FERRY_UNARY_ABS;
    return op;
}

struct rig {
    void *dev, *x, *y, *prepared;
    const ferry_op_table *table;
};

static int begin(struct rig *r)
{
    const ferry_op_desc op = absolute();
    float x[COUNT];

    r->dev = cuda_open(0);
    r->x = cuda_block(r->dev, sizeof(x));
    r->y = cuda_block(r->dev, sizeof(x));
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i % 2 ? i : -i);
    cuda_put(r->dev, r->x, x, sizeof(x));
    r->prepared = NULL;
    r->table = table_of(r->dev);
    return r->table ? r->table->create(r->dev, &op, &r->prepared) : FERRY_EUNSUPPORTED;
}

static int run(const struct rig *r)
{
    const ferry_cref in = driver_cref(r->x, 0);
    const ferry_ref out = driver_ref(r->y, 0);
    const ferry_op_run_args args = { .struct_size = sizeof(args), .in = &in, .out = &out };

    return r->table->run(r->dev, NULL, r->prepared, &args);
}

static bool is_right(const struct rig *r)
{
    float y[COUNT] = { 0 };
    bool right = true;

    cuda_get(r->dev, r->y, y, sizeof(y));
    for (int i = 0; i < COUNT; i++)
        right &= y[i] == (float)i;
    return right;
}

static void end(const struct rig *r)
{
    if (r->prepared)
        r->table->destroy(r->dev, r->prepared);
    cuda_free_block(r->dev, r->x);
    cuda_free_block(r->dev, r->y);
    cuda_close(r->dev);
}

/*
 * Computes on a device; checks whether its kernels are compiled, by the number of calls of
 * libnvrtc.
 */
static void compute(unsigned compiled)
{
    unsigned before = control->calls("nvrtcCompileProgram");
    struct rig r;

    CU_ASSERT_EQUAL(begin(&r), 0);
    if (r.prepared) {
        CU_ASSERT_EQUAL(run(&r), 0);
        CU_ASSERT(is_right(&r));
    }
    CU_ASSERT_EQUAL(control->calls("nvrtcCompileProgram") - before, compiled);
    end(&r);
}

/* ---- where they come from ------------------------------------------------------------------- */

static void a_program_is_compiled_once_per_device(void)
{
    const ferry_op_desc op = absolute();
    struct rig r;
    void *second = NULL;

    if (!cuda_load(1, true))
        return;
    driver_set("kernels", "compile");
    compute(1);
    CU_ASSERT_EQUAL_FATAL(begin(&r), 0);
    CU_ASSERT_EQUAL(r.table->create(r.dev, &op, &second), 0);
    CU_ASSERT_EQUAL(control->calls("nvrtcCompileProgram"), 2);
    r.table->destroy(r.dev, second);
    end(&r);
}

static void without_kernels_the_operations_table_is_absent(void)
{
    const void *table = NULL;
    void *dev;

    if (!cuda_load(1, true))
        return;
    driver_set("kernels", "off");
    dev = cuda_open(0);
    CU_ASSERT(driver_failed(cuda->extension(dev, FERRY_OP_EXTENSION, &table), FERRY_EUNSUPPORTED,
                            "option.kernels = off"));
    CU_ASSERT_EQUAL(cuda->extension(dev, "ferry.other/1", &table), FERRY_EUNSUPPORTED);
    CU_ASSERT_PTR_NULL(table);
    cuda_close(dev);
    driver_set("kernels", "perhaps");
    CU_ASSERT(driver_failed(cuda->device_open(NULL, 0, &dev), FERRY_ECONF, "auto|compile|off"));
}

/* Whether the device has a kernel for products of that dtype. */
static bool multiplies(void *dev, ferry_dtype dtype)
{
    const ferry_op_table *table = table_of(dev);
    ferry_op_answer answer = { .struct_size = sizeof(answer) };
    ferry_op_desc op;

    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    ferry_op_desc_init(&op, FERRY_OP_INNER_PRODUCT);
    op.n_in = 2;
    op.n_out = 1;
    op.in[0] = op.in[1] = op.out[0] = ferry_operand_make(dtype, (int64_t[]){ 4, 4 }, 2, NULL);
    return table->query(dev, &op, &answer) == 0;
}

static void tensor_cores_compute_halves_on_request(void)
{
    static const struct {
        const char *option, *capability;
        bool f16, bf16;
    } rows[] = { { "convert", "90", false, false },
                 { "tensor", "70", false, false },
                 { "tensor", "75", true, false },
                 { "tensor", "80", true, true },
                 { "tensor", "90", true, true } };
    void *dev;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (!cuda_load(1, true))
            return;
        setenv("CUDA_DOUBLE_CAPABILITY", rows[i].capability, 1);
        driver_set("kernels", "compile");
        driver_set("f16", rows[i].option);
        dev = cuda_open(0);
        CU_ASSERT_EQUAL(multiplies(dev, FERRY_F16), rows[i].f16);
        CU_ASSERT_EQUAL(multiplies(dev, FERRY_BF16), rows[i].bf16);
        CU_ASSERT(multiplies(dev, FERRY_F32));
        cuda_close(dev);
    }
    driver_set("f16", "half");
    CU_ASSERT(driver_failed(cuda->device_open(NULL, 0, &dev), FERRY_ECONF, "convert|tensor"));
}

static void failed_compilations_are_reported_and_retried(void)
{
    struct rig r;
    ferry_op_desc op = absolute();

    if (!cuda_load(1, true))
        return;
    driver_set("kernels", "compile");
    control->fail("nvrtcCompileProgram", 1, 6);
    CU_ASSERT(driver_failed(begin(&r), FERRY_EDEVICE, "nvrtcCompileProgram: NVRTC_ERROR_COMPIL"));
    control->fail("cuModuleLoadData", 1, CUDA_MEMORY_ALLOCATION);
    CU_ASSERT(driver_failed(r.table->create(r.dev, &op, &r.prepared), FERRY_ENOMEM,
                            "cuModuleLoadData: CUDA_ERROR_OUT_OF_MEMORY"));
    CU_ASSERT_EQUAL(r.table->create(r.dev, &op, &r.prepared), 0);
    CU_ASSERT_EQUAL(run(&r), 0);
    CU_ASSERT(is_right(&r));
    end(&r);
}

/*
 * Compiles a program by the real libnvrtc, which needs no device. Its double only checks names.
 */
static int compile_really(void *library, enum kernel_program program)
{
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *) = NULL;
    int (*compile)(void *, int, const char *const *) = NULL;
    int (*destroy)(void **) = NULL;
    static const char *const options[] = { "--gpu-architecture=compute_90", "-DVEC=4",
                                           "-DGROUP=128" };
    size_t count = kernel_program_lines(program, NULL), bytes = 1;
    const char **lines = malloc(count * sizeof(*lines));
    char *text, *at;
    void *p = NULL;
    int result;

    *(void **)(void *)&create = dlsym(library, "nvrtcCreateProgram");
    *(void **)(void *)&compile = dlsym(library, "nvrtcCompileProgram");
    *(void **)(void *)&destroy = dlsym(library, "nvrtcDestroyProgram");
    CU_ASSERT_FATAL(create && compile && destroy && lines);
    (void)kernel_program_lines(program, lines);
    for (size_t i = 0; i < count; i++)
        bytes += strlen(lines[i]);
    at = text = malloc(bytes);
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, lines[i]);
    result = create(&p, text, "ferry.cu", 0, NULL, NULL);
    if (!result)
        result = compile(p, 3, options);
    (void)destroy(&p);
    free(text);
    free(lines);
    return result;
}

static void the_vendors_compiler_accepts_every_program(void)
{
    void *library;

    if (getenv("FERRY_TEST_QUICK")) {
        ferry_test_skip("compiling all kernels takes seconds");
        return;
    }
    library = dlopen(NVRTC_PATH, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        ferry_test_skip("there is no %s", NVRTC_PATH);
        return;
    }
    for (int i = 0; i < PROGRAM_COUNT; i++)
        CU_ASSERT_EQUAL(compile_really(library, (enum kernel_program)i), 0);
}

/*
 * libnvrtc compiles for the device's architecture, or to PTX of an earlier one if it does not know
 * the device. It cannot compile for a device that is too old.
 */
static void kernels_are_compiled_for_the_device(void)
{
    static const char *const capabilities[] = { "75", "80", "86", "87", "90", "100", "103", "121" };
    struct rig r;

    for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
        if (!cuda_load(1, true))
            return;
        setenv("CUDA_DOUBLE_CAPABILITY", capabilities[i], 1);
        driver_set("kernels", "compile");
        compute(1);
    }
    if (!cuda_load(1, true))
        return;
    setenv("CUDA_DOUBLE_CAPABILITY", "61", 1);
    driver_set("kernels", "compile");
    CU_ASSERT(driver_failed(begin(&r), FERRY_EUNSUPPORTED, "support compute capability 6.1"));
    end(&r);
}

/* The kernels that nvcc built in may be for other devices, or for a newer driver. */
static void kernels_built_for_other_devices_are_compiled_again(void)
{
    static const int codes[] = { 209, 200, 218, 222, 221 };

    if (!cuda_load(1, true))
        return;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        unsigned before = control->calls("nvrtcCompileProgram");
        struct rig r;

        CU_ASSERT_EQUAL(begin(&r), 0);
        end(&r);
        if (control->calls("nvrtcCompileProgram") > before) {
            ferry_test_skip("no kernels are built in");
            return;
        }
        control->fail("cuModuleLoadData", 1, codes[i]);
        compute(1);
    }
}

/* ---- on disk -------------------------------------------------------------------------------- */

static char folder[64], file[384];

static void keep_in_a_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/ferry-kernels-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    setenv("FERRY_TEST_CACHE", folder, 1);
    driver_set("kernels", "compile");
}

/* Finds the only stored file. */
static bool find_file(void)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    int found = 0;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.') {
            snprintf(file, sizeof(file), "%s/%s", folder, entry->d_name);
            found++;
        }
    if (dir)
        closedir(dir);
    return found == 1;
}

static void flip(long at)
{
    FILE *f = fopen(file, "r+b");
    int byte;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    byte = fgetc(f);
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    fputc(byte ^ 1, f);
    fclose(f);
}

static void compiled_kernels_are_stored_and_reused(void)
{
    static const long places[] = { 0, 8, 12, 16, 24, 33, 60, -1 };
    struct stat s;

    if (!cuda_load(1, true))
        return;
    keep_in_a_folder();
    compute(1);
    CU_ASSERT_FATAL(find_file());
    CU_ASSERT_EQUAL(stat(file, &s), 0);
    CU_ASSERT_EQUAL(s.st_mode & 0777, 0600);
    compute(0);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        flip(places[i]);
        compute(1); /* and written again */
        compute(0);
    }
    CU_ASSERT_EQUAL(truncate(file, s.st_size / 2), 0);
    compute(1);
    CU_ASSERT_EQUAL(chmod(file, 0622), 0);
    compute(1);
    control->fail("cuModuleLoadData", 1, 200); /* CUDA_ERROR_INVALID_IMAGE */
    compute(1);
    unsetenv("FERRY_TEST_CACHE");
    CU_ASSERT(find_file() && !unlink(file) && !rmdir(folder));
}

/* A partly written file would be detected as damaged, but it must not be left. */
static void a_full_disk_leaves_no_partial_cache_file(void)
{
    struct rlimit before, little;

    if (!cuda_load(1, true))
        return;
    keep_in_a_folder();
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (rlim_t bytes = 0; bytes < 300; bytes += 100) {
        little = before;
        little.rlim_cur = bytes;
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &little), 0);
        compute(1);
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
        CU_ASSERT_FALSE(find_file());
        (void)unlink(file);
    }
    (void)signal(SIGXFSZ, SIG_DFL);
    compute(1);
    CU_ASSERT(find_file() && !unlink(file));
    unsetenv("FERRY_TEST_CACHE");
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

/* ---- launches ------------------------------------------------------------------------------- */

static void a_failed_launch_is_reported(void)
{
    ferry_op_run_args args = { .struct_size = sizeof(args) };
    const ferry_cref nothing = { NULL, 0 };
    struct rig r;
    ferry_ref out;

    if (!cuda_load(1, true))
        return;
    driver_set("kernels", "compile");
    CU_ASSERT_EQUAL_FATAL(begin(&r), 0);
    control->fail("cuLaunchKernel", 1, CUDA_MEMORY_ALLOCATION);
    CU_ASSERT(driver_failed(run(&r), FERRY_ENOMEM, "cuLaunchKernel: CUDA_ERROR_OUT_OF_MEMORY"));
    out = driver_ref(r.y, 0);
    args.in = &nothing;
    args.out = &out;
    CU_ASSERT(driver_failed(r.table->run(r.dev, NULL, r.prepared, &args), FERRY_EINVAL,
                            "an input: the reference is null"));
    CU_ASSERT_EQUAL(run(&r), 0);
    CU_ASSERT(is_right(&r));
    end(&r);
}

static void a_kernel_that_faults_loses_the_device(void)
{
    struct rig r;

    if (!cuda_load(1, true))
        return;
    driver_set("kernels", "compile");
    CU_ASSERT_EQUAL_FATAL(begin(&r), 0);
    control->fail_later("cuLaunchKernel", 1, CUDA_ILLEGAL_ADDRESS);
    CU_ASSERT_EQUAL(run(&r), 0);
    CU_ASSERT(driver_failed(cuda->synchronize(r.dev), FERRY_ELOST, "cudaErrorIllegalAddress"));
    CU_ASSERT_EQUAL(run(&r), FERRY_ELOST);
    r.table->destroy(r.dev, r.prepared);
    (void)cuda->free(r.dev, NULL, r.x);
    (void)cuda->free(r.dev, NULL, r.y);
    cuda->device_close(r.dev);
    CU_ASSERT_EQUAL(control->contexts(0), 0);
}

/* The double of the driver detects pointers that no device accepts. */
static void the_double_checks_the_arguments_of_a_launch(void)
{
    struct rig r, other;
    float on_the_host[4] = { 0 };

    if (!cuda_load(1, true))
        return;
    driver_set("kernels", "compile");
    CU_ASSERT_EQUAL_FATAL(begin(&r), 0);
    other = r;
    control->tolerate(1);
    other.x = on_the_host;
    CU_ASSERT_EQUAL(run(&other), FERRY_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(control->misuse(), "a device pointer is required"));
    other.x = cuda_block(r.dev, 64);
    cuda_free_block(r.dev, other.x);
    CU_ASSERT_EQUAL(run(&other), FERRY_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(control->misuse(), "was freed"));
    control->tolerate(0);
    CU_ASSERT_EQUAL(run(&r), 0);
    end(&r);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_program_is_compiled_once_per_device),
    FERRY_TEST(without_kernels_the_operations_table_is_absent),
    FERRY_TEST(failed_compilations_are_reported_and_retried),
    FERRY_TEST(tensor_cores_compute_halves_on_request),
    FERRY_TEST(the_vendors_compiler_accepts_every_program),
    FERRY_TEST(kernels_are_compiled_for_the_device),
    FERRY_TEST(kernels_built_for_other_devices_are_compiled_again),
    FERRY_TEST(compiled_kernels_are_stored_and_reused),
    FERRY_TEST(a_full_disk_leaves_no_partial_cache_file),
    FERRY_TEST(a_failed_launch_is_reported),
    FERRY_TEST(a_kernel_that_faults_loses_the_device),
    FERRY_TEST(the_double_checks_the_arguments_of_a_launch),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, cuda_suite("cuda kernels"), cases, FERRY_TEST_COUNT(cases));
}
