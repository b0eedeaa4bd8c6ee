/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_habits"
#include "good.h"

#include <sys/stat.h>

/* Changes the working directory and the umask. */
static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    if (chdir("/") != 0)
        return good_host->error(FERRY_EDEVICE, "chdir failed");
    return good_memset(dev, queue, dst, byte, bytes);
}

static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    umask(0);
    return good_axpy(dev, queue, dtype, n, alpha, x, y);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memset = set;
    ops->axpy = axpy;
}
