/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

/*
 * References so far into a block that an offset truncated to 24 or 32 bits leads to another
 * position: to the same one near the block's beginning, which is checked as well. Only a little of
 * the block is ever accessed.
 */

enum { NEAR = 64, BYTES = 1000, FLOATS = 250 };

static const struct {
    uint64_t distance;
    const char *name;
} far[] = { { UINT64_C(1) << 24, "2^24" }, { UINT64_C(1) << 32, "2^32" } };

/*
 * The test at one distance: a block, the offsets NEAR and NEAR + distance, and the expected bytes.
 */
struct span {
    void *block;
    uint64_t at[2];
    unsigned char want[2][BYTES];
};

static void h2d(struct span *s, int which, unsigned seed)
{
    kit_pattern(s->want[which], BYTES, seed);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D, (ferry_ref){ s->block, s->at[which] },
                          (ferry_cref){ s->want[which], 0 }, BYTES),
           "memcpy H2D");
    kit_wait(NULL);
}

static void expect(const struct span *s)
{
    unsigned char got[BYTES];

    for (int which = 0; which < 2; which++) {
        memset(got, 0xee, sizeof(got));
        kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ got, 0 },
                              (ferry_cref){ s->block, s->at[which] }, BYTES),
               "memcpy D2H");
        kit_wait(NULL);
        for (unsigned i = 0; i < BYTES; i++)
            if (got[i] != s->want[which][i])
                kit_fail("byte %u from offset %" PRIu64 " on is 0x%02x, should be 0x%02x: are "
                         "offsets truncated to fewer bits?",
                         i, s->at[which], got[i], s->want[which][i]);
    }
}

static void *try_alloc(uint64_t bytes)
{
    uint32_t flags = 0;
    void *handle = NULL;

    if (!kit_can_bind(bytes) || kit.ops.alloc(kit.dev, NULL, bytes, 0, &handle, &flags) != 0)
        return NULL;
    if (kit_is(FERRY_DEVICE_ORDERED_ALLOC))
        kit_ok(kit.ops.synchronize(kit.dev), "synchronize");
    return handle;
}

/* Runs the test at each distance, in a block that is long enough. */
static void at_each_distance(const char *what, void (*one)(struct span *s, const char *name))
{
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
        uint64_t near = (uint64_t)kit_first(NEAR, 1), bytes = near + far[i].distance + 4096;
        struct span s = { .at = { near, near + far[i].distance } };

        kit_case("%s at offset %s and beyond", what, far[i].name);
        s.block = try_alloc(bytes);
        if (!s.block) {
            kit_skipped("the device cannot allocate a block of %" PRIu64 " MiB and a page",
                        far[i].distance >> 20);
            continue;
        }
        h2d(&s, 0, 1);
        h2d(&s, 1, 2);
        expect(&s);
        one(&s, far[i].name);
        kit_free(s.block);
    }
}

/* ---- copies --------------------------------------------------------------------------------- */

static void d2d(struct span *s, int to, const char *name)
{
    kit_case("memcpy D2D %s offset %s", to ? "to" : "from", name);
    h2d(s, !to, 3 + (unsigned)to);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2D, (ferry_ref){ s->block, s->at[to] },
                          (ferry_cref){ s->block, s->at[!to] }, BYTES),
           "memcpy D2D");
    kit_wait(NULL);
    memcpy(s->want[to], s->want[!to], BYTES);
    expect(s);
}

/* Host pointers have offsets, too; untouched memory on the host costs nothing. */
static void from_host(struct span *s, unsigned char *host, const char *name)
{
    kit_case("memcpy H2D from host offset %s", name);
    kit_pattern(host + s->at[0], BYTES, 5);
    kit_pattern(host + s->at[1], BYTES, 6);
    memcpy(s->want[0], host + s->at[1], BYTES);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D, (ferry_ref){ s->block, s->at[0] },
                          (ferry_cref){ host, s->at[1] }, BYTES),
           "memcpy H2D");
    kit_wait(NULL);
    expect(s);
}

static void to_host(struct span *s, unsigned char *host, const char *name)
{
    unsigned char near[BYTES];

    kit_case("memcpy D2H to host offset %s", name);
    memset(host + s->at[1], 0xee, BYTES);
    memcpy(near, host + s->at[0], BYTES);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ host, s->at[1] },
                          (ferry_cref){ s->block, s->at[0] }, BYTES),
           "memcpy D2H");
    kit_wait(NULL);
    if (memcmp(host + s->at[1], s->want[0], BYTES) != 0)
        kit_fail("the bytes are missing: are the host's offsets truncated to fewer bits?");
    if (memcmp(host + s->at[0], near, BYTES) != 0)
        kit_fail("wrote outside: at host offset %d", NEAR);
}

static void copies(struct span *s, const char *name)
{
    size_t bytes = (size_t)s->at[1] + 4096;
    void *host = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    d2d(s, 1, name);
    d2d(s, 0, name);
    kit_case("memcpy from and to host offset %s", name);
    if (host == MAP_FAILED) {
        kit_skipped("the host's address space is too small");
        return;
    }
    from_host(s, host, name);
    to_host(s, host, name);
    munmap(host, bytes);
}

void kit_far_copies(void)
{
    at_each_distance("memcpy", copies);
}

/* ---- memset and axpy ------------------------------------------------------------------------ */

static void set(struct span *s, const char *name)
{
    kit_case("memset at offset %s", name);
    memset(s->want[1], 0x5a, BYTES);
    kit_ok(kit.ops.memset(kit.dev, NULL, (ferry_ref){ s->block, s->at[1] }, 0x5a, BYTES), "memset");
    kit_wait(NULL);
    expect(s);
}

void kit_far_memset(void)
{
    at_each_distance("memset", set);
}

/* y at one end of the block, x at the other. */
static void add(struct span *s, int y, const char *name)
{
    float values[2][FLOATS];

    kit_case("axpy F32, %s at offset %s", y ? "y" : "x", name);
    for (int i = 0; i < FLOATS; i++) {
        values[y][i] = (float)i;
        values[!y][i] = (float)(1000 + i % 7);
    }
    for (int which = 0; which < 2; which++)
        kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D,
                              (ferry_ref){ s->block, s->at[which] },
                              (ferry_cref){ values[which], 0 }, BYTES),
               "memcpy H2D");
    kit_ok(kit.ops.axpy(kit.dev, NULL, FERRY_F32, FLOATS, 2, (ferry_cref){ s->block, s->at[!y] },
                        (ferry_ref){ s->block, s->at[y] }),
           "axpy");
    kit_wait(NULL);
    for (int i = 0; i < FLOATS; i++)
        values[y][i] += 2 * values[!y][i];
    memcpy(s->want, values, sizeof(values));
    expect(s);
}

static void adds(struct span *s, const char *name)
{
    add(s, 1, name);
    add(s, 0, name);
}

void kit_far_axpy(void)
{
    at_each_distance("axpy F32", adds);
}
