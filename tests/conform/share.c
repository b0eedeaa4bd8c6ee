/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Host memory as device memory: import_host, map, unmap. */

#define BYTES  65536
#define BEHIND 200

struct shared {
    unsigned char *host; /* the program's pointer */
    void *handle;
    uint64_t bytes;
};

/* False for FERRY_EUNSUPPORTED, the answer for memory that cannot be imported. */
static bool import(struct shared *s, void *host, uint64_t bytes)
{
    int code;

    s->host = host;
    s->bytes = bytes;
    s->handle = NULL;
    code = kit.ops.import_host(kit.dev, host, bytes, 0, &s->handle);
    if (code == FERRY_EUNSUPPORTED)
        return false;
    kit_ok(code, "import_host");
    if (!s->handle)
        kit_fail("import_host returned 0 and a NULL handle");
    return true;
}

/* Maps the block; without map, waits for the queue's work, which is sufficient. */
static void map(struct shared *s, uint64_t bytes, uint32_t access)
{
    if (kit.ops.map)
        kit_ok(kit.ops.map(kit.dev, NULL, s->handle, bytes, access), "map");
    else
        kit_wait(NULL);
}

static void unmap(struct shared *s)
{
    if (kit.ops.unmap)
        kit_ok(kit.ops.unmap(kit.dev, NULL, s->handle), "unmap");
}

static void device_set(struct shared *s, uint64_t at, uint32_t byte, uint64_t bytes)
{
    kit_ok(kit.ops.memset(kit.dev, NULL, (ferry_ref){ s->handle, at }, byte, bytes), "memset");
}

/* The device's view of the bytes, read by a copy. */
static void device_get(struct shared *s, unsigned char *to, uint64_t bytes)
{
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ to, 0 },
                          (ferry_cref){ s->handle, 0 }, bytes),
           "memcpy D2H");
    kit_wait(NULL);
}

static void expect(const unsigned char *got, const unsigned char *want, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (got[i] != want[i])
            kit_fail("byte %" PRIu64 " is 0x%02x, should be 0x%02x", i, got[i], want[i]);
}

/* Arithmetic on imported memory works as on any other. */
static void compute(struct shared *s, const char *what)
{
    float *numbers = (float *)(void *)s->host;

    kit_case("import_host of %s: axpy in it", what);
    map(s, s->bytes, FERRY_READ | FERRY_WRITE);
    for (int i = 0; i < 64; i++)
        numbers[i] = (float)i;
    unmap(s);
    kit_ok(kit.ops.axpy(kit.dev, NULL, FERRY_F32, 16, 2, (ferry_cref){ s->handle, 0 },
                        (ferry_ref){ s->handle, 128 }),
           "axpy");
    map(s, s->bytes, FERRY_READ);
    for (int i = 0; i < 16; i++)
        if (numbers[32 + i] != (float)(32 + 3 * i))
            kit_fail("element %d is %g, should be %d", i, (double)numbers[32 + i], 32 + 3 * i);
    unmap(s);
}

static void there_and_back(struct shared *s, const char *what, unsigned char *want)
{
    unsigned char *seen = kit_host(s->bytes);

    kit_case("import_host of %s: bytes that the host wrote before", what);
    device_get(s, seen, s->bytes);
    expect(seen, want, s->bytes);

    kit_case("import_host of %s: memset on the device, map for reading", what);
    device_set(s, 100, 0x42, s->bytes / 2);
    memset(want + 100, 0x42, s->bytes / 2);
    map(s, s->bytes, FERRY_READ);
    expect(s->host, want, s->bytes);
    unmap(s);

    kit_case("import_host of %s: map for writing, unmap, read on the device", what);
    map(s, s->bytes, FERRY_READ | FERRY_WRITE);
    kit_pattern(s->host, s->bytes, 77);
    memcpy(want, s->host, s->bytes);
    unmap(s);
    device_get(s, seen, s->bytes);
    expect(seen, want, s->bytes);

    kit_case("import_host of %s: map of its first 100 bytes", what);
    device_set(s, 0, 0x17, 50);
    memset(want, 0x17, 50);
    map(s, 100, FERRY_READ);
    expect(s->host, want, 100);
    unmap(s);

    kit_case("import_host of %s: map after %d times memset", what, BEHIND);
    for (unsigned i = 0; i < BEHIND; i++)
        device_set(s, 0, i, s->bytes);
    memset(want, BEHIND - 1, s->bytes);
    map(s, s->bytes, FERRY_READ);
    expect(s->host, want, s->bytes);
    unmap(s);

    if ((uintptr_t)s->host % 64 == 0)
        compute(s, what);
    device_set(s, 0, 0x23, s->bytes);
    memset(want, 0x23, s->bytes);
    kit_wait(NULL); /* as ferry does before it ends an import */
    kit_case("unimport_host of %s: the host has the device's bytes", what);
    kit_ok(kit.ops.unimport_host(kit.dev, s->handle), "unimport_host");
    expect(s->host, want, s->bytes);
    memset(s->host, 1, s->bytes); /* it belongs to the host again */
    free(seen);
}

