/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "io-build.h"

#include <ferry/io.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reading files. Most consist of bytes in this program. */

static ferry_io *open_bytes(const void *bytes, size_t size, const char *name)
{
    ferry_io *io = NULL;
    int err = ferry_io_open_bytes(bytes, size, name, &io);

    if (err)
        printf("  %s\n", ferry_last_error());
    CU_ASSERT_EQUAL_FATAL(err, FERRY_OK);
    return io;
}

static const ferry_io_entry *entry_of(ferry_io *io, int64_t index)
{
    const ferry_io_entry *entry = NULL;

    FX_OK_FATAL(ferry_io_entry_at(io, index, &entry));
    CU_ASSERT_EQUAL(entry->index, index);
    return entry;
}

static void check_entry(ferry_io *io, int64_t index, const char *name, ferry_dtype dtype,
                        const char *layer, const char *type)
{
    const ferry_io_entry *entry = entry_of(io, index), *found = NULL;

    CU_ASSERT_STRING_EQUAL(entry->name, name);
    CU_ASSERT_EQUAL(entry->dtype, dtype);
    CU_ASSERT_STRING_EQUAL(entry->layer_name, layer);
    CU_ASSERT_STRING_EQUAL(entry->layer_type, type);
    FX_OK(ferry_io_entry_find(io, name, &found));
    CU_ASSERT_PTR_EQUAL(found, entry);
}

/* The values of an entry, read into a blob of its dtype. */
static ferry_blob *read_on(ferry_device *dev, ferry_io *io, int64_t index)
{
    const ferry_io_entry *entry = entry_of(io, index);
    ferry_blob *b = NULL;

    FX_OK_FATAL(ferry_blob_create(dev, entry->dtype, NULL, FERRY_UNSHAPED, &b));
    FX_OK_FATAL(ferry_io_read(io, entry, b));
    return b;
}

static ferry_blob *read_blob(ferry_io *io, int64_t index)
{
    return read_on(fx_device(), io, index);
}

static double value(const ferry_blob *b, int64_t i)
{
    return fx_get(ferry_blob_dtype(b), ferry_blob_host_data(b), i);
}

static void check_values(ferry_io *io, int64_t index, int n, const double *want)
{
    ferry_blob *b = read_blob(io, index);

    CU_ASSERT_EQUAL_FATAL(ferry_blob_element_count(b), n);
    for (int i = 0; i < n; i++)
        CU_ASSERT_EQUAL(value(b, i), want[i]);
    ferry_blob_destroy(b);
}

#define CHECK_VALUES(io, index, ...)                                                   \
    check_values(io, index, (int)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)), \
                 (const double[]){ __VA_ARGS__ })

/* ---- Caffe's -------------------------------------------------------------------------------- */

static void v2_layers_name_their_blobs(void)
{
    struct msg net = { .size = 0 }, layer = { .size = 0 }, other = { .size = 0 };
    ferry_io *io;
    const char *key, *text;

    put_string(&net, 1, "tiny");
    put_string(&other, 1, "relu"); /* has no blobs */
    put_bytes(&net, 100, other.at, other.size);
    put_string(&layer, 2, "Convolution");
    put_blob(&layer, 7, 3, 1);
    put_varint(&layer, 10, 1); /* an unrelated field */
    put_blob(&layer, 7, 1, 9);
    put_string(&layer, 1, "a/conv"); /* the name may come last */
    put_bytes(&net, 100, layer.at, layer.size);
    io = open_bytes(net.at, net.size, "x.bin");
    CU_ASSERT_EQUAL(ferry_io_get_format(io), FERRY_IO_CAFFEMODEL);
    CU_ASSERT_EQUAL_FATAL(ferry_io_entry_count(io), 2);
    check_entry(io, 0, "a/conv/0", FERRY_F32, "a/conv", "Convolution");
    check_entry(io, 1, "a/conv/1", FERRY_F32, "a/conv", "Convolution");
    CHECK_VALUES(io, 0, 1, 2, 3);
    CHECK_VALUES(io, 1, 9);
    FX_OK(ferry_io_metadata_at(io, 0, &key, &text));
    CU_ASSERT_STRING_EQUAL(key, "name");
    CU_ASSERT_STRING_EQUAL(text, "tiny");
    FX_OK(ferry_io_metadata_at(io, 1, &key, &text)); /* metadata that another file cannot hold */
    CU_ASSERT_STRING_EQUAL(key, "definition");
    CU_ASSERT_STRING_EQUAL(text, "1 layers without blobs and 1 fields that are not blobs");
    CU_ASSERT_EQUAL(ferry_io_metadata_count(io), 2);
    FX_FAILS(FERRY_EINVAL, ferry_io_metadata_at(io, 2, &key, &text));
    FX_FAILS(FERRY_EINVAL, ferry_io_metadata_at(io, -1, &key, &text));
    CU_ASSERT_STRING_EQUAL(key, "definition"); /* unchanged */
    CU_ASSERT_EQUAL(ferry_io_metadata_count(NULL), 0);
    ferry_io_close(io);
}

