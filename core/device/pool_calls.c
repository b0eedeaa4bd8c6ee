/* SPDX-License-Identifier: BSD-2-Clause */
/* The public functions for a device's storage: budget and trim. */
#include "config.h"

#include "core/device/pool.h"

#include "core/base/status.h"
#include "core/device/section.h"

int ferry_device_set_budget(ferry_device *dev, uint64_t bytes)
{
    int err;

    if (!dev)
        return ferry__error(FERRY_EINVAL, "ferry_device_set_budget: NULL device");
    err = ferry__device_usable(dev);
    return err ? err : ferry__pool_set_budget(dev->pool, bytes);
}

int ferry_device_make_room(ferry_device *dev, uint64_t bytes)
{
    int err;

    if (!dev)
        return ferry__error(FERRY_EINVAL, "ferry_device_make_room: NULL device");
    err = ferry__section_refuse("making room on a device");
    if (!err)
        err = ferry__device_usable(dev);
    if (err)
        return err;
    ferry__section_reap(&dev->queue);
    ferry__pool_relieve(dev->pool, bytes);
    return 0;
}

int ferry_device_trim(ferry_device *dev)
{
    int err;

    if (!dev)
        return ferry__error(FERRY_EINVAL, "ferry_device_trim: NULL device");
    err = ferry__device_usable(dev);
    if (err)
        return err;
    ferry__section_reap(&dev->queue);
    return ferry__pool_trim(dev->pool);
}
