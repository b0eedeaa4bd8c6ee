/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Device blocks, and their expected contents on the host. */

void *kit_alloc(uint64_t bytes)
{
    void *handle = NULL;
    uint32_t flags = 0;

    kit_ok(kit.ops.alloc(kit.dev, NULL, bytes, 0, &handle, &flags), "alloc");
    if (!handle)
        kit_fail("alloc of %" PRIu64 " bytes returned 0 and a NULL handle", bytes);
    /*
     * Ordered on the default queue; other queues may use it once that has reached the allocation.
     */
    if (kit_is(FERRY_DEVICE_ORDERED_ALLOC))
        kit_ok(kit.ops.synchronize(kit.dev), "synchronize");
    return handle;
}

void kit_free(void *handle)
{
    kit_ok(kit.ops.free(kit.dev, NULL, handle), "free");
}

int64_t kit_first(int64_t element, uint64_t size)
{
    uint64_t unit = kit.properties.offset_alignment;

    return unit > size ? element * (int64_t)(unit / size) : element;
}

bool kit_can_bind(uint64_t bytes)
{
    return (!kit.properties.max_alloc || bytes <= kit.properties.max_alloc) &&
           (!kit.properties.max_binding || bytes <= kit.properties.max_binding);
}

void *kit_host(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);

    if (!p)
        kit_fail("the check itself is out of memory: %zu bytes", bytes);
    return p;
}

uint64_t kit_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Four bytes at a time, for speed. */
void kit_pattern(void *to, size_t bytes, unsigned seed)
{
    unsigned char *p = to;
    uint64_t state = seed * UINT64_C(2654435761) + 99;

    for (size_t i = 0; i < bytes; i += 4) {
        uint32_t four;

        kit_random(&state);
        four = (uint32_t)(state >> 32);
        memcpy(p + i, &four, bytes - i < 4 ? bytes - i : 4);
    }
}

void mirror_make(struct mirror *m, uint64_t bytes, unsigned seed)
{
    memset(m, 0, sizeof(*m));
    m->bytes = bytes;
    m->want = kit_host(bytes);
    m->got = kit_host(bytes);
    kit_pattern(m->want, bytes, seed);
    m->handle = kit_alloc(bytes);
    m->end = bytes;
}

void mirror_create(struct mirror *m, uint64_t bytes, unsigned seed)
{
    mirror_make(m, bytes, seed);
    mirror_upload(m);
}

void mirror_destroy(struct mirror *m)
{
    kit_free(m->handle);
    free(m->want);
    free(m->got);
}

ferry_ref mirror_ref(const struct mirror *m, uint64_t offset)
{
    return (ferry_ref){ m->handle, offset };
}

ferry_cref mirror_cref(const struct mirror *m, uint64_t offset)
{
    return (ferry_cref){ m->handle, offset };
}

void mirror_upload(struct mirror *m)
{
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D, mirror_ref(m, 0),
                          (ferry_cref){ m->want, 0 }, m->bytes),
           "memcpy H2D");
    kit_wait(NULL);
}

/* `mask`: bits that are flipped beforehand, so that a byte that is not copied is detected. */
static void download(struct mirror *m, unsigned char mask)
{
    for (uint64_t i = 0; i < m->bytes; i++)
        m->got[i] = m->want[i] ^ mask;
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ m->got, 0 },
                          mirror_cref(m, 0), m->bytes),
           "memcpy D2H");
    kit_wait(NULL);
}

void mirror_download(struct mirror *m)
{
    download(m, 0xff);
}

/* Reports a failure of the copy if a second download of the block reads a different byte. */
static void suspect_the_copy(struct mirror *m, uint64_t i)
{
    unsigned char first = m->got[i];

    download(m, 0x5a);
    if (m->got[i] != first)
        kit_fail("memcpy D2H of %" PRIu64 " bytes does not copy byte %" PRIu64, m->bytes, i);
}

void mirror_check(struct mirror *m)
{
    uint64_t i = 0;

    mirror_download(m);
    if (memcmp(m->got, m->want, m->bytes) == 0)
        return;
    while (m->got[i] == m->want[i])
        i++;
    suspect_the_copy(m, i);
    if (i < m->begin)
        kit_fail("wrote outside: the byte %" PRIu64 " before the first is 0x%02x, was 0x%02x",
                 m->begin - i, m->got[i], m->want[i]);
    if (i >= m->end)
        kit_fail("wrote outside: the byte %" PRIu64 " past the end is 0x%02x, was 0x%02x",
                 i - m->end, m->got[i], m->want[i]);
    kit_fail("byte %" PRIu64 " of %" PRIu64 " is 0x%02x, should be 0x%02x", i - m->begin,
             m->end - m->begin, m->got[i], m->want[i]);
}

void mirror_crowd(uint64_t bytes, void (*operation)(struct mirror *m))
{
    enum { BLOCKS = 12 };
    struct mirror blocks[BLOCKS];

    kit_case("%d blocks of %" PRIu64 " bytes", BLOCKS, bytes);
    for (unsigned i = 0; i < BLOCKS; i++)
        mirror_create(&blocks[i], bytes, i);
    for (unsigned i = 0; i < BLOCKS; i += 2)
        operation(&blocks[i]);
    for (unsigned i = 0; i < BLOCKS; i++) {
        kit_case("a block of %" PRIu64 " bytes, after %s", bytes,
                 i % 2 ? "work on all of another" : "work on all of it");
        blocks[i].begin = 0;
        blocks[i].end = bytes;
        mirror_check(&blocks[i]);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        mirror_destroy(&blocks[i]);
}
