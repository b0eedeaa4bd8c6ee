/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include "through.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Every head state and operation, through ferry: the location of the newest bytes, their contents,
 * and the cost of the copies. The table is Caffe's, whatever the device.
 */

#define BYTES 4096
#define OLD   0x5a
#define NEW   0x77

static ferry_device *dev;
static bool discrete;

static _Alignas(4096) unsigned char adopted_host[BYTES];

static void through_ok(int code, const char *what)
{
    if (code != FERRY_OK)
        kit_fail("%s: %s", what, ferry_last_error());
}

static const void *not_null(const void *p, const char *what)
{
    if (!p)
        kit_fail("%s: %s", what, ferry_last_error());
    return p;
}

/* ---- contents, read without changing the head ----------------------------------------------- */

static ferry_memory *memory(size_t bytes)
{
    ferry_memory *m = NULL;

    through_ok(ferry_memory_create(dev, bytes, &m), "ferry_memory_create");
    return m;
}

static void device_set(ferry_ref ref, size_t bytes, int value)
{
    ferry_queue *q = ferry_device_queue(dev);

    through_ok(ferry_math_fill(q, FERRY_U8, (int64_t)bytes, value, ref), "ferry_math_fill");
    through_ok(ferry_device_synchronize(dev), "ferry_device_synchronize");
}

static void expect_all(const unsigned char *bytes, int value, const char *where)
{
    for (int i = 0; i < BYTES; i++)
        if (bytes[i] != value)
            kit_fail("byte %d of the %s copy is 0x%02x, should be 0x%02x", i, where, bytes[i],
                     value);
}

/* Reads only valid copies, so that reading changes nothing. */
static void expect_contents(ferry_memory *m, int value)
{
    if (ferry_memory_is_valid_at(m, NULL))
        expect_all(not_null(ferry_memory_host_data(m), "host_data"), value, "host");
    if (ferry_memory_is_valid_at(m, dev)) {
        ferry_memory *probe = memory(BYTES);
        ferry_ref to = ferry_memory_overwrite_device_data(probe);
        ferry_cref from = ferry_memory_device_data(m);

        not_null(to.handle, "overwrite_device_data");
        not_null(from.handle, "device_data");
        through_ok(ferry_math_copy(ferry_device_queue(dev), FERRY_U8, BYTES, from, to),
                   "ferry_math_copy");
        expect_all(not_null(ferry_memory_host_data(probe), "host_data"), value, "device");
        ferry_memory_release(probe);
    }
}

/* ---- states --------------------------------------------------------------------------------- */

static const char *const heads[] = { "UNINITIALIZED", "AT_HOST", "AT_DEVICE", "SYNCED" };

static void expect_head(const ferry_memory *m, ferry_memory_head_state want)
{
    ferry_memory_head_state head = ferry_memory_head(m);

    if (head != want)
        kit_fail("the head is %s, should be %s", heads[head], heads[want]);
}

static void write_host(ferry_memory *m, int value)
{
    memset((void *)(uintptr_t)not_null(ferry_memory_mutable_host_data(m), "mutable_host_data"),
           value, BYTES);
}

static void write_device(ferry_memory *m, int value)
{
    ferry_ref ref = ferry_memory_mutable_device_data(m);

    not_null(ref.handle, "mutable_device_data");
    device_set(ref, BYTES, value);
}

/* A memory in that state with the contents OLD; `warm`: both sides have been allocated before. */
static ferry_memory *memory_in(ferry_memory_head_state head, bool warm)
{
    ferry_memory *m = memory(BYTES);

    if (warm) {
        write_device(m, 1);
        write_host(m, 2);
    }
    if (head == FERRY_HEAD_UNINITIALIZED && warm)
        through_ok(ferry_memory_discard(m), "ferry_memory_discard");
    if (head == FERRY_HEAD_AT_HOST)
        write_host(m, OLD);
    if (head == FERRY_HEAD_AT_DEVICE || head == FERRY_HEAD_SYNCED)
        write_device(m, OLD);
    if (head == FERRY_HEAD_SYNCED)
        not_null(ferry_memory_host_data(m), "host_data");
    through_ok(ferry_device_synchronize(dev), "ferry_device_synchronize");
    return m;
}

/* ---- the table ------------------------------------------------------------------------------ */

enum op {
    HOST,
    MUTABLE_HOST,
    DEVICE,
    MUTABLE_DEVICE,
    ADOPT_HOST,
    ADOPT_DEVICE,
    PREFETCH_DEVICE,
    OPS
};

static const char *const ops[] = {
    "host",        "mutable_host",  "device",          "mutable_device",
    "adopt(host)", "adopt(device)", "prefetch(device)"
};

#define U FERRY_HEAD_UNINITIALIZED
#define H FERRY_HEAD_AT_HOST
#define D FERRY_HEAD_AT_DEVICE
#define S FERRY_HEAD_SYNCED

