/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "oom.h"

#include <ferry/io.h>

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Attributes of HDF5 files, from file to file. The program has a folder of its own. */

static void put_set(hid_t file, const char *name)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE), space = H5Screate(H5S_SCALAR), set;
    float value = 1;

    H5Pset_create_intermediate_group(links, 1);
    set = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT_FATAL(set >= 0);
    CU_ASSERT(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(links);
}

/* `n` elements; 0: a scalar. Takes ownership of the type. */
static void put_attribute(hid_t file, const char *path, const char *name, hid_t type, hsize_t n,
                          hid_t memory, const void *value)
{
    hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    hid_t space = n ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR);
    hid_t id = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);

    CU_ASSERT_FATAL(id >= 0);
    CU_ASSERT(H5Awrite(id, memory < 0 ? type : memory, value) >= 0);
    H5Aclose(id);
    H5Sclose(space);
    H5Oclose(object);
    H5Tclose(type);
}

static hid_t text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    H5Tset_size(type, H5T_VARIABLE);
    return type;
}

/*
 * Attributes as h5py and Keras write them, and some that no copy can represent. `long_one`: also an
 * attribute of 80,000 bytes.
 */
static void make_file(bool long_one)
{
    static double many[10000];
    const char *text = "adam", *names[2] = { "conv", "fc" };
    const int32_t numbers[3] = { 1, -2, 3 };
    const double rate = 0.25;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file;
    hobj_ref_t reference;

    if (long_one)
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    CU_ASSERT_FATAL(file >= 0);
    put_set(file, "model/conv/kernel");
    put_set(file, "other");
    put_attribute(file, "/", "optimizer", text_type(), 0, -1, &text);
    put_attribute(file, "model", "layers", text_type(), 2, -1, names);
    put_attribute(file, "model/conv", "numbers", H5Tcopy(H5T_STD_I32BE), 3, H5T_NATIVE_INT32,
                  numbers);
    put_attribute(file, "model/conv/kernel", "rate", H5Tcopy(H5T_IEEE_F64BE), 0, H5T_NATIVE_DOUBLE,
                  &rate);
    put_attribute(file, "other", "rate", H5Tcopy(H5T_IEEE_F64LE), 0, H5T_NATIVE_DOUBLE, &rate);
    CU_ASSERT(H5Rcreate(&reference, file, "other", H5R_OBJECT, -1) >= 0);
    put_attribute(file, "other", "scale", H5Tcopy(H5T_STD_REF_OBJ), 0, -1, &reference);
    if (long_one)
        put_attribute(file, "other", "many", H5Tcopy(H5T_IEEE_F64LE), 10000, H5T_NATIVE_DOUBLE,
                      many);
    H5Pclose(access);
    CU_ASSERT_EQUAL(H5Fclose(file), 0);
}

static char left[4096];

static void note(void *arg, const char *path, const char *name, const char *why)
{
    size_t used = strlen(left);

    CU_ASSERT_PTR_EQUAL(arg, left);
    snprintf(left + used, sizeof(left) - used, "/%s %s %s\n", path, name, why);
}

/* The arrays of a.h5, or all but the first, with attributes. */
static int copy(ferry_io_format format, int64_t arrays, unsigned flags)
{
    ferry_io *io = NULL;
    ferry_io_writer *w = NULL;
    float value = 2;
    int err = ferry_io_open_with("a.h5", flags, &io);

    left[0] = '\0';
    if (!err)
        err = ferry_io_writer_create("b.h5", format, &w);
    for (int64_t i = 0; i < arrays && !err; i++) {
        const ferry_io_entry *entry = NULL;
        ferry_io_entry own;

        err = ferry_io_entry_at(io, i, &entry);
        if (!err) {
            own = *entry;
            own.struct_size = sizeof(own);
            err = ferry_io_writer_declare(w, &own);
        }
    }
    if (!err)
        err = ferry_io_writer_copy_attributes(w, io, note, left);
    for (int64_t i = 0; i < arrays && !err; i++)
        err = ferry_io_writer_write_values(w, &value, sizeof(value));
    if (!err)
        err = ferry_io_writer_commit(w);
    else
        ferry_io_writer_abort(w);
    ferry_io_close(io);
    return err;
}

