/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* alloc, free; host_alloc, host_free. */

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t sizes[] = { 1,
                                  2,
                                  3,
                                  7,
                                  8,
                                  63,
                                  64,
                                  65,
                                  127,
                                  1000,
                                  4095,
                                  4096,
                                  4097,
                                  65535,
                                  65537,
                                  1000003,
                                  1u << 20,
                                  (1u << 20) + 1,
                                  (8u << 20) + 64 };

/* A block must be usable to the last byte, and zero if the plugin reports that. */
static void *alloc_checked(uint64_t bytes, uint32_t flags)
{
    void *handle = NULL;
    uint32_t out_flags = 0;

    kit_ok(kit.ops.alloc(kit.dev, NULL, bytes, flags, &handle, &out_flags), "alloc");
    if (!handle)
        kit_fail("returned 0 and a NULL handle");
    if ((kit_is(FERRY_DEVICE_POINTERS) || kit_is(FERRY_DEVICE_HOST_MEMORY)) &&
        (uintptr_t)handle % 64 != 0)
        kit_fail("%p is not aligned to 64 bytes; a plugin whose handles are objects, not pointers, "
                 "needs a properties entry without FERRY_DEVICE_POINTERS",
                 handle);
    if (out_flags & ~FERRY_ALLOC_WAS_ZEROED)
        kit_fail("*out_flags is 0x%x; only FERRY_ALLOC_WAS_ZEROED (1) has a meaning", out_flags);
    if (out_flags & FERRY_ALLOC_WAS_ZEROED) {
        unsigned char *bytes_there = kit_host(bytes);

        memset(bytes_there, 1, bytes);
        kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ bytes_there, 0 },
                              (ferry_cref){ handle, 0 }, bytes),
               "memcpy D2H");
        kit_wait(NULL);
        for (uint64_t i = 0; i < bytes; i++)
            if (bytes_there[i])
                kit_fail("reported FERRY_ALLOC_WAS_ZEROED, but byte %" PRIu64 " is 0x%02x", i,
                         bytes_there[i]);
        free(bytes_there);
    }
    return handle;
}

static void every_size_is_there_to_its_last_byte(void)
{
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (uint32_t flags = 0; flags <= FERRY_ALLOC_ZERO; flags++) {
            struct mirror m = { .bytes = sizes[i], .end = sizes[i] };

            if (kit.properties.max_alloc && sizes[i] > kit.properties.max_alloc)
                continue;
            kit_case("alloc of %" PRIu64 " bytes, flags %u", sizes[i], flags);
            m.handle = alloc_checked(sizes[i], flags);
            m.want = kit_host(sizes[i]);
            m.got = kit_host(sizes[i]);
            kit_pattern(m.want, sizes[i], (unsigned)i);
            mirror_upload(&m);
            mirror_check(&m);
            mirror_destroy(&m);
        }
}

