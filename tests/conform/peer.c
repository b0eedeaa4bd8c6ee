/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Two devices of the plugin: peer copies, and waits for each other's events. */

#define LARGE (UINT64_C(2) << 20)

static const uint64_t sizes[] = { 1, 3, 64, 4095, 4096, 4097, 1000003 };

struct end {
    void *dev;
    ferry_plugin_properties properties;
    void *block;
};

static void open_end(struct end *e, void *dev, uint32_t index)
{
    uint32_t flags = 0;

    e->dev = dev;
    kit_properties(dev, index, &e->properties);
    kit_ok(kit.ops.alloc(dev, NULL, LARGE, 0, &e->block, &flags), "alloc");
}

static void wait_for(struct end *e)
{
    void *event = NULL;

    if (kit_synchronous())
        return;
    kit_ok(kit.ops.event_record(e->dev, NULL, &event), "event_record");
    kit_ok(kit.ops.event_synchronize(e->dev, event), "event_synchronize");
    kit_ok(kit.ops.event_destroy(e->dev, event), "event_destroy");
}

static void move(struct end *e, uint32_t kind, void *host, uint64_t bytes)
{
    ferry_ref dst = { kind == FERRY_MEMCPY_H2D ? e->block : host, 0 };
    ferry_cref src = { kind == FERRY_MEMCPY_H2D ? host : e->block, 0 };

    kit_ok(kit.ops.memcpy(e->dev, NULL, kind, dst, src, bytes), "memcpy");
}

/*
 * Waits for the source's work first, as ferry does: by an event of the other device or on the host.
 */
static void order(struct end *after, struct end *before)
{
    uint64_t domain = after->properties.sync_domain;
    void *event = NULL;

    if (kit_synchronous())
        return;
    if (!domain || domain != before->properties.sync_domain) {
        wait_for(before);
        return;
    }
    kit_ok(kit.ops.event_record(before->dev, NULL, &event), "event_record");
    kit_ok(kit.ops.queue_wait(after->dev, NULL, event),
           "queue_wait for an event of a device of the same sync_domain");
    kit_ok(kit.ops.event_destroy(before->dev, event), "event_destroy");
}

static void copy(struct end *to, struct end *from, uint64_t at, uint64_t bytes, const char *way)
{
    unsigned char *host = kit_host(LARGE), *back = kit_host(LARGE);

    kit_case("peer_copy %s of %" PRIu64 " bytes at offset %" PRIu64, way, bytes, at);
    kit_pattern(host, LARGE, (unsigned)bytes);
    move(from, FERRY_MEMCPY_H2D, host, LARGE);
    kit_ok(kit.ops.memset(to->dev, NULL, (ferry_ref){ to->block, 0 }, 0xee, LARGE), "memset");
    order(to, from);
    kit_ok(kit.ops.peer_copy(to->dev, NULL, (ferry_ref){ to->block, at }, from->dev,
                             (ferry_cref){ from->block, at + 5 }, bytes),
           "peer_copy");
    move(to, FERRY_MEMCPY_D2H, back, LARGE);
    wait_for(to);
    wait_for(from);
    for (uint64_t i = 0; i < LARGE; i++) {
        bool inside = i >= at && i < at + bytes;
        unsigned char want = inside ? host[i + 5] : 0xee;

        if (back[i] != want && inside)
            kit_fail("byte %" PRIu64 " is 0x%02x, should be 0x%02x", i - at, back[i], want);
        if (back[i] != want)
            kit_fail("wrote outside: byte %" PRIu64 " has changed", i);
    }
    free(host);
    free(back);
}

static bool direction(struct end *to, struct end *from, const char *way)
{
    int can = kit.ops.peer_access(to->dev, from->dev);

    kit_case("peer_access %s", way);
    if (can < 0)
        kit_ok(can, "peer_access");
    if (can > 1)
        kit_fail("returned %d, which is neither 1 nor 0", can);
    for (size_t i = 0; can && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        copy(to, from, 0, sizes[i], way);
        copy(to, from, 77, sizes[i], way);
    }
    return can;
}

void group_peer(void)
{
    uint32_t index;
    struct end a, b;
    bool any;

    kit_open();
    if (!kit.ops.peer_copy || !kit.ops.peer_access)
        kit_not_offered("no peer_copy; ferry goes through the host");
    if (kit.devices < 2)
        kit_not_offered("the plugin finds one device here, two are required");
    index = kit.target->device == 0 ? 1 : 0;
    kit_case("device_open(%u)", index);
    open_end(&a, kit.dev, kit.target->device);
    open_end(&b, kit_open_device(index), index);
    any = direction(&b, &a, "from the first to the second");
    any = direction(&a, &b, "from the second to the first") || any;
    kit_ok(kit.ops.free(a.dev, NULL, a.block), "free");
    kit_ok(kit.ops.free(b.dev, NULL, b.block), "free");
    kit.ops.device_close(b.dev);
    if (!any)
        kit_not_offered("peer_access returns 0 in both directions");
    kit_remark("devices %u and %u, sync_domain %s", kit.target->device, index,
               a.properties.sync_domain && a.properties.sync_domain == b.properties.sync_domain
                   ? "shared"
                   : "not shared");
}
