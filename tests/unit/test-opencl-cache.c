/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiled kernels on disk: they are used again, and ignored when they are damaged, belong to
 * another driver, or are stored where other users can write. Each computation runs in a process of
 * its own, which compiles if necessary.
 */
#define _GNU_SOURCE
#include "ferry-test.h"

#include <ferry/ferry.h>
#include <ferry/op.h>

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[64], folder[96], file[384];

/* ---- a process ------------------------------------------------------------------------------ */

#define BUILT 10 /* coded in the exit status */
#define TAKEN 11

static int came = 1, builds;

static void listen(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    if (strstr(line, "kernels built with")) {
        came = BUILT;
        builds++;
    } else if (strstr(line, folder) && strstr(line, ": taken"))
        came = TAKEN;
}

/* Computes random numbers, which have the smallest kernel. Returns whether they are in range. */
static int compute(ferry_device *dev)
{
    ferry_operation_args args = { .struct_size = sizeof args, .seed = 1 };
    ferry_operation_location out = { NULL, 0 };
    ferry_operation *operation;
    const float *y;
    ferry_op_desc op;
    int good;

    ferry_op_desc_init(&op, FERRY_OP_RANDOM);
    op.n_out = 1;
    op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 8 }, 1, NULL);
    op.params.random.a = 2;
    op.params.random.b = 3;
    args.out = &out;
    if (ferry_memory_create(dev, 8 * sizeof(float), &out.memory) ||
        ferry_operation_create(dev, &op, &operation) || ferry_operation_run(operation, NULL, &args))
        return 0;
    y = ferry_memory_host_data(out.memory);
    good = y && y[0] >= 2 && y[7] < 3;
    ferry_operation_destroy(operation);
    ferry_memory_release(out.memory);
    return good;
}

static ferry_operand images(int64_t channels)
{
    return ferry_operand_make(FERRY_F32, (int64_t[]){ 1, channels, 4, 4 }, 4, NULL);
}

/*
 * Creates the operations of a net of a convolution, an activation, a pool and a softmax. Returns
 * how many succeeded.
 */
static int create_forward(ferry_device *dev)
{
    static const uint32_t kinds[] = { FERRY_OP_CONVOLUTION, FERRY_OP_UNARY, FERRY_OP_POOL,
                                      FERRY_OP_SOFTMAX };
    int good = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        bool is_window = kinds[i] == FERRY_OP_CONVOLUTION || kinds[i] == FERRY_OP_POOL;
        ferry_operation *operation = NULL;
        ferry_op_desc op;

        ferry_op_desc_init(&op, kinds[i]);
        op.n_in = kinds[i] == FERRY_OP_CONVOLUTION ? 2 : 1;
        op.n_out = 1;
        op.in[0] = op.out[0] = images(8);
        op.in[1] = ferry_operand_make(FERRY_F32, (int64_t[]){ 8, 8, 1, 1 }, 4, NULL);
        if (is_window)
            op.params.window = (ferry_op_window){
                .axes = 2, .group = 1, .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }
            };
        else if (kinds[i] == FERRY_OP_SOFTMAX)
            op.params.softmax.axis = 1;
        good += ferry_operation_create(dev, &op, &operation) == 0;
        ferry_operation_destroy(operation);
    }
    return good;
}

static bool open_device(const char *cache, ferry_runtime **out, ferry_device **out_dev)
{
    setenv("FERRY_LOG", "debug", 1);
    ferry_log_set_handler(listen, NULL);
    return !ferry_runtime_open(NULL, out) &&
           !ferry_runtime_set_option(*out, "opencl", "cache", cache) &&
           !ferry_runtime_get_device(*out, "opencl", out_dev);
}

static int whole_process(const char *cache)
{
    ferry_runtime *rt;
    ferry_device *dev;

    if (!open_device(cache, &rt, &dev))
        return 77;
    if (!compute(dev))
        came = 2;
    ferry_runtime_close(rt);
    return came;
}

/* How many programs a forward pass compiles. */
static int forward_process(const char *cache)
{
    ferry_runtime *rt;
    ferry_device *dev;

    if (!open_device(cache, &rt, &dev))
        return 77;
    if (create_forward(dev) != 4)
        builds = 78;
    ferry_runtime_close(rt);
    return builds;
}

static pid_t start_as(int (*process)(const char *), const char *cache)
{
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(process(cache));
    return child;
}

static pid_t start(const char *cache)
{
    return start_as(whole_process, cache);
}

static int finish(pid_t child)
{
    int status = 0;

    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int process(void)
{
    return finish(start("on"));
}

/* ---- the folder ----------------------------------------------------------------------------- */

/* The number of files in the cache; `file` gets the path of one. */
static int count_files(void)
{
    DIR *dir = opendir(folder);
    int n = 0;

    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            snprintf(file, sizeof file, "%s/%s", folder, e->d_name);
            n++;
        }
    if (dir)
        closedir(dir);
    return n;
}

static void begin(void)
{
    snprintf(root, sizeof root, "/tmp/ferry-cache-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/ferry", root);
    setenv("XDG_CACHE_HOME", root, 1);
}

static void end(void)
{
    while (count_files() > 0 && !unlink(file))
        ;
    (void)rmdir(folder);
    CU_ASSERT_EQUAL(rmdir(root), 0); /* the folder contains nothing else */
}

static long read_file(unsigned char *bytes, size_t most)
{
    FILE *f = fopen(file, "rb");
    long n = f ? (long)fread(bytes, 1, most, f) : -1;

    if (f)
        fclose(f);
    return n;
}

