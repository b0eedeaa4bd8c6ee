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
 * The checks of the rules, between this program in the place of ferry and a plugin of host memory
 * with queues and events. Either side commits one fault, and one line of the log has the number of
 * its rule.
 */

/* Whether the log got one line of that rule since the last call, or no line for rule 0. */
static int broke(int rule)
{
    return rule_broke(rule, "");
}

/* ---- the plugin ------------------------------------------------------------------------------ */

enum fault {
    NO_FAULT,
    ALLOC_NULL,
    ALLOC_MISALIGNED,
    ALLOC_TWICE,
    ALLOC_STORES,
    MEMSET_POSITIVE,
    SUPPORTS_TWO,
    QUERY_SEVEN,
    WAIT_EARLY,
    EVENT_TWICE,
    HOST_MISALIGNED,
    OP_CHANGES_ANSWER,
    OP_PACKS_INPUT,
    OP_EPILOGUE,
    OP_WORKSPACE,
    OP_LEAVES_OUT,
    OP_SPOILS_PACKED,
    OP_STORES
};

static enum fault fault;
static char memory[1 << 16] __attribute__((aligned(64)));
static size_t taken;

static int alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out,
                 uint32_t *out_flags)
{
    (void)dev, (void)queue, (void)flags, (void)out_flags;
    if (fault == ALLOC_NULL)
        return 0;
    *out = memory + taken + (fault == ALLOC_MISALIGNED ? 8 : 0);
    if (fault == ALLOC_STORES)
        return FERRY_ENOMEM;
    if (fault != ALLOC_TWICE)
        taken += ((size_t)bytes + 63) / 64 * 64;
    return 0;
}

static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    fake_set(dev, queue, dst, byte, bytes);
    return fault == MEMSET_POSITIVE ? 3 : 0;
}

static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    (void)dev, (void)queue, (void)dtype, (void)n, (void)alpha, (void)x, (void)y;
    return 0;
}

static int supports(void *dev, uint32_t op, uint32_t dtype)
{
    (void)dev, (void)op, (void)dtype;
    return fault == SUPPORTS_TWO ? 2 : 1;
}

static int owns_unknown(void *dev, const void *handle)
{
    (void)dev, (void)handle;
    return FERRY_EUNSUPPORTED;
}

static int host_alloc(void *dev, uint64_t bytes, uint32_t flags, void **out, uint32_t *out_flags)
{
    (void)dev, (void)bytes, (void)flags, (void)out_flags;
    *out = memory + 32768 + (fault == HOST_MISALIGNED ? 4 : 0);
    return 0;
}

static int queue_create(void *dev, uint32_t flags, void **out)
{
    static char queues[8];
    static int count;

    (void)dev, (void)flags;
    *out = &queues[count++ % 8];
    return 0;
}

static int event_record(void *dev, void *queue, void **out)
{
    static char events[64];
    static int count;

    (void)dev, (void)queue;
    count += fault != EVENT_TWICE;
    *out = &events[count % 64];
    return 0;
}

static int event_query(void *dev, void *event)
{
    (void)dev, (void)event;
    return fault == QUERY_SEVEN ? 7 : fault != WAIT_EARLY;
}

static int queue_wait(void *dev, void *queue, void *event)
{
    (void)dev, (void)queue, (void)event;
    return 0;
}

/* ---- its operations: y = x for 16 floats, with 16 bytes packed and 64 of workspace ----------- */

static int op_query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    static unsigned asked;

    (void)dev, (void)op;
    out->epilogue = fault == OP_EPILOGUE ? 3 : 0;
    out->packed_inputs = fault == OP_PACKS_INPUT ? 1 : 2;
    out->packed_bytes = 16;
    out->workspace_bytes = 64 + (fault == OP_CHANGES_ANSWER ? asked++ % 2 : 0);
    return 0;
}

static int op_create(void *dev, const ferry_op_desc *op, void **out)
{
    static char one;

    (void)dev, (void)op;
    *out = &one;
    return fault == OP_STORES ? FERRY_ENOMEM : 0;
}

