/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "io-folder.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Data that no format can hold, and the old file after a new one fails. */

static void check_refused(ferry_io_format format, ferry_dtype dtype, const char *name, bool diff,
                          const char *says)
{
    ferry_io_writer *w = create("file", format);
    ferry_blob *b = FX_BLOB(dtype, 2);

    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_write(w, name, b, diff));
    if (!strstr(ferry_last_error(), name) || !strstr(ferry_last_error(), says)) {
        CU_FAIL("another message");
        printf("  wanted \"%s\", got \"%s\"\n", says, ferry_last_error());
    }
    ferry_io_writer_abort(w);
    ferry_blob_destroy(b);
    CU_ASSERT_EQUAL(files(), 0);
}

static void data_that_a_format_cannot_hold_are_named(void)
{
    fx_device();
    check_refused(FERRY_IO_CAFFEMODEL, FERRY_I32, "a/0", false, "dtype");
    check_refused(FERRY_IO_CAFFEMODEL, FERRY_F32, "conv.weight", false, "<layer>/<index>");
    check_refused(FERRY_IO_CAFFEMODEL, FERRY_F32, "a/01", false, "<layer>/<index>");
    check_refused(FERRY_IO_CAFFEMODEL, FERRY_F32, "a/1", false, "does not follow");
    check_refused(FERRY_IO_SOLVERSTATE, FERRY_F32, "a/0", false, "history");
    check_refused(FERRY_IO_NPZ, FERRY_BF16, "a", false, "dtype");
    check_refused(FERRY_IO_NPY, FERRY_F32, "a", true, "diff");
    check_refused(FERRY_IO_SAFETENSORS, FERRY_F32, "a", true, "diff");
    fx_end();
}

static void an_unfinished_file_is_not_committed(void)
{
    static const int64_t shape[] = { 4 };
    ferry_io_entry e = {
        .struct_size = sizeof(e), .name = "a", .dtype = FERRY_F32, .rank = 1, .shape = shape
    };
    float values[4] = { 0 };
    ferry_io_writer *w = create("file", FERRY_IO_SAFETENSORS);

    FX_OK(ferry_io_writer_declare(w, &e));
    FX_OK(ferry_io_writer_write_values(w, values, 8));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_commit(w));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "8 bytes of values are missing"));
    CU_ASSERT_EQUAL(files(), 0);
    w = create("file", FERRY_IO_SAFETENSORS);
    FX_OK(ferry_io_writer_declare(w, &e));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_write_values(w, values, 20));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_write_values(w, values, 3));
    ferry_io_writer_abort(w);
    w = create("file", FERRY_IO_NPY);
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_commit(w));
    w = create("file", FERRY_IO_CAFFEMODEL);
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_commit(w));
    CU_ASSERT_EQUAL(files(), 0);
}

static void a_refused_first_piece_does_not_begin_the_file(void)
{
    static const int64_t shape[] = { 4 }, none[] = { 0 };
    ferry_io_entry e = { .struct_size = sizeof(e), .name = "a", .dtype = FERRY_F32, .rank = 1 };
    float values[5] = { 0 };
    ferry_io_writer *w = create("file", FERRY_IO_SAFETENSORS);
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 3);
    e.shape = none;
    FX_OK(ferry_io_writer_declare(w, &e));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_write_values(w, values, 4)); /* no array has bytes */
    e.name = "b";
    e.shape = shape;
    FX_OK(ferry_io_writer_declare(w, &e));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_write_values(w, values, 20));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_write_values(w, values, 3));
    FX_FAILS(FERRY_ESHAPE, ferry_io_writer_write(w, "b", b, false));
    FX_OK(ferry_io_writer_set_metadata(w, "k", "v"));
    e.name = "c";
    FX_OK(ferry_io_writer_declare(w, &e));
    FX_OK(ferry_io_writer_write_values(w, values, 16));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_set_metadata(w, "k", "v"));
    FX_OK(ferry_io_writer_write_values(w, values, 16));
    FX_OK(ferry_io_writer_commit(w));
    unlink(in_folder("file"));
    CU_ASSERT_EQUAL(files(), 0);
    ferry_blob_destroy(b);
    fx_end();
}

