/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fake-entries.h"
#include "ferry-test.h"
#include "rule-lines.h"

#include "core/validate/validate.h"

#include <ferry/status.h>

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The checks of the bytes that a run must not change, and of the sizes of sums and products. The
 * plugin copies every second float of a vector to a slice. It commits one fault, and the log has
 * one line with the number of the rule.
 */

/* ---- the plugin ------------------------------------------------------------------------------ */

enum fault {
    NO_FAULT,
    CHANGES_INPUT,
    CHANGES_GAP_OF_INPUT, /* another queue may do this: the slice belongs to it */
    CHANGES_INPUT_AND_FAILS,
    FAILS,
    WRITES_GAP,
    WRITES_BEFORE,
    WRITES_BEHIND
};

static enum fault fault;
static char memory[1 << 16] __attribute__((aligned(64)));
static size_t taken;

static int alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out,
                 uint32_t *out_flags)
{
    (void)dev, (void)queue, (void)flags, (void)out_flags;
    *out = memory + taken;
    taken += ((size_t)bytes + 63) / 64 * 64;
    return 0;
}

static int sum(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    (void)dev, (void)queue, (void)dtype, (void)n, (void)x, (void)result;
    return 0;
}

static int gemv(void *dev, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
                double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
                ferry_ref y, int64_t incy)
{
    (void)dev, (void)queue, (void)dtype, (void)trans, (void)m, (void)n, (void)alpha;
    (void)a, (void)lda, (void)x, (void)incx, (void)beta, (void)y, (void)incy;
    return 0;
}

static int gemm(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b,
                int64_t m, int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda,
                ferry_cref b, int64_t ldb, double beta, ferry_ref c, int64_t ldc)
{
    (void)dev, (void)queue, (void)dtype, (void)trans_a, (void)trans_b, (void)m, (void)n, (void)k;
    (void)alpha, (void)a, (void)lda, (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;
    return 0;
}

/* ---- its operation: 4 by 2 floats with gaps, from x to y; 16 bytes are packed ---------------- */

#define ROWS    4
#define COLUMNS 2

static int x_stride = 3, y_stride = 5; /* of rows */

static int op_query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev, (void)op;
    out->packed_inputs = 2;
    out->packed_bytes = 16;
    return 0;
}

static int op_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    float *x = (float *)(void *)((char *)(uintptr_t)args->in[0].handle + args->in[0].offset);
    float *y = (float *)(void *)((char *)args->out[0].handle + args->out[0].offset);

    (void)dev, (void)queue, (void)prepared;
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            y[row * y_stride + column] = x[row * x_stride + column];
    if (fault == CHANGES_INPUT || fault == CHANGES_INPUT_AND_FAILS)
        x[x_stride + 1] += 1;
    if (fault == CHANGES_GAP_OF_INPUT)
        x[x_stride - 1] += 1;
    if (fault == WRITES_GAP)
        y[y_stride - 1] += 1;
    if (fault == WRITES_BEFORE)
        y[-1] += 1;
    if (fault == WRITES_BEHIND)
        y[(ROWS - 1) * y_stride + COLUMNS] += 1;
    return fault == CHANGES_INPUT_AND_FAILS || fault == FAILS ? FERRY_EDEVICE : 0;
}

/* ---- ferry's side ---------------------------------------------------------------------------- */

static ferry_plugin_ops ops;
static void *dev;

static const ferry_plugin_ops own = {
    .struct_size = sizeof own,
    .device_open = fake_device_open,
    .device_close = fake_device_close,
    .properties = fake_properties,
    .alloc = alloc,
    .free = fake_free,
    .memcpy = fake_copy,
    .memset = fake_set,
    .synchronize = fake_synchronize,
    .asum = sum,
    .sumsq = sum,
    .gemv = gemv,
    .gemm = gemm,
    .extension = fake_extension,
};

static void begin(uint32_t flags)
{
    static ferry_plugin_ops wrapped;

    if (!wrapped.struct_size) {
        wrapped = own;
        CU_ASSERT_EQUAL_FATAL(ferry__validate_wrap("fake", true, &wrapped), 0);
        ferry_log_set_handler(rule_keep, NULL);
    }
    fake_operations.query = op_query;
    fake_operations.run = op_run;
    ops = wrapped;
    fault = NO_FAULT;
    fake_flags = flags;
    taken = 0;
    rule_lines = 0;
    memset(memory, 0, sizeof memory);
    CU_ASSERT_EQUAL_FATAL(ops.device_open(ops.plugin, 0, &dev), 0);
}