static int op_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    float *y = (float *)(void *)((char *)args->out[0].handle + args->out[0].offset);
    char *workspace = (char *)args->workspace.handle + args->workspace.offset;

    (void)dev, (void)queue, (void)prepared;
    for (int i = 0; i < (fault == OP_LEAVES_OUT ? 15 : 16); i++)
        y[i] = (float)i;
    memset(workspace, 1, fault == OP_WORKSPACE ? 65 : 64);
    if (fault == OP_SPOILS_PACKED)
        *((char *)args->packed.handle + args->packed.offset + 3) ^= 1;
    return 0;
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
    .memset = set,
    .axpy = axpy,
    .synchronize = fake_synchronize,
    .supports = supports,
    .owns = owns_unknown,
    .host_alloc = host_alloc,
    .host_free = fake_done,
    .queue_create = queue_create,
    .queue_destroy = fake_done,
    .queue_synchronize = fake_done,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = fake_done,
    .event_destroy = fake_done,
    .queue_wait = queue_wait,
    .extension = fake_extension,
};

static void begin(enum fault f)
{
    static ferry_plugin_ops wrapped;

    if (!wrapped.struct_size) {
        wrapped = own;
        CU_ASSERT_EQUAL_FATAL(ferry__validate_wrap("fake", false, &wrapped), 0);
        ferry_log_set_handler(rule_keep, NULL);
    }
    ops = wrapped;
    fake_flags = FERRY_DEVICE_POINTERS | FERRY_DEVICE_HOST_MEMORY;
    fake_operations.query = op_query;
    fake_operations.create = op_create;
    fake_operations.run = op_run;
    fault = f;
    taken = 0;
    rule_lines = 0;
    CU_ASSERT_EQUAL_FATAL(ops.device_open(ops.plugin, 0, &dev), 0);
}

static ferry_ref block_of(uint64_t bytes)
{
    uint32_t flags = 0;
    void *handle = NULL;

    CU_ASSERT_EQUAL(ops.alloc(dev, NULL, bytes, 0, &handle, &flags), 0);
    return (ferry_ref){ handle, 0 };
}

static void end(void)
{
    ops.device_close(dev);
}

/* ---- the plugin's faults --------------------------------------------------------------------- */

static void invalid_memory_of_the_plugin_is_reported(void)
{
    uint32_t flags = 0;
    void *handle = NULL;
    ferry_ref b;

    begin(ALLOC_NULL);
    block_of(64);
    CU_ASSERT(broke(24));
    end();
    begin(ALLOC_MISALIGNED);
    block_of(64);
    CU_ASSERT(broke(23));
    end();
    rule_lines = 0;
    begin(ALLOC_TWICE);
    block_of(64);
    CU_ASSERT(broke(0));
    block_of(64);
    CU_ASSERT(broke(23));
    end();
    rule_lines = 0;
    begin(ALLOC_STORES);
    CU_ASSERT_EQUAL(ops.alloc(dev, NULL, 64, 0, &handle, &flags), FERRY_ENOMEM);
    CU_ASSERT_PTR_NULL(handle);
    CU_ASSERT(broke(12));
    end();
    begin(MEMSET_POSITIVE);
    b = block_of(64);
    CU_ASSERT_EQUAL(ops.memset(dev, NULL, b, 0, 64), 3);
    CU_ASSERT(broke(11));
    ops.memset(dev, NULL, b, 0, 64); /* reported once */
    CU_ASSERT(broke(0));
    end();
    rule_lines = 0;
    begin(HOST_MISALIGNED);
    CU_ASSERT_EQUAL(ops.host_alloc(dev, 64, 0, &handle, &flags), 0);
    CU_ASSERT(broke(31));
    end();
    rule_lines = 0;
}

static void invalid_results_of_the_plugin_are_reported(void)
{
    void *event, *again;

    begin(SUPPORTS_TWO);
    ops.supports(dev, 0, 0);
    CU_ASSERT(broke(22));
    end();
    begin(QUERY_SEVEN);
    CU_ASSERT_EQUAL(ops.event_record(dev, NULL, &event), 0);
    ops.event_query(dev, event);
    CU_ASSERT(broke(38));
    ops.event_destroy(dev, event);
    end();
    begin(WAIT_EARLY);
    CU_ASSERT_EQUAL(ops.event_record(dev, NULL, &event), 0);
    ops.event_synchronize(dev, event);
    CU_ASSERT(broke(36));
    ops.event_destroy(dev, event);
    end();
    begin(EVENT_TWICE);
    CU_ASSERT_EQUAL(ops.event_record(dev, NULL, &event), 0);
    CU_ASSERT_EQUAL(ops.event_record(dev, NULL, &again), 0);
    CU_ASSERT(broke(41));
    end();
    rule_lines = 0;
}

