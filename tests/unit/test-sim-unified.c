/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sim-driver.h"

#include <stdlib.h>
#include <string.h>

/*
 * The simulated device with memory shared with the host: the host's view exists only between map
 * and unmap, so that a program which forgets one of them crashes.
 */

enum { PAGE = 4096, SIZE = 3 * PAGE };

static struct {
    void *dev;
    unsigned char *host;
    void *handle;
} u;

static bool setup(const char *clock)
{
    ferry_plugin_properties properties = { .struct_size = sizeof(properties) };
    uint32_t flags;

    if (!sim_load())
        return false;
    driver_set("unified", "on");
    driver_set("clock", clock);
    u.dev = sim_open(0);
    CU_ASSERT_EQUAL(sim->properties(sim->plugin, 0, u.dev, &properties), 0);
    CU_ASSERT_EQUAL(properties.flags, FERRY_DEVICE_UNIFIED);
    CU_ASSERT_EQUAL(properties.host_alignment, PAGE);
    CU_ASSERT_FATAL(sim->host_alloc(u.dev, SIZE, FERRY_ALLOC_ZERO, (void **)&u.host, &flags) == 0);
    CU_ASSERT_EQUAL((uintptr_t)u.host % PAGE, 0);
    CU_ASSERT_EQUAL(flags, FERRY_ALLOC_WAS_ZEROED);
    u.host[0] = 7;
    CU_ASSERT_FATAL(sim->import_host(u.dev, u.host, SIZE, 0, &u.handle) == 0);
    return true;
}

static void teardown(void)
{
    CU_ASSERT_EQUAL(sim->unimport_host(u.dev, u.handle), 0);
    CU_ASSERT_EQUAL(sim->host_free(u.dev, u.host), 0);
    sim_close(u.dev);
}

static void read_byte(void *address)
{
    static volatile unsigned char sink;

    sink = *(volatile unsigned char *)address;
    (void)sink;
}

static void write_byte(void *address)
{
    *(volatile unsigned char *)address = 1;
}

static int map(uint64_t bytes, uint32_t access)
{
    return sim->map(u.dev, NULL, u.handle, bytes, access);
}

static int unmap(void)
{
    return sim->unmap(u.dev, NULL, u.handle);
}

static int set_bytes(uint64_t offset, uint32_t byte, uint64_t bytes)
{
    return sim->memset(u.dev, NULL, driver_ref(u.handle, offset), byte, bytes);
}

static void an_imported_block_crashes_the_host_until_it_is_mapped(void)
{
    if (!setup("sync"))
        return;
    CU_ASSERT(sim_crashes(read_byte, u.host));
    CU_ASSERT(sim_crashes(write_byte, u.host));
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ), 0);
    CU_ASSERT_FALSE(sim_crashes(read_byte, u.host));
    CU_ASSERT(sim_crashes(write_byte, u.host));
    CU_ASSERT_EQUAL(unmap(), 0);
    CU_ASSERT(sim_crashes(read_byte, u.host));
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ | FERRY_WRITE), 0);
    CU_ASSERT_FALSE(sim_crashes(write_byte, u.host));
    CU_ASSERT_EQUAL(unmap(), 0);
    teardown();
}

static void a_map_gives_access_only_to_pages_with_mapped_bytes(void)
{
    if (!setup("sync"))
        return;
    CU_ASSERT_EQUAL(map(PAGE + 1, FERRY_READ), 0);
    CU_ASSERT_FALSE(sim_crashes(read_byte, u.host + 2 * PAGE - 1));
    CU_ASSERT(sim_crashes(read_byte, u.host + 2 * PAGE));
    CU_ASSERT_EQUAL(unmap(), 0);
    teardown();
}

