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
 * Devices, tables and answers about peers, handles that are not blocks of the device, imported
 * memory, and the life of prepared operations. The plugin has two devices; its handles are
 * addresses in an arena of each, of which the program may take the last page by the vendor's calls.
 */

/* ---- the plugin ------------------------------------------------------------------------------ */

#define PAGE  4096
#define ARENA (4 * PAGE)

static struct device {
    char memory[ARENA] __attribute__((aligned(64)));
    size_t taken;
} devices[2];

static enum fault {
    NO_FAULT,
    OPEN_NULL,
    OPEN_TWICE,
    PEER_TWO,
    TABLE_NULL,
    TABLE_EMPTY,
    IMPORT_NULL
} fault;

static int answers_owns; /* the plugin can identify its own memory */
static int prepared_now; /* its operations that are not destroyed */

static int device_open(void *plugin, uint32_t index, void **out)
{
    (void)plugin;
    devices[index].taken = 0;
    if (fault != OPEN_NULL)
        *out = &devices[fault == OPEN_TWICE ? 0 : index];
    return 0;
}

static int alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out,
                 uint32_t *out_flags)
{
    struct device *d = dev;

    (void)queue, (void)flags, (void)out_flags;
    *out = d->memory + d->taken;
    d->taken += ((size_t)bytes + 63) / 64 * 64;
    return 0;
}

static int owns(void *dev, const void *handle)
{
    const struct device *d = dev;
    const char *at = handle;

    if (!answers_owns)
        return FERRY_EUNSUPPORTED;
    return (at >= d->memory && at < d->memory + d->taken) ||
           (at >= d->memory + ARENA - PAGE && at < d->memory + ARENA);
}

static int peer_access(void *dst_dev, void *src_dev)
{
    (void)dst_dev, (void)src_dev;
    return fault == PEER_TWO ? 2 : 1;
}

static int peer_copy(void *dst_dev, void *queue, ferry_ref dst, void *src_dev, ferry_cref src,
                     uint64_t bytes)
{
    (void)src_dev;
    return fake_copy(dst_dev, queue, FERRY_MEMCPY_D2D, dst, src, bytes);
}

static int import_host(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle)
{
    (void)dev, (void)bytes, (void)flags;
    *out_handle = fault == IMPORT_NULL ? NULL : ptr;
    return 0;
}

static int map(void *dev, void *queue, void *handle, uint64_t bytes, uint32_t access)
{
    (void)dev, (void)queue, (void)handle, (void)bytes, (void)access;
    return 0;
}

static int event_record(void *dev, void *queue, void **out)
{
    static char one;

    (void)dev, (void)queue;
    *out = &one;
    return 0;
}

static int event_query(void *dev, void *event)
{
    (void)dev, (void)event;
    return 1;
}

static int op_query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev, (void)op, (void)out;
    return 0;
}

static int op_create(void *dev, const ferry_op_desc *op, void **out)
{
    (void)dev, (void)op;
    prepared_now++;
    *out = &prepared_now;
    return 0;
}

static int op_prepare(void *dev, void *queue, void *prepared, const ferry_cref *in,
                      ferry_ref packed)
{
    (void)dev, (void)queue, (void)prepared, (void)in, (void)packed;
    return 0;
}

static int op_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    (void)dev, (void)queue, (void)prepared, (void)args;
    return 0;
}

static void op_destroy(void *dev, void *prepared)
{
    (void)dev, (void)prepared;
    prepared_now--;
}

static int extension(void *dev, const char *name, const void **out)
{
    static const ferry_op_table table = { .struct_size = sizeof table,
                                          .query = op_query,
                                          .create = op_create,
                                          .prepare = op_prepare,
                                          .run = op_run,
                                          .destroy = op_destroy };

    static const uint32_t empty;

    (void)dev, (void)name;
    *out = fault == TABLE_NULL ? NULL : fault == TABLE_EMPTY ? (const void *)&empty : &table;
    return 0;
}

/* ---- ferry's side ---------------------------------------------------------------------------- */

static ferry_plugin_ops ops = {
    .struct_size = sizeof ops,
    .device_open = device_open,
    .device_close = fake_device_close,
    .properties = fake_properties,
    .alloc = alloc,
    .free = fake_free,
    .memcpy = fake_copy,
    .memset = fake_set,
    .synchronize = fake_synchronize,
    .import_host = import_host,
    .unimport_host = fake_done,
    .map = map,
    .unmap = fake_free,
    .peer_access = peer_access,
    .peer_copy = peer_copy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = fake_done,
    .event_destroy = fake_done,
    .extension = extension,
    .owns = owns,
};
static void *first, *second;
static const ferry_op_table *operations;

static void begin(void)
{
    static int wrapped;
    const void *table;

    if (!wrapped) {
        CU_ASSERT_EQUAL_FATAL(ferry__validate_wrap("fake", false, &ops), 0);
        ferry_log_set_handler(rule_keep, NULL);
        wrapped = 1;
    }
    rule_lines = prepared_now = 0;
    fault = NO_FAULT;
    CU_ASSERT_EQUAL_FATAL(ops.device_open(ops.plugin, 0, &first), 0);
    CU_ASSERT_EQUAL_FATAL(ops.device_open(ops.plugin, 1, &second), 0);
    CU_ASSERT_EQUAL_FATAL(ops.extension(first, FERRY_OP_EXTENSION, &table), 0);
    operations = table;
}