static void describe(ferry_op_desc *op)
{
    memset(op, 0, sizeof *op);
    op->struct_size = sizeof *op;
    op->kind = FERRY_OP_BINARY;
    op->n_in = 2;
    op->n_out = 1;
    op->constants = 2;
    for (int i = 0; i < 3; i++) {
        ferry_operand *o = i < 2 ? &op->in[i] : &op->out[0];

        o->rank = 1;
        o->shape[0] = i == 1 ? 4 : 16;
        o->stride[0] = 1;
    }
}

/* Makes and runs the operation as ferry does; the code of create. */
static int run_operation(void)
{
    ferry_ref x = block_of(64), w = block_of(16), y = block_of(64), packed = block_of(16);
    ferry_ref workspace = block_of(64);
    ferry_cref in[2] = { ferry_ref_const(x), ferry_ref_const(w) };
    ferry_op_run_args args = { .struct_size = sizeof args, .in = in, .out = &y };
    ferry_op_answer answer = { .struct_size = sizeof answer };
    const ferry_op_table *t;
    const void *table;
    void *prepared = NULL;
    ferry_op_desc op;
    int err;

    describe(&op);
    CU_ASSERT_EQUAL_FATAL(ops.extension(dev, FERRY_OP_EXTENSION, &table), 0);
    t = table;
    CU_ASSERT_EQUAL(t->query(dev, &op, &answer), 0);
    err = t->create(dev, &op, &prepared);
    if (err)
        return err;
    CU_ASSERT_EQUAL(t->prepare(dev, NULL, prepared, in, packed), 0);
    args.packed = packed;
    args.workspace = workspace;
    CU_ASSERT_EQUAL(t->run(dev, NULL, prepared, &args), 0);
    CU_ASSERT_EQUAL(((const float *)y.handle)[14], 14);
    ops.synchronize(dev);
    t->destroy(dev, prepared);
    return 0;
}

static void invalid_operations_of_the_plugin_are_reported(void)
{
    static const struct {
        enum fault fault;
        int rule;
    } faults[] = { { NO_FAULT, 0 },         { OP_CHANGES_ANSWER, 56 }, { OP_PACKS_INPUT, 59 },
                   { OP_EPILOGUE, 64 },     { OP_WORKSPACE, 61 },      { OP_LEAVES_OUT, 62 },
                   { OP_SPOILS_PACKED, 59 } };

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        begin(faults[i].fault);
        CU_ASSERT_EQUAL(run_operation(), 0);
        CU_ASSERT(broke(faults[i].rule));
        end();
        rule_lines = 0;
    }
    begin(OP_STORES);
    CU_ASSERT_EQUAL(run_operation(), FERRY_ENOMEM);
    CU_ASSERT(broke(12));
    end();
    rule_lines = 0;
}

/* ---- the caller's faults --------------------------------------------------------------------- */

