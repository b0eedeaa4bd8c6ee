/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sim-driver.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The simulated device's memory: valid and invalid handles and the contents of blocks; options;
 * memory shared with the host. test-sim-clock.c tests clocks, queues and faults.
 */

/* ---- options and description ---- */

static void every_option_is_documented(void)
{
    if (!sim_load())
        return;
    CU_ASSERT(sim->option_count > 0);
    CU_ASSERT_EQUAL(sim->option_size, sizeof(ferry_plugin_option));
    for (uint32_t i = 0; i < sim->option_count; i++) {
        const ferry_plugin_option *option = &sim->options[i];

        CU_ASSERT(option->name[0] && option->default_value[0] && option->description[0]);
        CU_ASSERT_EQUAL(option->values != NULL, option->type == FERRY_OPTION_ENUM);
    }
}

static void an_invalid_option_is_a_configuration_error_that_names_it(void)
{
    static const char *const wrong[][2] = {
        { "devices", "0" },    { "devices", "17" },         { "devices", "two" },
        { "memory", "0" },     { "memory", "1XB" },         { "memory", "-1" },
        { "memory", "64PiB" }, { "clock", "later" },        { "peer", "maybe" },
        { "latency", "1s" },   { "bandwidth", "fast" },     { "fail_op", "1.5" },
        { "ops", "most" },     { "without", "pool, relu" },
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint32_t count = 77;
        void *dev = &dev;
        char part[64];

        if (!sim_load())
            return;
        driver_set(wrong[i][0], wrong[i][1]);
        snprintf(part, sizeof(part), "option.%s = %s", wrong[i][0], wrong[i][1]);
        CU_ASSERT(driver_failed(sim->device_count(sim->plugin, &count), FERRY_ECONF, part));
        CU_ASSERT_EQUAL(count, 77);
        CU_ASSERT(driver_failed(sim->device_open(sim->plugin, 0, &dev), FERRY_ECONF, part));
        CU_ASSERT_PTR_EQUAL(dev, &dev);
    }
}

static void sizes_are_parsed_with_and_without_units(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {
        { "65536", 65536 }, { "64KiB", 65536 }, { "3MiB", 3u << 20 }, { "2 GiB", UINT64_C(2) << 30 }
    };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        ferry_plugin_properties properties = { .struct_size = sizeof(properties) };

        if (!sim_load())
            return;
        driver_set("memory", sizes[i].text);
        CU_ASSERT_EQUAL(sim->properties(sim->plugin, 0, NULL, &properties), 0);
        CU_ASSERT_EQUAL(properties.memory_total, sizes[i].bytes);
    }
}

static void the_number_of_devices_is_as_configured(void)
{
    uint32_t count = 0;
    void *dev = NULL;

    if (!sim_load())
        return;
    CU_ASSERT_EQUAL(sim->device_count(sim->plugin, &count), 0);
    CU_ASSERT_EQUAL(count, 1);
    driver_set("devices", "3");
    CU_ASSERT_EQUAL(sim->device_count(sim->plugin, &count), 0);
    CU_ASSERT_EQUAL(count, 3);
    CU_ASSERT(driver_failed(sim->device_open(sim->plugin, 3, &dev), FERRY_ENODEV,
                            "device 3 does not exist"));
    CU_ASSERT_PTR_NULL(dev);
}

#define DEFAULT_MEMORY (UINT64_C(1) << (sizeof(void *) > 4 ? 30 : 27))

