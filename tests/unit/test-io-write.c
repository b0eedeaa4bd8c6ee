/* SPDX-License-Identifier: BSD-2-Clause */
#include "io-folder.h"
#include "little.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writing files, and reading them back. */

static bool same_bytes(const void *a, const void *b, const ferry_blob *like)
{
    size_t size = (size_t)ferry_blob_element_count(like) * ferry_dtype_size(ferry_blob_dtype(like));

    return size == 0 || memcmp(a, b, size) == 0;
}

/* The entry equals the blob, bit for bit. */
static void check_entry(ferry_io *io, const char *name, const ferry_blob *b)
{
    const ferry_io_entry *entry = NULL;
    ferry_blob *back = NULL;

    FX_OK_FATAL(ferry_io_entry_find(io, name, &entry));
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    CU_ASSERT_EQUAL(entry->dtype, ferry_blob_dtype(b));
    FX_OK_FATAL(
        ferry_blob_create(ferry_blob_home(b), ferry_blob_dtype(b), NULL, FERRY_UNSHAPED, &back));
    FX_OK_FATAL(ferry_io_read(io, entry, back));
    CU_ASSERT_EQUAL_FATAL(ferry_blob_shape_equals(back, b), 1);
    CU_ASSERT(same_bytes(ferry_blob_host_data(back), ferry_blob_host_data(b), b));
    if (entry->has_diff)
        CU_ASSERT(same_bytes(ferry_blob_host_diff(back), ferry_blob_host_diff(b), b));
    ferry_blob_destroy(back);
}

/* ---- round trips ---------------------------------------------------------------------------- */

static const int64_t ones[32] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3 };
static const struct {
    int rank;
    const int64_t *shape;
} shapes[] = {
    { 0, NULL },
    { 1, (const int64_t[]){ 1 } },
    { 2, (const int64_t[]){ 0, 3 } },
    { 3, (const int64_t[]){ 2, 3, 5 } },
    { 32, ones },
    { 2, (const int64_t[]){ 300, 301 } },
};

#define SHAPE_COUNT (int)(sizeof(shapes) / sizeof(shapes[0]))

static bool holds(ferry_io_format format, ferry_dtype dtype)
{
    if (format == FERRY_IO_NPZ || format == FERRY_IO_NPY || format == FERRY_IO_HDF5)
        return dtype != FERRY_BF16;
    return format == FERRY_IO_SAFETENSORS || dtype == FERRY_F32 || dtype == FERRY_F64 ||
           dtype == FERRY_F16;
}

static ferry_io_entry entry_like(const ferry_blob *b, const char *name)
{
    ferry_io_entry entry = { .struct_size = sizeof(entry), .name = name };

    entry.dtype = ferry_blob_dtype(b);
    entry.rank = ferry_blob_rank(b);
    entry.shape = ferry_blob_shape(b);
    return entry;
}

/* All shapes of all dtypes that the format holds, in one file; `declared`: declared before. */
static void round_trip(ferry_io_format format, bool declared)
{
    ferry_blob *blobs[FERRY_DTYPE_COUNT * SHAPE_COUNT];
    char names[FERRY_DTYPE_COUNT * SHAPE_COUNT][32];
    ferry_io_writer *w = create("file", format);
    int n = 0;
    ferry_io *io;

    for (int t = 0; t < FERRY_DTYPE_COUNT; t++)
        for (int s = 0; s < SHAPE_COUNT && holds(format, (ferry_dtype)t); s++, n++) {
            blobs[n] = fx_blob((ferry_dtype)t, shapes[s].rank, shapes[s].shape);
            fill(blobs[n], n);
            snprintf(names[n], sizeof(names[n]), "layer%d/%d", t, s);
        }
    for (int i = 0; i < n && declared; i++) {
        ferry_io_entry entry = entry_like(blobs[i], names[i]);

        FX_OK(ferry_io_writer_declare(w, &entry));
    }
    for (int i = 0; i < n; i++)
        FX_OK(ferry_io_writer_write(w, names[i], blobs[i], false));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    io = open_file("file");
    CU_ASSERT_EQUAL(ferry_io_get_format(io), format);
    CU_ASSERT_EQUAL(ferry_io_entry_count(io), n);
    for (int i = 0; i < n; i++) {
        check_entry(io, names[i], blobs[i]);
        ferry_blob_destroy(blobs[i]);
    }
    ferry_io_close(io);
    CU_ASSERT_EQUAL(files(), 1);
    unlink(in_folder("file"));
}

