/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "op.h"

#include <ferry/op.h>

#include <stdlib.h>
#include <unistd.h>

/* Calls each entry many times by itself, so that a leak of any size adds up. */

enum { TIMES = 100, CREATED = 12, N = 64, SIDE = 4, BYTES = N * 4, SHARED = 65536 };

static void *block, *second;
static unsigned char host[BYTES];
static unsigned char *shared; /* SHARED bytes, aligned to a page */
static void *imported;
static uint32_t converted; /* the dtypes that F32 can be converted to */
static ferry_op_desc op;

static void wait_for_all(void)
{
    kit_ok(kit.ops.synchronize(kit.dev), "synchronize");
    kit_scratch_end();
}

static void alloc_and_free(void)
{
    kit_free(kit_alloc(BYTES));
}

static void host_alloc_and_free(void)
{
    uint32_t flags = 0;
    void *p = NULL;

    kit_ok(kit.ops.host_alloc(kit.dev, BYTES, 0, &p, &flags), "host_alloc");
    kit_ok(kit.ops.host_free(kit.dev, p), "host_free");
}

static void copies(void)
{
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D, (ferry_ref){ block, 0 },
                          (ferry_cref){ host, 0 }, BYTES),
           "memcpy H2D");
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2D, (ferry_ref){ second, 0 },
                          (ferry_cref){ block, 0 }, BYTES),
           "memcpy D2D");
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ host, 0 },
                          (ferry_cref){ second, 0 }, BYTES),
           "memcpy D2H");
    wait_for_all();
}

static void set(void)
{
    kit_ok(kit.ops.memset(kit.dev, NULL, (ferry_ref){ block, 0 }, 0, BYTES), "memset");
    wait_for_all();
}

static void axpy(void)
{
    kit_ok(kit.ops.axpy(kit.dev, NULL, FERRY_F32, N, 1, (ferry_cref){ block, 0 },
                        (ferry_ref){ second, 0 }),
           "axpy");
    wait_for_all();
}

static void scal(void)
{
    kit_ok(kit.ops.scal(kit.dev, NULL, FERRY_F32, N, 1, (ferry_ref){ block, 0 }), "scal");
    wait_for_all();
}

static void copy(void)
{
    kit_ok(kit.ops.copy(kit.dev, NULL, FERRY_F32, N, (ferry_cref){ block, 0 },
                        (ferry_ref){ second, 0 }),
           "copy");
    wait_for_all();
}

static void fill(void)
{
    kit_ok(kit.ops.fill(kit.dev, NULL, FERRY_F32, N, 1, (ferry_ref){ block, 0 }), "fill");
    wait_for_all();
}

static void dot(void)
{
    kit_ok(kit.ops.dot(kit.dev, NULL, FERRY_F32, N, (ferry_cref){ block, 0 },
                       (ferry_cref){ block, 0 }, (ferry_ref){ second, 0 }),
           "dot");
    wait_for_all();
}

static void asum(void)
{
    kit_ok(kit.ops.asum(kit.dev, NULL, FERRY_F32, N, (ferry_cref){ block, 0 },
                        (ferry_ref){ second, 0 }),
           "asum");
    wait_for_all();
}

static void sumsq(void)
{
    kit_ok(kit.ops.sumsq(kit.dev, NULL, FERRY_F32, N, (ferry_cref){ block, 0 },
                         (ferry_ref){ second, 0 }),
           "sumsq");
    wait_for_all();
}

static void gemv(void)
{
    kit_ok(kit.ops.gemv(kit.dev, NULL, FERRY_F32, FERRY_NO_TRANS, SIDE, SIDE, 1,
                        (ferry_cref){ block, 0 }, SIDE, (ferry_cref){ block, 0 }, 1, 0,
                        (ferry_ref){ second, 0 }, 1),
           "gemv");
    wait_for_all();
}

static void gemm(void)
{
    kit_ok(kit.ops.gemm(kit.dev, NULL, FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS, SIDE, SIDE, SIDE,
                        1, (ferry_cref){ block, 0 }, SIDE, (ferry_cref){ block, 0 }, SIDE, 0,
                        (ferry_ref){ second, 0 }, SIDE),
           "gemm");
    wait_for_all();
}

static void convert(void)
{
    kit_ok(kit.ops.convert(kit.dev, NULL, N / 2, FERRY_F32, (ferry_cref){ block, 0 }, converted,
                           (ferry_ref){ second, 0 }),
           "convert");
    wait_for_all();
}

/* Half as many elements, because F64 elements fill the block. */
static bool can_convert(void)
{
    for (converted = FERRY_F32 + 1; converted < FERRY_DTYPE_COUNT; converted++)
        if (kit.ops.supports_convert ? kit.ops.supports_convert(kit.dev, FERRY_F32, converted) == 1
                                     : kit_supports(FERRY_OP_CONVERT, converted))
            return true;
    return false;
}

static void wait_for_event(void)
{
    void *event = NULL;

    kit_ok(kit.ops.event_record(kit.dev, NULL, &event), "event_record");
    kit_ok(kit.ops.queue_wait(kit.dev, NULL, event), "queue_wait");
    kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
    kit_ok(kit.ops.event_destroy(kit.dev, event), "event_destroy");
    wait_for_all();
}

/* ---- imports -------------------------------------------------------------------------------- */

static bool import(void)
{
    int code = kit.ops.import_host(kit.dev, shared, SHARED, 0, &imported);

    if (code != FERRY_EUNSUPPORTED)
        kit_ok(code, "import_host");
    return code == 0;
}

static void unimport(void)
{
    kit_ok(kit.ops.unimport_host(kit.dev, imported), "unimport_host");
}

