/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "io-build.h"
#include "io-folder.h"
#include "oom.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Arrays that a caffemodel stores as rows of integers of 8 bits, and what they are read as. */

#define STORAGE FERRY_IO_I8_ROWS
/* Rows of this length are longer than what is read in one step. */
#define LONG_ROW 300001

/* ---- the oracle: the rounding in long double ------------------------------------------------- */

static float magnitude_of(const float *row, int64_t each)
{
    float magnitude = 0;

    for (int64_t i = 0; i < each; i++)
        magnitude = fmaxf(magnitude, fabsf(row[i]));
    return magnitude;
}

/* Checks that integers are the nearest ones, and that a value is the one of its integer. */
static void check_row(const float *row, int64_t each, float magnitude, const int8_t *integers,
                      const float *read)
{
    const long double step = magnitude > 0 ? magnitude / 127.0L : 1;
    int64_t wrong = 0;

    CU_ASSERT_EQUAL(magnitude, magnitude_of(row, each));
    for (int64_t i = 0; i < each; i++) {
        wrong += !(fabsl(row[i] - integers[i] * step) <= 0.5000001L * step);
        wrong += !(fabsl(read[i] - integers[i] * step) <= 1e-7L * step * 127);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The values of rows with different magnitudes; the second row is 0. */
static float *make_values(int64_t rows, int64_t each)
{
    float *values = malloc((size_t)(rows * each) * sizeof(*values));

    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    for (int64_t i = 0; i < rows * each; i++)
        values[i] = i / each == 1 ? 0 : (float)(sin((double)i * 1.7) * (double)(1 + i / each % 9));
    return values;
}

static ferry_io_entry entry_of(const int64_t *shape, int rank, const char *name)
{
    return (ferry_io_entry){ .struct_size = sizeof(ferry_io_entry),
                             .name = name,
                             .dtype = FERRY_F32,
                             .rank = rank,
                             .shape = shape,
                             .storage = STORAGE };
}

/* Writes an array, `piece` values at a time. */
static void write_rows(const char *name, const int64_t *shape, int rank, const float *values,
                       int64_t count, int64_t piece)
{
    ferry_io_writer *w = create(name, FERRY_IO_CAFFEMODEL);
    const ferry_io_entry entry = entry_of(shape, rank, "a/0");

    FX_OK_FATAL(ferry_io_writer_declare(w, &entry));
    for (int64_t at = 0; at < count; at += piece) {
        int64_t n = count - at < piece ? count - at : piece;

        FX_OK_FATAL(ferry_io_writer_write_values(w, values + at, (size_t)n * sizeof(*values)));
    }
    FX_OK_FATAL(ferry_io_writer_commit(w));
}

static const ferry_io_entry *first_of(ferry_io *io)
{
    const ferry_io_entry *entry = NULL;

    FX_OK_FATAL(ferry_io_entry_at(io, 0, &entry));
    return entry;
}

/* Checks an array of rows, which is read whole and in pieces. */
static void check_file(const char *name, const float *values, int64_t rows, int64_t each)
{
    ferry_io *io = open_file(name);
    const ferry_io_entry *entry = first_of(io);
    int64_t count = rows * each;
    int8_t *integers = malloc((size_t)count);
    float *magnitudes = malloc((size_t)rows * sizeof(float));
    float *read = malloc((size_t)(count + 1) * sizeof(float));

    CU_ASSERT_FATAL(integers && magnitudes && read);
    CU_ASSERT_STRING_EQUAL(entry->storage, STORAGE);
    CU_ASSERT_EQUAL(entry->dtype, FERRY_F32);
    CU_ASSERT_EQUAL(entry->stored_bytes, (uint64_t)(4 * rows + count));
    FX_OK(ferry_io_read_integers(io, entry, integers, NULL));
    FX_OK(ferry_io_read_integers(io, entry, NULL, magnitudes));
    for (int64_t at = 0; at < count; at += count / 3 + 1) {
        int64_t n = count - at < count / 3 + 1 ? count - at : count / 3 + 1;

        read[at + n] = 1234;
        FX_OK(ferry_io_read_values(io, entry, at, n, read + at));
        CU_ASSERT_EQUAL(read[at + n], 1234);
    }
    for (int64_t i = 0; i < rows; i++)
        check_row(values + i * each, each, magnitudes[i], integers + i * each, read + i * each);
    free(integers);
    free(magnitudes);
    free(read);
    ferry_io_close(io);
}

static void rows_are_rounded_and_read(void)
{
    static const struct {
        int rank;
        int64_t shape[4], piece;
    } all[] = {
        { 2, { 5, 7 }, 35 },
        { 2, { 5, 7 }, 4 },
        { 2, { 5, 7 }, 1 },
        { 4, { 3, 2, 5, 3 }, 31 },
        { 1, { 6 }, 2 },
        { 2, { 1, 9 }, 9 },
        { 2, { 3, LONG_ROW }, 1000 },
        { 2, { 9000, 33 }, 100000 },
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        int64_t rows = all[i].shape[0], each = 1;
        float *values;

        for (int axis = 1; axis < all[i].rank; axis++)
            each *= all[i].shape[axis];
        values = make_values(rows, each);
        write_rows("file", all[i].shape, all[i].rank, values, rows * each, all[i].piece);
        check_file("file", values, rows, each);
        free(values);
    }
    unlink(in_folder("file"));
}

/* The rows of one array are longer than those of the array before. */
static void arrays_may_have_rows_of_several_lengths(void)
{
    static const int64_t shape[3][2] = { { 3, 2 }, { 2, 500 }, { 4, 7 } };
    static const char *const names[] = { "a/0", "b/0", "c/0" };
    ferry_io_writer *w = create("file", FERRY_IO_CAFFEMODEL);
    float *values[3], read[1000];
    ferry_io *io;

    for (int i = 0; i < 3; i++) {
        const ferry_io_entry entry = entry_of(shape[i], 2, names[i]);

        FX_OK_FATAL(ferry_io_writer_declare(w, &entry));
    }
    for (int i = 0; i < 3; i++) {
        size_t size = (size_t)(shape[i][0] * shape[i][1]) * sizeof(float);

        values[i] = make_values(shape[i][0], shape[i][1]);
        FX_OK_FATAL(ferry_io_writer_write_values(w, values[i], size));
    }
    FX_OK_FATAL(ferry_io_writer_commit(w));
    io = open_file("file");
    for (int i = 0; i < 3; i++) {
        int64_t count = shape[i][0] * shape[i][1];
        const ferry_io_entry *entry = NULL;

        FX_OK_FATAL(ferry_io_entry_at(io, i, &entry));
        FX_OK(ferry_io_read_values(io, entry, 0, count, read));
        for (int64_t k = 0; k < count; k++)
            CU_ASSERT_DOUBLE_EQUAL(read[k], values[i][k], 0.02);
        free(values[i]);
    }
    ferry_io_close(io);
    unlink(in_folder("file"));
}

/* ---- programs that know nothing of rows ------------------------------------------------------ */

/* Reads the first array of a file into a blob of that dtype. */
static ferry_blob *read_first(const char *name, ferry_dtype dtype)
{
    ferry_io *io = open_file(name);
    ferry_blob *b = NULL;

    FX_OK_FATAL(ferry_blob_create(fx_device(), dtype, NULL, FERRY_UNSHAPED, &b));
    FX_OK_FATAL(ferry_io_read(io, first_of(io), b));
    ferry_io_close(io);
    return b;
}

static int same(const char *one, const char *other)
{
    static unsigned char a[4096], b[4096];
    FILE *f = fopen(in_folder(one), "rb"), *g = fopen(in_folder(other), "rb");
    size_t n, m;

    CU_ASSERT_FATAL(f && g);
    n = fread(a, 1, sizeof(a), f);
    m = fread(b, 1, sizeof(b), g);
    fclose(f);
    fclose(g);
    return n == m && n > 0 && n < sizeof(a) && memcmp(a, b, n) == 0;
}

/* Copies the first array of a file as its entry says. */
static void copy_first(const char *from, const char *to, ferry_io_format format)
{
    ferry_blob *b = read_first(from, FERRY_F32);
    ferry_io_writer *w = create(to, format);
    ferry_io *io = open_file(from);

    FX_OK_FATAL(ferry_io_writer_declare(w, first_of(io)));
    FX_OK_FATAL(ferry_io_writer_write(w, first_of(io)->name, b, false));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    ferry_io_close(io);
    ferry_blob_destroy(b);
}

static void a_copy_has_the_same_bytes(void)
{
    static const int64_t shape[] = { 20, 3, 3 };
    float *values = make_values(20, 9);
    ferry_blob *b;
    ferry_io *io;

    write_rows("file", shape, 3, values, 180, 180);
    copy_first("file", "copy", FERRY_IO_CAFFEMODEL);
    CU_ASSERT(same("file", "copy"));
    for (int i = 0; i < 2; i++) {
        copy_first("file", "copy", i ? FERRY_IO_NPZ : FERRY_IO_SAFETENSORS);
        io = open_file("copy");
        CU_ASSERT_STRING_EQUAL(first_of(io)->storage, "F32");
        CU_ASSERT_PTR_NULL(first_of(io)->unreadable);
        ferry_io_close(io);
    }
    b = read_first("copy", FERRY_F32);
    for (int i = 0; i < 180; i++)
        CU_ASSERT_DOUBLE_EQUAL(((const float *)ferry_blob_host_data(b))[i], values[i], 0.04);
    ferry_blob_destroy(b);
    b = read_first("file", FERRY_F64);
    CU_ASSERT_EQUAL(((const double *)ferry_blob_host_data(b))[9], 0);
    CU_ASSERT_DOUBLE_EQUAL(((const double *)ferry_blob_host_data(b))[179], values[179], 0.04);
    ferry_blob_destroy(b);
    unlink(in_folder("file"));
    unlink(in_folder("copy"));
    free(values);
    fx_end();
}

/* Arrays without rows, and those with a diff, stay F32. */
static void other_arrays_stay_floats(void)
{
    static const int64_t shape[] = { 2, 2 }, none[] = { 0, 2 }, empty[] = { 2, 0 };
    static const float values[] = { 1, 2, 3, 4 };
    static const struct {
        int rank;
        const int64_t *shape;
        bool diff;
    } all[] = { { 0, NULL, false }, { 2, none, false }, { 2, empty, false }, { 2, shape, true } };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        ferry_io_writer *w = create("file", FERRY_IO_CAFFEMODEL);
        ferry_io_entry entry = entry_of(all[i].shape, all[i].rank, "a/0");
        size_t size = i == 0 ? 4 : i < 3 ? 0 : 16;
        ferry_io *io;
        float read[4];

        entry.has_diff = all[i].diff;
        FX_OK_FATAL(ferry_io_writer_declare(w, &entry));
        for (int k = 0; k <= all[i].diff && size; k++)
            FX_OK(ferry_io_writer_write_values(w, values, size));
        FX_OK(ferry_io_writer_commit(w));
        io = open_file("file");
        CU_ASSERT_STRING_EQUAL(first_of(io)->storage, "F32");
        FX_OK(ferry_io_read_values(io, first_of(io), 0, (int64_t)size / 4, read));
        CU_ASSERT_EQUAL(memcmp(read, values, size), 0);
        FX_FAILS(FERRY_EINVAL, ferry_io_read_integers(io, first_of(io), NULL, NULL));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "F32"));
        ferry_io_close(io);
        unlink(in_folder("file"));
    }
    FX_FAILS(FERRY_EINVAL, ferry_io_read_integers(NULL, NULL, NULL, NULL));
}

