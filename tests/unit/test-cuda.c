/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The CUDA plugin by its binary only, its devices and their memory: on the doubles of its
 * libraries, and cases that do not need them also on a GPU.
 */

/* ---- the driver and the devices ---- */

static void opening_the_plugin_touches_no_driver(void)
{
    if (!cuda_load(1, true))
        return;
    CU_ASSERT_EQUAL(control->calls(""), 0); /* the first case: no call was made before */
}

static void counting_and_describing_create_no_context(void)
{
    ferry_plugin_properties p = { .struct_size = sizeof(p) };
    uint32_t count = 0;

    if (!cuda_load(3, true))
        return;
    CU_ASSERT_EQUAL(cuda->device_count(NULL, &count), 0);
    CU_ASSERT_EQUAL(count, 3);
    for (uint32_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(cuda->properties(NULL, i, NULL, &p), 0);
        CU_ASSERT_EQUAL(control->contexts((int)i), 0);
    }
    CU_ASSERT_STRING_EQUAL(p.uuid, "GPU-20212223-2425-2627-2829-2a2b2c2d2e2f");
    CU_ASSERT_STRING_EQUAL(p.pci, "0000:60:00.0");
    CU_ASSERT_STRING_EQUAL(p.description, "double, compute capability 9.0");
    CU_ASSERT_EQUAL(p.memory_total, 1073741824);
    CU_ASSERT_EQUAL(p.flags, FERRY_DEVICE_POINTERS | FERRY_DEVICE_ORDERED_ALLOC);
    CU_ASSERT(driver_failed(cuda->properties(NULL, 3, NULL, &p), FERRY_ENODEV,
                            "device 3 does not exist, there are 3"));
}

static void a_missing_driver_an_old_driver_and_a_missing_device_are_distinguished(void)
{
    uint32_t count = 7;

    if (!cuda_load(1, true))
        return;
    setenv("CUDA_DOUBLE_DRIVER", "none", 1);
    CU_ASSERT(driver_failed(cuda->device_count(NULL, &count), FERRY_ENODEV, "no NVIDIA driver"));
    CU_ASSERT_PTR_NOT_NULL(strstr(driver_error(), "cudaErrorInsufficientDriver"));
    setenv("CUDA_DOUBLE_DRIVER", "old", 1);
    CU_ASSERT(driver_failed(cuda->device_count(NULL, &count), FERRY_ENODEV, "supports CUDA 11.2"));
    CU_ASSERT_PTR_NOT_NULL(strstr(driver_error(), "install a newer driver"));
    setenv("CUDA_DOUBLE_DRIVER", "no-device", 1);
    CU_ASSERT(driver_failed(cuda->device_count(NULL, &count), FERRY_ENODEV, "cudaErrorNoDevice"));
    CU_ASSERT_PTR_NOT_NULL(strstr(driver_error(), "CUDA_VISIBLE_DEVICES"));
    CU_ASSERT_EQUAL(count, 7);
    CU_ASSERT_EQUAL(rt.last_error(), 0);
}

static void other_failures_of_the_driver_have_a_hint(void)
{
    static const struct {
        int number, code;
        const char *name, *hint;
    } row[] = {
        { 34, FERRY_ENODEV, "cudaErrorStubLibrary", "LD_LIBRARY_PATH" },
        { 46, FERRY_EDEVICE, "cudaErrorDevicesUnavailable", "compute mode" },
        { 802, FERRY_ENODEV, "cudaErrorSystemNotReady", "nvidia-fabricmanager" },
        { 803, FERRY_ENODEV, "cudaErrorSystemDriverMismatch", "restart" },
        { 999, FERRY_EDEVICE, "cudaErrorUnknown", "nvidia_uvm" },
    };
    uint32_t count = 7;

    if (!cuda_load(1, true))
        return;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        control->fail("cudaGetDeviceCount", 1, row[i].number);
        CU_ASSERT(driver_failed(cuda->device_count(NULL, &count), row[i].code, row[i].name));
        CU_ASSERT_PTR_NOT_NULL(strstr(driver_error(), row[i].hint));
    }
    CU_ASSERT_EQUAL(count, 7);
}