static void v1_layers_have_types_of_an_enum(void)
{
    struct msg net = { .size = 0 }, layer = { .size = 0 };
    ferry_io *io;

    put_string(&layer, 4, "fc");
    put_varint(&layer, 5, 14);
    put_blob(&layer, 6, 2, 1);
    put_bytes(&net, 2, layer.at, layer.size);
    io = open_bytes(net.at, net.size, "x");
    CU_ASSERT_EQUAL(ferry_io_get_format(io), FERRY_IO_CAFFEMODEL);
    check_entry(io, 0, "fc/0", FERRY_F32, "fc", "InnerProduct");
    CHECK_VALUES(io, 0, 1, 2);
    ferry_io_close(io);
}

static void v0_layers_inside_v1_layers_are_read(void)
{
    struct msg net = { .size = 0 }, connection = { .size = 0 }, layer = { .size = 0 };
    ferry_io *io;

    put_string(&layer, 1, "old");
    put_string(&layer, 2, "conv");
    put_blob(&layer, 50, 2, 5);
    put_blob(&layer, 50, 1, 7);
    put_bytes(&connection, 1, layer.at, layer.size);
    put_string(&connection, 2, "data");
    put_bytes(&net, 2, connection.at, connection.size);
    io = open_bytes(net.at, net.size, "x");
    CU_ASSERT_EQUAL_FATAL(ferry_io_entry_count(io), 2);
    check_entry(io, 0, "old/0", FERRY_F32, "old", "Convolution");
    check_entry(io, 1, "old/1", FERRY_F32, "old", "Convolution");
    CHECK_VALUES(io, 1, 7);
    ferry_io_close(io);
}

static void a_solverstate_has_a_history(void)
{
    struct msg state = { .size = 0 };
    const char *key, *text;
    ferry_io *io;

    put_varint(&state, 1, 450000);
    put_string(&state, 2, "net.caffemodel");
    put_blob(&state, 3, 2, 1);
    put_blob(&state, 3, 1, 4);
    io = open_bytes(state.at, state.size, "x");
    CU_ASSERT_EQUAL(ferry_io_get_format(io), FERRY_IO_SOLVERSTATE);
    check_entry(io, 0, "history/0", FERRY_F32, "history", "");
    check_entry(io, 1, "history/1", FERRY_F32, "history", "");
    FX_OK(ferry_io_metadata_at(io, 0, &key, &text));
    CU_ASSERT_STRING_EQUAL(key, "iter");
    CU_ASSERT_STRING_EQUAL(text, "450000");
    ferry_io_close(io);
}

