/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"

#include <ferry/io.h>

#include "io/hdf5_proof.h"

#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* HDF5 that others wrote, with all that the format has: made here by libhdf5 itself. */

static char folder[] = "/tmp/ferry-test-hdf5-XXXXXX";
static char path[64];
static hid_t made;

static void make_begin(void)
{
    snprintf(path, sizeof(path), "%s/x.h5", folder);
    unlink(path); /* one that a failed case has left open cannot be made anew */
    made = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT_FATAL(made >= 0);
}

static ferry_io *make_end(void)
{
    ferry_io *io = NULL;

    CU_ASSERT_EQUAL(H5Fclose(made), 0);
    FX_OK_FATAL(ferry_io_open_with(path, FERRY_IO_TRUST, &io));
    ferry_io_close(io);
    FX_OK_FATAL(ferry_io_open(path, &io));
    return io;
}

/* Dims end with a 0. `plist` and `values` may be left out. */
static hid_t put(const char *name, hid_t type, const hsize_t *dims, hid_t plist, hid_t memory,
                 const void *values)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE), space, set;
    int naxes = 0;

    while (dims && dims[naxes])
        naxes++;
    H5Pset_create_intermediate_group(links, 1);
    space = naxes ? H5Screate_simple(naxes, dims, NULL) : H5Screate(H5S_SCALAR);
    set = H5Dcreate2(made, name, type, space, links, plist, H5P_DEFAULT);
    CU_ASSERT_FATAL(set >= 0);
    if (values)
        CU_ASSERT(H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Pclose(links);
    H5Sclose(space);
    return set;
}

#define DIMS(...) ((const hsize_t[]){ __VA_ARGS__, 0 })

static void put_simple(const char *name, int n)
{
    float values[64];
    hid_t set;

    for (int i = 0; i < n; i++)
        values[i] = (float)i + 1;
    set = put(name, H5T_IEEE_F32LE, DIMS((hsize_t)n), H5P_DEFAULT, H5T_NATIVE_FLOAT, values);
    H5Dclose(set);
}

