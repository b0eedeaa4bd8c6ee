/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The head-state machine of one device: every state × operation, with the set of valid copies,
 * their contents, and the cost. The expected values are Caffe's own table.
 */

/* The only number that the table cannot know: whether host blocks of this device are counted. */
static uint64_t blocks_counted_for_host(void)
{
    ferry_memory *m = fx_memory(FX_BYTES);
    uint64_t blocks;

    fx_mark();
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_host_data(m));
    blocks = fx_since().allocs;
    CU_ASSERT(blocks <= 1);
    ferry_memory_release(m);
    return blocks;
}

/* ---- operations ----------------------------------------------------------------------------- */

enum op {
    HOST,
    MUTABLE_HOST,
    OVERWRITE_HOST,
    DEVICE,
    MUTABLE_DEVICE,
    OVERWRITE_DEVICE,
    ADOPT_HOST,
    ADOPT_DEVICE,
    PREFETCH_DEVICE,
    PREFETCH_HOST,
    INVALIDATE
};

static const char *const op_names[] = { "host",           "mutable_host",   "overwrite_host",
                                        "device",         "mutable_device", "overwrite_device",
                                        "adopt(host)",    "adopt(device)",  "prefetch(device)",
                                        "prefetch(host)", "invalidate" };

static const char *const head_names[] = { "UNINIT", "HOST", "DEVICE", "SYNCED" };

static _Alignas(4096) unsigned char own_host[FX_BYTES];

/*
 * Runs only the operation, without a call that could move bytes. *out: the pointer to write
 * through.
 */
static void run_op(ferry_memory *m, enum op op, ferry_ref adopted, ferry_ref *out)
{
    ferry_device *dev = ferry_memory_home(m);
    ferry_ref host = { own_host, 0 };

    switch (op) {
    case HOST:
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_host_data(m));
        break;
    case MUTABLE_HOST:
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_host_data(m));
        break;
    case OVERWRITE_HOST:
        out->handle = ferry_memory_overwrite_host_data(m);
        CU_ASSERT_PTR_NOT_NULL_FATAL(out->handle);
        break;
    case DEVICE:
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
        break;
    case MUTABLE_DEVICE:
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
        break;
    case OVERWRITE_DEVICE:
        *out = ferry_memory_overwrite_device_data(m);
        CU_ASSERT_PTR_NOT_NULL_FATAL(out->handle);
        break;
    case ADOPT_HOST:
        FX_OK(ferry_memory_adopt(m, NULL, host, FX_BYTES, 0, NULL, NULL));
        break;
    case ADOPT_DEVICE:
        FX_OK(ferry_memory_adopt(m, dev, adopted, FX_BYTES, 0, NULL, NULL));
        break;
    case PREFETCH_DEVICE:
        FX_OK(ferry_memory_prefetch(m, dev, NULL));
        break;
    case PREFETCH_HOST:
        FX_OK(ferry_memory_prefetch(m, NULL, NULL));
        break;
    case INVALIDATE:
        FX_OK(ferry_memory_discard(m));
        break;
    }
}

static bool on_device(enum op op)
{
    return op == DEVICE || op == MUTABLE_DEVICE || op == OVERWRITE_DEVICE || op == PREFETCH_DEVICE;
}

/* ---- the table ------------------------------------------------------------------------------ */

#define U FERRY_HEAD_UNINITIALIZED
#define H FERRY_HEAD_AT_HOST
#define D FERRY_HEAD_AT_DEVICE
#define S FERRY_HEAD_SYNCED

struct cell {
    ferry_memory_head_state from;
    enum op op;
    ferry_memory_head_state to;
    int h2d, d2h;
    bool allocates; /* the accessed side, if it is not allocated yet */
    int holds;      /* the contents of the valid copies afterwards; −1: not checked */
};

