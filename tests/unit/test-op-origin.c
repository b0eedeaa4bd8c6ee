/* SPDX-License-Identifier: BSD-2-Clause */
#define _DEFAULT_SOURCE
#include "fixture.h"

#include "op/origin.h"

#include <ferry/status.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Constants whose bytes are computed when they are read (op/origin.h). */

struct counted {
    size_t bytes;
    int calls, ends, fails; /* `fails` is the number of calls that fail next */
};

static void count_end(void *arg)
{
    ((struct counted *)arg)->ends++;
}

static int fill(void *arg, void *bytes)
{
    struct counted *c = arg;

    c->calls++;
    if (c->fails && c->fails--)
        return ferry_error_set(FERRY_EIO, "the test's origin fails");
    memset(bytes, FX_OLD, c->bytes);
    return 0;
}

/* The bytes of this process's memory that are resident, in KiB; 0 if the system does not tell. */
static long resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long all, pages = 0;

    if (f && fscanf(f, "%ld %ld", &all, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

#define NEIGHBOURS 24

/*
 * Each constant is filled and read once, and gives back all of its pages, and none of the others':
 * also if the system gives it pages that are larger than what separates it from them.
 */
static void neighbours_keep_no_pages_of_each_other(void)
{
    static const size_t sizes[] = { 100000, 1000000, 2 << 20, 3000001, 5 << 20 };
    struct counted c[NEIGHBOURS];
    ferry_memory *m[NEIGHBOURS];
    struct ferry__origin *read;
    long before;

    for (int i = 0; i < NEIGHBOURS; i++) {
        c[i] = (struct counted){ .bytes = sizes[i % 5] };
        m[i] = NULL;
        FX_OK_FATAL(ferry_memory_create(fx_device(), c[i].bytes, &m[i]));
        FX_OK_FATAL(ferry__origin_create(m[i], fill, count_end, &c[i]));
    }
    before = resident();
    for (int i = 0; i < NEIGHBOURS; i += 2) {
        FX_OK(ferry__origin_begin(m[i], &read));
        CU_ASSERT(fx_is_filled(m[i], FX_OLD));
        ferry__origin_end(read);
    }
    CU_ASSERT(resident() - before < 4096);
    for (int i = 0; i < NEIGHBOURS; i++) {
        CU_ASSERT(fx_is_filled(m[i], 0));
        ferry_memory_release(m[i]);
        CU_ASSERT_EQUAL(c[i].ends, 1);
    }
    fx_end();
}

static void bytes_exist_only_while_they_are_read(void)
{
    struct counted c = { .bytes = 100000 };
    struct ferry__origin *reads[2] = { NULL, NULL };
    ferry_memory *m = NULL;
    uint64_t version;

    FX_OK_FATAL(ferry_memory_create(fx_device(), c.bytes, &m));
    FX_OK(ferry__origin_begin(m, &reads[0]));
    CU_ASSERT_PTR_NULL(reads[0]);
    FX_OK_FATAL(ferry__origin_create(m, fill, count_end, &c));
    version = ferry_memory_version(m);
    CU_ASSERT_EQUAL(c.calls, 0);
    FX_OK(ferry__origin_begin(m, &reads[0]));
    FX_OK(ferry__origin_begin(m, &reads[1]));
    ferry__origin_end(reads[0]);
    CU_ASSERT(fx_is_filled(m, FX_OLD));
    ferry__origin_end(reads[1]);
    CU_ASSERT(fx_is_filled(m, 0));
    FX_OK(ferry__origin_begin(m, &reads[0]));
    CU_ASSERT(fx_is_filled(m, FX_OLD));
    ferry__origin_end(reads[0]);
    CU_ASSERT_EQUAL(c.calls, 2);
    CU_ASSERT_EQUAL(c.ends, 0);
    CU_ASSERT_FALSE(ferry__origin_is_kept(m));
    FX_OK(ferry__origin_keep(m));
    CU_ASSERT(ferry__origin_is_kept(m));
    CU_ASSERT_EQUAL(c.ends, 1);
    FX_OK(ferry__origin_keep(m));
    FX_OK(ferry__origin_begin(m, &reads[0]));
    ferry__origin_end(reads[0]);
    CU_ASSERT(fx_is_filled(m, FX_OLD));
    CU_ASSERT_EQUAL(c.calls, 3);
    CU_ASSERT_EQUAL(ferry_memory_version(m), version);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(c.ends, 1);
    fx_end();
}

static void an_origin_that_fails_is_asked_again(void)
{
    struct counted c = { .bytes = 100000, .fails = 2 };
    struct ferry__origin *read = NULL;
    ferry_memory *m = NULL;

    FX_OK_FATAL(ferry_memory_create(fx_device(), c.bytes, &m));
    FX_OK_FATAL(ferry__origin_create(m, fill, count_end, &c));
    FX_FAILS(FERRY_EIO, ferry__origin_begin(m, &read));
    CU_ASSERT_PTR_NULL(read);
    FX_FAILS(FERRY_EIO, ferry__origin_keep(m));
    FX_OK(ferry__origin_begin(m, &read));
    CU_ASSERT(fx_is_filled(m, FX_OLD));
    ferry__origin_end(read);
    CU_ASSERT(fx_is_filled(m, 0));
    CU_ASSERT_EQUAL(c.ends, 0);
    ferry__origin_replace(m);
    CU_ASSERT_EQUAL(c.ends, 1);
    FX_OK(ferry__origin_begin(m, &read));
    ferry__origin_end(read);
    CU_ASSERT_EQUAL(c.calls, 3);
    ferry__origin_forget(m);
    FX_OK(ferry__origin_begin(m, &read));
    CU_ASSERT_PTR_NULL(read);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(c.ends, 1);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(bytes_exist_only_while_they_are_read),
    FERRY_TEST(neighbours_keep_no_pages_of_each_other),
    FERRY_TEST(an_origin_that_fails_is_asked_again),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "op origin", cases, FERRY_TEST_COUNT(cases));
}
