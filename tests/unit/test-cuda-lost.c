/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A device that a kernel of the program has really ended, in a process of its own, because the
 * process cannot use CUDA afterwards: on a GPU by an invalid address, on the doubles by their
 * equivalent.
 */

static const char faulty[] = ".version 7.3\n"
                             ".target sm_75\n"
                             ".address_size 64\n"
                             ".visible .entry ferry_test_fault()\n"
                             "{\n"
                             "    .reg .b64 %a;\n"
                             "    .reg .b32 %v;\n"
                             "    mov.u64 %a, 8;\n"
                             "    mov.u32 %v, 1;\n"
                             "    st.global.u32 [%a], %v;\n"
                             "    ret;\n"
                             "}\n";

typedef int launch_function(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, void *, void **, void **);

struct driver {
    int (*load)(void **, const void *), (*get)(void **, void *, const char *);
    launch_function *launch;
};

/* The driver's own functions, from the runtime's lookup, whose name and arguments have changed. */
static int entry(const char *name, void **out)
{
    int (*by_version)(const char *, void **, unsigned, unsigned long long, int *) = NULL;
    int (*plain)(const char *, void **, unsigned long long, int *) = NULL;
    void *library = cuda_library("libcudart");
    int found = 0;

    *(void **)(void *)&by_version = dlsym(library, "cudaGetDriverEntryPointByVersion");
    if (by_version)
        return by_version(name, out, 11030, 0, &found);
    *(void **)(void *)&plain = dlsym(library, "cudaGetDriverEntryPoint");
    return plain ? plain(name, out, 0, &found) : -1;
}

static int bind_driver(struct driver *d)
{
    return entry("cuModuleLoadData", (void **)(void *)&d->load) ||
           entry("cuModuleGetFunction", (void **)(void *)&d->get) ||
           entry("cuLaunchKernel", (void **)(void *)&d->launch);
}

/* 0, or the number of the step that failed. */
static int launch_fault(void *stream)
{
    void *module = NULL, *function = NULL;
    struct driver d;

    if (bind_driver(&d))
        return 10;
    if (d.load(&module, faulty))
        return 11;
    if (d.get(&function, module, "ferry_test_fault"))
        return 12;
    return d.launch(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL) ? 13 : 0;
}

/* Checks the result of every entry that submits or waits after the loss. */
static int all_say_lost(void *dev, void *block)
{
    float host[4] = { 0 };
    void *event = NULL;

    if (cuda->memset(dev, NULL, driver_ref(block, 0), 0, 16) != FERRY_ELOST)
        return 21;
    if (cuda->fill(dev, NULL, FERRY_F32, 4, 1, driver_ref(block, 0)) != FERRY_ELOST)
        return 22;
    if (cuda->memcpy(dev, NULL, FERRY_MEMCPY_D2H, driver_ref(host, 0), driver_cref(block, 0), 16) !=
        FERRY_ELOST)
        return 23;
    if (cuda->scal(dev, NULL, FERRY_F32, 4, 2, driver_ref(block, 0)) != FERRY_ELOST)
        return 24;
    if (cuda->asum(dev, NULL, FERRY_F32, 4, driver_cref(block, 0), driver_ref(block, 32)) !=
        FERRY_ELOST)
        return 25;
    if (cuda->event_record(dev, NULL, &event) != FERRY_ELOST)
        return 26;
    return cuda->queue_synchronize(dev, NULL) == FERRY_ELOST ? 0 : 27;
}

static int lose(void)
{
    void *dev, *block, *stream = NULL;
    int step;

    if (!cuda_load(1, false))
        return 77;
    dev = cuda_open(0);
    block = cuda_block(dev, 64);
    if (cuda->fill(dev, NULL, FERRY_F32, 16, 1, driver_ref(block, 0)) ||
        cuda->scal(dev, NULL, FERRY_F32, 16, 2, driver_ref(block, 0)) || cuda->synchronize(dev))
        return 1;
    if (rt.set_device(0) || cuda->native(dev, "cuda_stream", &stream, sizeof(stream)))
        return 2;
    step = launch_fault(stream);
    if (step)
        return step;
    if (!driver_failed(cuda->synchronize(dev), FERRY_ELOST, "the data on this device are lost"))
        return 3;
    step = all_say_lost(dev, block);
    (void)cuda->free(dev, NULL, block);
    cuda->device_close(dev); /* which must return */
    return step;
}

static void a_kernel_with_an_invalid_address_loses_the_device_for_its_process(void)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork(); /* before CUDA is initialised here, which does not survive a fork */
    if (child == 0)
        _exit(lose());
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        ferry_test_skip("there is no CUDA device");
    else
        CU_ASSERT_EQUAL(status, 0);
}

static void the_lost_device_affects_only_its_process(void)
{
    float host[4] = { 0 };
    void *dev, *block;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, 64);
    CU_ASSERT_EQUAL(cuda->fill(dev, NULL, FERRY_F32, 4, 3, driver_ref(block, 0)), 0);
    cuda_get(dev, block, host, sizeof(host));
    CU_ASSERT_EQUAL((double)host[3], 3);
    cuda_free_block(dev, block);
    cuda_close(dev);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_kernel_with_an_invalid_address_loses_the_device_for_its_process),
    FERRY_TEST(the_lost_device_affects_only_its_process),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, cuda_suite("cuda, a lost device"), cases,
                           FERRY_TEST_COUNT(cases));
}