static const struct cell cells[] = {
    { U, HOST, H, 0, 0, true, 0 },
    { U, MUTABLE_HOST, H, 0, 0, true, 0 },
    { U, DEVICE, D, 0, 0, true, 0 },
    { U, MUTABLE_DEVICE, D, 0, 0, true, 0 },
    { U, ADOPT_HOST, H, 0, 0, false, FX_NEW },
    { U, ADOPT_DEVICE, D, 0, 0, false, FX_NEW },
    { U, PREFETCH_DEVICE, U, 0, 0, false, -1 },

    { H, HOST, H, 0, 0, false, FX_OLD },
    { H, MUTABLE_HOST, H, 0, 0, false, FX_OLD },
    { H, DEVICE, S, 1, 0, true, FX_OLD },
    { H, MUTABLE_DEVICE, D, 1, 0, true, FX_OLD },
    { H, ADOPT_HOST, H, 0, 0, false, FX_NEW },
    { H, ADOPT_DEVICE, D, 0, 0, false, FX_NEW },
    { H, PREFETCH_DEVICE, S, 1, 0, true, FX_OLD },

    { D, HOST, S, 0, 1, true, FX_OLD },
    { D, MUTABLE_HOST, H, 0, 1, true, FX_OLD },
    { D, DEVICE, D, 0, 0, false, FX_OLD },
    { D, MUTABLE_DEVICE, D, 0, 0, false, FX_OLD },
    { D, ADOPT_HOST, H, 0, 0, false, FX_NEW },
    { D, ADOPT_DEVICE, D, 0, 0, false, FX_NEW },
    { D, PREFETCH_DEVICE, D, 0, 0, false, FX_OLD },

    { S, HOST, S, 0, 0, false, FX_OLD },
    { S, MUTABLE_HOST, H, 0, 0, false, FX_OLD },
    { S, DEVICE, S, 0, 0, false, FX_OLD },
    { S, MUTABLE_DEVICE, D, 0, 0, false, FX_OLD },
    { S, ADOPT_HOST, H, 0, 0, false, FX_NEW },
    { S, ADOPT_DEVICE, D, 0, 0, false, FX_NEW },
    { S, PREFETCH_DEVICE, S, 0, 0, false, FX_OLD },
};

/* Operations that Caffe lacks. */
static const struct cell further_cells[] = {
    { U, OVERWRITE_HOST, H, 0, 0, true, FX_NEW },  { U, OVERWRITE_DEVICE, D, 0, 0, true, FX_NEW },
    { U, PREFETCH_HOST, U, 0, 0, false, -1 },      { U, INVALIDATE, U, 0, 0, false, -1 },

    { H, OVERWRITE_HOST, H, 0, 0, false, FX_NEW }, { H, OVERWRITE_DEVICE, D, 0, 0, true, FX_NEW },
    { H, PREFETCH_HOST, H, 0, 0, false, FX_OLD },  { H, INVALIDATE, U, 0, 0, false, -1 },

    { D, OVERWRITE_HOST, H, 0, 0, true, FX_NEW },  { D, OVERWRITE_DEVICE, D, 0, 0, false, FX_NEW },
    { D, PREFETCH_HOST, S, 0, 1, true, FX_OLD },   { D, INVALIDATE, U, 0, 0, false, -1 },

    { S, OVERWRITE_HOST, H, 0, 0, false, FX_NEW }, { S, OVERWRITE_DEVICE, D, 0, 0, false, FX_NEW },
    { S, PREFETCH_HOST, S, 0, 0, false, FX_OLD },  { S, INVALIDATE, U, 0, 0, false, -1 },
};

static void check_price(const struct cell *cell, bool warm, uint64_t host_blocks)
{
    ferry_device_stats s = fx_since();
    bool there = warm || cell->from == S || (cell->from == H && !on_device(cell->op)) ||
                 (cell->from == D && on_device(cell->op));
    uint64_t blocks = cell->allocates && !there ? (on_device(cell->op) ? 1 : host_blocks) : 0;

    if (fx_discrete()) {
        CU_ASSERT_EQUAL(s.copies_h2d, (uint64_t)cell->h2d);
        CU_ASSERT_EQUAL(s.copies_d2h, (uint64_t)cell->d2h);
        CU_ASSERT_EQUAL(s.bytes_h2d, (uint64_t)cell->h2d * FX_BYTES);
        CU_ASSERT_EQUAL(s.bytes_d2h, (uint64_t)cell->d2h * FX_BYTES);
        CU_ASSERT_EQUAL(s.allocs, blocks);
    } else {
        CU_ASSERT_EQUAL(s.copies_h2d + s.copies_d2h, 0);
        CU_ASSERT_EQUAL(s.bytes_h2d + s.bytes_d2h, 0);
        CU_ASSERT(s.allocs <= (cell->allocates && !there ? 1u : 0u));
    }
    CU_ASSERT_EQUAL(s.copies_d2d, 0);
}

