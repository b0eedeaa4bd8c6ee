/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "opencl-driver.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices --------------------------------------------------------------------------------- */

static ferry_plugin_properties properties(uint32_t index, void *of)
{
    ferry_plugin_properties p;

    memset(&p, 0, sizeof(p));
    p.struct_size = sizeof(p);
    CU_ASSERT_EQUAL(ocl->properties(ocl->plugin, index, of, &p), 0);
    return p;
}

static void devices_are_described_before_they_are_opened(void)
{
    ferry_plugin_properties closed, open;

    if (!ocl_load())
        return;
    closed = properties(0, NULL);
    CU_ASSERT(closed.description[0] != '\0');
    CU_ASSERT(closed.memory_total > 0);
    CU_ASSERT(closed.max_alloc > 0 && closed.max_alloc <= closed.memory_total);
    CU_ASSERT_EQUAL(closed.flags & (FERRY_DEVICE_HOST_MEMORY | FERRY_DEVICE_POINTERS), 0);
    CU_ASSERT_EQUAL(closed.sync_domain, 0);
    if (!ocl_open(0, NULL))
        return;
    open = properties(UINT32_MAX, dev);
    CU_ASSERT_STRING_EQUAL(open.description, closed.description);
    CU_ASSERT_EQUAL(open.flags, closed.flags);
    CU_ASSERT_NOT_EQUAL(open.sync_domain, 0);
    ocl_close();
}

static void there_is_no_device_past_the_last(void)
{
    ferry_plugin_properties p = { .struct_size = sizeof(p) };
    uint32_t count = 0;
    void *none = NULL;

    if (!ocl_load())
        return;
    CU_ASSERT_EQUAL(ocl->device_count(ocl->plugin, &count), 0);
    CU_ASSERT(
        driver_failed(ocl->device_open(ocl->plugin, count, &none), FERRY_EINVAL, "no device"));
    CU_ASSERT(
        driver_failed(ocl->properties(ocl->plugin, count, NULL, &p), FERRY_EINVAL, "no device"));
    CU_ASSERT_PTR_NULL(none);
}

static void an_invalid_option_is_named(void)
{
    void *none = NULL;

    if (!ocl_load())
        return;
    for (uint32_t i = 0; i < ocl->option_count; i++) {
        if (!ocl->options[i].values)
            continue;
        driver_reset();
        driver_set(ocl->options[i].name, "perhaps");
        CU_ASSERT(driver_failed(ocl->device_open(ocl->plugin, 0, &none), FERRY_ECONF, "perhaps"));
    }
}

static void zero_copy_is_an_option(void)
{
    if (!ocl_open(0, "zero_copy", "off", NULL))
        return;
    CU_ASSERT_EQUAL(properties(0, dev).flags & FERRY_DEVICE_UNIFIED, 0);
    ocl_close();
    ocl_open(0, "zero_copy", "on", NULL);
    CU_ASSERT_EQUAL(properties(0, dev).flags & FERRY_DEVICE_UNIFIED, FERRY_DEVICE_UNIFIED);
    ocl_close();
}

/* ---- blocks --------------------------------------------------------------------------------- */

static void a_block_beyond_the_largest_is_refused_with_both_numbers(void)
{
    ferry_plugin_properties p;
    void *handle = NULL;
    uint32_t flags;
    char both[2][64];

    if (!ocl_open(0, NULL))
        return;
    p = properties(0, dev);
    snprintf(both[0], sizeof(both[0]), "%" PRIu64 " bytes requested", p.max_alloc + 1);
    snprintf(both[1], sizeof(both[1]), "largest block is %" PRIu64 " bytes", p.max_alloc);
    for (int i = 0; i < 2; i++)
        CU_ASSERT(driver_failed(ocl->alloc(dev, NULL, p.max_alloc + 1, 0, &handle, &flags),
                                FERRY_ENOMEM, both[i]));
    CU_ASSERT(driver_failed(ocl->alloc(dev, NULL, UINT64_MAX, 0, &handle, &flags), FERRY_ENOMEM,
                            "CL_INVALID_BUFFER_SIZE"));
    CU_ASSERT(driver_failed(ocl->alloc(dev, NULL, 0, 0, &handle, &flags), FERRY_EINVAL, "0 bytes"));
    CU_ASSERT_PTR_NULL(handle);
    ocl_close();
}

