/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "opencl-driver.h"
#include "opencl-layer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The layer above OpenCL on a driver with the known peculiarities of drivers; see opencl-layer.h.
 */

#define BYTES 5000u

static void reset(void)
{
    memset(&ocl_layer, 0, sizeof(ocl_layer));
}

/* ---- shared memory -------------------------------------------------------------------------- */

/*
 * Mali's driver copies memory that the host allocated at each map; it maps memory of its own
 * without a copy.
 */
static void the_driver_allocates_the_host_blocks_of_a_gpu(void)
{
    unsigned char *p = NULL, byte = 0;
    void *handle = NULL, *again = NULL;
    uint32_t flags;

    reset();
    ocl_layer.gpu = ocl_layer.copies_at_map = ocl_layer.places = ocl_layer.forgets = true;
    if (!ocl_open(0, NULL))
        return;
    CU_ASSERT_EQUAL_FATAL(ocl->host_alloc(dev, BYTES, 0, (void **)&p, &flags), 0);
    memset(p, 1, BYTES);
    CU_ASSERT_EQUAL_FATAL(ocl->import_host(dev, p, BYTES, 0, &handle), 0);
    CU_ASSERT_EQUAL(ocl_layer.unmapping, 0); /* any queue may use it now */
    ocl_get(handle, BYTES - 1, &byte, 1);
    CU_ASSERT_EQUAL(byte, 1); /* the contents are kept */
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(handle, 10), 2, 4000), 0);
    CU_ASSERT_EQUAL(ocl->map(dev, NULL, handle, BYTES, FERRY_READ), 0);
    CU_ASSERT(p[9] == 1 && p[10] == 2 && p[4009] == 2 && p[4010] == 1);
    CU_ASSERT_EQUAL(ocl->map(dev, NULL, handle, BYTES, FERRY_READ | FERRY_WRITE), 0);
    p[11] = 3;
    CU_ASSERT_EQUAL(ocl->unmap(dev, NULL, handle), 0);
    ocl_get(handle, 11, &byte, 1);
    CU_ASSERT_EQUAL(byte, 3);
    CU_ASSERT_EQUAL(ocl_layer.copies, 0);
    CU_ASSERT(
        driver_failed(ocl->import_host(dev, p, BYTES, 0, &again), FERRY_EUNSUPPORTED,
                      "cannot be imported"));
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(handle, 0), 9, BYTES), 0);
    CU_ASSERT_EQUAL(ocl->queue_synchronize(dev, NULL), 0); /* as plugin.h requires */
    CU_ASSERT_EQUAL(ocl->unimport_host(dev, handle), 0);
    CU_ASSERT(p[0] == 9 && p[BYTES - 1] == 9); /* the host has it again, with the device's values */
    p[0] = 4;
    CU_ASSERT_EQUAL_FATAL(ocl->import_host(dev, p, BYTES, 0, &handle), 0); /* and once more */
    ocl_get(handle, 0, &byte, 1);
    CU_ASSERT_EQUAL(byte, 4);
    CU_ASSERT_EQUAL(ocl->unimport_host(dev, handle), 0);
    CU_ASSERT_EQUAL(ocl->host_free(dev, p), 0);
    ocl_close();
    reset();
}

/* A copy to the device and back; the host's bytes do not move. */
static void is_shared(unsigned char *p)
{
    void *handle = NULL;

    memset(p, 1, BYTES);
    CU_ASSERT_EQUAL_FATAL(ocl->import_host(dev, p, BYTES, 0, &handle), 0);
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(handle, 10), 2, 4000), 0);
    CU_ASSERT_EQUAL(ocl->map(dev, NULL, handle, BYTES, FERRY_READ | FERRY_WRITE), 0);
    CU_ASSERT(p[9] == 1 && p[10] == 2 && p[4009] == 2 && p[4010] == 1);
    CU_ASSERT_EQUAL(ocl->unmap(dev, NULL, handle), 0);
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(handle, 0), 9, BYTES), 0);
    CU_ASSERT_EQUAL(ocl->queue_synchronize(dev, NULL), 0); /* as plugin.h requires */
    CU_ASSERT_EQUAL(ocl->unimport_host(dev, handle), 0);
    CU_ASSERT(p[0] == 9 && p[BYTES - 1] == 9);
}

