/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_signals"
#include "good.h"

#include <signal.h>

static void ignore(int number)
{
    (void)number;
}

/* Changes the program's signals: installs a handler, ignores one, and blocks one. */
static int open_more(void *plugin, uint32_t index, void **out_dev)
{
    signal(SIGUSR1, ignore);
    return good_device_open(plugin, index, out_dev);
}

static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    signal(SIGUSR1, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    return good_axpy(dev, queue, dtype, n, alpha, x, y);
}

static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    sigset_t set;

    signal(SIGUSR1, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return good_memset(dev, queue, dst, byte, bytes);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->device_open = open_more;
    ops->axpy = axpy;
    ops->memset = set;
}