static void every_dtype_and_shape_round_trips_through_each_format(void)
{
    static const ferry_io_format formats[] = { FERRY_IO_CAFFEMODEL, FERRY_IO_NPZ,
                                               FERRY_IO_SAFETENSORS };

    fx_device();
    for (size_t i = 0; i < FERRY_TEST_COUNT(formats); i++) {
        round_trip(formats[i], false);
        round_trip(formats[i], true);
    }
    fx_end();
}

static void hdf5_round_trips_if_it_was_built(void)
{
    ferry_io_writer *w = NULL;
    ferry_blob *b;
    ferry_io *io;

    fx_device();
    if (ferry_io_writer_create(in_folder("file"), FERRY_IO_HDF5, &w) == FERRY_EINVAL) {
        ferry_test_skip("%s", ferry_last_error());
        return;
    }
    ferry_io_writer_abort(w);
    round_trip(FERRY_IO_HDF5, false);
    round_trip(FERRY_IO_HDF5, true);
    b = FX_BLOB(FERRY_F32, 3);
    fill(b, 1);
    FX_OK(ferry_blob_fill_diff(b, 7));
    w = create("file", FERRY_IO_HDF5);
    FX_OK(ferry_io_writer_write(w, "conv/0", b, true));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_write(w, "a//b", b, false));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_write(w, "./a", b, false));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    io = open_file("file");
    check_entry(io, "conv/0", b);
    ferry_io_close(io);
    unlink(in_folder("file"));
    ferry_blob_destroy(b);
    CU_ASSERT_EQUAL(files(), 0);
    fx_end();
}

/* Replaces `from` in the file by `to`, in eight bytes. */
static void overwrite_number(const char *path, uint64_t from, uint64_t to)
{
    unsigned char bytes[65536];
    FILE *file = fopen(path, "r+b");
    size_t size, at = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    put_little(&from, &from, 8, 8);
    put_little(&to, &to, 8, 8);
    size = fread(bytes, 1, sizeof(bytes), file);
    while (at + 8 <= size && memcmp(bytes + at, &from, 8) != 0)
        at++;
    CU_ASSERT_FATAL(at + 8 <= size);
    CU_ASSERT_EQUAL(fseek(file, (long)at, SEEK_SET), 0);
    CU_ASSERT_EQUAL(fwrite(&to, 8, 1, file), 1);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* libhdf5 trusts it and crashes. The length, 4948, occurs once in the file. */
static void hdf5_that_stores_less_than_its_shape_is_refused(void)
{
    ferry_io_writer *w = NULL;
    ferry_io *io = NULL;
    ferry_blob *b;

    fx_device();
    if (ferry_io_writer_create(in_folder("file"), FERRY_IO_HDF5, &w) == FERRY_EINVAL) {
        ferry_test_skip("%s", ferry_last_error());
        return;
    }
    b = FX_BLOB(FERRY_F32, 1237);
    fill(b, 1);
    FX_OK(ferry_io_writer_write(w, "w", b, false));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    ferry_blob_destroy(b);
    overwrite_number(in_folder("file"), 4948, 4944);
    FX_FAILS(FERRY_ESHAPE, ferry_io_open(in_folder("file"), &io));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "4944 bytes are stored"));
    overwrite_number(in_folder("file"), 4944, 1u << 20);
    FX_FAILS(FERRY_EFORMAT, ferry_io_open(in_folder("file"), &io));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "past the end"));
    unlink(in_folder("file"));
    fx_end();
}