static void values_that_are_not_finite_are_refused(void)
{
    static const int64_t shape[] = { 2, 3 };

    for (int i = 0; i < 3; i++) {
        float values[6] = { 1, 2, 3, 4, 5, 6 };
        ferry_io_writer *w = create("file", FERRY_IO_CAFFEMODEL);
        const ferry_io_entry entry = entry_of(shape, 2, "conv/0");

        values[5 - i] = i == 0 ? NAN : i == 1 ? INFINITY : -INFINITY;
        FX_OK_FATAL(ferry_io_writer_declare(w, &entry));
        FX_FAILS(FERRY_EOVERFLOW, ferry_io_writer_write_values(w, values, sizeof(values)));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "conv/0"));
        ferry_io_writer_abort(w);
        CU_ASSERT_EQUAL(files(), 0);
    }
}

/* ---- damaged files --------------------------------------------------------------------------- */

static void put_shape(struct msg *blob, int rank)
{
    static const unsigned char shape[] = { 0x0a, 2, 2, 3 };

    if (rank)
        put_bytes(blob, 7, shape, sizeof(shape));
}

/* Opens the message of a blob, and reads its values if it opens. */
static int try_blob(const struct msg *blob, float *out)
{
    struct msg layer = { .size = 0 }, net = { .size = 0 };
    ferry_io *io = NULL;
    int err;

    put_string(&layer, 1, "c");
    put_bytes(&layer, 7, blob->at, blob->size);
    put_bytes(&net, 100, layer.at, layer.size);
    err = ferry_io_open_bytes(net.at, net.size, "bytes", &io);
    if (!err)
        err = ferry_io_read_values(io, first_of(io), 0, 6, out);
    ferry_io_close(io);
    return err;
}

