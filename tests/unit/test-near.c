/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A device that computes asynchronously in the host's memory: host and device have one pointer, and
 * the host has to wait. A copy of that many bytes begins 0.3 ms after its submission.
 */

#define BYTES ((size_t)1 << 20)
#define OLD   0x5a
#define NEW   0x77

static ferry_runtime *rt;
static ferry_device *dev;

static ferry_memory *memory_of(unsigned char value)
{
    ferry_memory *m = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(dev, BYTES, &m), 0);
    memset(ferry_memory_overwrite_host_data(m), value, BYTES);
    return m;
}

static bool host_reads(ferry_memory *m, unsigned char value)
{
    const unsigned char *p = ferry_memory_host_data(m);

    return p && p[0] == value && memcmp(p, p + 1, BYTES - 1) == 0;
}

static void begin(void)
{
    char conf[1024];

    snprintf(conf, sizeof(conf),
             "[plugin good_near]\nlibrary = %s/tests/plugins/bad/ferry_good_near.so\n",
             getenv("FERRY_TEST_BUILDDIR"));
    rt = fakes_open(fakes_folder(), "good_near", fakes_write(fakes_folder(), "c.conf", conf));
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, NULL, &dev), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ferry_device_queue(dev));
}

static void end(ferry_memory *a, ferry_memory *b)
{
    ferry_memory_release(a);
    ferry_memory_release(b);
    ferry_runtime_close(rt);
}

/* Work of the program itself on the default queue, which ferry does not know of. */
static void copy(ferry_cref from, ferry_ref to)
{
    CU_ASSERT_EQUAL(ferry_math_copy(ferry_device_queue(dev), FERRY_U8, BYTES, from, to), 0);
}

static void the_host_writes_after_the_device_has_read(void)
{
    static void *(*const writes[])(ferry_memory *) = { ferry_memory_mutable_host_data,
                                                       ferry_memory_overwrite_host_data };

    begin();
    for (int i = 0; i < 2; i++) {
        ferry_memory *from = memory_of(OLD), *to = memory_of(0);
        ferry_cref source = ferry_memory_device_data(from);

        CU_ASSERT_PTR_EQUAL(source.handle, ferry_memory_host_data(from));
        copy(source, ferry_memory_overwrite_device_data(to));
        memset(writes[i](from), NEW, BYTES);
        CU_ASSERT(host_reads(to, OLD));
        ferry_memory_release(from);
        ferry_memory_release(to);
    }
    end(NULL, NULL);
}

static void the_host_reads_after_the_device_has_written(void)
{
    ferry_memory *from, *to;

    begin();
    from = memory_of(NEW);
    to = memory_of(OLD);
    copy(ferry_memory_device_data(from), ferry_memory_overwrite_device_data(to));
    CU_ASSERT(host_reads(to, NEW));
    CU_ASSERT(host_reads(from, NEW));
    end(from, to);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_host_writes_after_the_device_has_read),
    FERRY_TEST(the_host_reads_after_the_device_has_written),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "near", cases, FERRY_TEST_COUNT(cases));
}
