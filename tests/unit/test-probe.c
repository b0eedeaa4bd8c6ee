/* SPDX-License-Identifier: BSD-2-Clause */
#include "fakes.h"
#include "fixture.h"

#include <stdio.h>
#include <string.h>

/* The probe of a device that claims to share memory with the host. */

#define BYTES 5000 /* no multiple of any alignment */

static ferry_runtime *rt;

/* The first device of that double, not opened yet, with the log recorded. */
static ferry_device *claimant(const char *fake)
{
    const char *folder = fakes_folder();
    ferry_device *dev = NULL;

    fakes_put(folder, fake, NULL);
    fakes_log();
    rt = fakes_open(folder, fake, NULL);
    FX_OK_FATAL(ferry_runtime_get_device(rt, NULL, &dev));
    return dev;
}

static void host_memory_has_the_alignment_that_the_device_requires(void)
{
    ferry_device *dev = claimant("unified");
    ferry_memory *m = NULL;
    ferry_device_stats s = { .struct_size = sizeof s };
    unsigned char *p;

    FX_OK(ferry_device_synchronize(dev));
    CU_ASSERT_STRING_EQUAL(fakes_logged(), "");
    CU_ASSERT_EQUAL(ferry_device_get_properties(dev)->unified, 1);
    for (int i = 0; i < 20; i++) {
        FX_OK_FATAL(ferry_memory_create(dev, BYTES, &m));
        p = ferry_memory_overwrite_host_data(m);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT_EQUAL((uintptr_t)p % 4096, 0);
        memset(p, i, BYTES);
        CU_ASSERT_PTR_EQUAL(ferry_memory_device_data(m).handle, p);
        ferry_memory_release(m);
    }
    FX_OK(ferry_device_get_stats(dev, &s));
    CU_ASSERT_EQUAL(s.copies_h2d, 0);
    ferry_runtime_close(rt);
}

/* Checks that the device works as a discrete one, and that the log contains `why`. */
static void check_discrete(const char *fake, const char *why)
{
    ferry_device *dev = claimant(fake);
    char line[400];

    FX_OK(ferry_device_synchronize(dev));
    snprintf(line, sizeof line,
             "warn: %s:0: says that it shares memory with the host, but the probe disagrees: %s; "
             "it is used as a discrete device\n",
             fake, why);
    CU_ASSERT_STRING_EQUAL(fakes_logged(), line);
    CU_ASSERT_EQUAL(ferry_device_get_properties(dev)->unified, 0);
    CU_ASSERT_EQUAL(ferry_device_get_properties(dev)->discrete, 1);
    fakes_assert_works(rt, fake);
    ferry_runtime_close(rt);
}

static void a_failed_probe_reports_its_reason(void)
{
    check_discrete("unified_refuses", "import_host of 65536 bytes: not supported");
    check_discrete("unified_deaf", "the device does not see what the host writes");
}

/* With a driver that copies at each map, sharing has no advantage. */
static void memory_that_the_driver_copies_at_each_map_is_not_shared(void)
{
    ferry_device *dev = claimant("unified_slow");

    FX_OK(ferry_device_synchronize(dev));
    CU_ASSERT_PTR_NOT_NULL(strstr(fakes_logged(), "but the probe disagrees: map and unmap take "));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(fakes_logged(), "us more for 4128768 bytes more, copies there and "));
    CU_ASSERT_EQUAL(ferry_device_get_properties(dev)->unified, 0);
    fakes_assert_works(rt, "unified_slow");
    ferry_runtime_close(rt);
}

static void a_device_that_is_lost_during_the_probe_is_lost(void)
{
    const char *folder = fakes_folder();
    ferry_device *dev = NULL;

    fakes_put(folder, "unified_lost", NULL);
    fakes_log();
    rt = fakes_open(folder, "unified_lost", NULL);
    FX_FAILS(FERRY_ELOST, ferry_runtime_get_device(rt, NULL, &dev));
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "unified_lost:0: import_host of 65536 bytes: "
                                               "vendorImport: VENDOR_GONE");
    CU_ASSERT_PTR_NULL(strstr(fakes_logged(), "discrete"));
    ferry_runtime_close(rt);
}

int main(int argc, char **argv)
{
    static const ferry_test_case cases[] = {
        FERRY_TEST(host_memory_has_the_alignment_that_the_device_requires),
        FERRY_TEST(a_failed_probe_reports_its_reason),
        FERRY_TEST(memory_that_the_driver_copies_at_each_map_is_not_shared),
        FERRY_TEST(a_device_that_is_lost_during_the_probe_is_lost),
    };

    return ferry_test_main(argc, argv, "probe", cases, FERRY_TEST_COUNT(cases));
}
