/* SPDX-License-Identifier: BSD-2-Clause */
#include "io-build.h"
#include "io-folder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A net's definition around the blobs of a caffemodel. */

/* A net of two layers, "a" and "b", of type "T", and a field of the net after them. */
static const unsigned char two_layers[] = "\xa2\x06\x06\x0a\x01"
                                          "a\x12\x01T"
                                          "\xa2\x06\x06\x0a\x01"
                                          "b\x12\x01T"
                                          "\x28\x01";

static void a_definition_is_written_around_its_layers_blobs(void)
{
    ferry_io_writer *w = create("file", FERRY_IO_CAFFEMODEL);
    const ferry_io_entry *entry = NULL;
    ferry_blob *b;
    ferry_io *io;

    fx_device();
    b = FX_BLOB(FERRY_F32, 3);
    FX_OK(ferry_blob_fill_data(b, 2));
    FX_OK(ferry_io_writer_set_definition(w, two_layers, sizeof(two_layers) - 1));
    FX_OK(ferry_io_writer_write(w, "b/0", b, false));
    FX_OK(ferry_io_writer_write(w, "b/1", b, false));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    io = open_file("file");
    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 2);
    FX_OK(ferry_io_entry_at(io, 1, &entry));
    CU_ASSERT_STRING_EQUAL(entry->name, "b/1");
    CU_ASSERT_STRING_EQUAL(entry->layer_type, "T");
    CU_ASSERT_EQUAL(entry->count, 3);
    ferry_io_close(io);
    unlink(in_folder("file"));
    ferry_blob_destroy(b);
    fx_end();
}

static void an_invalid_definition_is_refused(void)
{
    ferry_io_writer *w = create("file", FERRY_IO_NPZ);
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 3);
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_set_definition(NULL, "", 0));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_set_definition(w, NULL, 1));
    FX_FAILS(FERRY_EUNSUPPORTED,
             ferry_io_writer_set_definition(w, two_layers, sizeof(two_layers) - 1));
    ferry_io_writer_abort(w);
    w = create("file", FERRY_IO_CAFFEMODEL);
    /* a truncated definition, one with blobs of its own, and one of V1 */
    FX_FAILS(FERRY_EFORMAT, ferry_io_writer_set_definition(w, two_layers, sizeof(two_layers) - 4));
    FX_FAILS(FERRY_EFORMAT, ferry_io_writer_set_definition(w, "\xa2\x06\x02\x3a\x00", 5));
    FX_FAILS(FERRY_EFORMAT, ferry_io_writer_set_definition(w, "\x12\x00", 2));
    FX_OK(ferry_blob_fill_data(b, 2));
    FX_OK(ferry_io_writer_set_definition(w, two_layers, sizeof(two_layers) - 1));
    FX_OK(ferry_io_writer_write(w, "b/0", b, false));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_set_definition(w, two_layers, sizeof(two_layers) - 1));
    FX_OK(ferry_io_writer_write(w, "a/0", b, false)); /* "a" is before "b" */
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_commit(w));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "no layer \"a\""));
    CU_ASSERT_EQUAL(files(), 0);
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- another file's ------------------------------------------------------------------------- */

/* A blob of `n` floats, with fields as ferry writes them: dims are packed. */
static void put_floats(struct msg *layer, unsigned field, unsigned char n)
{
    struct msg blob = { .size = 0 }, shape = { .size = 0 };
    float values[64];

    for (int i = 0; i < n; i++)
        values[i] = 1 + (float)i;
    put_values(&blob, 5, values, n * sizeof(float), sizeof(float));
    put_bytes(&shape, 1, &n, 1);
    put_bytes(&blob, 7, shape.at, shape.size);
    put_bytes(layer, field, blob.at, blob.size);
}

/* A layer with a field that ferry does not know, before its blobs and after them. */
static void put_layer(struct msg *net, bool v1, const char *name, int blobs)
{
    struct msg layer = { .size = 0 };

    if (name)
        put_string(&layer, v1 ? 4 : 1, name);
    if (v1)
        put_varint(&layer, 5, 4); /* CONVOLUTION */
    else
        put_string(&layer, 2, "Convolution");
    put_string(&layer, 3, "bottom");
    put_varint(&layer, 900, 1);
    for (int i = 0; i < blobs; i++)
        put_floats(&layer, v1 ? 6 : 7, (unsigned char)(40 + i));
    put_bytes(net, v1 ? 2 : 100, layer.at, layer.size);
}

