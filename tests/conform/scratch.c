/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include <stdlib.h>

/*
 * host->scratch: blocks of the device under test, freed when this thread has waited for all work.
 */

struct lent {
    struct lent *next;
    void *handle;
};

static _Thread_local struct lent *lent;

int kit_scratch(uint64_t bytes, void **out_handle)
{
    bool may = kit.dev && bytes && kit_is(FERRY_DEVICE_SCRATCH);
    struct lent *l = kit_host(sizeof(*l));
    uint32_t flags = 0;
    int code = may ? kit.ops.alloc(kit.dev, NULL, bytes, 0, &l->handle, &flags) : FERRY_EINVAL;

    if (!code && kit_is(FERRY_DEVICE_ORDERED_ALLOC))
        code = kit.ops.synchronize(kit.dev);
    if (code) {
        free(l);
        return code;
    }
    l->next = lent;
    lent = l;
    *out_handle = l->handle;
    return 0;
}

void kit_scratch_end(void)
{
    struct lent *l;

    if (lent)
        kit_ok(kit.ops.synchronize(kit.dev), "synchronize");
    while ((l = lent)) {
        lent = l->next;
        kit_free(l->handle);
        free(l);
    }
}