static void single_array_formats_round_trip(void)
{
    static const ferry_io_format formats[] = { FERRY_IO_NPY, FERRY_IO_BLOBPROTO };

    fx_device();
    for (size_t f = 0; f < FERRY_TEST_COUNT(formats); f++)
        for (int t = 0; t < FERRY_DTYPE_COUNT; t++)
            for (int s = 0; s < SHAPE_COUNT && holds(formats[f], (ferry_dtype)t); s++) {
                ferry_blob *b = fx_blob((ferry_dtype)t, shapes[s].rank, shapes[s].shape);
                ferry_io_writer *w = create("one.x", formats[f]);
                ferry_io *io;

                fill(b, 1);
                FX_OK(ferry_io_writer_write(w, "any name", b, false));
                FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_write(w, "second", b, false));
                FX_OK_FATAL(ferry_io_writer_commit(w));
                io = open_file("one.x");
                CU_ASSERT_EQUAL(ferry_io_get_format(io), formats[f]);
                check_entry(io, "one", b);
                ferry_io_close(io);
                ferry_blob_destroy(b);
            }
    unlink(in_folder("one.x"));
    fx_end();
}

static void diffs_and_solver_states_round_trip_in_caffe_formats(void)
{
    static const struct {
        ferry_io_format format;
        const char *names[2];
    } files_of[] = { { FERRY_IO_CAFFEMODEL, { "a/b/0", "a/b/1" } },
                     { FERRY_IO_SOLVERSTATE, { "history/0", "history/1" } },
                     { FERRY_IO_BLOBVECTOR, { "blobs/0", "blobs/1" } } };

    fx_device();
    for (size_t f = 0; f < FERRY_TEST_COUNT(files_of); f++) {
        ferry_io_writer *w = create("file", files_of[f].format);
        ferry_blob *a = FX_BLOB(FERRY_F32, 2, 3), *b = FX_BLOB(FERRY_F64, 4);
        const char *key = NULL, *value = NULL;
        ferry_io *io;

        fill(a, 1);
        fill(b, 2);
        FX_OK(ferry_blob_fill_diff(a, 7));
        if (files_of[f].format == FERRY_IO_SOLVERSTATE) {
            FX_OK(ferry_io_writer_set_metadata(w, "iter", "1234"));
            FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_set_metadata(w, "iter", "many"));
            FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_set_metadata(w, "other", "1"));
        }
        FX_OK(ferry_io_writer_write(w, files_of[f].names[0], a, true));
        FX_OK(ferry_io_writer_write(w, files_of[f].names[1], b, false));
        FX_OK_FATAL(ferry_io_writer_commit(w));
        io = open_file("file");
        CU_ASSERT_EQUAL(ferry_io_get_format(io), files_of[f].format);
        check_entry(io, files_of[f].names[0], a);
        check_entry(io, files_of[f].names[1], b);
        if (files_of[f].format == FERRY_IO_SOLVERSTATE) {
            FX_OK(ferry_io_metadata_at(io, 0, &key, &value));
            CU_ASSERT(key && strcmp(key, "iter") == 0 && strcmp(value, "1234") == 0);
        }
        ferry_io_close(io);
        ferry_blob_destroy(a);
        ferry_blob_destroy(b);
    }
    unlink(in_folder("file"));
    fx_end();
}

static void safetensors_keep_their_metadata_and_unusual_names(void)
{
    ferry_io_writer *w;
    ferry_blob *b;
    const char *key, *value;
    ferry_io *io;

    fx_device();
    w = create("file", FERRY_IO_SAFETENSORS);
    b = FX_BLOB(FERRY_U8, 3);
    fill(b, 1);
    FX_OK(ferry_io_writer_set_metadata(w, "format", "pt"));
    FX_OK(ferry_io_writer_set_metadata(w, "q\"\\\n", "\xc3\xa9"));
    FX_OK(ferry_io_writer_write(w, "a \"b\" \xe4\xb8\xad\1", b, false));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_write(w, "a \"b\" \xe4\xb8\xad\1", b, false));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_write(w, "\xff", b, false));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_write(w, "__metadata__", b, false));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    io = open_file("file");
    check_entry(io, "a \"b\" \xe4\xb8\xad\1", b);
    FX_OK(ferry_io_metadata_at(io, 1, &key, &value));
    CU_ASSERT_STRING_EQUAL(key, "q\"\\\n");
    CU_ASSERT_STRING_EQUAL(value, "\xc3\xa9");
    ferry_io_close(io);
    ferry_blob_destroy(b);
    unlink(in_folder("file"));
    fx_end();
}