static ferry_ref block_of(uint64_t bytes)
{
    uint32_t flags = 0;
    void *handle = NULL;

    CU_ASSERT_EQUAL(ops.alloc(dev, NULL, bytes, 0, &handle, &flags), 0);
    return (ferry_ref){ handle, 0 };
}

/* The operation and its operands; x and y begin in the middle of their blocks. */
struct made {
    const ferry_op_table *table;
    void *prepared;
    ferry_ref x, w, y, packed;
};

static void describe(ferry_op_desc *op)
{
    memset(op, 0, sizeof *op);
    op->struct_size = sizeof *op;
    op->kind = FERRY_OP_BINARY;
    op->n_in = 2;
    op->n_out = 1;
    op->constants = 2;
    op->in[0] = (ferry_operand){
        .dtype = FERRY_F32, .rank = 2, .shape = { ROWS, COLUMNS }, .stride = { x_stride, 1 }
    };
    op->in[1] = (ferry_operand){ .dtype = FERRY_F32, .rank = 1, .shape = { 4 }, .stride = { 1 } };
    op->out[0] = (ferry_operand){
        .dtype = FERRY_F32, .rank = 2, .shape = { ROWS, COLUMNS }, .stride = { y_stride, 1 }
    };
}

static int run(const struct made *m)
{
    ferry_cref in[2] = { ferry_ref_const(m->x), { NULL, 0 } };
    ferry_op_run_args args = {
        .struct_size = sizeof args, .in = in, .out = &m->y, .packed = m->packed
    };

    return m->table->run(dev, NULL, m->prepared, &args);
}

static void make(struct made *m)
{
    ferry_op_desc op;
    ferry_cref in[2];
    const void *table;

    m->x = block_of(1024);
    m->w = block_of(16);
    m->y = block_of(1024);
    m->packed = block_of(64);
    m->x.offset = m->y.offset = 512;
    in[0] = ferry_ref_const(m->x);
    in[1] = ferry_ref_const(m->w);
    describe(&op);
    CU_ASSERT_EQUAL_FATAL(ops.extension(dev, FERRY_OP_EXTENSION, &table), 0);
    m->table = table;
    CU_ASSERT_EQUAL_FATAL(m->table->create(dev, &op, &m->prepared), 0);
    CU_ASSERT_EQUAL(m->table->prepare(dev, NULL, m->prepared, in, m->packed), 0);
}

/* A run with that fault, on a device with these flags. */
static int run_with(enum fault f, uint32_t flags)
{
    struct made m;
    int err;

    begin(flags);
    make(&m);
    fault = f;
    err = run(&m);
    fault = NO_FAULT;
    m.table->destroy(dev, m.prepared);
    return err;
}

/* The blocks are left: rule 20. */
static void end(void)
{
    ops.device_close(dev);
    rule_lines = 0;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void a_run_that_changes_its_inputs_is_reported(void)
{
    CU_ASSERT_EQUAL(run_with(NO_FAULT, FERRY_DEVICE_POINTERS), 0);
    CU_ASSERT(rule_broke(0, ""));
    end();
    CU_ASSERT_EQUAL(run_with(CHANGES_INPUT, FERRY_DEVICE_POINTERS | FERRY_DEVICE_HOST_MEMORY), 0);
    CU_ASSERT(rule_broke(27, "changed byte"));
    end();
    CU_ASSERT_EQUAL(run_with(CHANGES_INPUT_AND_FAILS, FERRY_DEVICE_POINTERS), FERRY_EDEVICE);
    CU_ASSERT(rule_broke(63, "and failed"));
    end();
    CU_ASSERT_EQUAL(run_with(FAILS, FERRY_DEVICE_POINTERS), FERRY_EDEVICE);
    CU_ASSERT(rule_broke(0, ""));
    end();
    CU_ASSERT_EQUAL(run_with(CHANGES_GAP_OF_INPUT, FERRY_DEVICE_POINTERS), 0);
    CU_ASSERT(rule_broke(0, "")); /* these bytes do not belong to the operation */
    end();
}

static void a_run_that_writes_around_its_output_is_reported(void)
{
    static const enum fault faults[] = { WRITES_GAP, WRITES_BEFORE, WRITES_BEHIND };

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        CU_ASSERT_EQUAL(run_with(faults[i], FERRY_DEVICE_POINTERS), 0);
        CU_ASSERT(rule_broke(62, "outside of its elements"));
        end();
        CU_ASSERT_EQUAL(run_with(faults[i], FERRY_DEVICE_POINTERS | FERRY_DEVICE_HOST_MEMORY), 0);
        CU_ASSERT(rule_broke(0, "")); /* the host may have written them */
        end();
    }
}

