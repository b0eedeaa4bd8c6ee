/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* memcpy and memset: every size and offset, and no byte outside the range. */

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t sizes[] = { 1,   2,    3,    4,    5,    7,     8,     9,      15,
                                  16,  17,   31,   33,   63,   64,    65,    255,    256,
                                  257, 1000, 4095, 4096, 4097, 65536, 65537, 1000003 };
static const uint64_t offsets[] = { 0, 1, 3, 8, 63, 64, 4095 };

/* Whole blocks, so that a write past the end changes another block. */
static const uint64_t whole[] = { 1, 3, 64, 65, 100, 128, 256, 1000, 4096, 65536 };

#define ROOM (1000003 + 2 * 4096) /* the largest size at the largest offset, and a guard */

/* ---- between host and device ---------------------------------------------------------------- */

static void send(struct mirror *m, uint64_t at, uint64_t bytes, uint64_t host_at, unsigned seed)
{
    unsigned char *host = kit_host(bytes + host_at);

    kit_case("memcpy H2D of %" PRIu64 " bytes to offset %" PRIu64 " from host offset %" PRIu64,
             bytes, at, host_at);
    kit_pattern(host, bytes + host_at, seed);
    memcpy(m->want + at, host + host_at, bytes);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D, mirror_ref(m, at),
                          (ferry_cref){ host, host_at }, bytes),
           "memcpy");
    kit_wait(NULL);
    m->begin = at;
    m->end = at + bytes;
    mirror_check(m);
    free(host);
}

static void fetch(struct mirror *m, uint64_t at, uint64_t bytes, uint64_t host_at)
{
    enum { GUARD = 64 };
    uint64_t room = bytes + host_at + GUARD;
    unsigned char *host = kit_host(room);

    kit_case("memcpy D2H of %" PRIu64 " bytes from offset %" PRIu64 " to host offset %" PRIu64,
             bytes, at, host_at);
    for (uint64_t i = 0; i < room; i++)
        host[i] = (unsigned char)(i < host_at || i >= host_at + bytes ? 0xee
                                                                      : ~m->want[at + i - host_at]);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ host, host_at },
                          mirror_cref(m, at), bytes),
           "memcpy");
    kit_wait(NULL);
    for (uint64_t i = 0; i < room; i++) {
        bool inside = i >= host_at && i < host_at + bytes;
        unsigned char want = inside ? m->want[at + i - host_at] : 0xee;

        if (host[i] != want && inside)
            kit_fail("byte %" PRIu64 " is 0x%02x, should be 0x%02x", i - host_at, host[i], want);
        if (host[i] != want)
            kit_fail("wrote outside: host byte %" PRId64 " has changed", (int64_t)(i - host_at));
    }
    free(host);
}

static void host_and_device(void)
{
    struct mirror m;

    kit_case("a block of %d bytes", ROOM);
    mirror_create(&m, ROOM, 1);
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (size_t k = 0; k < LENGTH(offsets); k++) {
            if (sizes[i] > 5000 && k > 2)
                continue;
            send(&m, offsets[k], sizes[i], (k * 5) % 9, (unsigned)(i * 16 + k));
            fetch(&m, offsets[k], sizes[i], (k * 3) % 7);
        }
    mirror_destroy(&m);
}

/* Most drivers copy pinned memory in a different way. */
static void pinned_and_device(void)
{
    struct mirror m;
    void *pinned = NULL;
    uint32_t flags = 0;

    if (!kit.ops.host_alloc)
        return;
    kit_case("host_alloc of %d bytes", ROOM);
    kit_ok(kit.ops.host_alloc(kit.dev, ROOM, 0, &pinned, &flags), "host_alloc");
    mirror_create(&m, ROOM, 2);
    kit_case("memcpy H2D of %d bytes from pinned memory", ROOM - 77);
    kit_pattern(pinned, ROOM, 3);
    memcpy(m.want + 77, pinned, ROOM - 77);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D, mirror_ref(&m, 77),
                          (ferry_cref){ pinned, 0 }, ROOM - 77),
           "memcpy");
    kit_wait(NULL);
    mirror_check(&m);
    kit_case("memcpy D2H of %d bytes to pinned memory", ROOM);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ pinned, 0 },
                          mirror_cref(&m, 0), ROOM),
           "memcpy");
    kit_wait(NULL);
    if (memcmp(pinned, m.want, ROOM) != 0)
        kit_fail("the bytes differ");
    kit_ok(kit.ops.host_free(kit.dev, pinned), "host_free");
    mirror_destroy(&m);
}