static void both_sides_see_the_other_s_writes(void)
{
    unsigned char *last;

    if (!setup("sync"))
        return;
    last = u.host + SIZE - 1;
    CU_ASSERT_EQUAL(set_bytes(SIZE - 1, 42, 1), 0);
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ | FERRY_WRITE), 0);
    CU_ASSERT_EQUAL(u.host[0], 7); /* the contents were kept */
    CU_ASSERT_EQUAL(*last, 42);
    u.host[1] = 43;
    CU_ASSERT_EQUAL(unmap(), 0);
    CU_ASSERT_EQUAL(sim->memcpy(u.dev, NULL, FERRY_MEMCPY_D2D, driver_ref(u.handle, 2),
                                driver_cref(u.handle, 1), 1),
                    0);
    CU_ASSERT_EQUAL(sim->unimport_host(u.dev, u.handle), 0);
    CU_ASSERT_EQUAL(u.host[2], 43); /* the host has all of it again */
    *last = 1;
    CU_ASSERT_EQUAL(sim->host_free(u.dev, u.host), 0);
    sim_close(u.dev);
}

static void maps_pair_and_are_counted(void)
{
    ferry_plugin_counters c;

    if (!setup("sync"))
        return;
    CU_ASSERT_EQUAL(driver_count(sim, u.dev).live_imports, 1);
    CU_ASSERT(driver_failed(unmap(), FERRY_EINVAL, "is not mapped"));
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ), 0);
    CU_ASSERT(driver_failed(map(SIZE, FERRY_READ), FERRY_EINVAL, "mapped already"));
    CU_ASSERT_EQUAL(driver_count(sim, u.dev).live_maps, 1);
    CU_ASSERT_EQUAL(unmap(), 0);
    CU_ASSERT(driver_failed(unmap(), FERRY_EINVAL, "is not mapped"));
    CU_ASSERT(driver_failed(map(SIZE, FERRY_WRITE), FERRY_EINVAL, "access 2"));
    CU_ASSERT(driver_failed(map(SIZE + 1, FERRY_READ), FERRY_EINVAL, "12289 of 12288 bytes"));
    CU_ASSERT(driver_failed(map(0, FERRY_READ), FERRY_EINVAL, "0 of 12288"));
    c = driver_count(sim, u.dev);
    CU_ASSERT_EQUAL(c.maps, 1);
    CU_ASSERT_EQUAL(c.unmaps, 1);
    CU_ASSERT_EQUAL(c.live_maps, 0);
    CU_ASSERT_EQUAL(c.live_blocks, 0); /* the import uses none of the device's own memory */
    teardown();
}

static void a_map_of_a_mapped_block_changes_the_host_s_access(void)
{
    ferry_plugin_counters c;

    if (!setup("sync"))
        return;
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ | FERRY_WRITE), 0);
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ), 0);
    CU_ASSERT_FALSE(sim_crashes(read_byte, u.host));
    CU_ASSERT(sim_crashes(write_byte, u.host));
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ | FERRY_WRITE), 0);
    CU_ASSERT_FALSE(sim_crashes(write_byte, u.host));
    CU_ASSERT_EQUAL(driver_count(sim, u.dev).live_maps, 1);
    CU_ASSERT_EQUAL(unmap(), 0);
    c = driver_count(sim, u.dev);
    CU_ASSERT_EQUAL(c.maps, 3);
    CU_ASSERT_EQUAL(c.unmaps, 3);
    CU_ASSERT_EQUAL(c.live_maps, 0);
    teardown();
}

static void the_device_does_not_access_mapped_memory(void)
{
    unsigned char byte = 0;

    if (!setup("sync"))
        return;
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ), 0);
    CU_ASSERT(driver_failed(set_bytes(0, 1, 1), FERRY_EINVAL, "mapped for reading"));
    sim_get(u.dev, u.handle, &byte, 1);
    CU_ASSERT_EQUAL(byte, 7);
    CU_ASSERT_EQUAL(unmap(), 0);
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ | FERRY_WRITE), 0);
    CU_ASSERT(driver_failed(set_bytes(0, 1, 1), FERRY_EINVAL, "mapped for writing"));
    CU_ASSERT(driver_failed(sim->memcpy(u.dev, NULL, FERRY_MEMCPY_D2H, driver_ref(&byte, 0),
                                        driver_cref(u.handle, 0), 1),
                            FERRY_EINVAL, "mapped for writing"));
    CU_ASSERT(driver_failed(sim->unimport_host(u.dev, u.handle), FERRY_EINVAL, "for writing"));
    CU_ASSERT_EQUAL(unmap(), 0);
    CU_ASSERT_EQUAL(set_bytes(0, 1, 1), 0);
    teardown();
}