static const struct cell {
    ferry_memory_head_state to;
    unsigned h2d, d2h;
    int holds; /* −1: not checked */
} table[4][OPS] = {
    [U] = { { H, 0, 0, 0 },
            { H, 0, 0, 0 },
            { D, 0, 0, 0 },
            { D, 0, 0, 0 },
            { H, 0, 0, NEW },
            { D, 0, 0, NEW },
            { U, 0, 0, -1 } },
    [H] = { { H, 0, 0, OLD },
            { H, 0, 0, OLD },
            { S, 1, 0, OLD },
            { D, 1, 0, OLD },
            { H, 0, 0, NEW },
            { D, 0, 0, NEW },
            { S, 1, 0, OLD } },
    [D] = { { S, 0, 1, OLD },
            { H, 0, 1, OLD },
            { D, 0, 0, OLD },
            { D, 0, 0, OLD },
            { H, 0, 0, NEW },
            { D, 0, 0, NEW },
            { D, 0, 0, OLD } },
    [S] = { { S, 0, 0, OLD },
            { H, 0, 0, OLD },
            { S, 0, 0, OLD },
            { D, 0, 0, OLD },
            { H, 0, 0, NEW },
            { D, 0, 0, NEW },
            { S, 0, 0, OLD } },
};

static void run_op(ferry_memory *m, enum op op, ferry_ref adopted)
{
    ferry_ref host = { adopted_host, 0 };

    switch (op) {
    case HOST:
        not_null(ferry_memory_host_data(m), "host_data");
        break;
    case MUTABLE_HOST:
        not_null(ferry_memory_mutable_host_data(m), "mutable_host_data");
        break;
    case DEVICE:
        not_null(ferry_memory_device_data(m).handle, "device_data");
        break;
    case MUTABLE_DEVICE:
        not_null(ferry_memory_mutable_device_data(m).handle, "mutable_device_data");
        break;
    case ADOPT_HOST:
        through_ok(ferry_memory_adopt(m, NULL, host, BYTES, 0, NULL, NULL), "adopt");
        break;
    case ADOPT_DEVICE:
        through_ok(ferry_memory_adopt(m, dev, adopted, BYTES, 0, NULL, NULL), "adopt");
        break;
    default:
        through_ok(ferry_memory_prefetch(m, dev, NULL), "prefetch");
    }
}

static ferry_device_stats stats(void)
{
    ferry_device_stats s = { .struct_size = sizeof s };

    through_ok(ferry_device_get_stats(dev, &s), "ferry_device_get_stats");
    return s;
}

/* For shared memory a copy costs nothing, or a map. */
static void expect_price(const struct cell *cell, const ferry_device_stats *before)
{
    ferry_device_stats now = stats();
    uint64_t h2d = now.copies_h2d - before->copies_h2d, d2h = now.copies_d2h - before->copies_d2h;
    uint64_t bytes = now.bytes_h2d - before->bytes_h2d + now.bytes_d2h - before->bytes_d2h;

    if (h2d != (discrete ? cell->h2d : 0) || d2h != (discrete ? cell->d2h : 0))
        kit_fail("it took %" PRIu64 " copies to the device and %" PRIu64
                 " from it, should be %u and %u",
                 h2d, d2h, discrete ? cell->h2d : 0, discrete ? cell->d2h : 0);
    if (bytes != (h2d + d2h) * BYTES)
        kit_fail("%" PRIu64 " bytes were moved by copies of %d", bytes, BYTES);
}

/* A block of the device with the contents NEW, to be adopted. */
static ferry_memory *donor(ferry_ref *out)
{
    ferry_memory *m = memory(BYTES);

    *out = ferry_memory_mutable_device_data(m);
    not_null(out->handle, "mutable_device_data");
    device_set(*out, BYTES, NEW);
    memset(adopted_host, NEW, BYTES);
    return m;
}

static void walk_cell(ferry_memory_head_state from, enum op op, bool warm)
{
    const struct cell *cell = &table[from][op];
    ferry_memory *m, *other;
    ferry_device_stats before;
    ferry_ref adopted;

    kit_case("%s x %s%s", heads[from], ops[op], warm ? ", both copies allocated before" : "");
    other = donor(&adopted);
    m = memory_in(from, warm);
    before = stats();
    run_op(m, op, adopted);
    expect_price(cell, &before);
    expect_head(m, cell->to);
    if (cell->holds >= 0)
        expect_contents(m, cell->holds);
    expect_head(m, cell->to);
    ferry_memory_release(m);
    ferry_memory_release(other);
}

static void whole_table(void)
{
    for (int from = U; from <= S; from++)
        for (int op = 0; op < OPS; op++)
            for (int warm = 0; warm < 2; warm++)
                walk_cell((ferry_memory_head_state)from, (enum op)op, warm != 0);
}

/* ---- a long walk ---------------------------------------------------------------------------- */