static void a_vector_of_blobs_is_distinguished_from_a_net(void)
{
    struct msg vector = { .size = 0 }, net = { .size = 0 }, layer = { .size = 0 };
    ferry_io *io;

    put_blob(&vector, 1, 2, 1);
    put_blob(&vector, 1, 1, 4);
    io = open_bytes(vector.at, vector.size, "x");
    CU_ASSERT_EQUAL(ferry_io_get_format(io), FERRY_IO_BLOBVECTOR);
    check_entry(io, 1, "blobs/1", FERRY_F32, "blobs", "");
    ferry_io_close(io);
    put_string(&net, 1, "only a name");
    CU_ASSERT_EQUAL(ferry_io_open_bytes(net.at, net.size, "x", &io), FERRY_EFORMAT);
    put_string(&layer, 1, "relu");
    put_string(&layer, 2, "ReLU");
    put_bytes(&net, 100, layer.at, layer.size);
    io = open_bytes(net.at, net.size, "x");
    CU_ASSERT_EQUAL(ferry_io_get_format(io), FERRY_IO_CAFFEMODEL);
    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 0);
    ferry_io_close(io);
}

static void a_single_blob_is_named_after_its_file(void)
{
    struct msg m = { .size = 0 };
    float values[] = { 1, 2 };
    ferry_io *io;

    put_varint(&m, 1, 1);
    put_varint(&m, 2, 1);
    put_varint(&m, 3, 1);
    put_varint(&m, 4, 2);
    put_values(&m, 5, ELEMENTS(values));
    put_values(&m, 6, ELEMENTS(values));
    io = open_bytes(m.at, m.size, "/some/where/image.mean.binaryproto");
    CU_ASSERT_EQUAL(ferry_io_get_format(io), FERRY_IO_BLOBPROTO);
    check_entry(io, 0, "image.mean", FERRY_F32, "", "");
    CU_ASSERT_EQUAL(entry_of(io, 0)->rank, 4);
    CU_ASSERT_EQUAL(entry_of(io, 0)->has_diff, 1);
    ferry_io_close(io);
}

static void a_diff_is_read_with_its_data(void)
{
    struct msg m = { .size = 0 };
    float data[] = { 1, 2 };
    double diff[] = { 3, 4 };
    double out[1];
    ferry_blob *b;
    ferry_io *io;

    put_varint(&m, 4, 2);
    put_varint(&m, 3, 1);
    put_varint(&m, 2, 1);
    put_varint(&m, 1, 1);
    put_values(&m, 5, ELEMENTS(data));
    put_values(&m, 9, ELEMENTS(diff)); /* of another dtype: converted */
    io = open_bytes(m.at, m.size, "x");
    b = read_blob(io, 0);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_diff(b))[1], 4);
    CU_ASSERT_EQUAL(entry_of(io, 0)->diff_dtype, FERRY_F64);
    FX_OK(ferry_io_read_diff_values(io, entry_of(io, 0), 1, 1, out));
    CU_ASSERT_EQUAL(out[0], 4);
    ferry_blob_destroy(b);
    ferry_io_close(io);
}

/* ---- NumPy's -------------------------------------------------------------------------------- */

static void npy_headers_of_all_versions_and_spellings_are_read(void)
{
    static const char *const headers[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }   \n",
        "{'shape': (2L, 1L), 'fortran_order': False, 'descr': '<f4'}\n",
        "{ \"descr\":\"<f4\" , 'fortran_order':False,'shape':( 2 ,1, ) }",
    };
    float values[] = { 1, 2 };
    unsigned char file[256];

    for (int major = 1; major <= 3; major++)
        for (size_t i = 0; i < FERRY_TEST_COUNT(headers); i++) {
            size_t size = make_npy(file, major, headers[i], ELEMENTS(values));
            ferry_io *io = open_bytes(file, size, "dir/mean.npy");

            check_entry(io, 0, "mean", FERRY_F32, "", "");
            CU_ASSERT_EQUAL(entry_of(io, 0)->rank, 2);
            CHECK_VALUES(io, 0, 1, 2);
            ferry_io_close(io);
        }
}