static void devices_can_be_ordered_by_pci_address(void)
{
    ferry_plugin_properties p = { .struct_size = sizeof(p) };
    void *dev;
    int ordinal = 9;

    if (!cuda_load(3, true))
        return;
    driver_set("device_order", "pci");
    CU_ASSERT_EQUAL(cuda->properties(NULL, 0, NULL, &p), 0);
    CU_ASSERT_STRING_EQUAL(p.pci, "0000:60:00.0"); /* the runtime's last one */
    dev = cuda_open(0);
    CU_ASSERT_EQUAL(cuda->native(dev, "cuda_device", &ordinal, sizeof(ordinal)), 0);
    CU_ASSERT_EQUAL(ordinal, 2);
    cuda_close(dev);
    driver_set("device_order", "size");
    CU_ASSERT(driver_failed(cuda->properties(NULL, 0, NULL, &p), FERRY_ECONF, "cuda|pci"));
}

/* ---- contexts ---- */

static void opening_one_device_creates_only_its_context(void)
{
    void *dev;

    if (!cuda_load(3, true))
        return;
    dev = cuda_open(1);
    CU_ASSERT_EQUAL(control->contexts(0), 0);
    CU_ASSERT_EQUAL(control->contexts(1), 1);
    CU_ASSERT_EQUAL(control->contexts(2), 0);
    cuda_close(dev);
    CU_ASSERT_EQUAL(control->contexts(1), 0);
}

/* The runtime's first device is current, or none; the plugin's differs. */
static bool first_is_current(void)
{
    int ordinal = -1;

    return !rt.get_device(&ordinal) && ordinal == 0;
}