static void a_device_reports_its_properties(void)
{
    ferry_plugin_properties closed = { .struct_size = sizeof(closed) };
    ferry_plugin_properties opened = { .struct_size = sizeof(opened) };
    ferry_plugin_properties shorter = { .struct_size = 16 };
    void *dev;

    if (!sim_load())
        return;
    driver_set("devices", "2");
    CU_ASSERT_EQUAL(sim->properties(sim->plugin, 1, NULL, &closed), 0);
    CU_ASSERT_STRING_EQUAL(closed.description, "simulated accelerator");
    CU_ASSERT_STRING_EQUAL(closed.uuid, "sim-00000000-0000-0000-0000-000000000001");
    CU_ASSERT_STRING_EQUAL(closed.pci, "");
    CU_ASSERT_EQUAL(closed.memory_total, DEFAULT_MEMORY);
    CU_ASSERT_EQUAL(closed.flags, 0);
    CU_ASSERT_NOT_EQUAL(closed.sync_domain, 0);
    dev = sim_open(1);
    CU_ASSERT_EQUAL(sim->properties(sim->plugin, 0, dev, &opened), 0);
    CU_ASSERT_EQUAL(memcmp(&opened, &closed, sizeof(opened)), 0);
    CU_ASSERT_EQUAL(sim->properties(sim->plugin, 0, dev, &shorter), 0);
    CU_ASSERT_EQUAL(shorter.struct_size, 16);
    CU_ASSERT_EQUAL(shorter.memory_total, DEFAULT_MEMORY);
    CU_ASSERT_EQUAL(shorter.max_alloc, 0);
    sim_close(dev);
}

static void an_unknown_native_object_is_unsupported_and_a_wrong_size_is_invalid(void)
{
    void *out = NULL, *dev;

    if (!sim_load())
        return;
    dev = sim_open(0);
    CU_ASSERT(driver_failed(sim->native(dev, "cl_context", &out, sizeof(out)), FERRY_EUNSUPPORTED,
                            "cl_context"));
    CU_ASSERT(driver_failed(sim->native(dev, "sim_control", &out, 3), FERRY_EINVAL, "3 bytes"));
    CU_ASSERT_PTR_NULL(out);
    CU_ASSERT_EQUAL(sim->native(dev, "sim_device", &out, sizeof(out)), 0);
    CU_ASSERT_PTR_EQUAL(out, dev);
    sim_close(dev);
}

/* ---- handles ---- */

static void *quiet_device(void)
{
    if (!sim_load())
        return NULL;
    driver_set("clock", "sync");
    driver_set("devices", "2");
    return sim_open(0);
}

static void read_byte(void *address)
{
    static volatile char sink;

    sink = *(volatile char *)address;
    (void)sink;
}

static void write_byte(void *address)
{
    *(volatile char *)address = 1;
}

static void a_program_that_touches_device_memory_crashes_at_once(void)
{
    void *dev = quiet_device();
    char byte = 0;
    char *block;

    if (!dev)
        return;
    block = sim_block(dev, 100, 0);
    CU_ASSERT_FALSE(sim_crashes(read_byte, &byte)); /* the harness detects a crash */
    CU_ASSERT_FALSE(sim_crashes(write_byte, &byte));
    CU_ASSERT(sim_crashes(read_byte, block));
    CU_ASSERT(sim_crashes(write_byte, block));
    CU_ASSERT(sim_crashes(write_byte, block + 99));
    sim_free_block(dev, block);
    CU_ASSERT(sim_crashes(read_byte, block));
    sim_close(dev);
}

static int set_bytes(void *dev, void *handle, uint64_t offset, uint64_t bytes)
{
    return sim->memset(dev, NULL, driver_ref(handle, offset), 1, bytes);
}

static void arithmetic_on_a_handle_is_caught(void)
{
    void *dev = quiet_device();
    char *block, *next;

    if (!dev)
        return;
    block = sim_block(dev, 1000, 0);
    next = sim_block(dev, 1000, 0);
    CU_ASSERT(next >= block + 1000 || block >= next + 1000);
    CU_ASSERT(
        driver_failed(set_bytes(dev, block + 8, 0, 8), FERRY_EINVAL, "8 bytes into the block"));
    CU_ASSERT(driver_failed(set_bytes(dev, block + 999, 0, 1), FERRY_EINVAL, "999 bytes into"));
    CU_ASSERT(driver_failed(set_bytes(dev, block + 1000, 0, 8), FERRY_EINVAL,
                            "does not belong to a block"));
    CU_ASSERT(driver_failed(sim->free(dev, NULL, block + 8), FERRY_EINVAL, "8 bytes into"));
    sim_free_block(dev, block);
    sim_free_block(dev, next);
    sim_close(dev);
}