static const char row[] = "\0\0\xfe\x42\x7f\x02\x03"
                          "\0\0\xfe\x42\x81\xfe\xfd"; /* magnitude 127 */

static void damaged_rows_are_one_error(void)
{
    static const unsigned char one[] = { 0, 0, 0x80, 0x3f };
    static const float want[] = { 127, 2, 3, -127, -2, -3 };
    struct msg good = { .size = 0 }, blob;
    float read[6];

    put_shape(&good, 2);
    put_bytes(&good, 7000, BYTES(row));
    FX_OK(try_blob(&good, read));
    CU_ASSERT_EQUAL(memcmp(read, want, sizeof(read)), 0);
    for (size_t size = 0; size <= sizeof(row) + 2; size++) {
        static const char more[sizeof(row) + 2];

        if (size == sizeof(row) - 1)
            continue;
        blob = (struct msg){ .size = 0 };
        put_shape(&blob, 2);
        put_bytes(&blob, 7000, more, size);
        CU_ASSERT_EQUAL(try_blob(&blob, read), FERRY_ESHAPE);
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "int8_rows"));
    }
    blob = good;
    put_bytes(&blob, 5, one, sizeof(one));
    CU_ASSERT(try_blob(&blob, read) != 0);
    blob = (struct msg){ .size = 0 }; /* a scalar */
    put_bytes(&blob, 7000, row, 5);
    CU_ASSERT_EQUAL(try_blob(&blob, read), FERRY_ESHAPE);
    for (unsigned char rows = 0; rows <= 2; rows += 2) { /* rows × 0 */
        blob = (struct msg){ .size = 0 };
        put_bytes(&blob, 7, (const unsigned char[]){ 0x0a, 2, rows, 0 }, 4);
        put_bytes(&blob, 7000, row, 4 * (size_t)rows);
        CU_ASSERT_EQUAL(try_blob(&blob, read), FERRY_ESHAPE);
    }
    blob = (struct msg){ .size = 0 };
    put_shape(&blob, 2);
    put_varint(&blob, 7000, 3);
    CU_ASSERT_EQUAL(try_blob(&blob, read), FERRY_EFORMAT);
}