#define STAYS(call)                                                     \
    do {                                                                \
        CU_ASSERT_EQUAL(call, 0);                                       \
        if (!first_is_current())                                        \
            printf("     another device is current after %s\n", #call); \
        CU_ASSERT(first_is_current());                                  \
    } while (0)

/* Memory, queues and events. */
static void use_objects(void *dev, void *block, void *host)
{
    void *queue, *event, *pinned = NULL;
    uint64_t available, total;
    uint32_t flags;

    STAYS(cuda->memory_info(dev, &available, &total));
    CU_ASSERT(cuda->owns(dev, block) == 1 && first_is_current());
    STAYS(cuda->host_alloc(dev, 64, 0, &pinned, &flags));
    STAYS(cuda->host_free(dev, pinned));
    STAYS(cuda->memset(dev, NULL, driver_ref(block, 0), 0, 64));
    STAYS(
        cuda->memcpy(dev, NULL, FERRY_MEMCPY_H2D, driver_ref(block, 0), driver_cref(host, 0), 64));
    STAYS(cuda->queue_create(dev, 0, &queue));
    STAYS(cuda->event_record(dev, NULL, &event));
    STAYS(cuda->queue_wait(dev, queue, event));
    CU_ASSERT(cuda->event_query(dev, event) >= 0 && first_is_current());
    STAYS(cuda->event_synchronize(dev, event));
    STAYS(cuda->event_destroy(dev, event));
    STAYS(cuda->queue_synchronize(dev, queue));
    STAYS(cuda->queue_destroy(dev, queue));
    STAYS(cuda->trim(dev));
    STAYS(cuda->synchronize(dev));
}

static void use_arithmetic(void *dev, void *block)
{
    ferry_cref in = driver_cref(block, 0);
    void *handle;

    STAYS(cuda->axpy(dev, NULL, FERRY_F32, 4, 2, in, driver_ref(block, 16)));
    STAYS(cuda->scal(dev, NULL, FERRY_F32, 4, 2, driver_ref(block, 0)));
    STAYS(cuda->copy(dev, NULL, FERRY_F32, 4, in, driver_ref(block, 16)));
    STAYS(cuda->fill(dev, NULL, FERRY_F64, 2, 0.1, driver_ref(block, 32)));
    STAYS(cuda->dot(dev, NULL, FERRY_F16, 4, in, in, driver_ref(block, 48)));
    STAYS(cuda->asum(dev, NULL, FERRY_F32, 4, in, driver_ref(block, 48)));
    STAYS(cuda->gemv(dev, NULL, FERRY_F32, FERRY_NO_TRANS, 1, 2, 1, in, 2, in, 1, 0,
                     driver_ref(block, 56), 1));
    STAYS(cuda->gemm(dev, NULL, FERRY_F32, FERRY_NO_TRANS, FERRY_TRANS, 1, 1, 2, 1, in, 2,
                     driver_cref(block, 8), 2, 0, driver_ref(block, 56), 1));
    STAYS(cuda->native(dev, "cublas_handle", &handle, sizeof(handle)));
}

/* One call of every entry that runs in the device's context. */
static void use_everything(void *dev, float *host)
{
    void *block = NULL;
    uint32_t flags;

    STAYS(cuda->alloc(dev, NULL, 64, 0, &block, &flags));
    use_objects(dev, block, host);
    use_arithmetic(dev, block);
    STAYS(
        cuda->memcpy(dev, NULL, FERRY_MEMCPY_D2H, driver_ref(host, 0), driver_cref(block, 0), 64));
    STAYS(cuda->free(dev, NULL, block));
}

static void no_entry_changes_the_callers_current_device(void)
{
    float host[16] = { 0 };
    void *dev;

    if (!cuda_load(2, false))
        return;
    CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
    dev = cuda_open(1);
    CU_ASSERT(first_is_current());
    use_everything(dev, host);
    cuda_close(dev);
    CU_ASSERT(first_is_current());
}

static void *without_a_context(void *dev)
{
    float host[16] = { 0 };

    use_everything(dev, host); /* the doubles end the program if a context is created meanwhile */
    return NULL;
}

static void a_thread_without_a_current_context_keeps_none(void)
{
    pthread_t thread;
    void *dev;

    if (!cuda_load(2, true))
        return;
    dev = cuda_open(1);
    pthread_create(&thread, NULL, without_a_context, dev);
    pthread_join(thread, NULL);
    cuda_close(dev);
}

/* ---- memory ---- */

static void blocks_come_from_a_memory_pool_if_the_driver_has_one(void)
{
    void *dev, *block;
    unsigned before;

    if (!cuda_load(1, true))
        return;
    dev = cuda_open(0);
    CU_ASSERT_EQUAL(control->threshold(0), 268435456); /* a quarter, as for ferry's own pool */
    before = control->calls("cudaMalloc");
    block = cuda_block(dev, 1000);
    cuda_free_block(dev, block);
    CU_ASSERT_EQUAL(control->calls("cudaMalloc"), before);
    cuda_close(dev);
    driver_set("pool_limit", "3MiB");
    dev = cuda_open(0);
    CU_ASSERT_EQUAL(control->threshold(0), 3145728);
    cuda_close(dev);
    driver_set("ordered_alloc", "off");
    dev = cuda_open(0);
    block = cuda_block(dev, 1000);
    CU_ASSERT_EQUAL(control->calls("cudaMalloc"), before + 1);
    cuda_free_block(dev, block);
    cuda_close(dev);
}

/* A quarter, 1 GiB, or a sixteenth; if memory is the host's, at most 1 GiB. */
static void the_pool_limit_grows_with_the_memory_of_the_device(void)
{
    static const struct {
        const char *memory, *unified;
        uint64_t most;
    } row[] = {
        { "2147483648", "0", 536870912 },              /* 2 GiB */
        { "8589934592", "0", 1073741824 },             /* 8 */
        { "85899345920", "0", 5368709120 },            /* 80 */
        { "151397597184", "0", 9462349824 },           /* 141 */
        { "151397597184", "page-tables", 9462349824 }, /* a Grace's GPU has memory of its own */
        { "68719476736", "integrated", 1073741824 },   /* 64 */
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        void *dev;

        if (!cuda_load(1, true))
            return;
        setenv("CUDA_DOUBLE_MEMORY", row[i].memory, 1);
        setenv("CUDA_DOUBLE_UNIFIED", row[i].unified, 1);
        dev = cuda_open(0);
        CU_ASSERT_EQUAL(control->threshold(0), row[i].most);
        cuda_close(dev);
    }
}

static void an_out_of_memory_error_reports_the_free_bytes(void)
{
    void *dev, *block, *none = NULL;
    uint32_t flags;

    for (int pools = 0; pools < 2; pools++) {
        if (!cuda_load(1, true))
            return;
        setenv("CUDA_DOUBLE_POOLS", pools ? "1" : "0", 1);
        dev = cuda_open(0);
        block = cuda_block(dev, 1 << 20);
        CU_ASSERT(driver_failed(cuda->alloc(dev, NULL, UINT64_C(1) << 30, 0, &none, &flags),
                                FERRY_ENOMEM, "cudaErrorMemoryAllocation"));
        CU_ASSERT_PTR_NOT_NULL(
            strstr(driver_error(), "1072693248 of 1073741824 bytes are free; nvidia-smi"));
        CU_ASSERT(driver_failed(cuda->alloc(dev, NULL, UINT64_C(1) << 40, 0, &none, &flags),
                                FERRY_ENOMEM,
                                "1099511627776 bytes exceed the device's 1073741824"));
        CU_ASSERT_PTR_NULL(none);
        CU_ASSERT_EQUAL(rt.last_error(), 0);
        cuda_free_block(dev, block);
        cuda_close(dev);
    }
}

static void an_out_of_pinned_memory_error_reports_the_requested_bytes(void)
{
    void *dev, *none = NULL;
    uint32_t flags;

    if (!cuda_load(1, true))
        return;
    dev = cuda_open(0);
    control->fail("cudaHostAlloc", 1, CUDA_MEMORY_ALLOCATION);
    CU_ASSERT(driver_failed(cuda->host_alloc(dev, 5000, 0, &none, &flags), FERRY_ENOMEM,
                            "cudaHostAlloc of 5000 bytes: cudaErrorMemoryAllocation"));
    CU_ASSERT_PTR_NOT_NULL(strstr(driver_error(), "its container has too little"));
    CU_ASSERT_PTR_NULL(none);
    CU_ASSERT_EQUAL(rt.last_error(), 0);
    cuda_close(dev);
}

static void a_foreign_block_is_refused(void)
{
    void *dev;
    int local;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    CU_ASSERT(driver_failed(cuda->free(dev, NULL, &local), FERRY_EINVAL,
                            "is not a block of this device"));
    CU_ASSERT(driver_failed(cuda->unimport_host(dev, &local), FERRY_EINVAL,
                            "is not an import of this device"));
    cuda_close(dev);
}

/* Tests the plugin's own blocks and the program's; cudaGetLastError returns nothing afterwards. */
static void a_device_identifies_its_memory_by_address(void)
{
    char plain[64];
    char *block;
    void *dev, *other, *pinned, *foreign = NULL;

    if (!cuda_load(2, true))
        return;
    setenv("CUDA_DOUBLE_POOLS", "0", 1);
    dev = cuda_open(0);
    other = cuda_open(1);
    block = cuda_block(dev, 64);
    pinned = cuda_pinned(dev, 64);
    CU_ASSERT_EQUAL_FATAL(rt.set_device(1), 0);
    CU_ASSERT_EQUAL_FATAL(rt.malloc(&foreign, 64), 0);
    CU_ASSERT_EQUAL(cuda->owns(dev, block), 1);
    CU_ASSERT_EQUAL(cuda->owns(dev, block + 63), 1);
    CU_ASSERT_EQUAL(cuda->owns(other, block), 0);
    CU_ASSERT_EQUAL(cuda->owns(other, foreign), 1);
    CU_ASSERT_EQUAL(cuda->owns(dev, foreign), 0);
    CU_ASSERT_EQUAL(cuda->owns(dev, pinned), 0);
    CU_ASSERT_EQUAL(cuda->owns(dev, plain), 0);
    CU_ASSERT_EQUAL(rt.free(foreign), 0);
    CU_ASSERT_EQUAL(cuda->owns(other, foreign), 0);
    CU_ASSERT_EQUAL(rt.last_error(), 0);
    CU_ASSERT_EQUAL(cuda->host_free(dev, pinned), 0);
    cuda_free_block(dev, block);
    CU_ASSERT_EQUAL(cuda->owns(dev, block), 0);
    control->fail("cudaPointerGetAttributes", 1, CUDA_ILLEGAL_ADDRESS);
    CU_ASSERT(driver_failed(cuda->owns(dev, plain), FERRY_ELOST, "cudaPointerGetAttributes"));
    CU_ASSERT_EQUAL(rt.last_error(), 0);
    cuda_close(other);
    cuda_close(dev);
}

static void *free_pinned(void *argument)
{
    void **both = argument;

    CU_ASSERT_EQUAL(cuda->host_free(both[0], both[1]), 0);
    return NULL;
}

static void pinned_memory_is_freed_from_any_thread(void)
{
    void *both[2];
    pthread_t thread;

    if (!cuda_load(1, false))
        return;
    both[0] = cuda_open(0);
    both[1] = cuda_pinned(both[0], 5000);
    pthread_create(&thread, NULL, free_pinned, both);
    pthread_join(thread, NULL);
    if (control)
        CU_ASSERT_EQUAL(control->live_pinned(), 0);
    cuda_close(both[0]);
}

static void a_pinned_copy_is_asynchronous(void)
{
    char *pinned, back[16] = { 0 };
    void *dev, *block, *event;

    if (!cuda_load(1, true))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, 16);
    pinned = cuda_pinned(dev, 16);
    memcpy(pinned, "before the copy ", 16);
    control->hold(1);
    cuda_put(dev, block, pinned, 16);
    CU_ASSERT_EQUAL(cuda->event_record(dev, NULL, &event), 0);
    CU_ASSERT_EQUAL(cuda->event_query(dev, event), 0);
    CU_ASSERT_EQUAL(rt.last_error(), 0); /* NotReady is not an error */
    memcpy(pinned, "after the copy  ", 16);
    control->hold(0);
    CU_ASSERT_EQUAL(cuda->event_synchronize(dev, event), 0);
    CU_ASSERT_EQUAL(cuda->event_query(dev, event), 1);
    cuda_get(dev, block, back, 16);
    CU_ASSERT_NSTRING_EQUAL(back, "after the copy  ", 16);
    CU_ASSERT_EQUAL(cuda->event_destroy(dev, event), 0);
    CU_ASSERT_EQUAL(cuda->host_free(dev, pinned), 0);
    cuda_free_block(dev, block);
    cuda_close(dev);
}