static void copies_and_memsets_write_only_their_bytes(void)
{
    unsigned char there[1000], expected[1000];
    void *block;

    if (!ocl_open(0, NULL))
        return;
    block = ocl_block(sizeof(there));
    for (size_t i = 0; i < sizeof(expected); i++)
        expected[i] = (unsigned char)(i * 7);
    ocl_put(block, 0, expected, sizeof(expected));
    for (size_t at = 0; at < 300; at += 37)
        for (size_t n = 1; n < 600; n += 1 + n) {
            memset(expected + at, (int)n, n);
            CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(block, at), 0xf00u | (n & 0xffu), n),
                            0);
            ocl_get(block, 0, there, sizeof(there));
            CU_ASSERT_EQUAL(memcmp(there, expected, sizeof(there)), 0);
        }
    memmove(expected + 3, expected + 501, 490);
    CU_ASSERT_EQUAL(ocl->memcpy(dev, NULL, FERRY_MEMCPY_D2D, driver_ref(block, 3),
                                driver_cref(block, 501), 490),
                    0);
    ocl_get(block, 0, there, sizeof(there));
    CU_ASSERT_EQUAL(memcmp(there, expected, sizeof(there)), 0);
    ocl_get(block, 999, there, 1);
    CU_ASSERT_EQUAL(there[0], expected[999]);
    ocl_free_block(block);
    ocl_close();
}

static void ranges_outside_a_block_are_refused(void)
{
    unsigned char byte = 0;
    void *block;

    if (!ocl_open(0, NULL))
        return;
    block = ocl_block(100);
    CU_ASSERT(driver_failed(
        ocl->memcpy(dev, NULL, FERRY_MEMCPY_H2D, driver_ref(block, 100), driver_cref(&byte, 0), 1),
        FERRY_EINVAL, "1 bytes at 100 of a buffer of 100 bytes"));
    CU_ASSERT(driver_failed(
        ocl->memcpy(dev, NULL, FERRY_MEMCPY_D2H, driver_ref(&byte, 0), driver_cref(block, 1), 100),
        FERRY_EINVAL, "100 bytes at 1"));
    CU_ASSERT(driver_failed(ocl->memset(dev, NULL, driver_ref(block, UINT64_MAX), 0, 2),
                            FERRY_EINVAL, "of a buffer of 100 bytes"));
    CU_ASSERT(
        driver_failed(ocl->memset(dev, NULL, driver_ref(NULL, 0), 0, 2), FERRY_EINVAL, "is null"));
    CU_ASSERT(driver_failed(
        ocl->memcpy(dev, NULL, FERRY_MEMCPY_D2D, driver_ref(block, 0), driver_cref(block, 9), 10),
        FERRY_EINVAL, "overlap"));
    CU_ASSERT(
        driver_failed(ocl->memcpy(dev, NULL, 9, driver_ref(block, 0), driver_cref(block, 9), 1),
                      FERRY_EINVAL, "kind 9"));
    CU_ASSERT(driver_failed(
        ocl->axpy(dev, NULL, FERRY_F32, 26, 1, driver_cref(block, 0), driver_ref(block, 0)),
        FERRY_EINVAL, "x: 104 bytes at 0"));
    CU_ASSERT(driver_failed(
        ocl->axpy(dev, NULL, FERRY_F32, 2, 1, driver_cref(block, 0), driver_ref(block, 2)),
        FERRY_EINVAL, "y: byte 2 is not a multiple of 4"));
    ocl_free_block(block);
    ocl_close();
}

/* ---- memory of the host --------------------------------------------------------------------- */

