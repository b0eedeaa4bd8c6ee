/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_process"
#include "good.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>

/* Each entry works, and changes state of the process: a different one each. */

static int scal(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x)
{
    float *at = (float *)(void *)good_at(x.handle, x.offset);

    (void)dev, (void)queue;
    setenv("BAD_PROCESS", "1", 1);
    for (int64_t i = 0; i < n && dtype == FERRY_F32; i++)
        at[i] = (float)alpha * at[i];
    return dtype == FERRY_F32 ? 0 : FERRY_EUNSUPPORTED;
}

static int fill(void *dev, void *queue, uint32_t dtype, int64_t n, double value, ferry_ref x)
{
    float *at = (float *)(void *)good_at(x.handle, x.offset);
    struct rlimit files;

    (void)dev, (void)queue;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 200;
    setrlimit(RLIMIT_NOFILE, &files);
    for (int64_t i = 0; i < n && dtype == FERRY_F32; i++)
        at[i] = (float)value;
    return dtype == FERRY_F32 ? 0 : FERRY_EUNSUPPORTED;
}

static int copy(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y)
{
    (void)dev, (void)queue;
    close(STDIN_FILENO);
    if (dtype != FERRY_F32)
        return FERRY_EUNSUPPORTED;
    memmove(good_at(y.handle, y.offset), good_at(x.handle, x.offset), (size_t)n * 4);
    return 0;
}

static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    static bool forked;

    if (!forked && fork() == 0)
        _exit(0);
    forked = true;
    return good_axpy(dev, queue, dtype, n, alpha, x, y);
}

static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    const struct itimerval hour = { .it_value = { 3600, 0 } };

    setitimer(ITIMER_REAL, &hour, NULL);
    return good_memset(dev, queue, dst, byte, bytes);
}

/* Pins the thread to its current processor. */
static int move(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                uint64_t bytes)
{
    cpu_set_t here;

    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    if (kind == FERRY_MEMCPY_D2D)
        sched_setaffinity(0, sizeof(here), &here);
    return good_memcpy(dev, queue, kind, dst, src, bytes);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->scal = scal;
    ops->fill = fill;
    ops->copy = copy;
    ops->axpy = axpy;
    ops->memset = set;
    ops->memcpy = move;
}