static const ferry_io_entry *find(ferry_io *io, const char *name)
{
    const ferry_io_entry *entry = NULL;

    FX_OK_FATAL(ferry_io_find(io, name, &entry));
    if (!entry)
        printf("  no %s\n", name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    return entry;
}

static const char *about(ferry_io *io, const char *key)
{
    const char *k, *value;

    for (int64_t i = 0; i < ferry_io_metadata_count(io); i++)
        if (ferry_io_metadata_at(io, i, &k, &value) == FERRY_OK && strcmp(k, key) == 0)
            return value;
    return "(none)";
}

/* Reads it whole, and in tiles of several sizes; each has to be first + i · step. */
static void check_ramp(ferry_io *io, const char *name, double first, double step)
{
    static const int64_t tiles[] = { INT64_MAX, 1000, 37, 7 };
    const ferry_io_entry *entry = find(io, name);
    size_t size = ferry_dtype_size(entry->dtype);
    unsigned char *values = malloc((size_t)entry->count * size);
    int64_t wrong = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    for (size_t t = 0; t < FERRY_TEST_COUNT(tiles); t++) {
        int64_t n;

        memset(values, 0xa5, (size_t)entry->count * size);
        for (int64_t at = 0; at < entry->count; at += n) {
            n = entry->count - at < tiles[t] ? entry->count - at : tiles[t];
            FX_OK_FATAL(ferry_io_read_values(io, entry, at, n, values + (size_t)at * size));
        }
        for (int64_t i = 0; i < entry->count; i++)
            wrong += fx_get(entry->dtype, values, i) != first + step * (double)i;
    }
    if (wrong)
        printf("  %s: %lld elements are wrong\n", name, (long long)wrong);
    CU_ASSERT_EQUAL(wrong, 0);
    free(values);
}

/* ---- what is no array ----------------------------------------------------------------------- */

/* As Caffe's solver writes its state: a string beside the history. */
static void a_string_is_metadata(void)
{
    hid_t type = H5Tcopy(H5T_C_S1), many, set;
    int iter = 7;
    const char *variable = "of any length";
    char pairs[2][4] = { "ab", "cd" };
    ferry_io *io;

    make_begin();
    H5Tset_size(type, 17);
    set = put("learned_net", type, NULL, H5P_DEFAULT, type, "net_iter_7.model");
    H5Dclose(set);
    set = put("iter", H5T_NATIVE_INT, DIMS(1), H5P_DEFAULT, H5T_NATIVE_INT, &iter);
    H5Dclose(set);
    put_simple("history/0", 3);
    many = H5Tcopy(H5T_C_S1);
    H5Tset_size(many, 4);
    set = put("strings", many, DIMS(2), H5P_DEFAULT, many, pairs);
    H5Dclose(set);
    H5Tset_size(type, H5T_VARIABLE);
    set = put("variable", type, NULL, H5P_DEFAULT, type, &variable);
    H5Dclose(set);
    H5Tclose(type);
    H5Tclose(many);
    io = make_end();
    CU_ASSERT_STRING_EQUAL(about(io, "learned_net"), "net_iter_7.model");
    CU_ASSERT_STRING_EQUAL(about(io, "variable"), "of any length");
    CU_ASSERT_EQUAL(ferry_io_count(io), 3);
    check_ramp(io, "history/0", 1, 1);
    check_ramp(io, "iter", 7, 0);
    CU_ASSERT_STRING_EQUAL(find(io, "strings")->storage, "string");
    CU_ASSERT_PTR_NOT_NULL(find(io, "strings")->unreadable);
    ferry_io_close(io);
}

static void links_are_followed_or_said(void)
{
    ferry_io *io;

    make_begin();
    put_simple("a/x", 3);
    H5Lcreate_hard(made, "a/x", made, "tied", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(made, "a", made, "b", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/a/x", made, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/x", made, "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
    io = make_end();
    CU_ASSERT_EQUAL(ferry_io_count(io), 2);
    check_ramp(io, "a/x", 1, 1);
    check_ramp(io, "tied", 1, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(about(io, "link b"), "hard link"));
    CU_ASSERT_PTR_NOT_NULL(strstr(about(io, "link soft"), "soft link"));
    CU_ASSERT_PTR_NOT_NULL(strstr(about(io, "link elsewhere"), "another file"));
    ferry_io_close(io);
}

static void a_diff_without_data_is_an_array(void)
{
    ferry_io *io;

    make_begin();
    put_simple("data/conv/0", 3);
    put_simple("diff/conv/0", 3);
    put_simple("data/fc/0", 3);
    put_simple("diff/fc/0", 2); /* another shape */
    put_simple("diff/gone/0", 2);
    io = make_end();
    CU_ASSERT_EQUAL(ferry_io_count(io), 4);
    CU_ASSERT_EQUAL(find(io, "conv/0")->has_diff, 1);
    CU_ASSERT_STRING_EQUAL(find(io, "conv/0")->layer_name, "conv");
    CU_ASSERT_EQUAL(find(io, "fc/0")->has_diff, 0);
    check_ramp(io, "diff/fc/0", 1, 1);
    check_ramp(io, "diff/gone/0", 1, 1);
    ferry_io_close(io);
}

/* What is written has the path that is its name; blobs of layers are where Caffe looks for them. */
static void arrays_keep_their_paths_when_written(void)
{
    static const struct {
        const char *name, *path;
    } arrays[] = { { "embed/weight", "embed/weight" },
                   { "conv/0", "data/conv/0" },
                   { "data/x", "data/data/x" },
                   { "diff/x", "data/diff/x" },
                   { "top", "top" } };
    int64_t dims[1] = { 1 };
    ferry_io_entry entry = {
        .struct_size = sizeof(entry), .dtype = FERRY_F32, .naxes = 1, .dims = dims
    };
    ferry_io_writer *w = NULL;
    ferry_io *io = NULL;
    float value;
    hid_t file;

    snprintf(path, sizeof(path), "%s/x.h5", folder);
    FX_OK_FATAL(ferry_io_create(path, FERRY_IO_HDF5, &w));
    for (size_t i = 0; i < FERRY_TEST_COUNT(arrays); i++) {
        entry.name = arrays[i].name;
        FX_OK(ferry_io_declare(w, &entry));
    }
    for (size_t i = 0; i < FERRY_TEST_COUNT(arrays); i++) {
        value = (float)i;
        FX_OK(ferry_io_write_values(w, &value, sizeof(value)));
    }
    FX_OK_FATAL(ferry_io_commit(w));
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (size_t i = 0; i < FERRY_TEST_COUNT(arrays); i++) {
        hid_t set = H5Dopen2(file, arrays[i].path, H5P_DEFAULT);

        CU_ASSERT(set >= 0);
        if (set >= 0)
            H5Dclose(set);
    }
    H5Fclose(file);
    FX_OK_FATAL(ferry_io_open(path, &io));
    for (size_t i = 0; i < FERRY_TEST_COUNT(arrays); i++)
        check_ramp(io, arrays[i].name, (double)i, 0);
    ferry_io_close(io);
}

/* ---- how values are stored ------------------------------------------------------------------ */

static void types_are_read_in_any_byte_order(void)
{
    static const int values[] = { 5, 6, 7, 8, 9, 10 };
    struct {
        const char *name, *storage;
        hid_t type;
    } types[] = {
        { "f4", "F32", H5T_IEEE_F32BE },  { "f8", "F64", H5T_IEEE_F64BE },
        { "i8", "I64", H5T_STD_I64BE },   { "u2", "U16", H5T_STD_U16BE },
        { "u2le", "U16", H5T_STD_U16LE }, { "u8", "U64", H5T_STD_U64BE },
        { "i2", "I16", H5T_STD_I16LE },
    };
    hid_t boolean = H5Tenum_create(H5T_NATIVE_INT8), set;
    signed char no = 0, yes = 1, truths[] = { 0, 1 };
    ferry_io *io;

    make_begin();
    for (size_t i = 0; i < FERRY_TEST_COUNT(types); i++) {
        set = put(types[i].name, types[i].type, DIMS(2, 3), H5P_DEFAULT, H5T_NATIVE_INT, values);
        H5Dclose(set);
    }
    H5Tenum_insert(boolean, "FALSE", &no);
    H5Tenum_insert(boolean, "TRUE", &yes);
    set = put("bool", boolean, DIMS(2), H5P_DEFAULT, boolean, truths);
    H5Dclose(set);
    H5Tclose(boolean);
    io = make_end();
    for (size_t i = 0; i < FERRY_TEST_COUNT(types); i++) {
        CU_ASSERT_STRING_EQUAL(find(io, types[i].name)->storage, types[i].storage);
        check_ramp(io, types[i].name, 5, 1);
    }
    CU_ASSERT_STRING_EQUAL(find(io, "bool")->storage, "BOOL");
    check_ramp(io, "bool", 0, 1);
    ferry_io_close(io);
}

static void fill(float *values, int n)
{
    for (int i = 0; i < n; i++)
        values[i] = (float)i;
}

/* Every way through the filters that are undone here, with chunks that stick out over the edges. */
static void chunks_are_decoded(void)
{
    static float values[30 * 11 * 7];
    const hsize_t chunks[][3] = { { 4, 3, 2 }, { 1, 11, 7 }, { 30, 11, 7 }, { 7, 11, 3 } };
    ferry_io *io;
    char name[32];

    fill(values, 30 * 11 * 7);
    make_begin();
    for (unsigned how = 0; how < 16; how++)
        for (size_t c = 0; c < FERRY_TEST_COUNT(chunks); c++) {
            hid_t plist = H5Pcreate(H5P_DATASET_CREATE), set;

            H5Pset_chunk(plist, 3, chunks[c]);
            if (how & 1)
                H5Pset_shuffle(plist);
            if (how & 2)
                H5Pset_deflate(plist, 6);
            if (how & 4)
                H5Pset_fletcher32(plist);
            snprintf(name, sizeof(name), "x%u-%zu", how, c);
            set = put(name, how & 8 ? H5T_IEEE_F32BE : H5T_IEEE_F32LE, DIMS(30, 11, 7), plist,
                      H5T_NATIVE_FLOAT, values);
            H5Dclose(set);
            H5Pclose(plist);
        }
    io = make_end();
    for (int64_t i = 0; i < ferry_io_count(io); i++) {
        const ferry_io_entry *entry;

        FX_OK(ferry_io_entry_at(io, i, &entry));
        check_ramp(io, entry->name, 0, 1);
    }
    ferry_io_close(io);
}

static void what_was_never_written_is_the_fill_value(void)
{
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), set, space;
    const hsize_t chunk = 4, start = 4, count = 4;
    const float fill_value = 2.5f, one[4] = { 2.5f, 2.5f, 2.5f, 2.5f };
    ferry_io *io;

    make_begin();
    H5Pset_fill_value(plist, H5T_NATIVE_FLOAT, &fill_value);
    set = put("plain", H5T_IEEE_F32BE, DIMS(9), plist, 0, NULL);
    H5Dclose(set);
    H5Pset_chunk(plist, 1, &chunk);
    set = put("chunks", H5T_IEEE_F32BE, DIMS(11), plist, 0, NULL);
    space = H5Dget_space(set);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL);
    CU_ASSERT(H5Dwrite(set, H5T_NATIVE_FLOAT, H5Screate_simple(1, &count, NULL), space, H5P_DEFAULT,
                       one) >= 0);
    H5Sclose(space);
    H5Dclose(set);
    H5Pclose(plist);
    io = make_end();
    check_ramp(io, "plain", 2.5, 0);
    check_ramp(io, "chunks", 2.5, 0);
    ferry_io_close(io);
}

/* One filter with a number of its own, whose chunks are written as they are. */
/* As large as is read, in columns, and larger than that: listed, and no reason to refuse the others. */
static void what_is_hardly_written_takes_little(void)
{
    const hsize_t column[] = { 20000, 1 };
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    const ferry_io_entry *entry;
    float values[8];
    ferry_io *io;

    make_begin();
    H5Dclose(put("none", H5T_IEEE_F32LE, DIMS(5000, 5000), H5P_DEFAULT, 0, NULL));
    H5Pset_chunk(plist, 2, column);
    H5Dclose(put("columns", H5T_IEEE_F32LE, DIMS(20000, 3000), plist, 0, NULL));
    H5Dclose(put("far", H5T_IEEE_F32LE, DIMS(20000, 3000, 1000), H5P_DEFAULT, 0, NULL));
    put_simple("ok", 3);
    H5Pclose(plist);
    io = make_end();
    check_ramp(io, "ok", 1, 1);
    FX_OK(ferry_io_read_values(io, find(io, "none"), 24999990, 8, values));
    CU_ASSERT_EQUAL(values[7], 0);
    FX_OK(ferry_io_read_values(io, find(io, "columns"), 59999990, 8, values));
    CU_ASSERT_EQUAL(values[7], 0);
    entry = find(io, "far");
    CU_ASSERT_PTR_NOT_NULL(entry->unreadable);
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_read_values(io, entry, 0, 8, values));
    ferry_io_close(io);
}

