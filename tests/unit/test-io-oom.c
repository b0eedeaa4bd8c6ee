/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "io-folder.h"
#include "oom.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Every allocation made while a file is written fails once: the file is whole, or not written. */

/* The names exceed the first block of a writer's memory and the first table of names. */
#define ARRAYS 80
#define LONG   100

static const ferry_io_format formats[] = { FERRY_IO_NPZ, FERRY_IO_SAFETENSORS,
                                           FERRY_IO_CAFFEMODEL };

static const char *name_of(int i)
{
    static char name[LONG + 16];

    snprintf(name, sizeof(name), "%0*d/0", LONG, i);
    return name;
}

static void check_arrays(void)
{
    ferry_io *io = open_file("file");

    CU_ASSERT_EQUAL(ferry_io_entry_count(io), ARRAYS);
    ferry_io_close(io);
    unlink(in_folder("file"));
}

/* Writes blobs while allocation number `n` fails. Returns whether one failed. */
static bool write_blobs(ferry_io_format format, const ferry_blob *b, unsigned n)
{
    ferry_io_writer *w = create("file", format);
    int err = FERRY_OK;
    bool failed;

    oom_arm(n);
    for (int i = 0; i < ARRAYS; i++) {
        int written = ferry_io_writer_write(w, name_of(i), b, false);

        err = err ? err : written; /* the program goes on after the failure */
    }
    failed = oom_has_failed();
    CU_ASSERT_EQUAL(err, failed ? FERRY_ENOMEM : FERRY_OK);
    CU_ASSERT_EQUAL(ferry_io_writer_commit(w), oom_has_failed() ? FERRY_ENOMEM : FERRY_OK);
    CU_ASSERT_PTR_NOT_NULL(failed ? strstr(ferry_last_error(), "out of memory") : "");
    failed = oom_disarm();
    CU_ASSERT_EQUAL(files(), failed ? 0 : 1);
    if (!failed)
        check_arrays();
    return failed;
}

static void a_write_that_lacks_memory_ends_the_writer(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 3);
    fill(b, 1);
    for (size_t i = 0; i < FERRY_TEST_COUNT(formats); i++) {
        unsigned n;

        for (n = 1; write_blobs(formats[i], b, n); n++)
            ;
        CU_ASSERT(n > 4);
    }
    ferry_blob_destroy(b);
    fx_end();
}

/* Declares arrays while allocation number `n` fails, and repeats what failed. */
static bool declare_arrays(ferry_io_format format, unsigned n)
{
    static const int64_t shape[] = { 3 };
    static const float values[3] = { 1, 2, 3 };
    ferry_io_writer *w = create("file", format);
    bool failed;

    oom_arm(n);
    for (int i = 0; i < ARRAYS; i++) {
        ferry_io_entry e = { .struct_size = sizeof(e), .name = name_of(i), .dtype = FERRY_F32 };
        int err;

        e.rank = 1;
        e.shape = shape;
        err = ferry_io_writer_declare(w, &e);
        if (err) {
            CU_ASSERT_EQUAL(err, FERRY_ENOMEM);
            FX_OK(ferry_io_writer_declare(w, &e));
        }
    }
    failed = oom_disarm();
    for (int i = 0; i < ARRAYS; i++)
        FX_OK(ferry_io_writer_write_values(w, values, sizeof(values)));
    FX_OK(ferry_io_writer_commit(w));
    check_arrays();
    return failed;
}

static void a_declaration_that_lacks_memory_changes_nothing(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(formats); i++) {
        unsigned n;

        for (n = 1; declare_arrays(formats[i], n); n++)
            ;
        CU_ASSERT(n > 3);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_write_that_lacks_memory_ends_the_writer),
    FERRY_TEST(a_declaration_that_lacks_memory_changes_nothing),
};

int main(int argc, char **argv)
{
    return io_folder_main(argc, argv, "io-oom", cases, FERRY_TEST_COUNT(cases));
}