static void write_file(const unsigned char *bytes, long n)
{
    FILE *f = fopen(file, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, (size_t)n, f), (size_t)n);
    fclose(f);
}

/* ---- cases ---------------------------------------------------------------------------------- */

static void compiled_programs_are_reused_by_the_next_process(void)
{
    struct stat s;
    int first;

    begin();
    first = process();
    if (first == 77) {
        ferry_test_skip("no OpenCL device");
        end();
        return;
    }
    CU_ASSERT_EQUAL(first, BUILT);
    CU_ASSERT_EQUAL(count_files(), 1);
    CU_ASSERT_EQUAL(stat(folder, &s), 0);
    CU_ASSERT_EQUAL(s.st_mode & 07777, 0700);
    CU_ASSERT_EQUAL(stat(file, &s), 0);
    CU_ASSERT_EQUAL(s.st_mode & 07777, 0600);
    CU_ASSERT_EQUAL(process(), TAKEN);
    CU_ASSERT_EQUAL(count_files(), 1);
    end();
}

/* Damages each field of the header, the key and the binary; also sizes that do not fit. */
static void a_program_of_a_damaged_file_is_built_again(void)
{
    static unsigned char bytes[1 << 22], wrong[1 << 22];
    long n, places[] = { 0, 8, 12, 16, 24, 40, 5000, -1 };

    begin();
    if (process() != BUILT) {
        ferry_test_skip("no OpenCL device");
        end();
        return;
    }
    CU_ASSERT_EQUAL(count_files(), 1);
    n = read_file(bytes, sizeof bytes);
    CU_ASSERT_FATAL(n > 5000 && n < (long)sizeof bytes);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        long place = places[i] < 0 ? n - 1 : places[i];

        memcpy(wrong, bytes, (size_t)n);
        wrong[place] ^= 1;
        write_file(wrong, n);
        CU_ASSERT_EQUAL(process(), BUILT);
    }
    for (long size = 0; size <= n + 1; size += size ? n / 2 + 1 : 31) {
        bytes[n] = 0;
        write_file(bytes, size);
        CU_ASSERT_EQUAL(process(), BUILT);
    }
    CU_ASSERT_EQUAL(process(), TAKEN); /* each of them was replaced by a valid one */
    end();
}

/* An intact file with another key than the requested one. */
static void a_program_of_another_driver_is_built_again(void)
{
    static unsigned char bytes[1 << 22];
    uint64_t sum = UINT64_C(14695981039346656037);
    long n;

    begin();
    if (process() != BUILT) {
        ferry_test_skip("no OpenCL device");
        end();
        return;
    }
    CU_ASSERT_EQUAL(count_files(), 1);
    n = read_file(bytes, sizeof bytes);
    bytes[33] ^= 1;
    for (long i = 32; i < n; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(1099511628211);
    memcpy(bytes + 24, &sum, sizeof sum);
    write_file(bytes, n);
    CU_ASSERT_EQUAL(process(), BUILT);
    CU_ASSERT_EQUAL(process(), TAKEN);
    end();
}

static void world_writable_files_are_not_trusted(void)
{
    begin();
    if (process() != BUILT) {
        ferry_test_skip("no OpenCL device");
        end();
        return;
    }
    CU_ASSERT_EQUAL(count_files(), 1);
    CU_ASSERT_EQUAL(chmod(file, 0622), 0);
    CU_ASSERT_EQUAL(process(), BUILT);
    CU_ASSERT_EQUAL(process(), TAKEN);
    CU_ASSERT_EQUAL(chmod(folder, 0777), 0);
    CU_ASSERT_EQUAL(process(), BUILT);
    CU_ASSERT_EQUAL(chmod(folder, 0700), 0);
    end();
}

static void without_a_cache_folder_kernels_are_compiled(void)
{
    begin();
    setenv("XDG_CACHE_HOME", "/dev/null/nowhere", 1);
    if (process() == 77)
        ferry_test_skip("no OpenCL device");
    else
        CU_ASSERT_EQUAL(process(), BUILT);
    setenv("XDG_CACHE_HOME", root, 1);
    if (finish(start("off")) != 77)
        CU_ASSERT_EQUAL(count_files(), 0);
    end();
}

static void two_concurrent_processes_write_one_valid_file(void)
{
    pid_t one, two;
    int first;

    begin();
    one = start("on");
    two = start("on");
    first = finish(one);
    if (first == 77) {
        (void)finish(two);
        ferry_test_skip("no OpenCL device");
        end();
        return;
    }
    CU_ASSERT(first == BUILT || first == TAKEN);
    first = finish(two);
    CU_ASSERT(first == BUILT || first == TAKEN);
    CU_ASSERT_EQUAL(count_files(), 1);
    CU_ASSERT_EQUAL(process(), TAKEN);
    end();
}

/* Each program costs a start of the compiler in every process. */
static void a_forward_pass_is_one_program(void)
{
    int programs = finish(start_as(forward_process, "off"));

    if (programs == 77)
        ferry_test_skip("no OpenCL device");
    else
        CU_ASSERT_EQUAL(programs, 1);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(compiled_programs_are_reused_by_the_next_process),
    FERRY_TEST(a_program_of_a_damaged_file_is_built_again),
    FERRY_TEST(a_program_of_another_driver_is_built_again),
    FERRY_TEST(world_writable_files_are_not_trusted),
    FERRY_TEST(without_a_cache_folder_kernels_are_compiled),
    FERRY_TEST(two_concurrent_processes_write_one_valid_file),
    FERRY_TEST(a_forward_pass_is_one_program),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "OpenCL cache", cases, FERRY_TEST_COUNT(cases));
}