/* The driver's name stands where the superblock says how the file is split. */
static void a_member_of_a_family_is_named(void)
{
    ferry_io *io = NULL;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file;
    char pattern[80];

    snprintf(pattern, sizeof(pattern), "%s/f%%d.h5", folder);
    H5Pset_fapl_family(access, 4096, H5P_DEFAULT);
    file = H5Fcreate(pattern, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    CU_ASSERT_FATAL(file >= 0);
    H5Fclose(file);
    H5Pclose(access);
    snprintf(path, sizeof(path), "%s/f0.h5", folder);
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_open(path, &io));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "is a member of an HDF5 family"));
    unlink(path);
}

static void put_filtered(const char *name, unsigned id, const void *raw, size_t size)
{
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), set;
    const hsize_t chunk = 12, origin = 0;

    H5Pset_chunk(plist, 1, &chunk);
    H5Pset_filter(plist, (H5Z_filter_t)id, H5Z_FLAG_OPTIONAL, 0, NULL);
    set = put(name, H5T_STD_U8LE, DIMS(12), plist, 0, NULL);
    CU_ASSERT(H5Dwrite_chunk(set, H5P_DEFAULT, 0, &origin, size, raw) >= 0);
    H5Dclose(set);
    H5Pclose(plist);
}

static void lzf_is_undone_and_others_are_named(void)
{
    /* "0123", then eight bytes from four before; cut short; from before the beginning; too long */
    static const unsigned char good[] = { 3, 0, 1, 2, 3, 6 << 5, 3 }, bad[] = { 3, 0, 1 },
                               before[] = { 0, 1, 6 << 5, 3 }, much[] = { 0, 1, 7 << 5, 90, 0 };
    unsigned char out[12];
    ferry_io *io;

    make_begin();
    put_filtered("good", 32000, good, sizeof(good));
    put_filtered("bad", 32000, bad, sizeof(bad));
    put_filtered("before", 32000, before, sizeof(before));
    put_filtered("much", 32000, much, sizeof(much));
    put_filtered("blosc", 32001, good, sizeof(good));
    put_filtered("zstd", 32015, good, sizeof(good));
    put_filtered("unknown", 4711, good, sizeof(good));
    io = make_end();
    FX_OK(ferry_io_read_values(io, find(io, "good"), 0, 12, out));
    for (int i = 0; i < 12; i++)
        CU_ASSERT_EQUAL(out[i], i % 4);
    FX_FAILS(FERRY_EFORMAT, ferry_io_read_values(io, find(io, "bad"), 0, 12, out));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "LZF"));
    FX_FAILS(FERRY_EFORMAT, ferry_io_read_values(io, find(io, "before"), 0, 12, out));
    FX_FAILS(FERRY_EFORMAT, ferry_io_read_values(io, find(io, "much"), 0, 12, out));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_read_values(io, find(io, "blosc"), 0, 12, out));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "filter 32001 (Blosc)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "hdf5plugin"));
    CU_ASSERT_PTR_NOT_NULL(strstr(find(io, "zstd")->unreadable, "32015 (Zstandard)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(find(io, "unknown")->unreadable, "4711 (unregistered)"));
    ferry_io_close(io);
}

/* Of a chunk that was not written by its filters: libhdf5 believes what such bytes say. */
static void damaged_chunks_are_errors(void)
{
    unsigned char raw[12] = { 0x78, 0x9c, 3 }, out[12];
    const unsigned filters[] = { 1, 2, 3 };
    ferry_io *io;
    char name[16];

    make_begin();
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "f%u", filters[i]);
        put_filtered(name, filters[i], raw, i == 1 ? 5 : sizeof(raw));
    }
    put_filtered("longer", 2, out, 12);
    io = make_end();
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "f%u", filters[i]);
        FX_FAILS(FERRY_EFORMAT, ferry_io_read_values(io, find(io, name), 0, 12, out));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "a chunk: "));
    }
    ferry_io_close(io);
}

