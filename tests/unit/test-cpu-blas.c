/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "ferry-test.h"
#include <ferry/ferry.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* When the CPU plugin loads its BLAS, and its behaviour if the BLAS cannot start its threads. Each
 * program runs in a process of its own, because a library is loaded permanently. */

#define N 200

static char heard[4096]; /* of the log */
static ferry_runtime *rt;
static ferry_device *dev;

static void hear(void *arg, int level, const char *line)
{
    size_t used = strlen(heard);

    (void)arg;
    (void)level;
    snprintf(heard + used, sizeof(heard) - used, "%s\n", line);
}

static int open_cpu(void)
{
    const ferry_runtime_options options = { .struct_size = sizeof(options), .backend = "cpu" };
    int err = ferry_runtime_open(&options, &rt);

    return err ? err : ferry_runtime_get_device(rt, NULL, &dev);
}

/* Whether a library with that text in its name is loaded in this process. */
static bool is_loaded(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool found = false;

    while (maps && !found && fgets(line, sizeof(line), maps))
        found = strstr(line, name) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

static ferry_blob *ones(void)
{
    const int64_t shape[] = { N, N };
    ferry_blob *b = NULL;

    if (ferry_blob_create(dev, FERRY_F32, shape, 2, &b) || ferry_blob_fill_data(b, 1))
        return NULL;
    return b;
}

/* Whether every element of c = a·b of ones is N. */
static bool multiplies(void)
{
    ferry_blob *a = ones(), *b = ones(), *c = ones();
    double sum = 0;
    bool right;

    if (!a || !b || !c)
        return false;
    right = !ferry_math_gemm(ferry_device_queue(dev), FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS, N,
                             N, N, 1, ferry_blob_device_data(a), N, ferry_blob_device_data(b), N, 0,
                             ferry_blob_overwrite_device_data(c), N) &&
            !ferry_blob_asum_data(c, &sum) && sum == N * N * N;
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    ferry_blob_destroy(c);
    return right;
}

/* ---- programs: 0, or what went wrong -------------------------------------------------------- */

static int without_matrices(void)
{
    double sum = 0;
    ferry_blob *b;

    if (open_cpu())
        return 1;
    b = ones();
    if (!b || ferry_blob_scale_data(b, 2) || ferry_blob_asum_data(b, &sum) || sum != 2 * N * N)
        return 2;
    ferry_blob_destroy(b);
    if (is_loaded("openblas"))
        return 3;
    if (!multiplies())
        return 4;
    if (!is_loaded("openblas"))
        return 5;
    ferry_runtime_close(rt);
    return 0;
}

/* From here on no thread and no process can be started, as under a limit. */
static bool forbid_threads(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_clone3
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define CANNOT_FORBID 99

static int without_threads(void)
{
    ferry_log_set_handler(hear, NULL);
    if (!forbid_threads())
        return CANNOT_FORBID;
    if (open_cpu())
        return 1;
    if (!multiplies())
        return 2;
    if (ferry_test_processors() > 1 && !strstr(heard, "computes matrices on one thread"))
        return 3;
    return getenv("OPENBLAS_NUM_THREADS") ? 4 : 0; /* unchanged since the program set it */
}

/* From here on the process can allocate that many bytes more. */
static bool forbid_memory(size_t more)
{
    const long page = sysconf(_SC_PAGESIZE);
    FILE *statm = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;
    bool known = statm && fscanf(statm, "%lu", &pages) == 1;
    struct rlimit limit;

    if (statm)
        fclose(statm);
    limit.rlim_cur = limit.rlim_max = (rlim_t)pages * (rlim_t)page + more;
    /* qemu-user accepts the limit and ignores it */
    return known && setrlimit(RLIMIT_AS, &limit) == 0 &&
           mmap(NULL, more + ((size_t)1 << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
               MAP_FAILED;
}

/* Multiplies with a limit of that many further bytes, and checks the log; 0: success. */
static int multiply_within(size_t more)
{
    ferry_log_set_handler(hear, NULL);
    alarm(60);
    if (!forbid_memory(more))
        return CANNOT_FORBID;
    if (open_cpu())
        return 1;
    return multiplies() ? 0 : 2;
}

/* The limit allows the library to be loaded, but its buffers cannot be allocated. */
static int without_memory(void)
{
    int result = multiply_within((size_t)120 << 20);

    if (result)
        return result;
    return strstr(heard, "matrices are computed without it") ? 0 : 3;
}

/* The limit allows the buffers of the calling thread, but no further threads. */
static int without_much_memory(void)
{
    int result = multiply_within((size_t)300 << 20);

    if (result)
        return result;
    if (ferry_test_processors() > 1 && !strstr(heard, "computes matrices on one thread"))
        return 3;
    return is_loaded("openblas") ? 0 : 4;
}

static int without_a_library(void)
{
    const char *want = "libnone.so.9: cannot open shared object file";

    if (ferry_runtime_open(NULL, &rt) ||
        ferry_runtime_set_option(rt, "cpu", "blas", "libnone.so.9"))
        return 1;
    if (ferry_runtime_get_device(rt, "cpu", &dev) != FERRY_EPLUGIN)
        return 2;
    return strstr(ferry_last_error(), want) ? 0 : 3;
}

/* ---- cases ---------------------------------------------------------------------------------- */

/* In a new process: its result, or the negative signal that ended it. */
static int run(int (*program)(void))
{
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        int result = program();

        if (result)
            fprintf(stderr, "%s\n%s", ferry_last_error(), heard);
        _exit(result);
    }
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void the_first_matrix_product_loads_blas(void)
{
    CU_ASSERT_EQUAL(run(without_matrices), 0);
}

static void check_limited(int (*program)(void), const char *by)
{
    int result = run(program);

    if (result == CANNOT_FORBID)
        ferry_test_skip("%s: %s", by, strerror(errno));
    else
        CU_ASSERT_EQUAL(result, 0);
}

static void a_process_that_cannot_create_threads_computes_on_one(void)
{
    check_limited(without_threads, "seccomp");
}

static void blas_is_not_called_if_it_would_wait_for_memory(void)
{
    check_limited(without_memory, "setrlimit");
}

static void the_number_of_blas_threads_is_limited_by_memory(void)
{
    check_limited(without_much_memory, "setrlimit");
}

static void a_missing_blas_is_reported_when_the_plugin_opens(void)
{
    CU_ASSERT_EQUAL(run(without_a_library), 0);
}

int main(int argc, char **argv)
{
    static const ferry_test_case cases[] = {
        FERRY_TEST(the_first_matrix_product_loads_blas),
        FERRY_TEST(a_process_that_cannot_create_threads_computes_on_one),
        FERRY_TEST(blas_is_not_called_if_it_would_wait_for_memory),
        FERRY_TEST(the_number_of_blas_threads_is_limited_by_memory),
        FERRY_TEST(a_missing_blas_is_reported_when_the_plugin_opens),
    };
    if (!ferry_test_is_built("cpu")) {
        printf("ferry-test: cpu-blas: 0 passed, 0 failed, 1 skipped\n");
        return 77;
    }
    return ferry_test_main(argc, argv, "cpu-blas", cases, FERRY_TEST_COUNT(cases));
}