static void invalid_memory_of_the_caller_is_reported(void)
{
    ferry_ref a, b;

    begin(NO_FAULT);
    a = block_of(64);
    b = block_of(64);
    ops.memset(dev, NULL, a, 0, 64);
    ops.memcpy(dev, NULL, FERRY_MEMCPY_D2D, b, ferry_ref_const(a), 64);
    CU_ASSERT(broke(0));
    a.offset = 8;
    ops.memset(dev, NULL, a, 0, 57);
    CU_ASSERT(broke(27));
    ops.memset(dev, NULL, (ferry_ref){ NULL, 0 }, 0, 8);
    CU_ASSERT(broke(28));
    ops.axpy(dev, NULL, FERRY_F32, 8, 1, ferry_ref_const(b), (ferry_ref){ b.handle, 4 });
    CU_ASSERT(broke(50));
    ops.axpy(dev, NULL, FERRY_F32, 0, 1, ferry_ref_const(b), b);
    CU_ASSERT(broke(44));
    ops.synchronize(dev);
    ops.free(dev, NULL, b.handle);
    CU_ASSERT(broke(0));
    ops.memset(dev, NULL, b, 0, 8);
    CU_ASSERT(broke(26));
    end();
    CU_ASSERT(broke(20)); /* block a */
    begin(NO_FAULT);
    a = block_of(64);
    ops.memset(dev, NULL, a, 0, 64);
    ops.free(dev, NULL, a.handle);
    CU_ASSERT(broke(26)); /* not waited for */
    end();
    begin(NO_FAULT);
    ops.free(dev, NULL, memory + 4096);
    CU_ASSERT(broke(26));
    end();
    begin(NO_FAULT);
    ops.host_free(dev, memory);
    CU_ASSERT(broke(31));
    end();
}

static void missing_order_between_queues_of_the_caller_is_reported(void)
{
    void *queue, *event;
    ferry_ref a;

    begin(NO_FAULT);
    CU_ASSERT_EQUAL(ops.queue_create(dev, 0, &queue), 0);
    a = block_of(64);
    ops.memset(dev, NULL, a, 0, 64);
    ops.event_record(dev, NULL, &event);
    ops.queue_wait(dev, queue, event);
    ops.memset(dev, queue, a, 1, 64); /* ordered after the other queue's work */
    CU_ASSERT(broke(0));
    ops.memset(dev, NULL, a, 0, 32); /* not ordered after this queue's work */
    CU_ASSERT(broke(34));
    ops.synchronize(dev);
    ops.memset(dev, NULL, a, 0, 32);
    CU_ASSERT(broke(0));
    ops.event_destroy(dev, event);
    ops.queue_wait(dev, queue, event);
    CU_ASSERT(broke(41));
    ops.synchronize(dev);
    ops.free(dev, NULL, a.handle);
    ops.queue_destroy(dev, queue);
    end();
    CU_ASSERT(broke(0));
    begin(NO_FAULT);
    ops.memset(dev, queue, block_of(64), 0, 8);
    CU_ASSERT(broke(41));
    end();
    rule_lines = 0;
    begin(NO_FAULT);
    ops.event_destroy(dev, event);
    CU_ASSERT(broke(41));
    end();
    begin(NO_FAULT);
    ops.event_record(dev, NULL, &event);
    end();
    CU_ASSERT(broke(41)); /* left at the end */
}

/* Two queues may read at the same time, and write disjoint ranges. */
static void order_is_required_only_for_overlapping_bytes(void)
{
    void *queue;
    ferry_ref a, half;

    begin(NO_FAULT);
    CU_ASSERT_EQUAL(ops.queue_create(dev, 0, &queue), 0);
    a = block_of(64);
    half = (ferry_ref){ a.handle, 32 };
    ops.memset(dev, NULL, a, 0, 32);
    ops.memset(dev, queue, half, 0, 32);
    CU_ASSERT(broke(0));
    ops.synchronize(dev);
    ops.memcpy(dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ memory + 8192, 0 }, ferry_ref_const(a),
               64);
    ops.memcpy(dev, queue, FERRY_MEMCPY_D2H, (ferry_ref){ memory + 9216, 0 }, ferry_ref_const(a),
               64);
    CU_ASSERT(broke(0));
    ops.memset(dev, queue, a, 0, 1);
    CU_ASSERT(broke(34));
    ops.synchronize(dev);
    ops.free(dev, NULL, a.handle);
    ops.queue_destroy(dev, queue);
    end();
    CU_ASSERT(broke(0));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(invalid_memory_of_the_plugin_is_reported),
    FERRY_TEST(invalid_results_of_the_plugin_are_reported),
    FERRY_TEST(invalid_operations_of_the_plugin_are_reported),
    FERRY_TEST(invalid_memory_of_the_caller_is_reported),
    FERRY_TEST(missing_order_between_queues_of_the_caller_is_reported),
    FERRY_TEST(order_is_required_only_for_overlapping_bytes),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "validate", cases, FERRY_TEST_COUNT(cases));
}