static void values_may_be_written_in_pieces(void)
{
    static const int64_t shape[] = { 4 };
    ferry_io_entry a = { .struct_size = sizeof(a),
                         .name = "l/0",
                         .dtype = FERRY_F32,
                         .rank = 1,
                         .shape = shape,
                         .has_diff = 1 };
    ferry_io_entry b = {
        .struct_size = sizeof(b), .name = "l/1", .dtype = FERRY_F64, .rank = 1, .shape = shape
    };
    float data[] = { 1, 2, 3, 4 }, diff[] = { 5, 6, 7, 8 }, got[4];
    double more[] = { 9, 10, 11, 12 };
    ferry_io_writer *w = create("file", FERRY_IO_CAFFEMODEL);
    const ferry_io_entry *entry;
    ferry_io *io;

    FX_OK(ferry_io_writer_declare(w, &a));
    FX_OK(ferry_io_writer_declare(w, &b));
    FX_OK(ferry_io_writer_write_values(w, data, 4));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_declare(w, &b));
    FX_OK(ferry_io_writer_write_values(w, data + 1, 12));
    FX_OK(ferry_io_writer_write_values(w, diff, 16));
    FX_OK(ferry_io_writer_write_values(w, more, 8));
    FX_OK(ferry_io_writer_write_values(w, more + 1, 24));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    io = open_file("file");
    FX_OK_FATAL(ferry_io_entry_at(io, 0, &entry));
    FX_OK(ferry_io_read_diff_values(io, entry, 0, 4, got));
    CU_ASSERT_EQUAL(memcmp(got, diff, sizeof(diff)), 0);
    FX_OK(ferry_io_read_values(io, entry, 0, 4, got));
    CU_ASSERT_EQUAL(memcmp(got, data, sizeof(data)), 0);
    ferry_io_close(io);
    unlink(in_folder("file"));
}

/* A refused piece changes nothing; a value that cannot be stored ends the writer. */
static void a_refused_piece_changes_nothing_and_a_failed_write_ends_the_writer(void)
{
    static const int64_t shape[] = { 4 };
    ferry_io_entry a = { .struct_size = sizeof(a),
                         .name = "a",
                         .dtype = FERRY_U32,
                         .rank = 1,
                         .shape = shape,
                         .storage = "U16" };
    uint32_t good[] = { 1, 2, 3, 4 }, bad[] = { 1, 65536, 3, 4 };
    ferry_io_writer *w = create("file", FERRY_IO_SAFETENSORS);

    FX_OK(ferry_io_writer_declare(w, &a));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_write_values(w, good, 17));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "17 bytes of values where 16 are left"));
    FX_OK(ferry_io_writer_write_values(w, good, 8));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_write_values(w, good, 12));
    FX_OK(ferry_io_writer_write_values(w, good, 8));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_write_values(w, good, 4));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    unlink(in_folder("file"));

    w = create("file", FERRY_IO_SAFETENSORS);
    FX_OK(ferry_io_writer_declare(w, &a));
    FX_FAILS(FERRY_EOVERFLOW, ferry_io_writer_write_values(w, bad, 16));
    ferry_error_set(FERRY_EBUSY, "an unrelated failure");
    FX_FAILS(FERRY_EOVERFLOW, ferry_io_writer_write_values(w, good, 16));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "an earlier write failed: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "a value is beyond U16"));
    ferry_error_set(FERRY_EBUSY, "an unrelated failure");
    FX_FAILS(FERRY_EOVERFLOW, ferry_io_writer_commit(w));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "a value is beyond U16"));
    CU_ASSERT_EQUAL(access(in_folder("file"), F_OK), -1);
}

