/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "hdf5-files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The contents of a file: arrays, and other objects. */

/* As Caffe's solver writes its state: a string beside the history. */
static void a_string_is_read_as_metadata(void)
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
    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 3);
    check_ramp(io, "history/0", 1, 1);
    check_ramp(io, "iter", 7, 0);
    CU_ASSERT_STRING_EQUAL(find(io, "strings")->storage, "string");
    CU_ASSERT_PTR_NOT_NULL(find(io, "strings")->unreadable);
    ferry_io_close(io);
}

static void links_are_followed_or_reported(void)
{
    ferry_io *io;

    make_begin();
    put_simple("a/x", 3);
    H5Lcreate_hard(made, "a/x", made, "tied", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(made, "a", made, "b", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/a/x", made, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/x", made, "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
    io = make_end();
    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 2);
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
    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 4);
    CU_ASSERT_EQUAL(find(io, "conv/0")->has_diff, 1);
    CU_ASSERT_STRING_EQUAL(find(io, "conv/0")->layer_name, "conv");
    CU_ASSERT_EQUAL(find(io, "fc/0")->has_diff, 0);
    check_ramp(io, "diff/fc/0", 1, 1);
    check_ramp(io, "diff/gone/0", 1, 1);
    ferry_io_close(io);
}

/* An array's path is its name; blobs of layers are at Caffe's paths. */
static void arrays_have_the_paths_of_the_layout(bool weights)
{
    static const struct {
        const char *name, *path, *weights;
    } arrays[] = { { "embed/weight", "embed/weight", "embed/weight" },
                   { "conv/0", "conv/0", "data/conv/0" },
                   { "label", "label", "label" },
                   { "diff/x", "diff/x", "data/diff/x" },
                   { "top", "top", "top" } };
    int64_t shape[1] = { 1 };
    ferry_io_entry entry = {
        .struct_size = sizeof(entry), .dtype = FERRY_F32, .rank = 1, .shape = shape
    };
    ferry_io_writer *w = NULL;
    ferry_io *io = NULL;
    float value;
    hid_t file;

    snprintf(path, sizeof(path), "%s/x.h5", folder);
    FX_OK_FATAL(ferry_io_writer_create(path, FERRY_IO_HDF5, &w));
    if (weights)
        FX_OK(ferry_io_writer_set_layout(w, FERRY_IO_LAYOUT_WEIGHTS));
    for (size_t i = 0; i < FERRY_TEST_COUNT(arrays); i++) {
        entry.name = arrays[i].name;
        FX_OK(ferry_io_writer_declare(w, &entry));
    }
    for (size_t i = 0; i < FERRY_TEST_COUNT(arrays); i++) {
        value = (float)i;
        FX_OK(ferry_io_writer_write_values(w, &value, sizeof(value)));
    }
    FX_OK_FATAL(ferry_io_writer_commit(w));
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (size_t i = 0; i < FERRY_TEST_COUNT(arrays); i++) {
        hid_t set = H5Dopen2(file, weights ? arrays[i].weights : arrays[i].path, H5P_DEFAULT);

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

static void arrays_keep_their_paths_when_written(void)
{
    arrays_have_the_paths_of_the_layout(false);
    arrays_have_the_paths_of_the_layout(true);
}

/*
 * "data" and "label" of a training set are datasets of the root, as h5py and Caffe's HDF5Data
 * require.
 */
static void the_layout_does_not_depend_on_names(void)
{
    static const char *const names[] = { "data", "label", "diff", "conv1/0" };
    int64_t shape[1] = { 1 };
    ferry_io_writer *w = NULL;
    float value = 1;
    hid_t file;

    snprintf(path, sizeof(path), "%s/x.h5", folder);
    FX_OK_FATAL(ferry_io_writer_create(path, FERRY_IO_HDF5, &w));
    for (size_t i = 0; i < FERRY_TEST_COUNT(names); i++)
        FX_OK(ferry_io_writer_declare(w, &(ferry_io_entry){ .struct_size = sizeof(ferry_io_entry),
                                                            .name = names[i],
                                                            .dtype = FERRY_F32,
                                                            .rank = 1,
                                                            .shape = shape }));
    for (size_t i = 0; i < FERRY_TEST_COUNT(names); i++)
        FX_OK(ferry_io_writer_write_values(w, &value, sizeof(value)));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_set_layout(w, FERRY_IO_LAYOUT_WEIGHTS));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (size_t i = 0; i < FERRY_TEST_COUNT(names); i++) {
        H5O_info_t info = { .type = H5O_TYPE_UNKNOWN };

        CU_ASSERT(H5Oget_info_by_name2(file, names[i], &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0);
        CU_ASSERT_EQUAL(info.type, H5O_TYPE_DATASET);
    }
    H5Fclose(file);
}

static void only_hdf5_accepts_a_layout(void)
{
    ferry_io_writer *w = NULL;

    FX_FAILS(FERRY_EINVAL, ferry_io_writer_set_layout(NULL, FERRY_IO_LAYOUT_PLAIN));
    snprintf(path, sizeof(path), "%s/x.npz", folder);
    FX_OK_FATAL(ferry_io_writer_create(path, FERRY_IO_NPZ, &w));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_writer_set_layout(w, FERRY_IO_LAYOUT_WEIGHTS));
    ferry_io_writer_abort(w);
    snprintf(path, sizeof(path), "%s/x.h5", folder);
    FX_OK_FATAL(ferry_io_writer_create(path, FERRY_IO_HDF5, &w));
    FX_FAILS(FERRY_EINVAL, ferry_io_writer_set_layout(w, (ferry_io_layout)7));
    ferry_io_writer_abort(w);
}

/* The driver's name is in the superblock field that describes how the file is split. */
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
}