static ferry_ref block_of(void *dev, uint64_t bytes)
{
    uint32_t flags = 0;
    void *handle = NULL;

    CU_ASSERT_EQUAL(ops.alloc(dev, NULL, bytes, 0, &handle, &flags), 0);
    return (ferry_ref){ handle, 0 };
}

/* The blocks are left: rule 20. */
static void end(void)
{
    ops.device_close(second);
    ops.device_close(first);
    rule_lines = 0;
}

/* ---- devices and tables ---------------------------------------------------------------------- */

static void device_open_stores_a_new_handle(void)
{
    void *dev;

    begin();
    ops.device_close(second);
    for (fault = OPEN_NULL; fault <= OPEN_TWICE; fault++) {
        dev = NULL;
        CU_ASSERT_EQUAL(ops.device_open(ops.plugin, 1, &dev), FERRY_EPLUGIN);
        CU_ASSERT_PTR_NULL(dev);
        CU_ASSERT(rule_broke(19, fault == OPEN_NULL ? "with NULL" : "a device that is open"));
    }
    ops.device_close(first); /* the first one is open still */
    CU_ASSERT(rule_broke(0, ""));
}

static void peer_access_returns_1_or_0(void)
{
    begin();
    CU_ASSERT_EQUAL(ops.peer_access(first, second), 1);
    CU_ASSERT(rule_broke(0, ""));
    fault = PEER_TWO;
    CU_ASSERT_EQUAL(ops.peer_access(first, second), 2);
    CU_ASSERT(rule_broke(42, "peer_access: returned 2"));
    end();
}

static void a_table_starts_with_its_size(void)
{
    const void *table = NULL;

    for (int i = 0; i < 2; i++) {
        begin();
        fault = i ? TABLE_EMPTY : TABLE_NULL;
        CU_ASSERT_EQUAL(ops.extension(first, "acme.graphs/1", &table), 0);
        CU_ASSERT(rule_broke(55, "for \"acme.graphs/1\""));
        end();
    }
}

/* ---- handles --------------------------------------------------------------------------------- */

static void clear(void *dev, void *handle)
{
    ops.memset(dev, NULL, (ferry_ref){ handle, 0 }, 0, 64);
}

static void a_handle_is_a_block_of_the_device(void)
{
    ferry_ref there;

    for (answers_owns = 0; answers_owns < 2; answers_owns++) {
        begin();
        clear(first, block_of(first, 64).handle);
        clear(first, devices[0].memory + ARENA - PAGE); /* the program's, by the vendor's calls */
        CU_ASSERT(rule_broke(0, ""));
        clear(first, devices[0].memory + 2 * PAGE);
        CU_ASSERT(rule_broke(answers_owns ? 28 : 0, "not a block of the device"));
        end();
        begin();
        there = block_of(second, 64);
        clear(second, there.handle);
        CU_ASSERT(rule_broke(0, ""));
        clear(first, there.handle);
        CU_ASSERT(rule_broke(28, "another device's block"));
        end();
    }
}

static void the_source_of_a_peer_copy_is_a_block_of_the_peer(void)
{
    ferry_ref here, there;

    answers_owns = 1;
    begin();
    here = block_of(first, 64);
    there = block_of(second, 64);
    ops.peer_copy(first, NULL, here, second, ferry_ref_const(there), 64);
    CU_ASSERT(rule_broke(0, ""));
    ops.peer_copy(first, NULL, here, second, (ferry_cref){ there.handle, 32 }, 64);
    CU_ASSERT(rule_broke(27, "peer_copy: 64 bytes at offset 32 of a block of 64"));
    ops.peer_copy(first, NULL, here, second, ferry_ref_const(here), 64);
    CU_ASSERT(rule_broke(28, "peer_copy: a handle of another device's block"));
    end();
    begin(); /* the peer's queue writes what is copied */
    here = block_of(first, 64);
    there = block_of(second, 64);
    clear(second, there.handle);
    ops.peer_copy(first, NULL, here, second, ferry_ref_const(there), 64);
    CU_ASSERT(rule_broke(34, "peer_copy: reads bytes"));
    end();
    begin();
    here = block_of(first, 64);
    ops.peer_copy(first, NULL, here, &rule_lines, (ferry_cref){ devices[1].memory, 0 }, 64);
    CU_ASSERT(rule_broke(42, "peer_copy: the source device is not open"));
    end();
}

/* ---- imported memory ------------------------------------------------------------------------- */

static char page[PAGE] __attribute__((aligned(64)));

/* Each fault on a device of its own, since a rule is reported once. */
static void import_with(enum fault f)
{
    void *handle;

    begin();
    fault = f;
    CU_ASSERT_EQUAL(ops.import_host(first, page, sizeof page, 0, &handle), 0);
    fault = NO_FAULT;
}

