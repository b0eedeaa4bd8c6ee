/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fakes.h"
#include "world.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Which device a handle belongs to: the answer of one device, and the search over all open devices.
 */

/* Checks both queries; `i` is the expected device, −1: no device. */
static void check_owner(const void *handle, int i)
{
    ferry_device *found = (ferry_device *)(void *)&found;

    for (int k = 0; k < WX_DEVICES; k++)
        CU_ASSERT_EQUAL(ferry_device_owns(wx_dev(k), handle), k == i);
    FX_OK(ferry_runtime_find_owner(wx_runtime(), handle, &found));
    CU_ASSERT_PTR_EQUAL(found, i < 0 ? NULL : wx_dev(i));
}

static void each_device_owns_its_memory(void)
{
    ferry_memory *m[WX_DEVICES];
    char local;

    wx_begin();
    for (int i = 0; i < WX_DEVICES; i++)
        m[i] = wx_memory(i);
    for (int i = 0; i < WX_DEVICES; i++) {
        ferry_ref ref = wx_access(m[i], wx_queue(i), FERRY_READ | FERRY_WRITE);

        check_owner(ref.handle, i);
        check_owner((char *)ref.handle + WX_BYTES - 1, i);
        check_owner(ferry_memory_host_data(m[i]), -1);
    }
    check_owner(&local, -1);
    for (int i = 0; i < WX_DEVICES; i++)
        ferry_memory_release(m[i]);
    wx_end();
}

/* A device's view of host memory belongs to the host. */
static void an_import_belongs_to_no_device(void)
{
    ferry_memory *m;
    ferry_ref ref;

    wx_begin();
    m = wx_memory(0);
    wx_write_host(m, 1);
    ref = wx_access(m, wx_queue(0), FERRY_READ);
    CU_ASSERT_PTR_NOT_NULL(ref.handle);
    check_owner(ref.handle, -1);
    ferry_memory_release(m);
    wx_end();
}

/* Must be the last case, because a device is lost in it. */
static void lost_devices_are_skipped(void)
{
    ferry_device *found = NULL;
    ferry_memory *lost, *m;
    ferry_ref theirs, ours;

    wx_begin();
    lost = wx_memory(0);
    m = wx_memory(1);
    theirs = wx_access(lost, wx_queue(0), FERRY_WRITE);
    ours = wx_access(m, wx_queue(1), FERRY_WRITE);
    wx_lose(0);
    for (int turn = 0; turn < 2; turn++) { /* first, the loss is not known yet */
        FX_OK(ferry_runtime_find_owner(wx_runtime(), ours.handle, &found));
        CU_ASSERT_PTR_EQUAL(found, wx_dev(1));
        FX_OK(ferry_runtime_find_owner(wx_runtime(), theirs.handle, &found));
        CU_ASSERT_PTR_NULL(found);
        FX_FAILS(FERRY_ELOST, ferry_device_owns(wx_dev(0), theirs.handle));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "sim:0: "));
    }
    ferry_memory_release(lost);
    ferry_memory_release(m);
}

static void in_a_child_no_device_owns_memory(void)
{
    ferry_device *found = (ferry_device *)(void *)&found;
    char local;
    int status = 0;
    pid_t child;

    wx_begin();
    child = fork();
    if (child == 0) {
        alarm(60);
        _exit(ferry_device_owns(wx_dev(0), &local) != FERRY_EFORKED ||
              ferry_runtime_find_owner(wx_runtime(), &local, &found) != FERRY_EFORKED ||
              found != (ferry_device *)(void *)&found);
    }
    CU_ASSERT_FATAL(child > 0);
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    wx_end();
}

static void null_is_refused(void)
{
    ferry_device *found = (ferry_device *)(void *)&found;
    char local;

    wx_begin();
    FX_FAILS(FERRY_EINVAL, ferry_device_owns(NULL, &local));
    FX_FAILS(FERRY_EINVAL, ferry_device_owns(wx_dev(0), NULL));
    FX_FAILS(FERRY_EINVAL, ferry_runtime_find_owner(NULL, &local, &found));
    FX_FAILS(FERRY_EINVAL, ferry_runtime_find_owner(wx_runtime(), NULL, &found));
    FX_FAILS(FERRY_EINVAL, ferry_runtime_find_owner(wx_runtime(), &local, NULL));
    CU_ASSERT_PTR_EQUAL(found, (ferry_device *)(void *)&found);
    wx_end();
}

/* A device of that double, listed and not opened. */
static ferry_device *listed(const char *fake, ferry_runtime **out)
{
    const char *folder = fakes_folder();
    ferry_device *dev = NULL;
    int count = 0;

    fakes_put(folder, fake, NULL);
    *out = fakes_open(folder, fake, NULL);
    FX_OK_FATAL(ferry_runtime_enumerate(*out, &count));
    FX_OK_FATAL(ferry_runtime_device_at(*out, 0, &dev));
    return dev;
}

static void closed_devices_and_devices_without_the_entry_owns_are_skipped(void)
{
    ferry_device *found = (ferry_device *)(void *)&found, *dev;
    ferry_runtime *rt;
    char local;

    fakes_track();
    dev = listed("alpha", &rt);
    FX_OK(ferry_runtime_find_owner(rt, &local, &found));
    CU_ASSERT_PTR_NULL(found);
    CU_ASSERT_PTR_NULL(strstr(fakes_tracked(), " device "));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_device_owns(dev, &local));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "alpha:0: its plugin cannot tell"));
    CU_ASSERT_PTR_NOT_NULL(strstr(fakes_tracked(), "alpha device 0"));
    found = dev;
    FX_OK(ferry_runtime_find_owner(rt, &local, &found));
    CU_ASSERT_PTR_NULL(found);
    ferry_runtime_close(rt);
}

static void an_owns_result_other_than_0_and_1_is_a_plugin_error(void)
{
    ferry_device *found = (ferry_device *)(void *)&found, *dev;
    ferry_runtime *rt;
    char local;

    dev = listed("owns_two", &rt);
    FX_FAILS(FERRY_EPLUGIN, ferry_device_owns(dev, &local));
    FX_FAILS(FERRY_EPLUGIN, ferry_runtime_find_owner(rt, &local, &found));
    CU_ASSERT_PTR_EQUAL(found, (ferry_device *)(void *)&found);
    ferry_runtime_close(rt);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(each_device_owns_its_memory),
    FERRY_TEST(in_a_child_no_device_owns_memory),
    FERRY_TEST(null_is_refused),
    FERRY_TEST(closed_devices_and_devices_without_the_entry_owns_are_skipped),
    FERRY_TEST(an_owns_result_other_than_0_and_1_is_a_plugin_error),
    FERRY_TEST(lost_devices_are_skipped),
};

static const ferry_test_case shared_cases[] = {
    FERRY_TEST(an_import_belongs_to_no_device),
};

int main(int argc, char **argv)
{
    static const char *const sync[] = { "clock", "sync", NULL };
    static const char *const shared[] = { "clock", "sync", "unified", "on", NULL };
    static const char *const cuda[] = { "plugin", "cuda", NULL };
    static const struct wx_world worlds[] = {
        { "discrete", sync, cases, FERRY_TEST_COUNT(cases) },
        { "shared memory", shared, shared_cases, FERRY_TEST_COUNT(shared_cases) },
        { "cuda", cuda, cases, 1 },
    };

    return wx_main(argc, argv, "owner", worlds, FERRY_TEST_COUNT(worlds));
}