static void an_unpinned_source_may_be_reused_at_once(void)
{
    char source[16] = "before the copy", back[16] = { 0 };
    void *dev, *block;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, 16);
    if (control)
        control->hold(1);
    cuda_put(dev, block, source, 16);
    memset(source, 0, sizeof(source));
    if (control)
        control->hold(0);
    cuda_get(dev, block, back, 16);
    CU_ASSERT_STRING_EQUAL(back, "before the copy");
    cuda_free_block(dev, block);
    cuda_close(dev);
}

static void a_copy_onto_itself_is_refused(void)
{
    void *dev, *block;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, 64);
    for (uint64_t at = 0; at < 32; at += 31)
        CU_ASSERT(driver_failed(cuda->memcpy(dev, NULL, FERRY_MEMCPY_D2D, driver_ref(block, at),
                                             driver_cref(block, 31 - at), 32),
                                FERRY_EINVAL, "overlap"));
    CU_ASSERT(
        driver_failed(cuda->memcpy(dev, NULL, 4, driver_ref(block, 0), driver_cref(block, 32), 32),
                      FERRY_EINVAL, "4 is not a kind of copy"));
    cuda_free_block(dev, block);
    cuda_close(dev);
}

/* ---- two devices ---- */

/* Copies a block; the bytes copied directly, and through the host. */
static void copy_over(void *one, void *two, uint64_t *direct, uint64_t *indirect)
{
    void *from = cuda_block(one, 16), *to = cuda_block(two, 16);
    char back[16] = { 0 };

    *direct = control->direct_bytes();
    *indirect = control->indirect_bytes();
    cuda_put(one, from, "from one to two", 16);
    CU_ASSERT_EQUAL(cuda->queue_synchronize(one, NULL), 0);
    CU_ASSERT_EQUAL(cuda->synchronize(two), 0);
    CU_ASSERT_EQUAL(cuda->peer_copy(two, NULL, driver_ref(to, 0), one, driver_cref(from, 0), 16),
                    0);
    cuda_get(two, to, back, 16);
    CU_ASSERT_STRING_EQUAL(back, "from one to two");
    *direct = control->direct_bytes() - *direct;
    *indirect = control->indirect_bytes() - *indirect;
    cuda_free_block(one, from);
    cuda_free_block(two, to);
}