/* ---- within the device ---------------------------------------------------------------------- */

static void within(struct mirror *to, struct mirror *from, uint64_t to_at, uint64_t from_at,
                   uint64_t bytes)
{
    kit_case("memcpy D2D of %" PRIu64 " bytes from offset %" PRIu64 " to offset %" PRIu64 " of %s",
             bytes, from_at, to_at, to == from ? "the same block" : "another block");
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2D, mirror_ref(to, to_at),
                          mirror_cref(from, from_at), bytes),
           "memcpy");
    kit_wait(NULL);
    memmove(to->want + to_at, from->want + from_at, bytes);
    to->begin = to_at;
    to->end = to_at + bytes;
    mirror_check(to);
}

static void between_blocks(void)
{
    struct mirror a, b;

    kit_case("two blocks of %d bytes", ROOM);
    mirror_create(&a, ROOM, 4);
    mirror_create(&b, ROOM, 5);
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (size_t k = 0; k < LENGTH(offsets); k++) {
            if (sizes[i] > 5000 && k > 2)
                continue;
            within(&b, &a, offsets[k], offsets[LENGTH(offsets) - 1 - k], sizes[i]);
            kit_pattern(a.want, 64, (unsigned)(i * 16 + k)); /* new contents */
            mirror_upload(&a);
        }
    kit_case("the source of these copies");
    a.begin = 0;
    mirror_check(&a);
    within(&a, &a, 0, 5000, 5000);
    within(&a, &a, 20000, 1, 9999);
    mirror_destroy(&a);
    mirror_destroy(&b);
}

static void send_all(struct mirror *m)
{
    send(m, 0, m->bytes, 3, 8);
}

/* Must be refused with FERRY_EINVAL without effect, or behave like memmove. */
static void overlapping(uint64_t to_at, uint64_t from_at, uint64_t bytes)
{
    struct mirror m;
    int code;

    kit_case("overlapping memcpy D2D of %" PRIu64 " bytes from offset %" PRIu64 " to %" PRIu64,
             bytes, from_at, to_at);
    mirror_create(&m, 20000, 6);
    code = kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2D, mirror_ref(&m, to_at),
                          mirror_cref(&m, from_at), bytes);
    if (code == 0) {
        kit_wait(NULL);
        memmove(m.want + to_at, m.want + from_at, bytes);
        m.begin = to_at;
        m.end = to_at + bytes;
    } else if (kit_refused(code, "memcpy") != FERRY_EINVAL) {
        kit_fail("refused with %s; allowed are FERRY_EINVAL, or the result of memmove",
                 kit_code_name(code));
    }
    mirror_check(&m);
    mirror_destroy(&m);
}

void group_copy(void)
{
    kit_open();
    host_and_device();
    pinned_and_device();
    between_blocks();
    for (size_t i = 0; i < LENGTH(whole); i++)
        mirror_crowd(whole[i], send_all);
    overlapping(1, 0, 10000);
    overlapping(0, 1, 10000);
    overlapping(4096, 0, 10000);
    overlapping(0, 4096, 10000);
    kit_far_copies();
    kit_remark("H2D, D2H, D2D; 1 byte to 1 MB at 7 offsets");
}

/* ---- memset --------------------------------------------------------------------------------- */

static void set(struct mirror *m, uint64_t at, uint64_t bytes, uint32_t byte)
{
    kit_case("memset of %" PRIu64 " bytes at offset %" PRIu64 " to 0x%x", bytes, at, byte);
    kit_ok(kit.ops.memset(kit.dev, NULL, mirror_ref(m, at), byte, bytes), "memset");
    kit_wait(NULL);
    memset(m->want + at, (int)(byte & 0xff), bytes);
    m->begin = at;
    m->end = at + bytes;
    mirror_check(m);
}

static void set_all(struct mirror *m)
{
    set(m, 0, m->bytes, 0x40);
}

void group_memset(void)
{
    static const uint32_t bytes[] = { 0, 0xff, 0x5a, 0x80, 0x12345634 };
    struct mirror m;

    kit_open();
    mirror_create(&m, ROOM, 7);
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (size_t k = 0; k < LENGTH(offsets); k++)
            if (sizes[i] <= 5000 || k <= 2)
                set(&m, offsets[k], sizes[i], bytes[(i + k) % LENGTH(bytes)]);
    mirror_destroy(&m);
    for (size_t i = 0; i < LENGTH(whole); i++)
        mirror_crowd(whole[i], set_all);
    kit_far_memset();
    kit_large_memset();
    kit_remark("1 byte to 1 MB at 7 offsets");
}