static void floats_beside_rows_are_an_error(void)
{
    static const unsigned char floats[24] = { 0 };
    struct msg blob = { .size = 0 };
    float read[6];

    put_shape(&blob, 2);
    put_bytes(&blob, 5, floats, sizeof(floats));
    put_bytes(&blob, 7000, BYTES(row));
    CU_ASSERT_EQUAL(try_blob(&blob, read), FERRY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "beside other values"));
}

/* Rows that rounding does not write would have two scales: the magnitude's, and their values'. */
static void odd_rows_are_an_error(void)
{
    static const struct {
        const char *row, *why;
    } odd[] = {
        { "\0\0\xc0\x7f\x7f\x02\x03", "not finite" }, /* NaN */
        { "\0\0\x80\x7f\x7f\x02\x03", "not finite" }, /* infinity */
        { "\0\0\xfe\xc2\x7f\x02\x03", "negative" },   /* −127 */
        { "\0\0\xfe\x42\x80\x7f\x03", "-128" },       /* one is −128 */
        { "\0\0\xfe\x42\x7e\x02\x82", "127" },        /* none is ±127 */
        { "\0\0\0\0\0\0\x01", "magnitude 0" },        /* 0 and another integer */
        { "\0\0\0\0\x01\x01\x01", "magnitude 0" },    /* 0 and other integers */
    };

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct msg blob = { .size = 0 };
        char rows[14];
        float read[6];

        memcpy(rows, row, 7);
        memcpy(rows + 7, odd[i].row, 7);
        put_shape(&blob, 2);
        put_bytes(&blob, 7000, rows, sizeof(rows));
        CU_ASSERT_EQUAL(try_blob(&blob, read), FERRY_EFORMAT);
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), odd[i].why));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "row 1 has"));
    }
}