/* The expected bytes; the sizes are odd, so that they are multiples of nothing. */
static void random_walk(size_t bytes, int steps)
{
    unsigned char *want = kit_host(bytes);
    ferry_memory *m = memory(bytes);
    uint64_t state = bytes;

    memset(want, 0, bytes);
    for (int i = 0; i < steps; i++) {
        size_t at = (size_t)(kit_random(&state) % bytes);
        size_t n = 1 + (size_t)(kit_random(&state) % (bytes - at));
        int value = (int)(kit_random(&state) % 256);
        unsigned what = (unsigned)(kit_random(&state) % 5);

        kit_case("a walk over %zu bytes, step %d: %s", bytes, i,
                 (const char *const[]){ "host write", "device write", "host read",
                                        "prefetch to the device", "prefetch to the host" }[what]);
        if (what == 0) {
            unsigned char *p = ferry_memory_mutable_host_data(m);

            not_null(p, "mutable_host_data");
            memset(p + at, value, n);
            memset(want + at, value, n);
        } else if (what == 1) {
            ferry_ref ref = ferry_memory_mutable_device_data(m);

            not_null(ref.handle, "mutable_device_data");
            ref.offset += at;
            through_ok(ferry_math_fill(ferry_device_queue(dev), FERRY_U8, (int64_t)n, value, ref),
                       "ferry_math_fill");
            memset(want + at, value, n);
        } else if (what == 2) {
            if (memcmp(not_null(ferry_memory_host_data(m), "host_data"), want, bytes) != 0)
                kit_fail("the host does not read the last written bytes");
        } else {
            through_ok(ferry_memory_prefetch(m, what == 3 ? dev : NULL, NULL), "prefetch");
        }
    }
    kit_case("a walk over %zu bytes: the contents at its end", bytes);
    if (memcmp(not_null(ferry_memory_host_data(m), "host_data"), want, bytes) != 0)
        kit_fail("the host does not read the last written bytes");
    ferry_memory_release(m);
    free(want);
}

/* ---- blobs ---------------------------------------------------------------------------------- */

/* data −= diff, and sums, in each dtype: computed by the plugin if it can, otherwise by ferry. */
static void blob_of(ferry_dtype dtype)
{
    const int64_t shape[] = { 3, 37 };
    const int n = 3 * 37;
    ferry_blob *b = NULL;
    double sum = 0, squares = 0, want = 0, want_squares = 0;

    kit_case("a blob of %s: fill, update, asum, sumsq on the device", ferry_dtype_name(dtype));
    through_ok(ferry_blob_create(dev, dtype, shape, 2, &b), "ferry_blob_create");
    through_ok(ferry_blob_fill_data(b, 3), "ferry_blob_fill_data");
    through_ok(ferry_blob_fill_diff(b, 0.5), "ferry_blob_fill_diff");
    not_null(ferry_blob_mutable_device_data(b).handle, "mutable_device_data");
    not_null(ferry_blob_device_diff(b).handle, "device_diff");
    through_ok(ferry_blob_update(b), "ferry_blob_update");
    through_ok(ferry_blob_asum_data(b, &sum), "ferry_blob_asum_data");
    through_ok(ferry_blob_sumsq_data(b, &squares), "ferry_blob_sumsq_data");
    want = n * 2.5;
    want_squares = n * 6.25;
    if (sum != want || squares != want_squares)
        kit_fail("sums are %.9g and %.9g, should be %.9g and %.9g", sum, squares, want,
                 want_squares);
    for (int64_t i = 0; i < n; i += 36) {
        const int64_t index[] = { i / 37, i % 37 };
        double value = 0;

        through_ok(ferry_blob_data_at(b, index, 2, &value), "ferry_blob_data_at");
        if (value != 2.5)
            kit_fail("element %" PRId64 " is %.9g, should be 2.5", i, value);
    }
    ferry_blob_destroy(b);
}

void group_coherence(void)
{
    const ferry_device_properties *p;
    uint64_t live;
    ferry_runtime *rt;

    kit_case("opening the device through ferry");
    rt = through_open();
    dev = through_device(rt);
    not_null(ferry_device_queue(dev), "ferry_device_queue");
    p = ferry_device_get_properties(dev);
    discrete = p->discrete != 0;
    kit_remark("28 cells twice, on a %s device", p->host_memory ? "host-memory"
                                                 : discrete     ? "discrete"
                                                                : "unified");
    live = stats().live_bytes;
    whole_table();
    random_walk(1, 60);
    random_walk(4097, 300);
    random_walk(100003, 120);
    for (int t = FERRY_F32; t <= FERRY_BF16; t++)
        blob_of((ferry_dtype)t);
    kit_case("ferry_device_get_stats after everything was released");
    if (stats().live_bytes != live)
        kit_fail("%" PRIu64 " bytes are live, were %" PRIu64 " before", stats().live_bytes, live);
    kit_case("closing the runtime");
    ferry_runtime_close(rt);
}