/* ---- damage --------------------------------------------------------------------------------- */

static int crashes(struct ferry_io *io)
{
    (void)io;
    fprintf(stderr, "a line that nobody is to see\n");
    raise(SIGSEGV);
    return FERRY_OK;
}

static int fails(struct ferry_io *io)
{
    return ferry_error_set(FERRY_ESHAPE, "%s: no shape", io->file.path);
}

static int works(struct ferry_io *io)
{
    io->count = 7; /* the child's own */
    return FERRY_OK;
}

static void a_crash_of_the_library_is_an_error_that_names_the_file(void)
{
    struct ferry_io io = { .count = 3 };

    io.file.path = path;
    strcpy(path, "damaged.h5");
    FX_FAILS(FERRY_EFORMAT, ferry__hdf5_prove(&io, crashes));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "damaged.h5: is damaged: libhdf5 crashes"));
    FX_FAILS(FERRY_ESHAPE, ferry__hdf5_prove(&io, fails));
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "damaged.h5: no shape");
    FX_OK(ferry__hdf5_prove(&io, works));
    CU_ASSERT_EQUAL(io.count, 3);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left behind */
}

/* Each byte of a small file set to 0 and to 255: what libhdf5 makes of it is a file or an error. */
static void every_byte_of_a_file_may_be_wrong(void)
{
    static unsigned char bytes[65536];
    size_t size, step = getenv("FERRY_TEST_QUICK") ? 97 : 31;
    const hsize_t chunk[2] = { 4, 4 };
    float values[64] = { 0 }, out[64];
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), set;
    ferry_io *io;
    FILE *file;

    make_begin();
    H5Pset_chunk(plist, 2, chunk);
    H5Pset_shuffle(plist);
    H5Pset_deflate(plist, 1);
    set = put("a/x", H5T_IEEE_F32LE, DIMS(8, 8), plist, H5T_NATIVE_FLOAT, values);
    H5Dclose(set);
    H5Pclose(plist);
    io = make_end();
    ferry_io_close(io);
    file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    CU_ASSERT_FATAL(size > 1000 && size < sizeof(bytes));
    for (size_t i = 0; i < size; i += step) {
        unsigned char was = bytes[i];

        bytes[i] = i / step % 2 ? 0 : 255;
        file = fopen(path, "wb");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
        fclose(file);
        bytes[i] = was;
        if (ferry_io_open(path, &io) != FERRY_OK)
            continue;
        for (int64_t k = 0; k < ferry_io_count(io); k++) {
            const ferry_io_entry *entry;

            FX_OK(ferry_io_entry_at(io, k, &entry));
            if (entry->count <= 64 && ferry_dtype_size(entry->dtype) <= sizeof(float))
                (void)ferry_io_read_values(io, entry, 0, entry->count, out);
        }
        ferry_io_close(io);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Lets this process map so much more than it has now. Returns what the limit was. */
static struct rlimit limit_memory(rlim_t more)
{
    FILE *file = fopen("/proc/self/statm", "r");
    struct rlimit was, limit;
    unsigned long pages = 0;

    CU_ASSERT_FATAL(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    getrlimit(RLIMIT_AS, &was);
    limit = was;
    limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_AS, &limit), 0);
    return was;
}

