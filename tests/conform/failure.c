/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Impossible requests are refused with a message and change nothing. */

enum { MOST_BLOCKS = 64 };

/* The check does not exhaust host memory. */
static uint64_t bytes_to_exhaust(void)
{
    uint64_t available = 0, total = 0;

    if (kit_is(FERRY_DEVICE_HOST_MEMORY) || kit_is(FERRY_DEVICE_UNIFIED))
        return 0;
    if (!kit.ops.memory_info || kit.ops.memory_info(kit.dev, &available, &total) != 0)
        available = kit.properties.memory_total;
    return available;
}

/* Allocates blocks until memory is short; all of them are usable and can be freed. */
static void exhaust(uint64_t available)
{
    uint64_t bytes = available / 16 + 64;
    void *blocks[MOST_BLOCKS];
    int n = 0, code = 0;

    if (kit.properties.max_alloc && bytes > kit.properties.max_alloc)
        bytes = kit.properties.max_alloc;
    for (; n < MOST_BLOCKS; n++) {
        uint32_t flags = 0;

        kit_case("alloc number %d of %" PRIu64 " bytes, until memory is short", n + 1, bytes);
        blocks[n] = NULL;
        code = kit.ops.alloc(kit.dev, NULL, bytes, 0, &blocks[n], &flags);
        if (code)
            break;
        if (!blocks[n])
            kit_fail("returned 0 and a NULL handle; FERRY_ENOMEM reports that memory is short");
    }
    if (code && kit_refused(code, "alloc") != FERRY_ENOMEM)
        kit_fail("returned %s; FERRY_ENOMEM reports that memory is short", kit_code_name(code));
    while (n-- > 0)
        kit_free(blocks[n]);
    kit_still_works("memory was short and all of it was freed");
}

static void no_such_device(void)
{
    void *dev = NULL;

    kit_case("device_open(%u), of %u devices", kit.devices, kit.devices);
    kit_options_allowed(true);
    kit_refused(kit.ops.device_open(kit.ops.plugin, kit.devices, &dev), "device_open");
    kit_options_allowed(false);
    kit_still_works("that");
}

/* FERRY_EUNSUPPORTED means that nothing was done. */
static void integer_arithmetic(void)
{
    struct mirror x, y;
    int code;

    kit_case("axpy I32, which is optional");
    mirror_create(&x, 400, 1);
    mirror_create(&y, 400, 2);
    code = kit.ops.axpy(kit.dev, NULL, FERRY_I32, 100, 2, mirror_cref(&x, 0), mirror_ref(&y, 0));
    if (code != 0) {
        if (kit_refused(code, "axpy") != FERRY_EUNSUPPORTED)
            kit_fail("returned %s, should be FERRY_EUNSUPPORTED", kit_code_name(code));
        mirror_check(&y);
    }
    kit_wait(NULL);
    mirror_destroy(&x);
    mirror_destroy(&y);
    kit_case("axpy of dtype 1000");
    mirror_create(&y, 400, 2);
    code = kit_refused(
        kit.ops.axpy(kit.dev, NULL, 1000, 1, 1, mirror_cref(&y, 0), mirror_ref(&y, 0)), "axpy");
    if (code != FERRY_EUNSUPPORTED)
        kit_fail("returned %s; an unknown dtype must give FERRY_EUNSUPPORTED", kit_code_name(code));
    mirror_check(&y);
    mirror_destroy(&y);
}

static void vendor_objects(void)
{
    char out[64];
    int code;

    if (!kit.ops.native)
        return;
    kit_case("native(\"no such object\")");
    code = kit_refused(kit.ops.native(kit.dev, "no such object", out, sizeof(void *)), "native");
    if (code != FERRY_EUNSUPPORTED)
        kit_fail("returned %s; an unknown name must give FERRY_EUNSUPPORTED", kit_code_name(code));
}

void group_failure(void)
{
    uint64_t available;

    kit_open();
    kit_too_much();
    available = bytes_to_exhaust();
    if (available)
        exhaust(available);
    no_such_device();
    integer_arithmetic();
    vendor_objects();
    kit_remark("%s",
               available ? "memory was exhausted and freed" : "host memory was not exhausted");
}
