/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUDA devices that share the host's memory, on the doubles. */

static void host_memory_is_imported_if_the_device_shares_it(void)
{
    static const char *const kinds[] = { "integrated", "page-tables" };
    char plain[64] = "the host's";
    void *dev, *pinned, *handle;
    unsigned waits;

    for (int i = 0; i < 2; i++) {
        if (!cuda_load(1, true))
            return;
        setenv("CUDA_DOUBLE_UNIFIED", kinds[i], 1);
        driver_set("unified", i ? "on" : NULL);
        dev = cuda_open(0);
        CU_ASSERT_EQUAL_FATAL(cuda->import_host(dev, plain, sizeof(plain), 0, &handle), 0);
        CU_ASSERT_EQUAL(control->live_pinned(),
                        i == 0); /* a device that uses the host's page tables sees it */
        CU_ASSERT_EQUAL(cuda->memset(dev, NULL, driver_ref(handle, 0), 'x', 3), 0);
        CU_ASSERT_EQUAL(cuda->map(dev, NULL, handle, sizeof(plain), FERRY_READ), 0);
        CU_ASSERT_STRING_EQUAL(plain, "xxx host's");
        CU_ASSERT_EQUAL(cuda->unmap(dev, NULL, handle), 0);
        waits = control->calls("cudaDeviceSynchronize");
        CU_ASSERT_EQUAL(cuda->unimport_host(dev, handle), 0);
        CU_ASSERT_EQUAL(control->calls("cudaDeviceSynchronize"), waits); /* no other caller waits */
        memcpy(plain, "the", 3);
        pinned = cuda_pinned(dev, 64);
        CU_ASSERT_EQUAL(cuda->import_host(dev, pinned, 64, 0, &handle), 0);
        CU_ASSERT_EQUAL(cuda->unimport_host(dev, handle), 0);
        CU_ASSERT_EQUAL(cuda->host_free(dev, pinned), 0);
        CU_ASSERT_EQUAL(control->live_pinned(), 0);
        cuda_close(dev);
    }
}

/* The doubles' kind, option.unified, and whether that is a unified device. */
static void memory_is_unified_by_device_kind_and_option(void)
{
    static const struct {
        const char *device, *option, *capability;
        bool unified;
    } row[] = {
        { "integrated", NULL, NULL, true },
        { "integrated", NULL, "72", true }, /* Xavier, whose caches are coherent */
        { "integrated", NULL, "87", true },
        { "integrated", NULL, "62", false }, /* TX2 */
        { "integrated", "on", "62", true },
        { "integrated", "auto", NULL, true },
        { "integrated", "off", NULL, false },
        { "integrated", "on", NULL, true },
        { "page-tables", NULL, NULL, false },
        { "page-tables", "on", NULL, true },
        { "page-tables", "off", NULL, false },
        { "tegra", NULL, NULL, false },
        { "tegra", "on", NULL, true },
        { "0", NULL, NULL, false },
        { "0", "on", NULL, false },
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        ferry_plugin_properties p = { .struct_size = sizeof(p) };

        if (!cuda_load(1, true))
            return;
        setenv("CUDA_DOUBLE_UNIFIED", row[i].device, 1);
        if (row[i].capability)
            setenv("CUDA_DOUBLE_CAPABILITY", row[i].capability, 1);
        driver_set("unified", row[i].option);
        CU_ASSERT_EQUAL(cuda->properties(NULL, 0, NULL, &p), 0);
        if (((p.flags & FERRY_DEVICE_UNIFIED) != 0) != row[i].unified) {
            printf("     %s, unified = %s\n", row[i].device, row[i].option ? row[i].option : "");
            CU_FAIL("is taken for the other kind");
        }
    }
}

/* Pinned memory that the host does not cache is not useful if blobs are copied. */
static void host_blocks_are_cached_by_the_host(void)
{
    static const struct {
        const char *device, *option, *capability;
        unsigned pinned;
    } row[] = {
        { "integrated", NULL, "87", 1 }, { "integrated", "off", "72", 1 },
        { "integrated", NULL, "62", 0 }, { "integrated", "off", "53", 0 },
        { "integrated", "on", "62", 1 }, /* it is the device's memory as well */
        { "0", NULL, "61", 1 },
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        unsigned char *host;
        void *dev, *block;

        if (!cuda_load(1, true))
            return;
        setenv("CUDA_DOUBLE_UNIFIED", row[i].device, 1);
        setenv("CUDA_DOUBLE_CAPABILITY", row[i].capability, 1);
        driver_set("unified", row[i].option);
        dev = cuda_open(0);
        host = cuda_pinned(dev, 100);
        CU_ASSERT_EQUAL(control->live_pinned(), row[i].pinned);
        memset(host, 7, 100);
        block = cuda_block(dev, 100);
        cuda_put(dev, block, host, 100);
        if (row[i].pinned)
            CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
        memset(host, 0, 100); /* unpinned memory has been copied */
        cuda_get(dev, block, host, 100);
        CU_ASSERT(host[0] == 7 && host[99] == 7);
        cuda_free_block(dev, block);
        CU_ASSERT_EQUAL(cuda->host_free(dev, host), 0);
        CU_ASSERT_EQUAL(control->live_pinned(), 0);
        cuda_close(dev);
    }
}

static void unified_memory_can_be_switched_off(void)
{
    ferry_plugin_properties p = { .struct_size = sizeof(p) };
    char plain[64];
    void *dev, *handle;

    if (!cuda_load(1, true))
        return;
    setenv("CUDA_DOUBLE_UNIFIED", "integrated", 1);
    CU_ASSERT_EQUAL(cuda->properties(NULL, 0, NULL, &p), 0);
    dev = cuda_open(0);
    CU_ASSERT_EQUAL(cuda->properties(NULL, 0, dev, &p), 0);
    CU_ASSERT(p.flags & FERRY_DEVICE_UNIFIED);
    cuda_close(dev);
    driver_set("unified", "off");
    dev = cuda_open(0);
    CU_ASSERT_EQUAL(cuda->properties(NULL, 0, dev, &p), 0);
    CU_ASSERT_FALSE(p.flags & FERRY_DEVICE_UNIFIED);
    CU_ASSERT_EQUAL(cuda->import_host(dev, plain, sizeof(plain), 0, &handle), FERRY_EUNSUPPORTED);
    cuda_close(dev);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(host_memory_is_imported_if_the_device_shares_it),
    FERRY_TEST(memory_is_unified_by_device_kind_and_option),
    FERRY_TEST(host_blocks_are_cached_by_the_host),
    FERRY_TEST(unified_memory_can_be_switched_off),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, cuda_suite("cuda unified"), cases, FERRY_TEST_COUNT(cases));
}