/* An attribute of b.h5 as a double; −1 if the object lacks it. */
static double number(const char *path, const char *name, int i)
{
    hid_t file = H5Fopen("b.h5", H5F_ACC_RDONLY, H5P_DEFAULT), id = -1;
    double values[4] = { -1, -1, -1, -1 };

    CU_ASSERT_FATAL(file >= 0);
    H5E_BEGIN_TRY
    {
        id = H5Aopen_by_name(file, path, name, H5P_DEFAULT, H5P_DEFAULT);
    }
    H5E_END_TRY;
    if (id >= 0) {
        CU_ASSERT(H5Aread(id, H5T_NATIVE_DOUBLE, values) >= 0);
        H5Aclose(id);
    }
    H5Fclose(file);
    return values[i];
}

static void check_text(const char *path, const char *name, int i, const char *wanted)
{
    hid_t file = H5Fopen("b.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t id = H5Aopen_by_name(file, path, name, H5P_DEFAULT, H5P_DEFAULT), type = text_type();
    char *texts[2] = { NULL, NULL };

    CU_ASSERT_FATAL(id >= 0);
    CU_ASSERT(H5Aread(id, type, texts) >= 0);
    CU_ASSERT_STRING_EQUAL(texts[i], wanted);
    H5free_memory(texts[0]);
    H5free_memory(texts[1]);
    H5Tclose(type);
    H5Aclose(id);
    H5Fclose(file);
}

static void attributes_are_copied_with_the_arrays(void)
{
    make_file(true);
    FX_OK_FATAL(copy(FERRY_IO_HDF5, 2, 0));
    check_text("/", "optimizer", 0, "adam");
    check_text("model", "layers", 1, "fc");
    CU_ASSERT_EQUAL(number("model/conv", "numbers", 1), -2);
    CU_ASSERT_EQUAL(number("model/conv/kernel", "rate", 0), 0.25);
    CU_ASSERT_EQUAL(number("other", "rate", 0), 0.25);
    CU_ASSERT_EQUAL(number("other", "scale", 0), -1);
    CU_ASSERT_STRING_EQUAL(left, "/other many is longer than 64000 bytes\n"
                                 "/other scale refers to an address in the old file\n");
}

static void dropped_data_are_reported(void)
{
    make_file(false);
    FX_OK_FATAL(copy(FERRY_IO_HDF5, 1, 0));
    CU_ASSERT_EQUAL(number("model/conv/kernel", "rate", 0), 0.25);
    CU_ASSERT_STRING_EQUAL(left,
                           "/other rate the object that it belongs to is not in the new file\n"
                           "/other scale refers to an address in the old file\n");
    FX_OK_FATAL(copy(FERRY_IO_SAFETENSORS, 2, 0));
    CU_ASSERT_PTR_NOT_NULL(strstr(left, "/ optimizer the new file's format has no attributes\n"));
}

/* Makes a file with one array at the path, with an attribute. */
static void make_single(const char *path)
{
    hid_t file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const double rate = 0.25;

    CU_ASSERT_FATAL(file >= 0);
    put_set(file, path);
    put_attribute(file, path, "rate", H5Tcopy(H5T_IEEE_F64LE), 0, H5T_NATIVE_DOUBLE, &rate);
    CU_ASSERT_EQUAL(H5Fclose(file), 0);
}

/*
 * Includes objects that would be under /data if copied from another format, and those that Caffe
 * puts there.
 */
static void arrays_keep_their_hdf5_paths(void)
{
    static const char *const paths[] = { "layer/0", "history/0",   "data",   "diff/x",
                                         "data/x",  "data/conv/0", "embed/w" };

    for (size_t i = 0; i < FERRY_TEST_COUNT(paths); i++) {
        make_single(paths[i]);
        FX_OK_FATAL(copy(FERRY_IO_HDF5, 1, 0));
        CU_ASSERT_STRING_EQUAL(left, "");
        CU_ASSERT_EQUAL(number(paths[i], "rate", 0), 0.25);
    }
}

/*
 * The oldest headers search all of an object's attributes for each new one, and do not hold 65,536.
 */
static void many_attributes_are_stored_with_an_index(void)
{
    hid_t made = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), file;
    H5O_info_t info = { .rc = 0 };
    char name[16];

    CU_ASSERT_FATAL(made >= 0);
    put_set(made, "x");
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "a%d", i);
        put_attribute(made, "x", name, H5Tcopy(H5T_STD_I32LE), 0, H5T_NATIVE_INT, &i);
    }
    CU_ASSERT_EQUAL(H5Fclose(made), 0);
    FX_OK_FATAL(copy(FERRY_IO_HDF5, 1, 0));
    CU_ASSERT_EQUAL(number("x", "a999", 0), 999);
    file = H5Fopen("b.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    CU_ASSERT(H5Oget_info_by_name2(file, "x", &info, H5O_INFO_HDR | H5O_INFO_NUM_ATTRS,
                                   H5P_DEFAULT) >= 0);
    H5Fclose(file);
    CU_ASSERT_EQUAL(info.num_attrs, 1000);
    CU_ASSERT_EQUAL(info.hdr.version, 2);
}