/*
 * Oclgrind's buffers begin where malloc places them, sometimes on a cache line and sometimes not.
 */
static void a_host_block_is_shared_at_any_address_of_the_driver(void)
{
    for (unsigned shift = 0; shift < 128; shift += 16) {
        unsigned char *p = NULL;
        uint32_t flags;

        reset();
        ocl_layer.gpu = ocl_layer.places = true;
        ocl_layer.shift = shift;
        if (!ocl_open(0, NULL))
            return;
        CU_ASSERT_EQUAL_FATAL(ocl->host_alloc(dev, BYTES, 0, (void **)&p, &flags), 0);
        CU_ASSERT_EQUAL((uintptr_t)p % 64, 0);
        is_shared(p);
        CU_ASSERT_EQUAL(ocl->host_free(dev, p), 0);
        ocl_close();
    }
    reset();
}

/* Memory of the program can still be shared, at the alignment that the driver accepts. */
static void memory_of_the_program_is_copied_by_the_driver(void)
{
    static _Alignas(4096) unsigned char own[8192];
    unsigned char byte = 0;
    void *handle = NULL;

    reset();
    ocl_layer.gpu = ocl_layer.copies_at_map = true;
    if (!ocl_open(0, NULL))
        return;
    memset(own, 1, sizeof(own));
    CU_ASSERT_EQUAL_FATAL(ocl->import_host(dev, own, sizeof(own), 0, &handle), 0);
    CU_ASSERT_EQUAL(ocl->map(dev, NULL, handle, sizeof(own), FERRY_READ | FERRY_WRITE), 0);
    own[5] = 7;
    CU_ASSERT_EQUAL(ocl->unmap(dev, NULL, handle), 0);
    ocl_get(handle, 5, &byte, 1);
    CU_ASSERT_EQUAL(byte, 7);
    CU_ASSERT_EQUAL(ocl_layer.copies, 2);
    CU_ASSERT_EQUAL(ocl->unimport_host(dev, handle), 0);
    ocl_close();
    reset();
}

/*
 * Ferry measures whether a driver copies before it shares memory; a processor's memory is the
 * host's.
 */
static void a_device_that_may_copy_at_a_map_reports_it(void)
{
    for (int gpu = 0; gpu < 2; gpu++) {
        ferry_plugin_properties p = { .struct_size = sizeof(p) };

        reset();
        ocl_layer.gpu = gpu;
        if (!ocl_open(0, NULL))
            return;
        CU_ASSERT_EQUAL(ocl->properties(ocl->plugin, 0, dev, &p), 0);
        CU_ASSERT_EQUAL((p.flags & FERRY_DEVICE_MAP_MAY_COPY) != 0, gpu);
        CU_ASSERT_EQUAL((p.flags & FERRY_DEVICE_HOST_PROCESSORS) != 0, !gpu);
        ocl_close();
    }
    reset();
}

/* ---- sums ----------------------------------------------------------------------------------- */

#define LONG 300000

/*
 * If doubles are slow, a sum of F32 is kept in two floats with the same precision; F64 always uses
 * doubles.
 */
