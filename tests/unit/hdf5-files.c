/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "hdf5-files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char folder[] = "/tmp/ferry-test-hdf5-XXXXXX";
char path[64];
hid_t made;

void make_begin(void)
{
    snprintf(path, sizeof(path), "%s/x.h5", folder);
    unlink(path); /* a file that a failed case has left open cannot be created again */
    made = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT_FATAL(made >= 0);
}

ferry_io *make_end(void)
{
    ferry_io *io = NULL;

    CU_ASSERT_EQUAL(H5Fclose(made), 0);
    FX_OK_FATAL(ferry_io_open_with(path, FERRY_IO_TRUST, &io));
    ferry_io_close(io);
    FX_OK_FATAL(ferry_io_open(path, &io));
    return io;
}

hid_t put(const char *name, hid_t type, const hsize_t *shape, hid_t plist, hid_t memory,
          const void *values)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE), space, set;
    int rank = 0;

    while (shape && shape[rank])
        rank++;
    H5Pset_create_intermediate_group(links, 1);
    space = rank ? H5Screate_simple(rank, shape, NULL) : H5Screate(H5S_SCALAR);
    set = H5Dcreate2(made, name, type, space, links, plist, H5P_DEFAULT);
    CU_ASSERT_FATAL(set >= 0);
    if (values)
        CU_ASSERT(H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Pclose(links);
    H5Sclose(space);
    return set;
}

void put_simple(const char *name, int n)
{
    float values[64];
    hid_t set;

    for (int i = 0; i < n; i++)
        values[i] = (float)i + 1;
    set = put(name, H5T_IEEE_F32LE, DIMS((hsize_t)n), H5P_DEFAULT, H5T_NATIVE_FLOAT, values);
    H5Dclose(set);
}

const ferry_io_entry *find(ferry_io *io, const char *name)
{
    const ferry_io_entry *entry = NULL;

    FX_OK_FATAL(ferry_io_entry_find(io, name, &entry));
    if (!entry)
        printf("  no %s\n", name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    return entry;
}

const char *about(ferry_io *io, const char *key)
{
    const char *k, *value;

    for (int64_t i = 0; i < ferry_io_metadata_count(io); i++)
        if (ferry_io_metadata_at(io, i, &k, &value) == FERRY_OK && strcmp(k, key) == 0)
            return value;
    return "(none)";
}

void check_ramp(ferry_io *io, const char *name, double first, double step)
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

int hdf5_main(int argc, char **argv, const char *name, const ferry_test_case *cases, size_t count)
{
    int status;

    if (!mkdtemp(folder)) {
        perror(folder);
        return 99;
    }
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    status = ferry_test_main(argc, argv, name, cases, count);
    if (H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) != 0) {
        puts("FAIL nothing_of_hdf5s_is_left_open");
        status = 1;
    }
    unlink(path);
    rmdir(folder);
    return status;
}