static void the_error_for_a_reference_past_the_end_has_all_numbers(void)
{
    void *dev = quiet_device();
    char text[64];
    void *block;

    if (!dev)
        return;
    block = sim_block(dev, 1000, 0);
    CU_ASSERT_EQUAL(set_bytes(dev, block, 0, 1000), 0);
    CU_ASSERT_EQUAL(set_bytes(dev, block, 999, 1), 0);
    snprintf(text, sizeof(text), "0x%jx offset 992, 9 bytes: the block has 1000 bytes",
             (uintmax_t)(uintptr_t)block);
    CU_ASSERT(driver_failed(set_bytes(dev, block, 992, 9), FERRY_EINVAL, text));
    CU_ASSERT(driver_failed(set_bytes(dev, block, 1001, 1), FERRY_EINVAL, "offset 1001"));
    CU_ASSERT(driver_failed(set_bytes(dev, block, UINT64_MAX, 2), FERRY_EINVAL, "has 1000 bytes"));
    CU_ASSERT(driver_failed(set_bytes(dev, block, 2, UINT64_MAX / 2), FERRY_EINVAL, "bytes"));
    CU_ASSERT(driver_failed(set_bytes(dev, block, 0, 0), FERRY_EINVAL, "0 bytes"));
    sim_free_block(dev, block);
    sim_close(dev);
}

static void a_freed_handle_is_reported_as_freed_and_not_reused_soon(void)
{
    void *dev = quiet_device();
    void *first;

    if (!dev)
        return;
    first = sim_block(dev, 512, 0);
    sim_free_block(dev, first);
    CU_ASSERT(driver_failed(set_bytes(dev, first, 0, 8), FERRY_EINVAL, "was freed"));
    CU_ASSERT(driver_failed(sim->free(dev, NULL, first), FERRY_EINVAL, "was freed"));
    for (int i = 0; i < 3000; i++) {
        void *block = sim_block(dev, 512, 0);

        CU_ASSERT_PTR_NOT_EQUAL(block, first);
        sim_free_block(dev, block);
    }
    CU_ASSERT(driver_failed(set_bytes(dev, first, 0, 8), FERRY_EINVAL, "was freed"));
    sim_close(dev);
}

static void errors_name_the_owner_of_foreign_memory(void)
{
    void *dev = quiet_device();
    char bytes[16] = { 0 };
    void *other, *block, *theirs;

    if (!dev)
        return;
    other = sim_open(1);
    block = sim_block(dev, 16, 0);
    theirs = sim_block(other, 16, 0);
    CU_ASSERT(driver_failed(set_bytes(dev, theirs, 0, 8), FERRY_EINVAL, "belongs to sim:1"));
    CU_ASSERT(driver_failed(set_bytes(dev, bytes, 0, 8), FERRY_EINVAL, "is not device memory"));
    CU_ASSERT(driver_failed(set_bytes(dev, NULL, 0, 8), FERRY_EINVAL, "is not device memory"));
    CU_ASSERT(driver_failed(
        sim->memcpy(dev, NULL, FERRY_MEMCPY_H2D, driver_ref(block, 0), driver_cref(theirs, 0), 8),
        FERRY_EINVAL, "host side"));
    CU_ASSERT(driver_failed(
        sim->memcpy(dev, NULL, FERRY_MEMCPY_D2H, driver_ref(NULL, 0), driver_cref(block, 0), 8),
        FERRY_EINVAL, "NULL"));
    CU_ASSERT(
        driver_failed(sim->memcpy(dev, NULL, 9, driver_ref(block, 0), driver_cref(bytes, 0), 8),
                      FERRY_EINVAL, "kind 9"));
    sim_free_block(dev, block);
    sim_free_block(other, theirs);
    sim_close(other);
    sim_close(dev);
}

static void a_device_owns_its_live_blocks_and_no_other_address(void)
{
    void *dev = quiet_device();
    char bytes[16];
    char *block, *theirs;
    void *other;

    if (!dev)
        return;
    other = sim_open(1);
    block = sim_block(dev, 16, 0);
    theirs = sim_block(other, 16, 0);
    for (int i = 0; i < 16; i++)
        CU_ASSERT_EQUAL(sim->owns(dev, block + i), 1);
    CU_ASSERT_EQUAL(sim->owns(dev, block - 1), 0);
    CU_ASSERT_EQUAL(sim->owns(dev, block + 16), 0);
    CU_ASSERT_EQUAL(sim->owns(dev, theirs), 0);
    CU_ASSERT_EQUAL(sim->owns(other, theirs), 1);
    CU_ASSERT_EQUAL(sim->owns(dev, bytes), 0);
    CU_ASSERT_EQUAL(sim->owns(dev, (void *)UINTPTR_MAX), 0);
    sim_free_block(dev, block);
    CU_ASSERT_EQUAL(sim->owns(dev, block), 0);
    sim_free_block(other, theirs);
    control->lose(other);
    CU_ASSERT(driver_failed(sim->owns(other, theirs), FERRY_ELOST, "lost"));
    sim_close(other);
    sim_close(dev);
}