/*
 * An entry of a caller built with another version: `size` bytes of it; the bytes after it are not
 * the caller's.
 */
static void declare_of_size(size_t size)
{
    static const int64_t shape[] = { 1 };
    struct later {
        ferry_io_entry entry;
        unsigned char behind[64];
    } later = { .entry = { .name = "a/0", .dtype = FERRY_F32, .rank = 1, .shape = shape } };
    ferry_io_writer *w = create("file", FERRY_IO_CAFFEMODEL);
    void *theirs;

    later.entry.struct_size = size;
    memset(later.behind, 0xee, sizeof(later.behind));
    theirs = malloc(size); /* a sanitizer detects reads past it */
    CU_ASSERT_PTR_NOT_NULL_FATAL(theirs);
    memcpy(theirs, &later, size);
    FX_OK(ferry_io_writer_declare(w, theirs));
    free(theirs);
    FX_OK(ferry_io_writer_write_values(w, (float[]){ 7 }, 4));
    FX_OK_FATAL(ferry_io_writer_commit(w));
}

static void members_beyond_an_entrys_struct_size_are_zero(void)
{
    static const int64_t shape[] = { 1 };
    ferry_io_entry e = { .name = "a/0", .dtype = FERRY_F32, .rank = 1, .shape = shape };
    const ferry_io_entry *entry;
    ferry_io_writer *w;
    ferry_io *io;

    declare_of_size(offsetof(ferry_io_entry, count)); /* ends before has_diff, which is then 0 */
    io = open_file("file");
    FX_OK_FATAL(ferry_io_entry_at(io, 0, &entry));
    CU_ASSERT_EQUAL(entry->has_diff, 0);
    CU_ASSERT_STRING_EQUAL(entry->name, "a/0");
    CU_ASSERT_EQUAL(entry->struct_size, sizeof e); /* up to which a program may read */
    w = create("copy", FERRY_IO_CAFFEMODEL);
    FX_OK(ferry_io_writer_declare(w, entry)); /* an entry of ferry as it is */
    ferry_io_writer_abort(w);
    ferry_io_close(io);
    declare_of_size(sizeof(e) + 64);
    w = create("file", FERRY_IO_CAFFEMODEL);
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_declare(w, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_declare(w, &e));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "struct_size is not set"));
    e.struct_size = sizeof(size_t);
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_declare(w, &e));
    ferry_io_writer_abort(w);
    unlink(in_folder("file"));
}

/* ---- a member's checksum -------------------------------------------------------------------- */

/* A .npz of one array, 0, 1, 2, …, with one bit of element 5 flipped. */
static void put_flipped(int n)
{
    const int64_t shape[] = { n };
    ferry_io_entry e = { sizeof(e), .name = "flipped", .dtype = FERRY_I32,
                         .rank = 1, .shape = shape,    .count = n };
    ferry_io_writer *w = create("file", FERRY_IO_NPZ);
    const ferry_io_entry *entry;
    ferry_io *io;
    FILE *file;

    FX_OK_FATAL(ferry_io_writer_declare(w, &e));
    for (int32_t i = 0; i < n; i++)
        FX_OK_FATAL(ferry_io_writer_write_values(w, &i, sizeof(i)));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    io = open_file("file");
    FX_OK_FATAL(ferry_io_entry_at(io, 0, &entry));
    file = fopen(in_folder("file"), "r+b");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fseek(file, (long)entry->offset + 5 * (long)sizeof(int32_t), SEEK_SET), 0);
    CU_ASSERT_EQUAL(fputc(5 ^ 64, file), 5 ^ 64);
    CU_ASSERT_EQUAL(fclose(file), 0);
    ferry_io_close(io);
}