static void npy_order_and_byte_order_are_converted(void)
{
    static const unsigned char big[] = { 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6 };
    static const int64_t column[] = { 1, 4, 2, 5, 3, 6 };
    unsigned char file[256];
    uint16_t half[2] = { 0 };
    int64_t two[2];
    size_t size;
    ferry_io *io;

    size = make_npy(file, 1, "{'descr': '>f2', 'fortran_order': False, 'shape': (6,), }", big, 12,
                    1);
    io = open_bytes(file, size, "x");
    FX_OK(ferry_io_read_values(io, entry_of(io, 0), 4, 2, half));
    CU_ASSERT_EQUAL(half[0], 5);
    CU_ASSERT_EQUAL(half[1], 6);
    ferry_io_close(io);
    size = make_npy(file, 1, "{'descr': '<i8', 'fortran_order': True, 'shape': (2, 3), }",
                    ELEMENTS(column));
    io = open_bytes(file, size, "x");
    CHECK_VALUES(io, 0, 1, 2, 3, 4, 5, 6);
    FX_OK(ferry_io_read_values(io, entry_of(io, 0), 2, 2, two));
    CU_ASSERT_EQUAL(two[0], 3);
    CU_ASSERT_EQUAL(two[1], 4);
    ferry_io_close(io);
}

static void scalars_and_empty_arrays_are_read(void)
{
    double one = 1;
    unsigned char file[256];
    size_t size;
    ferry_io *io;
    ferry_blob *b;

    size = make_npy(file, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", &one, 8,
                    8);
    io = open_bytes(file, size, "x");
    CU_ASSERT_EQUAL(entry_of(io, 0)->rank, 0);
    CHECK_VALUES(io, 0, 1);
    ferry_io_close(io);
    size = make_npy(file, 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 3), }", "", 0,
                    1);
    io = open_bytes(file, size, "x");
    b = read_blob(io, 0);
    CU_ASSERT_EQUAL(ferry_blob_element_count(b), 0);
    CU_ASSERT_EQUAL(ferry_blob_dim(b, 1), 3);
    ferry_blob_destroy(b);
    ferry_io_close(io);
}

/* ---- safetensors ---------------------------------------------------------------------------- */

static void safetensors_headers_are_read(void)
{
    unsigned char file[512];
    float values[] = { 1, 2, 3 };
    size_t size = make_safetensors(
        file,
        "{\"__metadata__\":{\"format\":\"pt\",\"\\u00e9\\ud83d\\ude00\":\"\\n\\\"\"},"
        "\"b\\u002fx\" : { \"shape\":[1,2],\"dtype\":\"F32\",\"data_offsets\":[4,12]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4],\"more\":[{\"x\":[1]},null]},"
        "\"zero\":{\"dtype\":\"BF16\",\"shape\":[0,7],\"data_offsets\":[4,4]}}   ",
        ELEMENTS(values));
    const char *key, *text;
    ferry_io *io = open_bytes(file, size, "x");

    CU_ASSERT_EQUAL(ferry_io_get_format(io), FERRY_IO_SAFETENSORS);
    CU_ASSERT_EQUAL_FATAL(ferry_io_entry_count(io), 3);
    check_entry(io, 0, "a", FERRY_F32, "", "");
    check_entry(io, 1, "zero", FERRY_BF16, "", "");
    check_entry(io, 2, "b/x", FERRY_F32, "", "");
    CHECK_VALUES(io, 0, 1);
    CHECK_VALUES(io, 2, 2, 3);
    FX_OK(ferry_io_metadata_at(io, 1, &key, &text));
    CU_ASSERT_STRING_EQUAL(key, "\xc3\xa9\xf0\x9f\x98\x80");
    CU_ASSERT_STRING_EQUAL(text, "\n\"");
    ferry_io_close(io);
}

/* ---- into blobs ----------------------------------------------------------------------------- */