static void host_blocks_are_aligned_and_can_be_copied(void)
{
    static const char *const modes[] = { "on", "off" };
    static const uint64_t sizes[] = { 1, 100, 4097, (1 << 20) + 1 };

    for (size_t mode = 0; mode < 2; mode++) {
        if (!ocl_open(0, "zero_copy", modes[mode], NULL))
            return;
        for (size_t i = 0; i < FERRY_TEST_COUNT(sizes); i++) {
            unsigned char *p = NULL;
            void *block = ocl_block(sizes[i]);
            uint32_t flags = 0;

            CU_ASSERT_EQUAL_FATAL(ocl->host_alloc(dev, sizes[i], 0, (void **)&p, &flags), 0);
            CU_ASSERT_EQUAL((uintptr_t)p % 64, 0);
            CU_ASSERT(!(flags & FERRY_ALLOC_WAS_ZEROED) || p[sizes[i] - 1] == 0);
            memset(p, 42, sizes[i]);
            ocl_put(block, 0, p, sizes[i]);
            memset(p, 0, sizes[i]);
            ocl_get(block, 0, p, sizes[i]);
            CU_ASSERT(p[0] == 42 && p[sizes[i] - 1] == 42);
            CU_ASSERT_EQUAL(ocl->host_free(dev, p), 0);
            ocl_free_block(block);
        }
        CU_ASSERT(driver_failed(ocl->host_free(dev, &mode), FERRY_EINVAL, "was not allocated"));
        ocl_close();
    }
}

/* Whether the device is a CPU and nothing else: Oclgrind reports every type. */
static bool is_processor(void)
{
    cl_device_type type = 0;

    CU_ASSERT_EQUAL(clGetDeviceInfo(ocl_id(), CL_DEVICE_TYPE, sizeof(type), &type, NULL), 0);
    return (type & CL_DEVICE_TYPE_CPU) && !(type & CL_DEVICE_TYPE_GPU);
}

/* A processor can confuse a load with a recent store at the same page offset. */
static void host_blocks_of_many_pages_start_at_different_offsets_in_a_page(void)
{
    static const uint64_t sizes[] = { 1 << 17, 401408, 1 << 20, 3 << 20 };

    if (!ocl_open(0, "zero_copy", "on", NULL))
        return;
    for (int i = 0; i < 4; i++) {
        unsigned char *p[8] = { NULL };
        uint32_t flags;

        for (int k = 0; k < 8; k++) {
            void *handle = NULL;

            CU_ASSERT_EQUAL_FATAL(ocl->host_alloc(dev, sizes[i], 0, (void **)&p[k], &flags), 0);
            CU_ASSERT(!(flags & FERRY_ALLOC_WAS_ZEROED) || p[k][sizes[i] - 1] == 0);
            memset(p[k], k, sizes[i]);
            CU_ASSERT_EQUAL(ocl->import_host(dev, p[k], sizes[i], 0, &handle), 0);
            CU_ASSERT_EQUAL(ocl->unimport_host(dev, handle), 0);
        }
        for (int k = 0; k < 8; k++) {
            CU_ASSERT(p[k][0] == k && p[k][sizes[i] - 1] == k);
            for (int j = 0; j < k && k < 7 && is_processor(); j++)
                CU_ASSERT_NOT_EQUAL((uintptr_t)p[k] % 4096, (uintptr_t)p[j] % 4096);
        }
        for (int k = 0; k < 8; k++)
            CU_ASSERT_EQUAL(ocl->host_free(dev, p[k]), 0);
    }
    ocl_close();
}

