/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "hdf5-files.h"

#include "io/hdf5_proof.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Damaged files, and libhdf5's behaviour with them. */

static int crashes(struct ferry_io *io)
{
    (void)io;
    fprintf(stderr, "a line that must not be visible\n");
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
    io->count = 7; /* changes only the child's copy */
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
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void an_endless_loop_in_libhdf5_is_an_error(void)
{
    struct ferry_io io = { .count = 3 };

    if (!getenv("FERRY_TEST_LONG")) {
        ferry_test_skip("it takes five seconds: FERRY_TEST_LONG=1");
        return;
    }
    io.file.path = path;
    strcpy(path, "damaged.h5");
    FX_FAILS(FERRY_EFORMAT, ferry__hdf5_prove(&io, never_ends));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "does not finish reading its headers"));
}

static atomic_int *children; /* shared with them */

/* The first child waits forever, as for a lock that a thread of its parent held. */
static int waits_once(struct ferry_io *io)
{
    (void)io;
    while (atomic_fetch_add(children, 1) == 0)
        pause();
    return FERRY_OK;
}

static void a_child_that_hangs_is_replaced_by_another(void)
{
    struct ferry_io io = { .count = 3 };

    if (!getenv("FERRY_TEST_LONG")) {
        ferry_test_skip("it takes five seconds: FERRY_TEST_LONG=1");
        return;
    }
    io.file.path = path;
    strcpy(path, "sound.h5");
    children = mmap(NULL, sizeof *children, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                    0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(children, MAP_FAILED);
    FX_OK(ferry__hdf5_prove(&io, waits_once));
    CU_ASSERT_EQUAL(atomic_load(children), 2);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    munmap(children, sizeof *children);
}

/* As written by a newer libhdf5: only that array cannot be read. */
static void an_array_that_cannot_be_opened_is_marked(void)
{
    unsigned char layout[10] = { 3, 1 }; /* version, contiguous; address */
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

/* Each byte of a small file set to 0 and to 255: libhdf5 opens the file or reports an error. */
static void a_file_with_any_changed_byte_is_read_or_refused(void)
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
        for (int64_t k = 0; k < ferry_io_entry_count(io); k++) {
            const ferry_io_entry *entry;

            FX_OK(ferry_io_entry_at(io, k, &entry));
            if (entry->count <= 64 && ferry_dtype_size(entry->dtype) <= sizeof(float))
                (void)ferry_io_read_values(io, entry, 0, entry->count, out);
        }
        ferry_io_close(io);
    }
}

/* ---- strings of a variable length ------------------------------------------------------------ */

/* A file with a string of variable length: a dataset "note", or an attribute of that name. */
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

static unsigned char *read_file(size_t *out_size)
{
    static unsigned char bytes[65536];
    FILE *file = fopen(path, "rb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    *out_size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    return bytes;
}

static void put_number(long at, uint32_t value)
{
    FILE *file = fopen(path, "r+b");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fseek(file, at, SEEK_SET);
    for (int i = 0; i < 4; i++)
        fputc((int)(value >> 8 * i & 255), file);
    fclose(file);
}

/* The length of the only object in the heap. */
static void claim_in_object(uint32_t length)
{
    size_t size;
    unsigned char *bytes = read_file(&size), *heap = memmem(bytes, size, "GCOL", 4);

    CU_ASSERT_PTR_NOT_NULL_FATAL(heap);
    put_number(heap - bytes + 24, length);
}

/* Sets the length in the reference to the object, where it precedes the address of the heap. */
static void claim_in_reference(uint32_t length)
{
    size_t size;
    unsigned char *bytes = read_file(&size), *heap = memmem(bytes, size, "GCOL", 4), *at;
    unsigned char reference[16] = { 5 };

    CU_ASSERT_PTR_NOT_NULL_FATAL(heap);
    for (int i = 0; i < 8; i++)
        reference[4 + i] = (unsigned char)((uint64_t)(heap - bytes) >> 8 * i);
    reference[12] = 1;
    at = memmem(bytes, size, reference, sizeof(reference));
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    put_number(at - bytes, length);
}

static int copy_attributes(ferry_io *io)
{
    ferry_io_writer *w = NULL;
    char copied[80];
    int err;

    snprintf(copied, sizeof(copied), "%s/y.h5", folder);
    FX_OK_FATAL(ferry_io_writer_create(copied, FERRY_IO_HDF5, &w));
    err = ferry_io_writer_copy_attributes(w, io, NULL, NULL);
    ferry_io_writer_abort(w);
    return err;
}

/* libhdf5 allocates by the length in the reference, and reads by that of the object. */
static void a_string_with_a_wrong_length_is_reported(void)
{
    static const uint32_t lengths[] = { 0, 4, 6, 0x1105, 0xffffffff };
    const char *was = "x.h5: note: is damaged: its length differs from that of its text";
    ferry_io *io = NULL;

    make_text("hello", false);
    FX_OK_FATAL(ferry_io_open(path, &io));
    CU_ASSERT_STRING_EQUAL(about(io, "note"), "hello");
    ferry_io_close(io);
    for (size_t i = 0; i < FERRY_TEST_COUNT(lengths); i++)
        for (int trusted = 0; trusted < 2; trusted++) {
            make_text("hello", false);
            claim_in_object(lengths[i]);
            FX_FAILS(FERRY_EFORMAT, ferry_io_open_with(path, trusted ? FERRY_IO_TRUST : 0, &io));
            CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), was));
        }
}

