/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/runtime/runtime.h"

#include "core/base/status.h"
#include "core/device/device.h"

/* As ferry__device_ask; 0 for a device that is not there to be asked. */
static int ask(ferry_device *dev, const void *handle)
{
    int said;

    if (ferry__device_is_closed(dev) || ferry__device_lost(dev))
        return 0;
    said = ferry__device_usable(dev);
    if (!said)
        said = ferry__device_ask(dev, handle);
    return said == FERRY_ELOST || said == FERRY_EUNSUPPORTED ? 0 : said;
}

int ferry_runtime_owner(ferry_runtime *rt, const void *handle, ferry_device **out)
{
    const struct ferry__held *held;
    ferry_device *owner = NULL;
    int err = 0;

    if (!rt || !handle || !out)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_owner: %s is NULL",
                            !rt       ? "rt"
                            : !handle ? "handle"
                                      : "out");
    ferry__runtime_lock(rt);
    held = rt->devices; /* grows at this end only, until the runtime is closed */
    ferry__runtime_unlock(rt);
    for (; held && !owner; held = held->next) {
        int said = ask(held->dev, handle);

        if (said > 0)
            owner = held->dev;
        else if (said < 0)
            err = said;
    }
    if (!owner && err)
        return err;
    *out = owner;
    return 0;
}