static void an_aborted_or_failed_write_leaves_the_old_file(void)
{
    const char *path = in_folder("file");
    char text[8] = "";
    ferry_io_writer *w;
    struct stat info;
    FILE *file = fopen(path, "w");
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 3);
    fputs("old", file);
    fclose(file);
    chmod(path, 0640);
    w = create("file", FERRY_IO_NPY);
    FX_OK(ferry_io_writer_write(w, "a", b, false));
    ferry_io_writer_abort(w);
    file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL(fgets(text, sizeof(text), file));
    fclose(file);
    CU_ASSERT_STRING_EQUAL(text, "old");
    w = create("file", FERRY_IO_NPY);
    FX_OK(ferry_io_writer_write(w, "a", b, false));
    FX_OK(ferry_io_writer_commit(w));
    CU_ASSERT_EQUAL(stat(path, &info), 0);
    CU_ASSERT_EQUAL(info.st_mode & 07777, 0640); /* the permissions are the old file's */
    CU_ASSERT_EQUAL(files(), 1);
    unlink(path);
    ferry_blob_destroy(b);
    fx_end();
}

/* As if the disk were full after 16 KiB. */
static void a_full_disk_is_an_error_and_leaves_the_old_file(void)
{
    static const ferry_io_format formats[] = { FERRY_IO_NPY, FERRY_IO_NPZ, FERRY_IO_SAFETENSORS,
                                               FERRY_IO_CAFFEMODEL };
    struct rlimit limit, small;
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 100000);
    fill(b, 1);
    fclose(fopen(in_folder("file"), "w"));
    getrlimit(RLIMIT_FSIZE, &limit);
    small = limit;
    small.rlim_cur = 16384;
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < FERRY_TEST_COUNT(formats); i++) {
        ferry_io_writer *w = create("file", formats[i]);
        int written;

        setrlimit(RLIMIT_FSIZE, &small);
        written = ferry_io_writer_write(w, "a/0", b, false);
        CU_ASSERT(written == FERRY_OK || written == FERRY_EIO);
        FX_FAILS(FERRY_EIO, ferry_io_writer_commit(w));
        setrlimit(RLIMIT_FSIZE, &limit);
        CU_ASSERT_EQUAL(files(), 1);
    }
    unlink(in_folder("file"));
    ferry_blob_destroy(b);
    fx_end();
}

static void a_link_keeps_pointing_at_its_file(void)
{
    const char *path = in_folder("real"), *link_path = in_folder("link");
    ferry_io_writer *w;
    struct stat info;
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 3);
    fclose(fopen(path, "w"));
    CU_ASSERT_EQUAL(symlink("real", link_path), 0);
    FX_OK_FATAL(ferry_io_writer_create(link_path, FERRY_IO_NPY, &w));
    FX_OK(ferry_io_writer_write(w, "a", b, false));
    FX_OK(ferry_io_writer_commit(w));
    CU_ASSERT_EQUAL(lstat(link_path, &info), 0);
    CU_ASSERT(S_ISLNK(info.st_mode));
    CU_ASSERT_EQUAL(stat(path, &info), 0);
    CU_ASSERT(info.st_size > 12);
    unlink(path);
    unlink(link_path);
    ferry_blob_destroy(b);
    fx_end();
}

static void impossible_targets_are_refused(void)
{
    ferry_io_writer *w = NULL;

    FX_FAILS(FERRY_EINVAL, ferry_io_writer_create(folder, FERRY_IO_NPY, &w));
    FX_FAILS(FERRY_EIO, ferry_io_writer_create(in_folder("no/such/file"), FERRY_IO_NPY, &w));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_create(in_folder("x"), FERRY_IO_UNKNOWN, &w));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_create(NULL, FERRY_IO_NPY, &w));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_commit(NULL));
    CU_ASSERT_PTR_NULL(w);
    ferry_io_writer_abort(NULL);
    CU_ASSERT_EQUAL(files(), 0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(data_that_a_format_cannot_hold_are_named),
    FERRY_TEST(an_unfinished_file_is_not_committed),
    FERRY_TEST(a_refused_first_piece_does_not_begin_the_file),
    FERRY_TEST(an_aborted_or_failed_write_leaves_the_old_file),
    FERRY_TEST(a_full_disk_is_an_error_and_leaves_the_old_file),
    FERRY_TEST(a_link_keeps_pointing_at_its_file),
    FERRY_TEST(impossible_targets_are_refused),
};

int main(int argc, char **argv)
{
    return io_folder_main(argc, argv, "io-commit", cases, FERRY_TEST_COUNT(cases));
}