static void an_imported_block_is_the_same_memory_on_both_sides(void)
{
    unsigned char *p = NULL, byte = 0;
    void *handle = NULL, *view = NULL;
    uint32_t flags;
    ferry_plugin_counters c;
    cl_mem_flags how = 0;

    if (!ocl_open(0, "zero_copy", "on", NULL))
        return;
    CU_ASSERT_EQUAL_FATAL(ocl->host_alloc(dev, 5000, 0, (void **)&p, &flags), 0);
    memset(p, 1, 5000);
    CU_ASSERT_EQUAL_FATAL(ocl->import_host(dev, p, 5000, 0, &handle), 0);
    CU_ASSERT_EQUAL(clGetMemObjectInfo(handle, CL_MEM_FLAGS, sizeof(how), &how, NULL), 0);
    CU_ASSERT_EQUAL(clGetMemObjectInfo(handle, CL_MEM_HOST_PTR, sizeof(view), &view, NULL), 0);
    /*
     * no arithmetic, no other block: the same memory; a driver need not give addresses of its own
     * blocks
     */
    CU_ASSERT(!(how & CL_MEM_USE_HOST_PTR) || view == p);
    ocl_get(handle, 4999, &byte, 1);
    CU_ASSERT_EQUAL(byte, 1); /* the contents are kept */
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(handle, 10), 2, 4000), 0);
    CU_ASSERT_EQUAL(ocl->map(dev, NULL, handle, 5000, FERRY_READ), 0);
    CU_ASSERT(p[9] == 1 && p[10] == 2 && p[4009] == 2 && p[4010] == 1);
    CU_ASSERT_EQUAL(ocl->map(dev, NULL, handle, 5000, FERRY_READ | FERRY_WRITE), 0);
    p[11] = 3;
    CU_ASSERT_EQUAL(ocl->unmap(dev, NULL, handle), 0);
    ocl_get(handle, 11, &byte, 1);
    CU_ASSERT_EQUAL(byte, 3);
    CU_ASSERT(driver_failed(ocl->unmap(dev, NULL, handle), FERRY_EINVAL, "not mapped"));
    c = ocl_count();
    CU_ASSERT(c.maps == 2 && c.unmaps == 2 && c.live_maps == 0 && c.live_imports == 1);
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(handle, 0), 9, 5000), 0);
    CU_ASSERT_EQUAL(ocl->queue_synchronize(dev, NULL), 0); /* as plugin.h requires */
    CU_ASSERT_EQUAL(ocl->unimport_host(dev, handle), 0);
    CU_ASSERT(p[0] == 9 && p[4999] == 9); /* the host has it again, with the device's values */
    CU_ASSERT_EQUAL(ocl->host_free(dev, p), 0);
    ocl_close();
}

static void memory_that_cannot_be_shared_is_not_imported(void)
{
    static unsigned char own[8192];
    void *handle = NULL;

    if (!ocl_open(0, "zero_copy", "on", NULL))
        return;
    CU_ASSERT(driver_failed(ocl->import_host(dev, own + (1 - (uintptr_t)own % 2), 100, 0, &handle),
                            FERRY_EUNSUPPORTED, "not aligned"));
    CU_ASSERT(
        driver_failed(ocl->import_host(dev, NULL, 100, 0, &handle), FERRY_EINVAL, "100 bytes"));
    ocl_close();
    ocl_open(0, "zero_copy", "off", NULL);
    CU_ASSERT(driver_failed(ocl->import_host(dev, own, 100, 0, &handle), FERRY_EUNSUPPORTED,
                            "does not share"));
    CU_ASSERT_PTR_NULL(handle);
    ocl_close();
}

static void a_reopened_device_reuses_its_context_and_programs(void)
{
    cl_context first;
    void *block;

    if (!ocl_open(0, NULL))
        return;
    first = ocl_context();
    ocl_close();
    ocl_open(0, NULL);
    CU_ASSERT_PTR_EQUAL(ocl_context(), first);
    block = ocl_block(64);
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(block, 0), 0, 64), 0);
    CU_ASSERT_EQUAL(
        ocl->axpy(dev, NULL, FERRY_F32, 16, 1, driver_cref(block, 0), driver_ref(block, 0)), 0);
    ocl_free_block(block);
    ocl_close();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(devices_are_described_before_they_are_opened),
    FERRY_TEST(there_is_no_device_past_the_last),
    FERRY_TEST(an_invalid_option_is_named),
    FERRY_TEST(zero_copy_is_an_option),
    FERRY_TEST(a_block_beyond_the_largest_is_refused_with_both_numbers),
    FERRY_TEST(copies_and_memsets_write_only_their_bytes),
    FERRY_TEST(ranges_outside_a_block_are_refused),
    FERRY_TEST(host_blocks_are_aligned_and_can_be_copied),
    FERRY_TEST(host_blocks_of_many_pages_start_at_different_offsets_in_a_page),
    FERRY_TEST(an_imported_block_is_the_same_memory_on_both_sides),
    FERRY_TEST(memory_that_cannot_be_shared_is_not_imported),
    FERRY_TEST(a_reopened_device_reuses_its_context_and_programs),
};

/*
 * exit() destroys a thread's objects before it calls its handlers. Oclgrind keeps using one of
 * them, so a call from a handler, as CLBlast's cache of programs makes one, writes to freed memory.
 */
int main(int argc, char **argv)
{
    int result = ferry_test_main(argc, argv, "opencl", cases, FERRY_TEST_COUNT(cases));

    if (getenv("FERRY_TEST_NO_HANDLERS"))
        _Exit(result);
    return result;
}