static void values_are_converted_to_the_blobs_dtype(void)
{
    static const int32_t values[] = { -1, 70000 };
    unsigned char file[256];
    size_t size = make_npy(file, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }",
                           ELEMENTS(values));
    ferry_io *io = open_bytes(file, size, "x");
    ferry_blob *b = NULL;

    FX_OK_FATAL(ferry_blob_create(fx_device(), FERRY_F64, NULL, FERRY_UNSHAPED, &b));
    FX_OK(ferry_io_read(io, entry_of(io, 0), b));
    CU_ASSERT_EQUAL(value(b, 0), -1);
    CU_ASSERT_EQUAL(value(b, 1), 70000);
    ferry_blob_destroy(b);
    ferry_io_close(io);
}

static void ranges_and_foreign_entries_are_refused(void)
{
    unsigned char file[256];
    float two[] = { 1, 2 }, out[2];
    size_t size = make_npy(file, 1, SHAPED("(2,)"), ELEMENTS(two));
    ferry_io *io = open_bytes(file, size, "x"), *other = open_bytes(file, size, "y");
    const ferry_io_entry *entry = entry_of(io, 0);
    ferry_io_entry copy = *entry;

    FX_OK(ferry_io_read_values(io, &copy, 0, 2, out)); /* a copy works as well */
    FX_OK(ferry_io_read_values(io, entry, 2, 0, out));
    FX_FAILS(FERRY_EINVAL, ferry_io_read_values(io, entry, 1, 2, out));
    FX_FAILS(FERRY_EINVAL, ferry_io_read_values(io, entry, -1, 1, out));
    FX_FAILS(FERRY_EINVAL, ferry_io_read_values(io, entry, 3, INT64_MAX, out));
    FX_FAILS(FERRY_EINVAL, ferry_io_read_values(other, entry, 0, 1, out));
    FX_FAILS(FERRY_EINVAL, ferry_io_read_diff_values(io, entry, 0, 1, out));
    FX_FAILS(FERRY_EINVAL, ferry_io_read(io, entry, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_io_entry_at(io, 1, &entry));
    ferry_io_close(io);
    ferry_io_close(other);
}

/* Rounds of adoption: a file on disk with an array large enough to be mapped. */
static void a_large_array_is_mapped_privately(void)
{
    enum { N = 100000 };
    char path[] = "/tmp/ferry-test-io-XXXXXX";
    int fd = mkstemp(path);
    float *values = malloc(N * sizeof(float));
    unsigned char header[128];
    ferry_device *dev;
    ferry_blob *a, *b;
    ferry_io *io = NULL;
    size_t size;

    for (int i = 0; i < N; i++)
        values[i] = (float)i;
    /* 12 + 68: the values are aligned to 16 bytes */
    size = make_npy(header, 2,
                    "{'descr': '<f4', 'fortran_order': False, 'shape': (100000,), }     \n", "", 0,
                    1);
    CU_ASSERT_EQUAL(size % 4, 0);
    CU_ASSERT_EQUAL(write(fd, header, size), (ssize_t)size);
    put_little(values, values, N * sizeof(float), sizeof(float));
    CU_ASSERT_EQUAL(write(fd, values, N * sizeof(float)), (ssize_t)(N * sizeof(float)));
    put_little(values, values, N * sizeof(float), sizeof(float)); /* again as on this machine */
    close(fd);
    dev = fx_device();
    FX_OK_FATAL(ferry_io_open(path, &io));
    a = read_on(dev, io, 0);
    b = read_on(dev, io, 0);
    ferry_io_close(io); /* the mappings stay valid */
    CU_ASSERT_EQUAL(memcmp(ferry_blob_host_data(a), values, N * sizeof(float)), 0);
    ((float *)ferry_blob_mutable_host_data(a))[7] = -1; /* neither the file nor b is changed */
    CU_ASSERT_EQUAL(value(a, 7), -1);
    CU_ASSERT_EQUAL(value(b, 7), 7);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    FX_OK_FATAL(ferry_io_open(path, &io));
    FX_OK(ferry_io_read(io, entry_of(io, 0), a));
    CU_ASSERT_EQUAL(value(a, 7), 7);
    ferry_io_close(io);
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    free(values);
    unlink(path);
    fx_end();
}

static void a_slice_is_filled_by_copying(void)
{
    unsigned char file[256];
    float two[] = { 1, 2 };
    size_t size = make_npy(file, 1, SHAPED("(2,)"), ELEMENTS(two));
    ferry_io *io = open_bytes(file, size, "x");
    ferry_blob *parent, *slice = NULL;

    fx_device();
    parent = FX_BLOB(FERRY_F32, 4);
    FX_OK_FATAL(ferry_blob_slice(parent, 1, 2, &slice));
    FX_OK(ferry_io_read(io, entry_of(io, 0), slice));
    CU_ASSERT_EQUAL(value(parent, 0), 0);
    CU_ASSERT_EQUAL(value(parent, 1), 1);
    CU_ASSERT_EQUAL(value(parent, 2), 2);
    CU_ASSERT_EQUAL(value(parent, 3), 0);
    ferry_blob_destroy(slice);
    ferry_blob_destroy(parent);
    ferry_io_close(io);
    fx_end();
}

/* ---- real files ----------------------------------------------------------------------------- */

static double norm_of(const char *file, int64_t index, int64_t *out_count)
{
    const char *path = ferry_test_data(file);
    ferry_io *io = NULL;
    ferry_blob *b = NULL;
    double l1 = -1;

    if (!path)
        return -1;
    FX_OK_FATAL(ferry_io_open(path, &io));
    *out_count = ferry_io_entry_count(io);
    FX_OK_FATAL(ferry_blob_create(fx_device(), FERRY_F64, NULL, FERRY_UNSHAPED, &b));
    FX_OK_FATAL(ferry_io_read(io, entry_of(io, index), b));
    FX_OK(ferry_blob_asum_data(b, &l1));
    ferry_blob_destroy(b);
    ferry_io_close(io);
    return l1;
}

static void real_files_have_their_known_arrays(void)
{
    int64_t count = 0;
    double mean, same;

    if (!ferry_test_data("det1.caffemodel"))
        return;
    CU_ASSERT_DOUBLE_EQUAL(norm_of("det1.caffemodel", 0, &count), 145.623771, 1e-4);
    CU_ASSERT_EQUAL(count, 13);
    CU_ASSERT_DOUBLE_EQUAL(norm_of("det2.caffemodel", 9, &count), 1112.06891, 1e-3);
    CU_ASSERT_EQUAL(count, 18);
    mean = norm_of("ilsvrc_2012_mean.npy", 0, &count);
    same = norm_of("imagenet_256x256_mean.binaryproto", 0, &count);
    CU_ASSERT_DOUBLE_EQUAL(mean, same, 0.06 * 196608);
    CU_ASSERT_EQUAL(norm_of("jfk-codes.safetensors", 0, &count), 960640);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(v2_layers_name_their_blobs),
    FERRY_TEST(v1_layers_have_types_of_an_enum),
    FERRY_TEST(v0_layers_inside_v1_layers_are_read),
    FERRY_TEST(a_solverstate_has_a_history),
    FERRY_TEST(a_vector_of_blobs_is_distinguished_from_a_net),
    FERRY_TEST(a_single_blob_is_named_after_its_file),
    FERRY_TEST(a_diff_is_read_with_its_data),
    FERRY_TEST(npy_headers_of_all_versions_and_spellings_are_read),
    FERRY_TEST(npy_order_and_byte_order_are_converted),
    FERRY_TEST(scalars_and_empty_arrays_are_read),
    FERRY_TEST(safetensors_headers_are_read),
    FERRY_TEST(values_are_converted_to_the_blobs_dtype),
    FERRY_TEST(ranges_and_foreign_entries_are_refused),
    FERRY_TEST(a_large_array_is_mapped_privately),
    FERRY_TEST(a_slice_is_filled_by_copying),
    FERRY_TEST(real_files_have_their_known_arrays),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "io-read", cases, FERRY_TEST_COUNT(cases));
}
