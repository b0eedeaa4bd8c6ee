/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "hdf5-files.h"

#include "io/hdf5_proof.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Files that are damaged, and what libhdf5 makes of them. */

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

static int never_ends(struct ferry_io *io)
{
    for (volatile int64_t *n = &io->position;;)
        ++*n;
    return FERRY_OK;
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

static void an_endless_walk_is_an_error(void)
{
    struct ferry_io io = { .count = 3 };

    if (!getenv("FERRY_TEST_LONG")) {
        ferry_test_skip("five seconds, with FERRY_TEST_LONG=1");
        return;
    }
    io.file.path = path;
    strcpy(path, "damaged.h5");
    FX_FAILS(FERRY_EFORMAT, ferry__hdf5_prove(&io, never_ends));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "does not come to an end"));
}

/* As a newer libhdf5 would write it: that array alone cannot be read. */
static void one_that_cannot_be_opened_is_marked(void)
{
    unsigned char layout[10] = { 3, 1 }; /* version, in one piece; where */
    static unsigned char bytes[65536];
    const ferry_io_entry *entry;
    ferry_io *io = NULL;
    unsigned char *at;
    haddr_t place;
    float value;
    size_t size;
    hid_t set;
    FILE *file;

    make_begin();
    put_simple("a", 3);
    put_simple("b", 3);
    set = H5Dopen2(made, "b", H5P_DEFAULT);
    place = H5Dget_offset(set);
    H5Dclose(set);
    ferry_io_close(make_end());
    file = fopen(path, "r+b");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    for (int i = 0; i < 8; i++)
        layout[2 + i] = (unsigned char)(place >> 8 * i);
    at = memmem(bytes, size, layout, sizeof(layout));
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    fseek(file, at - bytes, SEEK_SET);
    fputc(9, file);
    fclose(file);
    FX_OK_FATAL(ferry_io_open(path, &io));
    check_ramp(io, "a", 1, 1);
    entry = find(io, "b");
    CU_ASSERT_PTR_NOT_NULL(strstr(entry->unreadable, "libhdf5 cannot open it: bad version"));
    CU_ASSERT_EQUAL(entry->count, 0);
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_read_values(io, entry, 0, 0, &value));
    ferry_io_close(io);
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

/* ---- strings of a variable length -------------------------------------------------------------- */

/* A file in which "note" is such a string, or an attribute of that name. */
static void make_text(const char *text, bool attribute)
{
    hid_t type = H5Tcopy(H5T_C_S1), set, space;

    H5Tset_size(type, H5T_VARIABLE);
    make_begin();
    put_simple("a", 3);
    if (attribute) {
        space = H5Screate(H5S_SCALAR);
        set = H5Acreate2(made, "note", type, space, H5P_DEFAULT, H5P_DEFAULT);
        CU_ASSERT(set >= 0 && H5Awrite(set, type, &text) >= 0);
        H5Aclose(set);
        H5Sclose(space);
    } else {
        set = put("note", type, NULL, H5P_DEFAULT, type, &text);
        H5Dclose(set);
    }
    H5Tclose(type);
    ferry_io_close(make_end());
}

/* What stands `offset` bytes behind the one place with these bytes becomes `value`. */
static void damage(const void *bytes, size_t size, long offset, uint32_t value)
{
    static unsigned char all[65536];
    FILE *file = fopen(path, "r+b");
    unsigned char *at;
    size_t n;

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    n = fread(all, 1, sizeof(all), file);
    at = memmem(all, n, bytes, size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    fseek(file, at - all + offset, SEEK_SET);
    for (int i = 0; i < 4; i++)
        fputc((int)(value >> 8 * i & 255), file);
    fclose(file);
}

/* The object in the heap says that it is longer than the reference: libhdf5 writes behind its buffer. */
static void what_breaks_when_the_file_is_closed_is_an_error(void)
{
    ferry_io *io = NULL;

    if (getenv("FERRY_TEST_VALGRIND")) {
        ferry_test_skip("valgrind lets libhdf5 write behind its buffer");
        return;
    }
    make_text("hello", false);
    damage("hello", 5, -8, 0x1105);
    FX_FAILS(FERRY_EFORMAT, ferry_io_open(path, &io));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "x.h5: is damaged: libhdf5 crashes"));
    ferry_io_close(io);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_crash_of_the_library_is_an_error_that_names_the_file),
    FERRY_TEST(an_endless_walk_is_an_error),
    FERRY_TEST(one_that_cannot_be_opened_is_marked),
    FERRY_TEST(every_byte_of_a_file_may_be_wrong),
    FERRY_TEST(what_breaks_when_the_file_is_closed_is_an_error),
};

int main(int argc, char **argv)
{
    return hdf5_main(argc, argv, "io-hdf5-damage", cases, FERRY_TEST_COUNT(cases));
}