static void a_file_that_was_cut_off_is_an_error(void)
{
    static const int64_t shape[] = { 40, 3000 };
    float *values = make_values(40, 3000);
    ferry_io *io;

    write_rows("file", shape, 2, values, 120000, 120000);
    io = open_file("file");
    CU_ASSERT_EQUAL(truncate(in_folder("file"), 5000), 0);
    FX_FAILS(FERRY_EIO, ferry_io_read_values(io, first_of(io), 0, 120000, values));
    FX_FAILS(FERRY_EIO, ferry_io_read_integers(io, first_of(io), NULL, values));
    ferry_io_close(io);
    FX_FAILS(FERRY_EFORMAT, ferry_io_open(in_folder("file"), &io));
    unlink(in_folder("file"));
    free(values);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool write_short_of_memory(const ferry_io_entry *entry, const float *values, unsigned n)
{
    ferry_io_writer *w = create("file", FERRY_IO_CAFFEMODEL);
    bool failed;
    int err;

    oom_arm(n);
    err = ferry_io_writer_declare(w, entry);
    for (int i = 0; i < 5 && !err; i++)
        err = ferry_io_writer_write_values(w, values + 7 * i, 28);
    if (err)
        ferry_io_writer_abort(w);
    else
        err = ferry_io_writer_commit(w);
    failed = oom_disarm();
    CU_ASSERT_EQUAL(err, failed ? FERRY_ENOMEM : FERRY_OK);
    return failed;
}

static void every_allocation_may_fail(void)
{
    static const int64_t shape[] = { 5, 7 };
    const ferry_io_entry entry = entry_of(shape, 2, "a/0");
    float *values = make_values(5, 7), read[35];
    unsigned n = 1;
    ferry_io *io;

    while (write_short_of_memory(&entry, values, n))
        n++;
    CU_ASSERT(n > 3);
    io = open_file("file");
    oom_arm(1);
    FX_FAILS(FERRY_ENOMEM, ferry_io_read_values(io, first_of(io), 0, 35, read));
    CU_ASSERT(oom_disarm());
    FX_OK(ferry_io_read_values(io, first_of(io), 0, 35, read));
    ferry_io_close(io);
    unlink(in_folder("file"));
    free(values);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(rows_are_rounded_and_read),
    FERRY_TEST(arrays_may_have_rows_of_several_lengths),
    FERRY_TEST(a_copy_has_the_same_bytes),
    FERRY_TEST(other_arrays_stay_floats),
    FERRY_TEST(values_that_are_not_finite_are_refused),
    FERRY_TEST(damaged_rows_are_one_error),
    FERRY_TEST(floats_beside_rows_are_an_error),
    FERRY_TEST(odd_rows_are_an_error),
    FERRY_TEST(a_file_that_was_cut_off_is_an_error),
    FERRY_TEST(every_allocation_may_fail),
};

int main(int argc, char **argv)
{
    return io_folder_main(argc, argv, "io rows", cases, FERRY_TEST_COUNT(cases));
}