static void walk_cell(const struct cell *cell, bool warm, uint64_t host_blocks)
{
    unsigned failures = CU_get_number_of_failures();
    ferry_memory *donor = fx_memory(FX_BYTES);
    ferry_memory *m = fx_memory_in(cell->from, warm);
    ferry_ref adopted = ferry_memory_mutable_device_data(donor);
    ferry_ref written = { NULL, 0 };

    memset(own_host, FX_NEW, FX_BYTES);
    fx_device_set(adopted, FX_BYTES, FX_NEW);
    fx_mark();
    run_op(m, cell->op, adopted, &written);
    check_price(cell, warm, host_blocks);
    if (cell->op == OVERWRITE_HOST)
        memset(written.handle, FX_NEW, FX_BYTES);
    if (cell->op == OVERWRITE_DEVICE)
        fx_device_set(written, FX_BYTES, FX_NEW);
    fx_check_head(m, cell->to);
    if (cell->holds >= 0)
        fx_check_contents(m, (unsigned char)cell->holds);
    fx_check_head(m, cell->to);
    ferry_memory_release(m);
    ferry_memory_release(donor);
    if (CU_get_number_of_failures() != failures)
        printf("     in cell %s x %s%s\n", head_names[cell->from], op_names[cell->op],
               warm ? ", both copies allocated" : "");
}

static void walk(const struct cell *table, size_t n)
{
    uint64_t host_blocks;

    fx_device();
    host_blocks = blocks_counted_for_host();
    for (size_t i = 0; i < n; i++) {
        walk_cell(&table[i], false, host_blocks);
        walk_cell(&table[i], true, host_blocks);
    }
    fx_end();
}

static void every_cell_of_the_table_has_its_state_and_copy_counts(void)
{
    walk(cells, FERRY_TEST_COUNT(cells));
}

static void overwrite_prefetch_and_invalidate_follow_their_rows_of_the_table(void)
{
    walk(further_cells, FERRY_TEST_COUNT(further_cells));
}

static void every_pair_of_operations_keeps_the_newest_bytes(void)
{
    fx_device();
    for (size_t i = 0; i < FERRY_TEST_COUNT(cells); i++)
        for (size_t j = 0; j < FERRY_TEST_COUNT(cells); j++) {
            ferry_memory *m = fx_memory_in(cells[i].from, false);
            ferry_memory *donor = fx_memory(FX_BYTES);
            ferry_ref adopted = ferry_memory_mutable_device_data(donor);
            ferry_ref unused;
            int holds = cells[i].holds;

            memset(own_host, FX_NEW, FX_BYTES);
            fx_device_set(adopted, FX_BYTES, FX_NEW);
            run_op(m, cells[i].op, adopted, &unused);
            if (cells[j].from == cells[i].to) {
                run_op(m, cells[j].op, adopted, &unused);
                fx_check_head(m, cells[j].to);
                if (cells[j].holds == FX_NEW || cells[j].holds < 0)
                    holds = cells[j].holds;
                if (cells[j].from == U && cells[j].holds == 0)
                    holds = 0;
            }
            if (holds >= 0)
                fx_check_contents(m, (unsigned char)holds);
            ferry_memory_release(m);
            ferry_memory_release(donor);
        }
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_cell_of_the_table_has_its_state_and_copy_counts),
    FERRY_TEST(overwrite_prefetch_and_invalidate_follow_their_rows_of_the_table),
    FERRY_TEST(every_pair_of_operations_keeps_the_newest_bytes),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "memory-table", cases, FERRY_TEST_COUNT(cases));
}