static void a_copy_from_unmapped_imported_host_memory_is_refused(void)
{
    void *block;

    if (!setup("sync"))
        return;
    block = sim_block(u.dev, 16, 0);
    CU_ASSERT(driver_failed(
        sim->memcpy(u.dev, NULL, FERRY_MEMCPY_H2D, driver_ref(block, 0), driver_cref(u.host, 0), 8),
        FERRY_EINVAL, "not mapped"));
    CU_ASSERT_EQUAL(map(PAGE, FERRY_READ), 0);
    sim_put(u.dev, block, u.host, 8);
    CU_ASSERT(driver_failed(sim->memcpy(u.dev, NULL, FERRY_MEMCPY_H2D, driver_ref(block, 0),
                                        driver_cref(u.host, PAGE), 8),
                            FERRY_EINVAL, "only 4096 bytes are mapped"));
    CU_ASSERT(driver_failed(
        sim->memcpy(u.dev, NULL, FERRY_MEMCPY_D2H, driver_ref(u.host, 0), driver_cref(block, 0), 8),
        FERRY_EINVAL, "mapped for reading only"));
    CU_ASSERT_EQUAL(unmap(), 0);
    sim_free_block(u.dev, block);
    teardown();
}

/* The copy is accepted while the source is mapped, and runs when it is no longer mapped. */
static void a_queued_copy_whose_host_memory_was_unmapped_fails(void)
{
    unsigned char *source;
    void *block, *event;

    if (!setup("manual"))
        return;
    block = sim_block(u.dev, 16, 0);
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ), 0);
    source = u.host;
    CU_ASSERT_EQUAL(
        sim->memcpy(u.dev, NULL, FERRY_MEMCPY_H2D, driver_ref(block, 0), driver_cref(source, 0), 8),
        0);
    CU_ASSERT_EQUAL(sim->event_record(u.dev, NULL, &event), 0);
    CU_ASSERT_EQUAL(unmap(), 0);
    CU_ASSERT(driver_failed(sim->event_synchronize(u.dev, event), FERRY_EINVAL, "not mapped"));
    CU_ASSERT_EQUAL(sim->event_destroy(u.dev, event), 0);
    sim_free_block(u.dev, block);
    teardown();
}

static void map_waits_for_the_work_of_its_queue(void)
{
    if (!setup("manual"))
        return;
    CU_ASSERT_EQUAL(set_bytes(0, 99, 1), 0);
    CU_ASSERT_EQUAL(control->pending(u.dev), 1);
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ), 0);
    CU_ASSERT_EQUAL(control->pending(u.dev), 0);
    CU_ASSERT_EQUAL(u.host[0], 99);
    CU_ASSERT_EQUAL(unmap(), 0);
    teardown();
}