static void a_gpu_sums_floats_without_doubles(void)
{
    float *x = malloc(LONG * sizeof(*x)), sum = 0;
    double wanted = 0;
    void *block;

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int i = 0; i < LONG; i++) {
        x[i] = (i % 2 ? -0.1f : 0.1f) * (float)(i % 1000);
        wanted += (double)x[i] * (double)x[i];
    }
    reset();
    ocl_layer.gpu = true;
    if (ocl_open(0, "zero_copy", "off", "cache", "off", NULL)) {
        block = ocl_block(LONG * sizeof(*x) + 64);
        ocl_put(block, 64, x, LONG * sizeof(*x));
        CU_ASSERT_EQUAL(
            ocl->sumsq(dev, NULL, FERRY_F32, LONG, driver_cref(block, 64), driver_ref(block, 0)),
            0);
        CU_ASSERT_PTR_NULL(strstr(ocl_layer.built_with, "-DFP64"));
        ocl_get(block, 0, &sum, sizeof(sum));
        CU_ASSERT_DOUBLE_EQUAL(sum, wanted, 1e-6 * wanted);
        CU_ASSERT_EQUAL(ocl->dot(dev, NULL, FERRY_F32, LONG, driver_cref(block, 64),
                                 driver_cref(block, 64), driver_ref(block, 0)),
                        0);
        ocl_get(block, 0, &sum, sizeof(sum));
        CU_ASSERT_DOUBLE_EQUAL(sum, wanted, 1e-6 * wanted);
        if (ocl->supports(dev, FERRY_OP_SUMSQ, FERRY_F64)) {
            CU_ASSERT_EQUAL(
                ocl->sumsq(dev, NULL, FERRY_F64, 8, driver_cref(block, 64), driver_ref(block, 0)),
                0);
            CU_ASSERT_PTR_NOT_NULL(strstr(ocl_layer.built_with, "-DFP64"));
        }
        ocl_free_block(block);
        ocl_close();
    }
    reset();
    free(x);
}

/* ---- commands ------------------------------------------------------------------------------- */

/*
 * Whether the byte becomes `value` within half a minute, without a call that waits for the device.
 */
static bool becomes(const volatile unsigned char *byte, unsigned char value)
{
    for (int i = 0; i < 30000 && *byte != value; i++)
        usleep(1000);
    return *byte == value;
}

/* A long list of commands begins to run without a wait. */
static void a_long_list_of_commands_is_flushed_without_a_wait(void)
{
    static unsigned char back;
    void *block;

    reset();
    if (!ocl_open(0, NULL))
        return;
    back = 0;
    block = ocl_block(64);
    ocl_layer.gathers = true;
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(block, 0), 5, 1), 0);
    CU_ASSERT_EQUAL(
        ocl->memcpy(dev, NULL, FERRY_MEMCPY_D2H, driver_ref(&back, 0), driver_cref(block, 0), 1),
        0);
    for (int i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(block, 1), 6, 1), 0);
    CU_ASSERT(becomes(&back, 5));
    ocl_layer.gathers = false;
    ocl_free_block(block);
    ocl_close();
    reset();
}

/* Events of Rusticl complete a little later than their queue. */
static void synchronize_returns_after_the_work_is_done(void)
{
    void *block, *queue = NULL, *event = NULL;

    reset();
    if (!ocl_open(0, NULL))
        return;
    block = ocl_block(64);
    CU_ASSERT_EQUAL_FATAL(ocl->queue_create(dev, 0, &queue), 0);
    ocl_layer.lags = true;
    for (int all = 0; all < 2; all++) {
        CU_ASSERT_EQUAL(ocl->memset(dev, queue, driver_ref(block, 0), 5, 64), 0);
        CU_ASSERT_EQUAL_FATAL(ocl->event_record(dev, queue, &event), 0);
        CU_ASSERT_EQUAL(all ? ocl->synchronize(dev) : ocl->queue_synchronize(dev, queue), 0);
        CU_ASSERT_EQUAL(ocl->event_query(dev, event), 1);
        CU_ASSERT_EQUAL(ocl->event_destroy(dev, event), 0);
    }
    reset();
    CU_ASSERT_EQUAL(ocl->queue_destroy(dev, queue), 0);
    ocl_free_block(block);
    ocl_close();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_driver_allocates_the_host_blocks_of_a_gpu),
    FERRY_TEST(a_host_block_is_shared_at_any_address_of_the_driver),
    FERRY_TEST(memory_of_the_program_is_copied_by_the_driver),
    FERRY_TEST(a_device_that_may_copy_at_a_map_reports_it),
    FERRY_TEST(a_gpu_sums_floats_without_doubles),
    FERRY_TEST(a_long_list_of_commands_is_flushed_without_a_wait),
    FERRY_TEST(synchronize_returns_after_the_work_is_done),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "opencl-layer", cases, FERRY_TEST_COUNT(cases));
}