static void attributes_are_copied_before_the_first_value_is_written(void)
{
    ferry_io_writer *w = NULL;
    ferry_io *io = NULL;
    float value = 0;

    make_file(false);
    FX_OK_FATAL(ferry_io_open("a.h5", &io));
    FX_OK_FATAL(ferry_io_writer_create("b.h5", FERRY_IO_HDF5, &w));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_copy_attributes(NULL, io, NULL, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_copy_attributes(w, NULL, NULL, NULL));
    FX_OK(ferry_io_writer_declare(w, &(ferry_io_entry){ .struct_size = sizeof(ferry_io_entry),
                                                        .name = "x",
                                                        .dtype = FERRY_F32 }));
    FX_OK(ferry_io_writer_copy_attributes(w, io, NULL, NULL));
    FX_OK(ferry_io_writer_write_values(w, &value, sizeof(value)));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_copy_attributes(w, io, NULL, NULL));
    FX_OK(ferry_io_writer_commit(w));
    ferry_io_close(io);
    check_text("/", "optimizer", 0, "adam");
}

static void every_allocation_may_fail(void)
{
    bool failed = true;

    make_file(false);
    for (unsigned n = 1; failed; n++) {
        int err;

        oom_arm(n);
        err = copy(FERRY_IO_HDF5, 2, FERRY_IO_TRUST); /* a child would fail instead of this process
                                                       */
        failed = oom_disarm();
        CU_ASSERT_EQUAL(err, failed ? FERRY_ENOMEM : FERRY_OK);
        CU_ASSERT_FATAL(n < 1000);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(attributes_are_copied_with_the_arrays),
    FERRY_TEST(dropped_data_are_reported),
    FERRY_TEST(arrays_keep_their_hdf5_paths),
    FERRY_TEST(attributes_are_copied_before_the_first_value_is_written),
    FERRY_TEST(every_allocation_may_fail),
    FERRY_TEST(many_attributes_are_stored_with_an_index),
};

int main(int argc, char **argv)
{
    static char folder[] = "/tmp/ferry-test-attributes-XXXXXX";
    int status;

    if (!mkdtemp(folder) || chdir(folder) != 0) {
        perror(folder);
        return 1;
    }
    status = ferry_test_main(argc, argv, "io-attributes", cases, FERRY_TEST_COUNT(cases));
    unlink("a.h5");
    unlink("b.h5");
    rmdir(folder);
    return status;
}