static void changed_packed_constants_are_reported(void)
{
    struct made m;
    ferry_cref in[2];

    begin(FERRY_DEVICE_POINTERS);
    make(&m);
    CU_ASSERT_EQUAL(run(&m), 0);
    CU_ASSERT_EQUAL(run(&m), 0);
    CU_ASSERT(rule_broke(0, ""));
    *((char *)m.packed.handle + 5) ^= 1;
    CU_ASSERT_EQUAL(run(&m), 0);
    CU_ASSERT(rule_broke(59, "changed since prepare"));
    m.table->destroy(dev, m.prepared);
    end();
    begin(FERRY_DEVICE_POINTERS);
    make(&m);
    *((char *)m.w.handle + 3) = 7; /* new weights, packed again */
    in[0] = ferry_ref_const(m.x);
    in[1] = ferry_ref_const(m.w);
    CU_ASSERT_EQUAL(m.table->prepare(dev, NULL, m.prepared, in, m.packed), 0);
    CU_ASSERT_EQUAL(run(&m), 0);
    CU_ASSERT(rule_broke(0, ""));
    ops.free(dev, NULL, m.packed.handle);
    taken -= 64;
    m.packed = block_of(64); /* the same address, whose old contents are forgotten */
    memset(m.packed.handle, 9, 16);
    CU_ASSERT_EQUAL(run(&m), 0);
    CU_ASSERT(rule_broke(0, ""));
    m.table->destroy(dev, m.prepared);
    end();
}

/* A run whose output begins that many floats after its input, with rows as long as these. */
static void run_shifted(int floats, int stride)
{
    struct made m;

    begin(FERRY_DEVICE_POINTERS);
    x_stride = 4;
    y_stride = stride;
    make(&m);
    m.y = m.x;
    m.y.offset += sizeof(float) * (size_t)floats;
    CU_ASSERT_EQUAL(run(&m), 0);
    m.table->destroy(dev, m.prepared);
    x_stride = 3;
    y_stride = 5;
}

static void overlap_of_outputs_and_inputs_is_reported_unless_in_place(void)
{
    static const struct {
        int floats, stride, rule;
    } places[] = { { 0, 4, 0 },  { 1, 4, 62 }, { 2, 4, 0 },  { 13, 4, 62 },
                   { 14, 4, 0 }, { 16, 4, 0 }, { 0, 5, 62 }, { 0, 2, 62 } };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        run_shifted(places[i].floats, places[i].stride);
        CU_ASSERT(rule_broke(places[i].rule, "overlaps in[0]"));
        end();
    }
}

static void invalid_sizes_of_sums_and_products_are_reported(void)
{
    ferry_ref a, x, y;
    ferry_cref from, by;

    for (int i = 0; i < 9; i++) {
        begin(FERRY_DEVICE_POINTERS);
        a = block_of(1024);
        x = block_of(1024);
        y = block_of(1024);
        from = ferry_ref_const(a);
        by = ferry_ref_const(x);
        ops.asum(dev, NULL, FERRY_F32, i == 0 ? 0 : 8, from, y);
        ops.sumsq(dev, NULL, FERRY_F32, i == 1 ? -1 : 8, from, y);
        ops.gemv(dev, NULL, FERRY_F32, FERRY_NO_TRANS, i == 2 ? 0 : 4, 8, 1, from, i == 3 ? 7 : 8,
                 by, i == 4 ? 0 : -1, 0, y, 2);
        ops.gemm(dev, NULL, FERRY_F32, FERRY_TRANS, FERRY_NO_TRANS, 4, 8, i == 5 ? 0 : 2, 1, from,
                 i == 6 ? 3 : 4, by, i == 7 ? 7 : 8, 0, y, 8);
        CU_ASSERT(rule_broke(i < 8 ? 44 : 0, ""));
        end();
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_run_that_changes_its_inputs_is_reported),
    FERRY_TEST(a_run_that_writes_around_its_output_is_reported),
    FERRY_TEST(changed_packed_constants_are_reported),
    FERRY_TEST(overlap_of_outputs_and_inputs_is_reported_unless_in_place),
    FERRY_TEST(invalid_sizes_of_sums_and_products_are_reported),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "validate-bytes", cases, FERRY_TEST_COUNT(cases));
}