static void write_text(const char *name, const char *text)
{
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static void rename_to(const char *name)
{
    char to[64];

    snprintf(to, sizeof(to), "%s/%s", folder, name);
    CU_ASSERT_EQUAL(rename(path, to), 0);
    snprintf(path, sizeof(path), "%s", to);
}

/* They do not begin like HDF5: only their names lead to the first file. */
static void the_error_for_a_later_family_member_names_the_first_file(void)
{
    static const struct {
        const char *first, *later;
        bool found;
    } names[] = { { "f0.h5", "f1.h5", true },    { "f00.h5", "f12.h5", true },
                  { "f0.h5", "f12.h5", true },   { "a0-2.h5", "a3-2.h5", true },
                  { "f0.h5", "g1.h5", false },   { "f0.h5", "f0.h6", false },
                  { "f000.h5", "f1.h5", false }, { "f0", "f1", true } };

    for (size_t i = 0; i < FERRY_TEST_COUNT(names); i++) {
        ferry_io *io = NULL;

        a_member_of_a_family_is_named();
        rename_to(names[i].first);
        write_text(names[i].later, "\x12\x07text of the middle part");
        FX_FAILS(names[i].found ? FERRY_EUNSUPPORTED : FERRY_EFORMAT, ferry_io_open(path, &io));
        CU_ASSERT_EQUAL(strstr(ferry_last_error(), "is a member of an HDF5 family that begins "
                                                   "with ") != NULL,
                        names[i].found);
        if (names[i].found)
            CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), names[i].first));
        unlink(path);
        snprintf(path, sizeof(path), "%s/%s", folder, names[i].first);
        unlink(path);
    }
}

/* Every second name of a group is reported, for any number of names. */
static void many_groups_may_have_two_names(void)
{
    char name[32];
    ferry_io *io;
    hid_t group;

    make_begin();
    put_simple("x", 2);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "g%03d", i);
        group = H5Gcreate2(made, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        snprintf(name, sizeof(name), "h%03d", i);
        H5Lcreate_hard(group, ".", made, name, H5P_DEFAULT, H5P_DEFAULT);
        H5Lcreate_hard(made, "/", group, "root", H5P_DEFAULT, H5P_DEFAULT);
        H5Gclose(group);
    }
    io = make_end();
    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 1);
    CU_ASSERT_EQUAL(ferry_io_metadata_count(io), 400);
    CU_ASSERT_PTR_NOT_NULL(strstr(about(io, "link h199"), "hard link"));
    CU_ASSERT_PTR_NOT_NULL(strstr(about(io, "link g199/root"), "hard link"));
    ferry_io_close(io);
}

/* Such a long chain never occurs in a file of weights, and libhdf5 takes minutes to follow it. */
static void groups_are_not_followed_forever(void)
{
    hid_t group, next;
    ferry_io *io = NULL;
    char name[512] = "";

    make_begin();
    for (int i = 0; i < 90; i++)
        strcat(name, "g/");
    strcat(name, "x");
    put_simple(name, 2);
    io = make_end();
    check_ramp(io, name, 1, 1);
    ferry_io_close(io);

    make_begin();
    group = H5Gcreate2(made, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < 3000; i++, group = next) {
        next = H5Gcreate2(group, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Gclose(group);
    }
    H5Gclose(group);
    H5Fclose(made);
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_open(path, &io));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "groups nest deeper than 100"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_string_is_read_as_metadata),
    FERRY_TEST(links_are_followed_or_reported),
    FERRY_TEST(a_diff_without_data_is_an_array),
    FERRY_TEST(arrays_keep_their_paths_when_written),
    FERRY_TEST(the_layout_does_not_depend_on_names),
    FERRY_TEST(only_hdf5_accepts_a_layout),
    FERRY_TEST(a_member_of_a_family_is_named),
    FERRY_TEST(the_error_for_a_later_family_member_names_the_first_file),
    FERRY_TEST(many_groups_may_have_two_names),
    FERRY_TEST(groups_are_not_followed_forever),
};

int main(int argc, char **argv)
{
    return hdf5_main(argc, argv, "io-hdf5", cases, FERRY_TEST_COUNT(cases));
}