static void import_and_unimport(void)
{
    import();
    wait_for_all();
    unimport();
}

static void map_and_unmap(void)
{
    kit_ok(kit.ops.map(kit.dev, NULL, imported, SHARED, FERRY_READ | FERRY_WRITE), "map");
    kit_ok(kit.ops.unmap(kit.dev, NULL, imported), "unmap");
    wait_for_all();
}

static void what_is_lent(void)
{
    shared = kit.ops.import_host ? aligned_alloc((size_t)sysconf(_SC_PAGESIZE), SHARED) : NULL;
    if (shared && import()) {
        if (kit.ops.map)
            kit_does_not_grow("map and unmap", map_and_unmap, TIMES);
        unimport();
        kit_does_not_grow("import_host and unimport_host", import_and_unimport, TIMES);
    }
    free(shared);
}

/* ---- prepared operations -------------------------------------------------------------------- */

static void run_prepared(void *prepared, const ferry_op_answer *answer)
{
    const ferry_cref in = { block, 0 };
    const ferry_ref out = { second, 0 };
    const ferry_op_run_args args = {
        .struct_size = sizeof(args),
        .in = &in,
        .out = &out,
        .workspace = { answer->workspace_bytes ? kit_alloc(answer->workspace_bytes) : NULL, 0 }
    };

    kit_ok(op_table->run(kit.dev, NULL, prepared, &args), "run");
    wait_for_all();
    if (args.workspace.handle)
        kit_free(args.workspace.handle);
}

static void prepare_run_and_destroy(void)
{
    void *prepared = NULL;
    ferry_op_answer answer;

    if (op_ask(&op, &answer) != 0)
        kit_fail("query gave a different answer when asked again");
    kit_ok(op_table->create(kit.dev, &op, &prepared), "create");
    run_prepared(prepared, &answer);
    op_table->destroy(kit.dev, prepared);
}

/*
 * An operation that nearly every table has; the group `ops` tests the others, and the requirements
 * on a table.
 */
static void what_is_prepared(void)
{
    const void *found = NULL;
    ferry_op_answer answer;

    if (!kit.ops.extension || kit.ops.extension(kit.dev, FERRY_OP_EXTENSION, &found) != 0 || !found)
        return;
    op_table = found;
    op = op_begin(FERRY_OP_STRIDED_COPY, 1, 1);
    OP_SHAPE(&op.in[0], FERRY_F32, N);
    OP_SHAPE(&op.out[0], FERRY_F32, N);
    if (op_ask(&op, &answer) == 0)
        kit_does_not_grow("an operation: create, run, destroy", prepare_run_and_destroy, CREATED);
}

/* ---- queries -------------------------------------------------------------------------------- */

static void open_what_there_is_not(void)
{
    void *dev = NULL;

    kit_options_allowed(true);
    kit_refused(kit.ops.device_open(kit.ops.plugin, kit.devices, &dev), "device_open");
    kit_options_allowed(false);
}

static void properties(void)
{
    ferry_plugin_properties p;

    kit_properties(NULL, kit.target->device, &p);
    kit_properties(kit.dev, kit.target->device, &p);
}

/* A vendor may not provide memory information: a refusal must not leak either. */
static void memory_info(void)
{
    uint64_t available = 0, total = 0;
    int code = kit.ops.memory_info(kit.dev, &available, &total);

    if (code)
        kit_refused(code, "memory_info");
}

static void arithmetic(void)
{
    static const struct {
        const char *name;
        uint32_t op;
        void (*once)(void);
    } all[] = {
        { "scal", FERRY_OP_SCAL, scal }, { "copy", FERRY_OP_COPY, copy },
        { "fill", FERRY_OP_FILL, fill }, { "dot", FERRY_OP_DOT, dot },
        { "asum", FERRY_OP_ASUM, asum }, { "sumsq", FERRY_OP_SUMSQ, sumsq },
        { "gemv", FERRY_OP_GEMV, gemv }, { "gemm", FERRY_OP_GEMM, gemm },
    };
    const bool there[] = { kit.ops.scal, kit.ops.copy,  kit.ops.fill, kit.ops.dot,
                           kit.ops.asum, kit.ops.sumsq, kit.ops.gemv, kit.ops.gemm };

    kit_does_not_grow("axpy", axpy, TIMES);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (there[i] && kit.ops.supports && kit_supports(all[i].op, FERRY_F32))
            kit_does_not_grow(all[i].name, all[i].once, TIMES);
    if (kit.ops.convert && kit.ops.supports && kit_supports(FERRY_OP_CONVERT, FERRY_F32) &&
        can_convert())
        kit_does_not_grow("convert", convert, TIMES);
}

void kit_calls_leave_nothing(void)
{
    block = kit_alloc(BYTES);
    second = kit_alloc(BYTES);
    set();
    kit_does_not_grow("alloc and free", alloc_and_free, TIMES);
    if (kit.ops.host_alloc)
        kit_does_not_grow("host_alloc and host_free", host_alloc_and_free, TIMES);
    kit_does_not_grow("memcpy", copies, TIMES);
    kit_does_not_grow("memset", set, TIMES);
    arithmetic();
    if (!kit_synchronous())
        kit_does_not_grow("queue_wait", wait_for_event, TIMES);
    what_is_lent();
    what_is_prepared();
    kit_does_not_grow("device_open of a device that does not exist", open_what_there_is_not, TIMES);
    kit_does_not_grow("properties", properties, TIMES);
    if (kit.ops.memory_info)
        kit_does_not_grow("memory_info", memory_info, TIMES);
    kit_free(block);
    kit_free(second);
}