static void device_access_to_mapped_imported_memory_is_reported(void)
{
    import_with(NO_FAULT);
    clear(first, page);
    CU_ASSERT_EQUAL(ops.map(first, NULL, page, sizeof page, FERRY_READ), 0);
    CU_ASSERT_EQUAL(ops.unmap(first, NULL, page), 0);
    clear(first, page);
    ops.synchronize(first);
    CU_ASSERT_EQUAL(ops.unimport_host(first, page), 0);
    CU_ASSERT(rule_broke(0, ""));
    end();
    import_with(NO_FAULT);
    CU_ASSERT_EQUAL(ops.map(first, NULL, page, sizeof page, FERRY_READ), 0);
    clear(first, page);
    CU_ASSERT(rule_broke(32, "memset: writes imported memory that is mapped"));
    end();
    import_with(NO_FAULT);
    clear(first, page);
    ops.unimport_host(first, page);
    CU_ASSERT(rule_broke(32, "unimport_host: memory with work that may be pending"));
    end();
    import_with(NO_FAULT);
    ops.unmap(first, NULL, page);
    CU_ASSERT(rule_broke(32, "unmap: memory that is not mapped"));
    end();
}

static void only_imported_memory_is_mapped(void)
{
    begin();
    ops.map(first, NULL, block_of(first, 64).handle, 64, FERRY_READ);
    CU_ASSERT(rule_broke(32, "map: memory that is not imported"));
    end();
    begin();
    ops.unimport_host(first, page);
    CU_ASSERT(rule_broke(32, "unimport_host: memory that was not imported"));
    end();
    import_with(IMPORT_NULL);
    CU_ASSERT(rule_broke(32, "import_host: succeeded with a handle of NULL"));
    end();
}

/* ---- operations ------------------------------------------------------------------------------ */

/* An operation from x to y, 16 floats each. */
static void *create(void)
{
    ferry_operand o = { .dtype = FERRY_F32, .rank = 1, .shape = { 16 }, .stride = { 1 } };
    ferry_op_desc op = { .struct_size = sizeof op, .kind = FERRY_OP_UNARY, .n_in = 1, .n_out = 1 };
    void *prepared = NULL;

    op.in[0] = op.out[0] = o;
    CU_ASSERT_EQUAL_FATAL(operations->create(first, &op, &prepared), 0);
    return prepared;
}

/* Runs in place: the plugin writes nothing, and the output is not compared. */
static int run(void *prepared)
{
    ferry_ref y = block_of(first, 64);
    ferry_cref x = ferry_ref_const(y);
    ferry_op_run_args args = { .struct_size = sizeof args, .in = &x, .out = &y };

    return operations->run(first, NULL, prepared, &args);
}

static void an_operation_is_destroyed_once(void)
{
    void *prepared;

    begin();
    prepared = create();
    CU_ASSERT_EQUAL(run(prepared), 0);
    ops.synchronize(first);
    operations->destroy(first, prepared);
    CU_ASSERT(rule_broke(0, ""));
    operations->destroy(first, prepared);
    CU_ASSERT(rule_broke(63, "destroy: an operation that was destroyed, or never created"));
    CU_ASSERT_EQUAL(prepared_now, 0); /* the plugin has seen one call */
    end();
    begin();
    create();
    ops.device_close(first);
    CU_ASSERT(rule_broke(63, "device_close: an operation was not destroyed"));
    ops.device_close(second);
}

static void an_operation_is_used_before_it_is_destroyed(void)
{
    void *prepared;

    begin();
    prepared = create();
    operations->destroy(first, prepared);
    CU_ASSERT(rule_broke(0, ""));
    CU_ASSERT_EQUAL(run(prepared), FERRY_EINVAL);
    CU_ASSERT(rule_broke(63, "run: an operation that was destroyed"));
    end();
    begin();
    CU_ASSERT_EQUAL(operations->prepare(first, NULL, &rule_lines, NULL, block_of(first, 64)),
                    FERRY_EINVAL);
    CU_ASSERT(rule_broke(63, "prepare: an operation that was destroyed"));
    end();
    begin();
    prepared = create();
    CU_ASSERT_EQUAL(run(prepared), 0);
    operations->destroy(first, prepared);
    CU_ASSERT(rule_broke(63, "destroy: an operation with runs that may be pending"));
    end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(device_open_stores_a_new_handle),
    FERRY_TEST(peer_access_returns_1_or_0),
    FERRY_TEST(a_table_starts_with_its_size),
    FERRY_TEST(a_handle_is_a_block_of_the_device),
    FERRY_TEST(the_source_of_a_peer_copy_is_a_block_of_the_peer),
    FERRY_TEST(device_access_to_mapped_imported_memory_is_reported),
    FERRY_TEST(only_imported_memory_is_mapped),
    FERRY_TEST(an_operation_is_destroyed_once),
    FERRY_TEST(an_operation_is_used_before_it_is_destroyed),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "validate-objects", cases, FERRY_TEST_COUNT(cases));
}