static void peers(bool reach, uint64_t *direct, uint64_t *indirect)
{
    void *one = cuda_open(0), *two = cuda_open(1);

    CU_ASSERT_EQUAL(cuda->peer_access(two, one), reach);
    CU_ASSERT_EQUAL(cuda->peer_access(two, one), reach);
    copy_over(two, one, direct, indirect); /* the other direction is enabled too */
    CU_ASSERT_EQUAL(*direct, reach ? 16 : 0);
    copy_over(one, two, direct, indirect);
    cuda_close(one);
    cuda_close(two);
}

static void two_devices_copy_directly_if_peer_access_exists(void)
{
    uint64_t direct, indirect;

    for (int pools = 0; pools < 2; pools++)
        for (int reach = 0; reach < 2; reach++) {
            if (!cuda_load(2, true))
                return;
            setenv("CUDA_DOUBLE_POOLS", pools ? "1" : "0", 1);
            setenv("CUDA_DOUBLE_PEERS", reach ? "1" : "0", 1);
            peers(reach, &direct, &indirect);
            CU_ASSERT_EQUAL(direct, reach ? 16 : 0);
            CU_ASSERT_EQUAL(indirect, reach ? 0 : 16);
        }
}

static void a_reopened_device_has_peer_access_again(void)
{
    uint64_t direct, indirect;
    void *one, *two;

    if (!cuda_load(2, true))
        return;
    two = cuda_open(1);
    for (int i = 0; i < 2; i++) {
        one = cuda_open(0);
        CU_ASSERT_EQUAL(cuda->peer_access(two, one), 1);
        copy_over(one, two, &direct, &indirect);
        CU_ASSERT_EQUAL(direct, 16);
        cuda_close(one);
    }
    cuda_close(two);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(opening_the_plugin_touches_no_driver),
    FERRY_TEST(counting_and_describing_create_no_context),
    FERRY_TEST(a_missing_driver_an_old_driver_and_a_missing_device_are_distinguished),
    FERRY_TEST(other_failures_of_the_driver_have_a_hint),
    FERRY_TEST(devices_can_be_ordered_by_pci_address),
    FERRY_TEST(opening_one_device_creates_only_its_context),
    FERRY_TEST(no_entry_changes_the_callers_current_device),
    FERRY_TEST(a_thread_without_a_current_context_keeps_none),
    FERRY_TEST(blocks_come_from_a_memory_pool_if_the_driver_has_one),
    FERRY_TEST(the_pool_limit_grows_with_the_memory_of_the_device),
    FERRY_TEST(an_out_of_memory_error_reports_the_free_bytes),
    FERRY_TEST(an_out_of_pinned_memory_error_reports_the_requested_bytes),
    FERRY_TEST(a_foreign_block_is_refused),
    FERRY_TEST(a_device_identifies_its_memory_by_address),
    FERRY_TEST(pinned_memory_is_freed_from_any_thread),
    FERRY_TEST(a_pinned_copy_is_asynchronous),
    FERRY_TEST(an_unpinned_source_may_be_reused_at_once),
    FERRY_TEST(a_copy_onto_itself_is_refused),
    FERRY_TEST(two_devices_copy_directly_if_peer_access_exists),
    FERRY_TEST(a_reopened_device_has_peer_access_again),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, cuda_suite("cuda plugin"), cases, FERRY_TEST_COUNT(cases));
}