/*
 * Two layers of one name, of which the second has the blobs; one without a name; fields around
 * them.
 */
static void put_net(struct msg *net, bool v1)
{
    put_string(net, 1, "the net");
    put_layer(net, v1, "conv", 0);
    put_layer(net, v1, "conv", 2);
    put_varint(net, 5, 1);
    put_layer(net, v1, NULL, 1);
    put_layer(net, v1, "last", 0);
    put_string(net, 901, "unknown");
}

static void store(const char *name, const struct msg *m)
{
    FILE *file = fopen(in_folder(name), "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(m->at, 1, m->size, file), m->size);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* Copies all arrays of "in", of that dtype, into "out", which gets its definition. */
static void copy(ferry_dtype dtype)
{
    ferry_io_writer *w = create("out", FERRY_IO_CAFFEMODEL);
    ferry_io *io = open_file("in");
    const ferry_io_entry *entry;

    FX_OK(ferry_io_writer_copy_definition(w, io));
    for (int64_t i = 0; i < ferry_io_entry_count(io); i++) {
        ferry_blob *b = FX_BLOB(dtype, 1);

        FX_OK(ferry_io_entry_at(io, i, &entry));
        FX_OK(ferry_io_read(io, entry, b));
        FX_OK(ferry_io_writer_write(w, entry->name, b, false));
        ferry_blob_destroy(b);
    }
    FX_OK_FATAL(ferry_io_writer_commit(w));
    ferry_io_close(io);
}

static bool same_file(const char *name, const struct msg *m)
{
    struct msg got = { .size = 0 };
    FILE *file = fopen(in_folder(name), "rb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    got.size = fread(got.at, 1, sizeof(got.at), file);
    fclose(file);
    return got.size == m->size && memcmp(got.at, m->at, m->size) == 0;
}

static void copying_a_definition_with_its_blobs_reproduces_the_file(void)
{
    fx_device();
    for (int v1 = 0; v1 < 2; v1++) {
        struct msg net = { .size = 0 };

        put_net(&net, v1);
        store("in", &net);
        copy(FERRY_F32);
        CU_ASSERT(same_file("out", &net));
    }
    unlink(in_folder("in"));
    unlink(in_folder("out"));
    fx_end();
}

static void a_copied_definition_accepts_blobs_of_another_length(void)
{
    const ferry_io_entry *entry = NULL;
    struct msg net = { .size = 0 };
    const char *key, *value;
    ferry_io *io;

    fx_device();
    put_net(&net, false);
    store("in", &net);
    copy(FERRY_F64);
    io = open_file("out");
    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 3);
    FX_OK(ferry_io_entry_at(io, 1, &entry));
    CU_ASSERT_STRING_EQUAL(entry->name, "conv/1");
    CU_ASSERT_STRING_EQUAL(entry->layer_type, "Convolution");
    CU_ASSERT_EQUAL(entry->dtype, FERRY_F64);
    CU_ASSERT_EQUAL(entry->count, 41);
    CU_ASSERT_EQUAL(ferry_io_metadata_count(io), 2);
    FX_OK(ferry_io_metadata_at(io, 1, &key, &value));
    CU_ASSERT_STRING_EQUAL(value, "2 layers without blobs and 10 fields that are not blobs");
    ferry_io_close(io);
    unlink(in_folder("in"));
    unlink(in_folder("out"));
    fx_end();
}

/*
 * Declares the arrays of "in", with "new" instead of the layer `of`; returns the result of commit.
 */
static int rename_layer(const char *of, const char *into)
{
    ferry_io_writer *w = create("out", FERRY_IO_CAFFEMODEL);
    ferry_io *io = open_file("in");
    const ferry_io_entry *from;
    float values[64];
    char name[64];
    int err = FERRY_OK;

    FX_OK(ferry_io_writer_copy_definition(w, io));
    for (int64_t i = 0; i < ferry_io_entry_count(io); i++) {
        ferry_io_entry entry;

        FX_OK(ferry_io_entry_at(io, i, &from));
        entry = *from;
        entry.struct_size = sizeof(entry);
        if (strcmp(from->layer_name, of) == 0) {
            snprintf(name, sizeof(name), "%s%s", into, strrchr(from->name, '/'));
            entry.name = name;
        }
        FX_OK(ferry_io_writer_declare(w, &entry));
    }
    for (int64_t i = 0; i < ferry_io_entry_count(io) && !err; i++) {
        FX_OK(ferry_io_entry_at(io, i, &from));
        FX_OK(ferry_io_read_values(io, from, 0, from->count, values));
        err = ferry_io_writer_write_values(w, values, (size_t)from->count * sizeof(float));
    }
    if (err)
        ferry_io_writer_abort(w);
    else
        err = ferry_io_writer_commit(w);
    ferry_io_close(io);
    return err;
}

/* The net of put_net with another name for the layer that has blobs. */
static void a_layer_of_a_copied_definition_takes_the_name_of_its_blobs(void)
{
    static const char *const names[] = { "a name that is longer than the one before it", "c" };

    fx_device();
    for (int i = 0; i < 4; i++) {
        const char *name = names[i / 2];
        struct msg net = { .size = 0 }, want = { .size = 0 };
        bool v1 = i % 2;

        put_string(&net, 1, "the net");
        put_layer(&net, v1, "conv", 2);
        put_layer(&net, v1, "last", 1);
        store("in", &net);
        FX_OK(rename_layer("conv", name));
        put_string(&want, 1, "the net");
        put_layer(&want, v1, name, 2);
        put_layer(&want, v1, "last", 1);
        CU_ASSERT(same_file("out", &want));
    }
    unlink(in_folder("in"));
    unlink(in_folder("out"));
    fx_end();
}

static void a_definition_that_cannot_be_copied_is_refused(void)
{
    struct msg net = { .size = 0 }, layer = { .size = 0 }, v0 = { .size = 0 };
    ferry_io_writer *w = create("out", FERRY_IO_CAFFEMODEL);
    ferry_blob *b;
    ferry_io *io;

    fx_device();
    b = FX_BLOB(FERRY_F32, 3);
    put_string(&v0, 1, "old");
    put_blob(&v0, 50, 3, 1);
    put_bytes(&layer, 1, v0.at, v0.size);
    put_bytes(&net, 2, layer.at, layer.size);
    store("in", &net);
    io = open_file("in");
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_copy_definition(NULL, io));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_copy_definition(w, NULL));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_copy_definition(w, io));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "first form"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "/in: ")); /* the file that has it */
    FX_OK(ferry_blob_fill_data(b, 2));
    FX_OK(ferry_io_writer_write(w, "new/0", b,
                                false)); /* which has no effect */
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_copy_definition(w, io));
    FX_OK(ferry_io_writer_commit(w));
    ferry_io_close(io);
    w = create("in", FERRY_IO_NPZ);
    FX_OK(ferry_io_writer_write(w, "a", b, false));
    FX_OK(ferry_io_writer_commit(w));
    w = create("out", FERRY_IO_CAFFEMODEL);
    io = open_file("in");
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_copy_definition(w, io));
    ferry_io_writer_abort(w);
    ferry_io_close(io);
    unlink(in_folder("in"));
    unlink(in_folder("out"));
    ferry_blob_destroy(b);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_definition_is_written_around_its_layers_blobs),
    FERRY_TEST(an_invalid_definition_is_refused),
    FERRY_TEST(copying_a_definition_with_its_blobs_reproduces_the_file),
    FERRY_TEST(a_copied_definition_accepts_blobs_of_another_length),
    FERRY_TEST(a_layer_of_a_copied_definition_takes_the_name_of_its_blobs),
    FERRY_TEST(a_definition_that_cannot_be_copied_is_refused),
};

int main(int argc, char **argv)
{
    return io_folder_main(argc, argv, "io-definition", cases, FERRY_TEST_COUNT(cases));
}
