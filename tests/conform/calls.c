/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

/* Each entry again and again, by itself: what it leaves behind, however little, adds up. */

enum { TIMES = 100, N = 64, BYTES = N * 4 };

static void *block, *second;
static unsigned char host[BYTES];

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

static void wait_for_event(void)
{
    void *event = NULL;

    kit_ok(kit.ops.event_record(kit.dev, NULL, &event), "event_record");
    kit_ok(kit.ops.queue_wait(kit.dev, NULL, event), "queue_wait");
    kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
    kit_ok(kit.ops.event_destroy(kit.dev, event), "event_destroy");
    wait_for_all();
}

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

/* A vendor may not tell: refused it leaves nothing, either. */
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
    };
    const bool there[] = { kit.ops.scal, kit.ops.copy, kit.ops.fill,
                           kit.ops.dot,  kit.ops.asum, kit.ops.sumsq };

    kit_does_not_grow("axpy", axpy, TIMES);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (there[i] && kit.ops.supports && kit_supports(all[i].op, FERRY_F32))
            kit_does_not_grow(all[i].name, all[i].once, TIMES);
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
    kit_does_not_grow("device_open of a device that there is not", open_what_there_is_not, TIMES);
    kit_does_not_grow("properties", properties, TIMES);
    if (kit.ops.memory_info)
        kit_does_not_grow("memory_info", memory_info, TIMES);
    kit_free(block);
    kit_free(second);
}