/* True if the plugin imported the memory. */
static bool try_memory(unsigned char *host, uint64_t bytes, const char *what)
{
    struct shared s;
    unsigned char *want = kit_host(bytes);
    bool taken;

    kit_case("import_host of %s", what);
    kit_pattern(host, bytes, 33);
    memcpy(want, host, bytes);
    taken = import(&s, host, bytes);
    if (taken)
        there_and_back(&s, what, want);
    else
        expect(host, want, bytes);
    free(want);
    return taken;
}

static bool try_ordinary(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *host = aligned_alloc(page, BYTES + page);
    bool taken;

    if (!host)
        kit_fail("the check itself is out of memory");
    taken = try_memory(host, BYTES, "64 KiB of ordinary memory, aligned to a page");
    /* Unsuitable memory is refused or works completely. */
    try_memory(host + 1, 1001, "1001 bytes at an odd address");
    try_memory(host + 64, 4097, "4097 bytes, aligned to 64");
    free(host);
    return taken;
}

/* A part of a block: the host may always access the bytes around it. */
static void try_middle(unsigned char *host)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *around = kit_host(BYTES);

    kit_pattern(host, BYTES, 11);
    memcpy(around, host, BYTES);
    try_memory(host + 2 * page, BYTES - 4 * page, "the middle of 64 KiB of host_alloc");
    kit_case("import_host of the middle of 64 KiB of host_alloc: the bytes before and after it");
    expect(host, around, 2 * page);
    expect(host + BYTES - 2 * page, around + BYTES - 2 * page, 2 * page);
    free(around);
}

static bool try_pinned(void)
{
    void *host = NULL;
    uint32_t flags = 0;
    bool taken;

    if (!kit.ops.host_alloc)
        return false;
    kit_case("host_alloc of 64 KiB");
    kit_ok(kit.ops.host_alloc(kit.dev, BYTES, 0, &host, &flags), "host_alloc");
    taken = try_memory(host, BYTES, "64 KiB of host_alloc");
    if (taken && sysconf(_SC_PAGESIZE) * 8 <= BYTES)
        try_middle(host);
    kit_ok(kit.ops.host_free(kit.dev, host), "host_free");
    return taken;
}

void group_import(void)
{
    ferry_plugin_counters before, after;
    bool ordinary, pinned;

    kit_open();
    if (!kit.ops.import_host)
        kit_not_offered("no import_host: the device is discrete");
    kit_counters(&before);
    ordinary = try_ordinary();
    pinned = try_pinned();
    if (!ordinary && !pinned)
        kit_not_offered("import_host accepts no memory here (FERRY_EUNSUPPORTED)");
    kit_case("live_imports and live_maps after all of it");
    if (kit_counters(&after) &&
        (after.live_imports != before.live_imports || after.live_maps != before.live_maps))
        kit_fail("%" PRIu64 " imports and %" PRIu64 " maps are live, were %" PRIu64 " and %" PRIu64,
                 after.live_imports, after.live_maps, before.live_imports, before.live_maps);
    kit_remark("%s%s%s", ordinary ? "ordinary memory" : "", ordinary && pinned ? ", " : "",
               pinned ? "memory of host_alloc" : "");
}