/* Zeroing or allocating one block must not change another. */
static void neighbours_stay_as_they_are(void)
{
    enum { BLOCKS = 48 };
    struct mirror blocks[BLOCKS];

    kit_case("%d blocks at once", BLOCKS);
    for (unsigned i = 0; i < BLOCKS; i++) {
        mirror_create(&blocks[i], 1 + i * 67 % 700, i);
        for (unsigned k = 0; k < i; k++)
            if (blocks[k].handle == blocks[i].handle)
                kit_fail("two live blocks have the handle %p", blocks[i].handle);
    }
    for (unsigned i = 0; i < BLOCKS; i += 3) {
        kit_case("alloc of a block between live ones");
        mirror_destroy(&blocks[i]);
        mirror_create(&blocks[i], 1 + i * 41 % 600, 100 + i);
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        kit_case("block %u of %d after its neighbours were allocated, freed and written", i,
                 BLOCKS);
        mirror_check(&blocks[i]);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        mirror_destroy(&blocks[(i * 7) % BLOCKS]); /* in a different order */
}

static void blocks_are_counted(void)
{
    ferry_plugin_counters before, now;
    void *blocks[3];

    kit_case("counters around 3 allocs of 1000 bytes");
    if (!kit_counters(&before))
        return;
    for (int i = 0; i < 3; i++)
        blocks[i] = kit_alloc(1000);
    kit_counters(&now);
    if (now.live_blocks != before.live_blocks + 3)
        kit_fail("live_blocks went from %" PRIu64 " to %" PRIu64, before.live_blocks,
                 now.live_blocks);
    if (now.live_bytes < before.live_bytes + 3000)
        kit_fail("live_bytes went from %" PRIu64 " to %" PRIu64, before.live_bytes, now.live_bytes);
    for (int i = 0; i < 3; i++)
        kit_free(blocks[i]);
    kit_case("counters after 3 frees");
    kit_counters(&now);
    if (now.live_blocks != before.live_blocks || now.live_bytes != before.live_bytes)
        kit_fail("live_blocks is %" PRIu64 " and live_bytes %" PRIu64 ", were %" PRIu64
                 " and %" PRIu64 " before",
                 now.live_blocks, now.live_bytes, before.live_blocks, before.live_bytes);
}

/* Checks that the program may access blocks of a host-memory device. */
static void host_memory_is_host_memory(void)
{
    struct mirror m;

    if (!kit_is(FERRY_DEVICE_HOST_MEMORY))
        return;
    mirror_create(&m, 10000, 5);
    kit_case("FERRY_DEVICE_HOST_MEMORY: reading a block of 10000 bytes through its handle");
    if (memcmp(m.handle, m.want, m.bytes) != 0)
        kit_fail("the bytes that memcpy H2D wrote are missing");
    kit_pattern(m.want, m.bytes, 6);
    memcpy(m.handle, m.want, m.bytes);
    kit_case("FERRY_DEVICE_HOST_MEMORY: bytes that the host wrote through the handle");
    mirror_check(&m);
    mirror_destroy(&m);
}

static void pinned_memory(uint64_t bytes, uint32_t flags)
{
    unsigned char *p = NULL;
    uint32_t out_flags = 0;

    kit_case("host_alloc of %" PRIu64 " bytes, flags %u", bytes, flags);
    kit_ok(kit.ops.host_alloc(kit.dev, bytes, flags, (void **)(void *)&p, &out_flags),
           "host_alloc");
    if (!p)
        kit_fail("returned 0 and NULL");
    if ((uintptr_t)p % 64 != 0)
        kit_fail("%p is not aligned to 64 bytes", (void *)p);
    for (uint64_t i = 0; i < bytes && (out_flags & FERRY_ALLOC_WAS_ZEROED); i++)
        if (p[i])
            kit_fail("reported FERRY_ALLOC_WAS_ZEROED, but byte %" PRIu64 " is 0x%02x", i, p[i]);
    memset(p, 0x5a, bytes);
    kit_ok(kit.ops.host_free(kit.dev, p), "host_free");
}

void kit_still_works(const char *after)
{
    struct mirror m;

    kit_case("alloc, copies and free after %s", after);
    mirror_create(&m, 5000, 1);
    mirror_check(&m);
    mirror_destroy(&m);
}

static void too_much(uint64_t bytes, bool host)
{
    ferry_plugin_counters before, after;
    void *handle = &before, *untouched = handle;
    const char *entry = host ? "host_alloc" : "alloc";
    uint32_t flags = 0;
    int code;

    kit_case("%s of %" PRIu64 " bytes, more than the device's memory", entry, bytes);
    kit_counters(&before);
    code = kit_refused(host ? kit.ops.host_alloc(kit.dev, bytes, 0, &handle, &flags)
                            : kit.ops.alloc(kit.dev, NULL, bytes, 0, &handle, &flags),
                       entry);
    if (code != FERRY_ENOMEM)
        kit_fail("returned %s; FERRY_ENOMEM reports that memory is short", kit_code_name(code));
    if (handle != untouched)
        kit_fail("wrote its result although it failed");
    if (kit_counters(&after) &&
        (after.live_blocks != before.live_blocks || after.live_bytes != before.live_bytes))
        kit_fail("counters: %" PRIu64 " blocks of %" PRIu64 " bytes are live, were %" PRIu64
                 " of %" PRIu64,
                 after.live_blocks, after.live_bytes, before.live_blocks, before.live_bytes);
    kit_still_works("that");
}

void kit_too_much(void)
{
    static const uint64_t more[] = { UINT64_MAX, UINT64_MAX - 63, UINT64_C(1) << 62 };

    for (size_t i = 0; i < LENGTH(more); i++) {
        too_much(more[i], false);
        if (kit.ops.host_alloc)
            too_much(more[i], true);
    }
    if (kit.properties.max_alloc)
        too_much(kit.properties.max_alloc + 1, false);
}

void group_memory(void)
{
    kit_open();
    every_size_is_there_to_its_last_byte();
    neighbours_stay_as_they_are();
    blocks_are_counted();
    host_memory_is_host_memory();
    kit_too_much();
    for (size_t i = 0; kit.ops.host_alloc && i < LENGTH(sizes); i++)
        for (uint32_t flags = 0; flags <= FERRY_ALLOC_ZERO; flags++)
            pinned_memory(sizes[i], flags);
    kit_owns();
    kit_remark("1 byte to 8 MiB%s%s", kit.ops.host_alloc ? "; pinned memory too" : "",
               kit.ops.owns ? "; owns" : "");
}