static void a_flipped_bit_of_a_stored_member_is_found(void)
{
    static const int sizes[] = { 1000, 100000 }; /* the second would be adopted */
    static int32_t values[100000];

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const ferry_io_entry *entry;
        ferry_blob *b = NULL;
        int n = sizes[i];
        ferry_io *io;

        put_flipped(n);
        io = open_file("file");
        FX_OK_FATAL(ferry_io_entry_at(io, 0, &entry));
        FX_FAILS(FERRY_EFORMAT, ferry_io_read_values(io, entry, 0, n, values));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "flipped.npy: stored bytes at byte"));
        FX_OK_FATAL(ferry_blob_create(fx_device(), FERRY_I32, NULL, FERRY_UNSHAPED, &b));
        FX_FAILS(FERRY_EFORMAT, ferry_io_read(io, entry, b));
        ferry_blob_destroy(b);
        FX_OK(ferry_io_read_values(io, entry, 0, n - 7, values));
        FX_FAILS(FERRY_EFORMAT, ferry_io_read_values(io, entry, n - 7, 7, values));
        ferry_io_close(io);
    }
    unlink(in_folder("file"));
}

/* A member compressed by an unsupported method, such as bzip2: the other members are read. */
static void a_member_with_an_unsupported_compression_is_listed(void)
{
    static const int64_t shape[] = { 2 };
    ferry_io_entry e = { sizeof(e), .name = "a",    .dtype = FERRY_F32,
                         .rank = 1, .shape = shape, .count = 2 };
    float values[2] = { 3, 4 };
    ferry_io_writer *w = create("file", FERRY_IO_NPZ);
    const ferry_io_entry *entry;
    unsigned char bytes[2000];
    size_t size, at = 0;
    ferry_io *io;
    FILE *file;

    FX_OK_FATAL(ferry_io_writer_declare(w, &e));
    e.name = "b";
    FX_OK_FATAL(ferry_io_writer_declare(w, &e));
    for (int i = 0; i < 2; i++)
        FX_OK_FATAL(ferry_io_writer_write_values(w, values, sizeof(values)));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    file = fopen(in_folder("file"), "rb");
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    unlink(in_folder("file"));
    while (at + 46 < size && memcmp(bytes + at, "PK\1\2", 4) != 0)
        at++;
    bytes[at + 10] = 12;
    FX_OK_FATAL(ferry_io_open_bytes(bytes, size, "x.npz", &io));
    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 2);
    FX_OK_FATAL(ferry_io_entry_at(io, 0, &entry));
    CU_ASSERT_STRING_EQUAL(entry->name, "a");
    CU_ASSERT_PTR_NOT_NULL(entry->unreadable);
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_read_values(io, entry, 0, 0, values));
    FX_OK_FATAL(ferry_io_entry_at(io, 1, &entry));
    FX_OK(ferry_io_read_values(io, entry, 1, 1, values));
    CU_ASSERT_EQUAL(values[0], 4);
    ferry_io_close(io);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_dtype_and_shape_round_trips_through_each_format),
    FERRY_TEST(hdf5_round_trips_if_it_was_built),
    FERRY_TEST(hdf5_that_stores_less_than_its_shape_is_refused),
    FERRY_TEST(single_array_formats_round_trip),
    FERRY_TEST(diffs_and_solver_states_round_trip_in_caffe_formats),
    FERRY_TEST(safetensors_keep_their_metadata_and_unusual_names),
    FERRY_TEST(values_may_be_written_in_pieces),
    FERRY_TEST(a_refused_piece_changes_nothing_and_a_failed_write_ends_the_writer),
    FERRY_TEST(members_beyond_an_entrys_struct_size_are_zero),
    FERRY_TEST(a_flipped_bit_of_a_stored_member_is_found),
    FERRY_TEST(a_member_with_an_unsupported_compression_is_listed),
};

int main(int argc, char **argv)
{
    return io_folder_main(argc, argv, "io-write", cases, FERRY_TEST_COUNT(cases));
}
