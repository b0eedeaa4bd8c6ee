/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include <stdlib.h>

/* owns: which addresses belong to the device. */

#define BYTES 5000

static void says(void *dev, const void *handle, int want)
{
    int said = kit.ops.owns(dev, handle);

    if (said < 0)
        kit_ok(said, "owns");
    if (said != want)
        kit_fail("owns returned %d, should be %d", said, want);
}

/* Blocks of two devices of the plugin: each only recognises its own. */
static void another_device_s_block_is_not_its_own(const void *ours)
{
    uint32_t index = kit.target->device == 0 ? 1 : 0, flags = 0;
    void *other, *theirs = NULL;

    if (kit.devices < 2)
        return;
    other = kit_open_device(index);
    kit_ok(kit.ops.alloc(other, NULL, BYTES, 0, &theirs, &flags), "alloc");
    kit_case("owns, asked of device %u for a block of device %u", kit.target->device, index);
    says(kit.dev, theirs, 0);
    says(other, theirs, 1);
    kit_case("owns, asked of device %u for a block of device %u", index, kit.target->device);
    says(other, ours, 0);
    kit_ok(kit.ops.free(other, NULL, theirs), "free");
    kit_ok(kit.ops.synchronize(other), "synchronize");
    kit.ops.device_close(other);
}

/* Numbers that are not addresses, at both ends; the entry must not dereference them. */
static void no_address(void)
{
    kit_case("owns of numbers that are not addresses");
    says(kit.dev, (const void *)(uintptr_t)8, 0);
    says(kit.dev, (const void *)UINTPTR_MAX, 0);
}

static void host_memory(void)
{
    static int global;
    void *plain = kit_host(BYTES), *pinned = NULL;
    uint32_t flags = 0;

    kit_case("owns of the program's own memory");
    says(kit.dev, plain, 0);
    says(kit.dev, &global, 0);
    says(kit.dev, &plain, 0);
    free(plain);
    if (!kit.ops.host_alloc)
        return;
    kit_ok(kit.ops.host_alloc(kit.dev, BYTES, 0, &pinned, &flags), "host_alloc");
    kit_case("owns of a block of host_alloc");
    says(kit.dev, pinned, 0);
    kit_ok(kit.ops.host_free(kit.dev, pinned), "host_free");
}

void kit_owns(void)
{
    char *block;

    if (!kit.ops.owns)
        return;
    block = kit_alloc(BYTES);
    kit_case("owns of a block of %d bytes", BYTES);
    says(kit.dev, block, 1);
    if (kit_is(FERRY_DEVICE_POINTERS)) {
        kit_case("owns of a pointer to the last byte of a block");
        says(kit.dev, block + BYTES - 1, 1);
    }
    host_memory();
    no_address();
    another_device_s_block_is_not_its_own(block);
    kit_free(block);
    kit_ok(kit.ops.synchronize(kit.dev), "synchronize");
    if (kit_is(FERRY_DEVICE_ORDERED_ALLOC)) /* the vendor may keep it, and still recognise it */
        return;
    kit_case("owns of a block that was freed");
    says(kit.dev, block, 0);
}
