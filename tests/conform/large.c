/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * So many elements that an entry splits its work, that a grid exceeds the limit of a dimension, or
 * that a float cannot represent an index. The numbers are small integers, which every device
 * represents exactly, and whose sequence has no period that equals a part of the split work.
 */

static const struct {
    int64_t n;
    const char *name;
} counts[] = { { (INT64_C(1) << 20) + 1027, "2^20 + 1027" },
               { (INT64_C(1) << 24) + 1027, "2^24 + 1027" } };

/* Bytes of the largest block that is tested because the device reports that it can be bound. */
#define MOST_BOUND (UINT64_C(256) << 20)

struct floats {
    void *block;
    float *want, *got;
    uint64_t bytes;
};

/* 0, 1, … 1008 repeated, multiplied by `times`. */
static void count_up(float *to, int64_t n, float times)
{
    float value = 0;

    for (int64_t i = 0; i < n; i++) {
        to[i] = times * value;
        value = value < 1008 ? value + 1 : 0;
    }
}

/* False if memory for so many is lacking. */
static bool floats_create(struct floats *f, int64_t n)
{
    uint32_t flags = 0;

    memset(f, 0, sizeof(*f));
    f->bytes = (uint64_t)n * sizeof(float);
    if (!kit_can_bind(f->bytes) ||
        kit.ops.alloc(kit.dev, NULL, f->bytes, 0, &f->block, &flags) != 0)
        return false;
    f->want = kit_host(f->bytes);
    f->got = kit_host(f->bytes);
    count_up(f->want, n, 1);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D, (ferry_ref){ f->block, 0 },
                          (ferry_cref){ f->want, 0 }, f->bytes),
           "memcpy H2D");
    kit_wait(NULL);
    return true;
}

static void floats_destroy(struct floats *f)
{
    kit_free(f->block);
    free(f->want);
    free(f->got);
}

/* The contents on the device. */
static unsigned char *floats_get(struct floats *f)
{
    kit_wait(NULL);
    memset(f->got, 0xff, f->bytes);
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ f->got, 0 },
                          (ferry_cref){ f->block, 0 }, f->bytes),
           "memcpy D2H");
    kit_wait(NULL);
    return (unsigned char *)f->got;
}

static void floats_check(struct floats *f)
{
    int64_t n = (int64_t)(f->bytes / sizeof(float));

    floats_get(f);
    if (memcmp(f->got, f->want, f->bytes) == 0)
        return;
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&f->got[i], &f->want[i], sizeof(float)) != 0)
            kit_fail("element %" PRId64 " of %" PRId64 " is %g, should be %g", i, n,
                     (double)f->got[i], (double)f->want[i]);
}

/*
 * Runs the test with the first counts for which the device has memory for `blocks` blocks; the
 * second block may be empty.
 */
static void for_large_counts(const char *op, size_t how_many, int blocks,
                             void (*one)(struct floats *x, struct floats *y, int64_t n))
{
    for (size_t i = 0; i < how_many; i++) {
        struct floats x, y = { .block = NULL };

        kit_case("%s F32, n = %s", op, counts[i].name);
        if (!floats_create(&x, counts[i].n)) {
            kit_skipped("the device lacks memory for so many");
            continue;
        }
        if (blocks == 1 || floats_create(&y, counts[i].n))
            one(&x, &y, counts[i].n);
        else
            kit_skipped("the device lacks memory for two blocks of so many");
        floats_destroy(&x);
        if (y.block)
            floats_destroy(&y);
    }
}

/* A length that does not fit into 24 bits. */
void kit_large_memset(void)
{
    struct floats x;
    int64_t n = (int64_t)(counts[1].n / (int64_t)sizeof(float) + 1);
    uint64_t bytes = (uint64_t)counts[1].n;
    unsigned char *got;

    kit_case("memset of %s bytes", counts[1].name);
    if (!floats_create(&x, n)) {
        kit_skipped("the device lacks memory for so many");
        return;
    }
    kit_ok(kit.ops.memset(kit.dev, NULL, (ferry_ref){ x.block, 0 }, 0xa7, bytes), "memset");
    memset(x.want, 0xa7, bytes);
    got = floats_get(&x);
    for (uint64_t i = 0; i < x.bytes; i++)
        if (got[i] != ((unsigned char *)x.want)[i])
            kit_fail("byte %" PRIu64 " is 0x%02x, should be 0x%02x", i, got[i],
                     ((unsigned char *)x.want)[i]);
    floats_destroy(&x);
}

static void axpy(struct floats *x, struct floats *y, int64_t n)
{
    kit_ok(kit.ops.axpy(kit.dev, NULL, FERRY_F32, n, 2, (ferry_cref){ x->block, 0 },
                        (ferry_ref){ y->block, 0 }),
           "axpy");
    count_up(y->want, n, 3);
    floats_check(y);
}

/* A kernel must reach the last element of a range of max_binding bytes. */
static void axpy_of_all_bound(void)
{
    uint64_t bytes = kit.properties.max_binding;
    struct floats x, y;

    if (!bytes)
        return;
    kit_case("axpy F32 of max_binding, %" PRIu64 " bytes", bytes);
    if (bytes > MOST_BOUND || !floats_create(&x, (int64_t)(bytes / sizeof(float)))) {
        kit_skipped("the device, or the check, lacks memory for so much");
        return;
    }
    if (floats_create(&y, (int64_t)(bytes / sizeof(float)))) {
        axpy(&x, &y, (int64_t)(bytes / sizeof(float)));
        floats_destroy(&y);
    } else {
        kit_skipped("the device lacks memory for two blocks of so much");
    }
    floats_destroy(&x);
}

void kit_large_axpy(void)
{
    for_large_counts("axpy", 2, 2, axpy);
    axpy_of_all_bound();
}

static void scal(struct floats *x, struct floats *y, int64_t n)
{
    (void)y;
    kit_ok(kit.ops.scal(kit.dev, NULL, FERRY_F32, n, 3, (ferry_ref){ x->block, 0 }), "scal");
    count_up(x->want, n, 3);
    floats_check(x);
}

void kit_large_scal(void)
{
    if (kit_supports(FERRY_OP_SCAL, FERRY_F32))
        for_large_counts("scal", 1, 1, scal);
}

static void copy(struct floats *x, struct floats *y, int64_t n)
{
    kit_ok(kit.ops.memset(kit.dev, NULL, (ferry_ref){ y->block, 0 }, 0, y->bytes), "memset");
    kit_ok(kit.ops.copy(kit.dev, NULL, FERRY_F32, n, (ferry_cref){ x->block, 0 },
                        (ferry_ref){ y->block, 0 }),
           "copy");
    floats_check(y);
}

void kit_large_copy(void)
{
    if (kit_supports(FERRY_OP_COPY, FERRY_F32))
        for_large_counts("copy", 1, 2, copy);
}

static void fill(struct floats *x, struct floats *y, int64_t n)
{
    (void)y;
    kit_ok(kit.ops.fill(kit.dev, NULL, FERRY_F32, n, 7, (ferry_ref){ x->block, 0 }), "fill");
    for (int64_t i = 0; i < n; i++)
        x->want[i] = 7;
    floats_check(x);
}

void kit_large_fill(void)
{
    if (kit_supports(FERRY_OP_FILL, FERRY_F32))
        for_large_counts("fill", 1, 1, fill);
}