static void only_memory_of_host_alloc_can_be_imported(void)
{
    void *handle = &u;
    unsigned char *foreign;

    if (!setup("sync"))
        return;
    foreign = aligned_alloc(PAGE, PAGE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(foreign);
    CU_ASSERT(driver_failed(sim->import_host(u.dev, foreign, PAGE, 0, &handle), FERRY_EUNSUPPORTED,
                            "host_alloc"));
    CU_ASSERT(driver_failed(sim->import_host(u.dev, u.host, SIZE, 0, &handle), FERRY_EINVAL,
                            "imported already"));
    CU_ASSERT(driver_failed(sim->import_host(u.dev, u.host + 64, 64, 0, &handle),
                            FERRY_EUNSUPPORTED, "aligned"));
    CU_ASSERT(driver_failed(sim->import_host(u.dev, u.host, SIZE + 1, 0, &handle),
                            FERRY_EUNSUPPORTED, "host_alloc"));
    CU_ASSERT_PTR_EQUAL(handle, &u);
    CU_ASSERT(driver_failed(sim->host_free(u.dev, u.host), FERRY_EBUSY, "imported"));
    CU_ASSERT(driver_failed(sim->free(u.dev, NULL, u.handle), FERRY_EINVAL, "unimport"));
    free(foreign);
    teardown();
}

static void a_released_import_is_identified_in_errors(void)
{
    void *first, *block;

    if (!setup("sync"))
        return;
    first = u.handle;
    CU_ASSERT_EQUAL(sim->unimport_host(u.dev, first), 0);
    CU_ASSERT(driver_failed(sim->unimport_host(u.dev, first), FERRY_EINVAL, "was freed"));
    CU_ASSERT(driver_failed(map(SIZE, FERRY_READ), FERRY_EINVAL, "was freed"));
    block = sim_block(u.dev, 64, 0);
    CU_ASSERT(driver_failed(sim->unimport_host(u.dev, block), FERRY_EINVAL, "not imported"));
    sim_free_block(u.dev, block);
    CU_ASSERT_EQUAL(sim->import_host(u.dev, u.host, SIZE, 0, &u.handle), 0);
    CU_ASSERT_EQUAL(map(SIZE, FERRY_READ), 0); /* an import may end while mapped for reading */
    teardown();
}

static void a_discrete_device_refuses_to_import_host_memory(void)
{
    void *handle, *ptr, *dev;
    uint32_t flags;

    if (!sim_load())
        return;
    dev = sim_open(0);
    CU_ASSERT_EQUAL(sim->host_alloc(dev, PAGE, 0, &ptr, &flags), 0);
    CU_ASSERT(driver_failed(sim->import_host(dev, ptr, PAGE, 0, &handle), FERRY_EUNSUPPORTED,
                            "discrete"));
    CU_ASSERT_EQUAL(sim->host_free(dev, ptr), 0);
    sim_close(dev);
}

static void with_unified_odd_every_second_device_is_unified(void)
{
    if (!sim_load())
        return;
    driver_set("unified", "odd");
    driver_set("devices", "4");
    for (uint32_t i = 0; i < 4; i++) {
        ferry_plugin_properties properties = { .struct_size = sizeof(properties) };
        void *dev = sim_open(i);

        CU_ASSERT_EQUAL(sim->properties(sim->plugin, i, dev, &properties), 0);
        CU_ASSERT_EQUAL(properties.flags, i % 2 ? FERRY_DEVICE_UNIFIED : 0);
        sim_close(dev);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_imported_block_crashes_the_host_until_it_is_mapped),
    FERRY_TEST(a_map_gives_access_only_to_pages_with_mapped_bytes),
    FERRY_TEST(both_sides_see_the_other_s_writes),
    FERRY_TEST(maps_pair_and_are_counted),
    FERRY_TEST(a_map_of_a_mapped_block_changes_the_host_s_access),
    FERRY_TEST(the_device_does_not_access_mapped_memory),
    FERRY_TEST(a_copy_from_unmapped_imported_host_memory_is_refused),
    FERRY_TEST(a_queued_copy_whose_host_memory_was_unmapped_fails),
    FERRY_TEST(map_waits_for_the_work_of_its_queue),
    FERRY_TEST(only_memory_of_host_alloc_can_be_imported),
    FERRY_TEST(a_released_import_is_identified_in_errors),
    FERRY_TEST(a_discrete_device_refuses_to_import_host_memory),
    FERRY_TEST(with_unified_odd_every_second_device_is_unified),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "sim-unified", cases, FERRY_TEST_COUNT(cases));
}