/* ---- contents ---- */

static void new_memory_has_undefined_bytes_unless_zeros_are_requested(void)
{
    void *dev = quiet_device();
    float values[64];
    void *block;

    if (!dev)
        return;
    block = sim_block(dev, sizeof(values), 0);
    sim_get(dev, block, values, sizeof(values));
    for (int i = 0; i < 64; i++)
        CU_ASSERT(values[i] != values[i]); /* not a number */
    sim_free_block(dev, block);
    block = sim_block(dev, sizeof(values), FERRY_ALLOC_ZERO);
    sim_get(dev, block, values, sizeof(values));
    for (int i = 0; i < 64; i++)
        CU_ASSERT_EQUAL(values[i], 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

static void copies_respect_offsets(void)
{
    void *dev = quiet_device();
    unsigned char out[64], in[64];
    ferry_plugin_counters c;
    void *block, *twin;

    if (!dev)
        return;
    for (int i = 0; i < 64; i++)
        in[i] = (unsigned char)i;
    block = sim_block(dev, 64, FERRY_ALLOC_ZERO);
    twin = sim_block(dev, 64, FERRY_ALLOC_ZERO);
    CU_ASSERT_EQUAL(
        sim->memcpy(dev, NULL, FERRY_MEMCPY_H2D, driver_ref(block, 8), driver_cref(in, 4), 8), 0);
    CU_ASSERT_EQUAL(
        sim->memcpy(dev, NULL, FERRY_MEMCPY_D2D, driver_ref(twin, 32), driver_cref(block, 8), 4),
        0);
    CU_ASSERT_EQUAL(sim->memset(dev, NULL, driver_ref(twin, 36), 0x1ab, 2), 0);
    sim_get(dev, twin, out, 64);
    for (int i = 0; i < 64; i++)
        CU_ASSERT_EQUAL(out[i], i >= 32 && i < 36 ? i - 28 : i == 36 || i == 37 ? 0xab : 0);
    c = driver_count(sim, dev);
    CU_ASSERT_EQUAL(c.copies_h2d, 1);
    CU_ASSERT_EQUAL(c.bytes_h2d, 8);
    CU_ASSERT_EQUAL(c.copies_d2d, 1);
    CU_ASSERT_EQUAL(c.bytes_d2d, 4);
    CU_ASSERT_EQUAL(c.copies_d2h, 1);
    CU_ASSERT_EQUAL(c.bytes_d2h, 64);
    CU_ASSERT_EQUAL(c.memsets, 1);
    CU_ASSERT_EQUAL(c.live_blocks, 2);
    CU_ASSERT_EQUAL(c.live_bytes, 128);
    sim_free_block(dev, block);
    sim_free_block(dev, twin);
    sim_close(dev);
}

static void an_overlapping_copy_within_the_device_is_refused(void)
{
    void *dev = quiet_device();
    void *block;

    if (!dev)
        return;
    block = sim_block(dev, 64, 0);
    CU_ASSERT(driver_failed(
        sim->memcpy(dev, NULL, FERRY_MEMCPY_D2D, driver_ref(block, 7), driver_cref(block, 0), 8),
        FERRY_EINVAL, "overlap"));
    CU_ASSERT_EQUAL(driver_count(sim, dev).copies_d2d, 0);
    CU_ASSERT_EQUAL(
        sim->memcpy(dev, NULL, FERRY_MEMCPY_D2D, driver_ref(block, 8), driver_cref(block, 0), 8),
        0);
    sim_free_block(dev, block);
    sim_close(dev);
}

/* ---- capacity ---- */

static void memory_has_the_configured_size(void)
{
    uint64_t free_bytes = 0, total = 0;
    void *dev, *half, *rest, *none = &dev;
    uint32_t flags = 77;

    if (!sim_load())
        return;
    driver_set("memory", "1MiB");
    dev = sim_open(0);
    half = sim_block(dev, 1 << 19, 0);
    CU_ASSERT(driver_failed(sim->alloc(dev, NULL, (1 << 19) + 1, 0, &none, &flags), FERRY_ENOMEM,
                            "524289 bytes requested, 524288 of 1048576 bytes free"));
    CU_ASSERT_PTR_EQUAL(none, &dev);
    CU_ASSERT_EQUAL(flags, 77);
    rest = sim_block(dev, 1 << 19, 0);
    CU_ASSERT_EQUAL(sim->memory_info(dev, &free_bytes, &total), 0);
    CU_ASSERT_EQUAL(free_bytes, 0);
    CU_ASSERT_EQUAL(total, 1 << 20);
    CU_ASSERT(
        driver_failed(sim->alloc(dev, NULL, 1, 0, &none, &flags), FERRY_ENOMEM, "0 of 1048576"));
    sim_free_block(dev, half);
    CU_ASSERT_EQUAL(sim->memory_info(dev, &free_bytes, &total), 0);
    CU_ASSERT_EQUAL(free_bytes, 1 << 19);
    sim_free_block(dev, rest);
    CU_ASSERT(driver_failed(sim->alloc(dev, NULL, 0, 0, &none, &flags), FERRY_EINVAL, "0 bytes"));
    sim_close(dev);
}

/* Allocates more blocks than the range has room for, one after another, around some that remain. */
static void addresses_are_reused_without_overlap_of_live_blocks(void)
{
    enum { STAY = 8, ROUNDS = 20000, SIZE = 100000 };
    void *dev, *stay[STAY];
    uint32_t value, *address = &value;
    unsigned returned = 0;
    char *first;

    if (!sim_load())
        return;
    driver_set("memory", "4MiB");
    driver_set("clock", "sync");
    dev = sim_open(0);
    first = sim_block(dev, SIZE, 0);
    sim_free_block(dev, first);
    for (uint32_t i = 0; i < STAY; i++) {
        stay[i] = sim_block(dev, sizeof(value), 0);
        sim_put(dev, stay[i], &i, sizeof(i));
    }
    for (int i = 0; i < ROUNDS; i++) {
        char *block = sim_block(dev, SIZE, FERRY_ALLOC_ZERO);

        returned += block <= first;
        for (int s = 0; s < STAY; s++)
            CU_ASSERT((char *)stay[s] + sizeof(value) <= block || (char *)stay[s] >= block + SIZE);
        sim_free_block(dev, block);
    }
    CU_ASSERT(returned > 0);
    for (uint32_t i = 0; i < STAY; i++) {
        sim_get(dev, stay[i], address, sizeof(value));
        CU_ASSERT_EQUAL(value, i);
        sim_free_block(dev, stay[i]);
    }
    sim_close(dev);
}

static void only_the_call_that_the_option_names_fails(void)
{
    void *dev, *none, *block;
    uint32_t flags;

    if (!sim_load())
        return;
    driver_set("fail_alloc", "2");
    driver_set("fail_memcpy", "1");
    driver_set("fail_op", "2");
    dev = sim_open(0);
    block = sim_block(dev, 64, FERRY_ALLOC_ZERO);
    for (int i = 0; i < 2; i++) /* the requested failure, and an immediate second request of the
                                 * same size */
        CU_ASSERT(
            driver_failed(sim->alloc(dev, NULL, 64, 0, &none, &flags), FERRY_ENOMEM,
                          "as requested"));
    sim_free_block(dev, sim_block(dev, 64, 0));
    CU_ASSERT(driver_failed(
        sim->memcpy(dev, NULL, FERRY_MEMCPY_H2D, driver_ref(block, 0), driver_cref(&flags, 0), 4),
        FERRY_EDEVICE, "as requested"));
    sim_put(dev, block, &flags, 4);
    CU_ASSERT_EQUAL(sim->scal(dev, NULL, FERRY_F32, 1, 1, driver_ref(block, 4)), 0);
    CU_ASSERT(driver_failed(sim->scal(dev, NULL, FERRY_F32, 1, 1, driver_ref(block, 4)),
                            FERRY_EDEVICE, "as requested"));
    CU_ASSERT_EQUAL(sim->scal(dev, NULL, FERRY_F32, 1, 1, driver_ref(block, 4)), 0);
    CU_ASSERT_EQUAL(sim->synchronize(dev), 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

static void closing_a_device_that_is_not_empty_logs_the_leaks(void)
{
    void *dev = quiet_device();
    void *ptr, *queue, *event;
    uint32_t flags;

    if (!dev)
        return;
    sim_block(dev, 100, 0);
    sim_block(dev, 200, 0);
    CU_ASSERT_EQUAL(sim->host_alloc(dev, 64, 0, &ptr, &flags), 0);
    CU_ASSERT_EQUAL(sim->queue_create(dev, 0, &queue), 0);
    CU_ASSERT_EQUAL(sim->event_record(dev, queue, &event), 0);
    sim->device_close(dev);
    CU_ASSERT_PTR_NOT_NULL(strstr(driver_logged(), "sim:0: closed with 2 blocks (300 bytes), "
                                                   "1 host blocks, 0 imports, 1 queues, 1 events"));
}

static void host_memory_is_aligned_counted_and_owned(void)
{
    void *dev = quiet_device();
    unsigned char *plain, *zero;
    uint32_t flags = 77;

    if (!dev)
        return;
    CU_ASSERT_EQUAL(sim->host_alloc(dev, 100, 0, (void **)&plain, &flags), 0);
    CU_ASSERT_EQUAL(flags, 0);
    CU_ASSERT_EQUAL((uintptr_t)plain % 64, 0);
    CU_ASSERT_EQUAL(plain[99], 0xff);
    CU_ASSERT_EQUAL(sim->host_alloc(dev, 100, FERRY_ALLOC_ZERO, (void **)&zero, &flags), 0);
    CU_ASSERT_EQUAL(flags, FERRY_ALLOC_WAS_ZEROED);
    CU_ASSERT_EQUAL(zero[99], 0);
    CU_ASSERT_EQUAL(driver_count(sim, dev).live_host_blocks, 2);
    CU_ASSERT(driver_failed(sim->host_free(dev, plain + 64), FERRY_EINVAL, "is not a host block"));
    CU_ASSERT_EQUAL(sim->host_free(dev, plain), 0);
    CU_ASSERT_EQUAL(sim->host_free(dev, zero), 0);
    CU_ASSERT(driver_failed(sim->host_alloc(dev, 0, 0, (void **)&zero, &flags), FERRY_EINVAL, "0"));
    sim_close(dev);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_option_is_documented),
    FERRY_TEST(an_invalid_option_is_a_configuration_error_that_names_it),
    FERRY_TEST(sizes_are_parsed_with_and_without_units),
    FERRY_TEST(the_number_of_devices_is_as_configured),
    FERRY_TEST(a_device_reports_its_properties),
    FERRY_TEST(an_unknown_native_object_is_unsupported_and_a_wrong_size_is_invalid),
    FERRY_TEST(a_program_that_touches_device_memory_crashes_at_once),
    FERRY_TEST(arithmetic_on_a_handle_is_caught),
    FERRY_TEST(the_error_for_a_reference_past_the_end_has_all_numbers),
    FERRY_TEST(a_freed_handle_is_reported_as_freed_and_not_reused_soon),
    FERRY_TEST(errors_name_the_owner_of_foreign_memory),
    FERRY_TEST(a_device_owns_its_live_blocks_and_no_other_address),
    FERRY_TEST(new_memory_has_undefined_bytes_unless_zeros_are_requested),
    FERRY_TEST(copies_respect_offsets),
    FERRY_TEST(an_overlapping_copy_within_the_device_is_refused),
    FERRY_TEST(memory_has_the_configured_size),
    FERRY_TEST(addresses_are_reused_without_overlap_of_live_blocks),
    FERRY_TEST(only_the_call_that_the_option_names_fails),
    FERRY_TEST(closing_a_device_that_is_not_empty_logs_the_leaks),
    FERRY_TEST(host_memory_is_aligned_counted_and_owned),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "sim", cases, FERRY_TEST_COUNT(cases));
}
