/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "array-files.h"

#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The command on HDF5 files that contain more than arrays. */

static hid_t begin(const char *name)
{
    hid_t file = H5Fcreate(in_folder(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    CU_ASSERT_FATAL(file >= 0);
    return file;
}

static void put(hid_t file, const char *name, hid_t type, hid_t memory, const void *values)
{
    const hsize_t shape[1] = { 3 };
    hid_t space = H5Screate_simple(1, shape, NULL);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    CU_ASSERT_FATAL(set >= 0);
    CU_ASSERT(H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Sclose(space);
}

static void links_are_reported_by_every_command_that_lists_arrays(void)
{
    static const float values[] = { 1, 2, 3 };
    char name[32];
    hid_t file;

    fx_device();
    file = begin("a.h5");
    put(file, "x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values);
    H5Lcreate_soft("/x", file, "s\x1b[31m", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("b.h5", "/x", file, "away", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    CU_ASSERT_EQUAL(ferry("inspect a.h5"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "note: link away: a link to another file, not followed\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "note: link s"));
    CU_ASSERT_PTR_NULL(strstr(out, "\x1b[31m"));
    CU_ASSERT_EQUAL(ferry("convert a.h5 b.safetensors"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "link away is not carried over: a link to another file"));
    CU_ASSERT_EQUAL(ferry("inspect b.safetensors --json"), 0);
    CU_ASSERT_PTR_NULL(strstr(out, "link"));

    file = H5Fopen(in_folder("a.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "t%d", i);
        H5Lcreate_soft("/x", file, name, H5P_DEFAULT, H5P_DEFAULT);
    }
    H5Fclose(file);
    CU_ASSERT_EQUAL(ferry("inspect a.h5"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "note: and 12 more links\n"));
    CU_ASSERT_EQUAL(ferry("convert a.h5 c.h5"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "and 19 more links"));
    clean();
    fx_end();
}

/* No dtype has 2^63: that array is marked, and the others are shown. */
static void a_value_out_of_range_marks_only_its_array(void)
{
    static const uint64_t wide[] = { 1, UINT64_C(1) << 63, 3 }, fits[] = { 4, 5, 6 };
    hid_t file;

    fx_device();
    file = begin("u.h5");
    put(file, "fits", H5T_STD_U64LE, H5T_NATIVE_UINT64, fits);
    put(file, "wide", H5T_STD_U64LE, H5T_NATIVE_UINT64, wide);
    H5Fclose(file);
    CU_ASSERT_EQUAL(ferry("inspect u.h5"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "  a value of U64 is beyond I64\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, " 15 "));
    CU_ASSERT_EQUAL(ferry("inspect u.h5 --stats --sha256 --sort l1 --plot p.svg"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "a value of U64 is beyond I64\n"));
    CU_ASSERT_EQUAL(ferry("inspect u.h5 --json --stats"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\"unreadable\": \"a value of U64 is beyond I64\""));
    CU_ASSERT_EQUAL(ferry("convert u.h5 v.npz"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "wide: element 1 of U64 is beyond I64"));
    clean();
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(links_are_reported_by_every_command_that_lists_arrays),
    FERRY_TEST(a_value_out_of_range_marks_only_its_array),
};

int main(int argc, char **argv)
{
    return array_files_main(argc, argv, "command-hdf5", cases, FERRY_TEST_COUNT(cases), NULL, 0);
}