/* A user block moves all addresses, including the undefined one. */
static void strings_of_a_file_with_a_user_block_are_read(void)
{
    hid_t plist = H5Pcreate(H5P_FILE_CREATE), type = H5Tcopy(H5T_C_S1);
    const char *text = "hello";
    ferry_io *io;

    H5Tset_size(type, H5T_VARIABLE);
    snprintf(path, sizeof(path), "%s/x.h5", folder);
    H5Pset_userblock(plist, 512);
    made = H5Fcreate(path, H5F_ACC_TRUNC, plist, H5P_DEFAULT);
    CU_ASSERT_FATAL(made >= 0);
    H5Dclose(put("written", type, NULL, H5P_DEFAULT, type, &text));
    H5Dclose(put("never", type, NULL, H5P_DEFAULT, type, NULL));
    H5Pclose(plist);
    H5Tclose(type);
    io = make_end();
    CU_ASSERT_STRING_EQUAL(about(io, "written"), "hello");
    CU_ASSERT_STRING_EQUAL(about(io, "never"), "");
    ferry_io_close(io);
}

/* The maximum memory of the children, in KiB; before this case they need little. */
static long children_took(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return usage.ru_maxrss;
}

/* Whether the system limits the addresses of a process; qemu-user ignores the limit. */
static bool addresses_are_limited(void)
{
    const struct rlimit limit = { 256 << 20, 256 << 20 };
    int status = 1;
    pid_t child = fork();

    if (child == 0) {
        setrlimit(RLIMIT_AS, &limit);
        _exit(mmap(NULL, 512 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* The reference claims 4 GiB minus one byte. */
static void a_claimed_length_of_gigabytes_allocates_no_memory(void)
{
    ferry_io *io = NULL;

    if (!addresses_are_limited()) {
        ferry_test_skip("RLIMIT_AS has no effect");
        return;
    }
    for (int attribute = 0; attribute < 2; attribute++) {
        make_text("hello", attribute);
        claim_in_reference(0xffffffff);
        if (attribute) {
            FX_OK_FATAL(ferry_io_open(path, &io));
            FX_FAILS(FERRY_EFORMAT, copy_attributes(io));
            ferry_io_close(io);
        } else {
            FX_FAILS(FERRY_EFORMAT, ferry_io_open(path, &io));
        }
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "x.h5: "));
    }
    CU_ASSERT(children_took() < 200 * 1024);
}

/* ---- the end of the process ------------------------------------------------------------------ */

enum { QUIET = 7, LOUD };

static bool looking;

/* Runs after ferry's exit handlers, and before libhdf5's. */
static void look(void)
{
    H5E_auto2_t print = NULL;
    void *arg;

    if (!looking)
        return;
    H5Eget_auto2(H5E_DEFAULT, &print, &arg);
    _exit(print ? LOUD : QUIET);
}

/* A damaged file can leave libhdf5 in a state that it reports on exit, if errors are printed. */
static void libhdf5_prints_nothing_at_exit(void)
{
    int status = -1;
    pid_t child;

    make_begin();
    put_simple("a", 3);
    ferry_io_close(make_end());
    child = fork();
    if (child == 0) {
        looking = true;
        H5Eset_auto2(H5E_DEFAULT, (H5E_auto2_t)H5Eprint2, NULL);
        exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT(WIFEXITED(status));
    CU_ASSERT_EQUAL(WEXITSTATUS(status), QUIET);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_crash_of_the_library_is_an_error_that_names_the_file),
    FERRY_TEST(an_endless_loop_in_libhdf5_is_an_error),
    FERRY_TEST(a_child_that_hangs_is_replaced_by_another),
    FERRY_TEST(an_array_that_cannot_be_opened_is_marked),
    FERRY_TEST(a_file_with_any_changed_byte_is_read_or_refused),
    FERRY_TEST(a_string_with_a_wrong_length_is_reported),
    FERRY_TEST(strings_of_a_file_with_a_user_block_are_read),
    FERRY_TEST(a_claimed_length_of_gigabytes_allocates_no_memory),
    FERRY_TEST(libhdf5_prints_nothing_at_exit),
};

int main(int argc, char **argv)
{
    if (atexit(look) != 0)
        return 99;
    return hdf5_main(argc, argv, "io-hdf5-damage", cases, FERRY_TEST_COUNT(cases));
}
