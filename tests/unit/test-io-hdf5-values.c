/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "hdf5-files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* How values are stored, and the memory and time of reading them. */

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
        { "i2", "I16", H5T_STD_I16LE },   { "u1", "U8", H5T_STD_U8BE },
    };
    static const char *const booleans[] = { "bool", "boolbe" };
    signed char no = 0, yes = 1, truths[] = { 0, 1 };
    hid_t set;
    ferry_io *io;

    make_begin();
    for (size_t i = 0; i < FERRY_TEST_COUNT(types); i++) {
        set = put(types[i].name, types[i].type, DIMS(2, 3), H5P_DEFAULT, H5T_NATIVE_INT, values);
        H5Dclose(set);
    }
    for (int i = 0; i < 2; i++) {
        hid_t boolean = H5Tenum_create(i ? H5T_STD_I8BE : H5T_STD_I8LE);

        H5Tenum_insert(boolean, "FALSE", &no);
        H5Tenum_insert(boolean, "TRUE", &yes);
        set = put(booleans[i], boolean, DIMS(2), H5P_DEFAULT, boolean, truths);
        H5Dclose(set);
        H5Tclose(boolean);
    }
    io = make_end();
    for (size_t i = 0; i < FERRY_TEST_COUNT(types); i++) {
        CU_ASSERT_STRING_EQUAL(find(io, types[i].name)->storage, types[i].storage);
        check_ramp(io, types[i].name, 5, 1);
    }
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_STRING_EQUAL(find(io, booleans[i])->storage, "BOOL");
        check_ramp(io, booleans[i], 0, 1);
    }
    ferry_io_close(io);
}

static void fill(float *values, int n)
{
    for (int i = 0; i < n; i++)
        values[i] = (float)i;
}

/*
 * Every combination of the filters that ferry decodes itself, with chunks that extend past the
 * edges.
 */
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
    for (int64_t i = 0; i < ferry_io_entry_count(io); i++) {
        const ferry_io_entry *entry;

        FX_OK(ferry_io_entry_at(io, i, &entry));
        check_ramp(io, entry->name, 0, 1);
    }
    ferry_io_close(io);
}

static void unwritten_elements_have_the_fill_value(void)
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

/* The largest supported rank, and a larger one: listed, and the other arrays can be read. */
static void sparse_data_use_little_memory(void)
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

/* One filter with a number of its own, whose chunk is written unchanged. */
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

static void lzf_is_decoded_and_unsupported_filters_are_named(void)
{
    /* "0123", then eight bytes from four before; truncated; from before the beginning; too long */
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

/* A chunk that was not written by its filters: libhdf5 trusts its bytes. */
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

/* ---- memory --------------------------------------------------------------------------------- */

/* Allows this process to map that many more bytes. Returns the previous limit. */
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

/* A chunk of 88 MiB in a file of a few hundred KiB, read in tiles. */
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
        ferry_test_skip("it takes long");
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

#define LARGE (16u * 1024 * 1024)

/* Zeros, as LZF encodes them: one literal, and copies of up to 264 bytes. */
static size_t compress_zeros(unsigned char *out)
{
    size_t at = 2;

    out[0] = out[1] = 0;
    for (size_t left = LARGE - 1, n; left > 0; left -= n) {
        n = left < 264 ? left : 264;
        out[at++] = n < 9 ? (unsigned char)((n - 2) << 5) : 7 << 5;
        if (n >= 9)
            out[at++] = (unsigned char)(n - 9);
        out[at++] = 0;
    }
    return at;
}

static void put_checksum(const unsigned char *bytes, size_t size, unsigned char *out)
{
    uint32_t first = 0, second = 0;

    for (size_t i = 0; i < size; i += 2) {
        first = (first + ((uint32_t)bytes[i] << 8) + (i + 1 < size ? bytes[i + 1] : 0)) % 65535;
        second = (second + first) % 65535;
    }
    out[0] = (unsigned char)first;
    out[1] = (unsigned char)(first >> 8);
    out[2] = (unsigned char)second;
    out[3] = (unsigned char)(second >> 8);
}

/* One chunk of 16 MiB of zeros with these filters; only LZF's are decoded here. */
static void put_large(const char *name, const unsigned *ids)
{
    static unsigned char raw[1024 * 1024];
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), set;
    const hsize_t chunk = LARGE / 4, origin = 0;
    const unsigned four = 4;
    size_t size = 0;

    H5Pset_chunk(plist, 1, &chunk);
    for (; *ids; ids++) {
        H5Pset_filter(plist, (H5Z_filter_t)*ids, H5Z_FLAG_OPTIONAL, 1, &four);
        if (*ids == 32000)
            size = compress_zeros(raw);
        if (*ids == H5Z_FILTER_FLETCHER32 && size) {
            put_checksum(raw, size, raw + size);
            size += 4;
        }
    }
    if (!size)
        H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY); /* libhdf5 writes them */
    set = put(name, H5T_IEEE_F32LE, DIMS(chunk), plist, 0, NULL);
    if (size)
        CU_ASSERT(H5Dwrite_chunk(set, H5P_DEFAULT, 0, &origin, size, raw) >= 0);
    H5Dclose(set);
    H5Pclose(plist);
}

static void large_chunks_are_decoded_in_each_order_of_filters(void)
{
    static const unsigned filters[][4] = {
        { 32000 }, { 2, 32000, 3 }, { 2, 1, 3 }, { 2, 3 }, { 1, 2, 3 } /* which are never written */
    };
    const size_t n = FERRY_TEST_COUNT(filters);
    float values[1024];
    ferry_io *io;
    char name[8];

    if (getenv("FERRY_TEST_QUICK") || getenv("FERRY_TEST_VALGRIND")) {
        ferry_test_skip("it takes long");
        return;
    }
    make_begin();
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "x%zu", i);
        put_large(name, filters[i]);
    }
    io = make_end();
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "x%zu", i);
        memset(values, 1, sizeof(values));
        if (i == n - 1) {
            FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_read_values(io, find(io, name), 0, 8, values));
            CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "too much memory"));
            break;
        }
        FX_OK(ferry_io_read_values(io, find(io, name), LARGE / 8, 1024, values));
        for (int k = 0; k < 1024; k++)
            CU_ASSERT_EQUAL_FATAL(values[k], 0);
    }
    ferry_io_close(io);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(types_are_read_in_any_byte_order),
    FERRY_TEST(chunks_are_decoded),
    FERRY_TEST(unwritten_elements_have_the_fill_value),
    FERRY_TEST(sparse_data_use_little_memory),
    FERRY_TEST(lzf_is_decoded_and_unsupported_filters_are_named),
    FERRY_TEST(damaged_chunks_are_errors),
    FERRY_TEST(large_chunks_stay_out_of_memory),
    FERRY_TEST(large_chunks_are_decoded_in_each_order_of_filters),
};

int main(int argc, char **argv)
{
    return hdf5_main(argc, argv, "io-hdf5-values", cases, FERRY_TEST_COUNT(cases));
}