/* A chunk of 88 MiB in a file of a few hundred KiB, read in tiles, whole bands aside. */
static void large_chunks_stay_out_of_memory(void)
{
    const hsize_t side = 4800, chunk[2] = { side, side };
    float *row = malloc(side * sizeof(float)), *values = malloc(side * side * sizeof(float));
    int64_t count = 0, wrong = 0;
    hid_t plist, set;
    ferry_io *io;
    struct rlimit was;

    if (getenv("FERRY_TEST_QUICK") || getenv("FERRY_TEST_VALGRIND")) {
        free(row);
        free(values);
        ferry_test_skip("a long one");
        return;
    }
    CU_ASSERT_FATAL(row != NULL && values != NULL);
    for (hsize_t i = 0; i < side * side; i++)
        values[i] = (float)(i / side);
    make_begin();
    plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 2, chunk);
    H5Pset_shuffle(plist);
    H5Pset_deflate(plist, 1);
    set = put("x", H5T_IEEE_F32LE, DIMS(side, side), plist, H5T_NATIVE_FLOAT, values);
    H5Dclose(set);
    H5Pclose(plist);
    free(values);
    io = make_end();
    was = limit_memory(64u << 20);
    for (hsize_t i = 0; i < side; i += 64) {
        FX_OK_FATAL(
            ferry_io_read_values(io, find(io, "x"), (int64_t)(i * side), (int64_t)side, row));
        for (hsize_t k = 0; k < side; k++, count++)
            wrong += row[k] != (float)i;
    }
    setrlimit(RLIMIT_AS, &was);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(count, (int64_t)(side * side / 64));
    ferry_io_close(io);
    free(row);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_string_is_metadata),
    FERRY_TEST(links_are_followed_or_said),
    FERRY_TEST(a_diff_without_data_is_an_array),
    FERRY_TEST(arrays_keep_their_paths_when_written),
    FERRY_TEST(types_are_read_in_any_byte_order),
    FERRY_TEST(chunks_are_decoded),
    FERRY_TEST(what_was_never_written_is_the_fill_value),
    FERRY_TEST(what_is_hardly_written_takes_little),
    FERRY_TEST(a_member_of_a_family_is_named),
    FERRY_TEST(lzf_is_undone_and_others_are_named),
    FERRY_TEST(damaged_chunks_are_errors),
    FERRY_TEST(a_crash_of_the_library_is_an_error_that_names_the_file),
    FERRY_TEST(every_byte_of_a_file_may_be_wrong),
    FERRY_TEST(large_chunks_stay_out_of_memory),
};

int main(int argc, char **argv)
{
    int status;

    if (!mkdtemp(folder))
        return 99;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    status = ferry_test_main(argc, argv, "io-hdf5", cases, FERRY_TEST_COUNT(cases));
    unlink(path);
    rmdir(folder);
    return status;
}
