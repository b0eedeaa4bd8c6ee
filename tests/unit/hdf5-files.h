/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_HDF5_FILES_H
#define FERRY_TEST_HDF5_FILES_H

#include "fixture.h"

#include <ferry/io.h>

#include <hdf5.h>

/*
 * HDF5 files as other programs write them, with all features of the format: created here by libhdf5
 * itself.
 */

extern char folder[]; /* each program's own */
extern char path[64]; /* of the current file */
extern hid_t made;    /* the current file, while it is open */

void make_begin(void);

/* Closes the file and opens it with ferry; the first time as a trusted file. */
ferry_io *make_end(void);

#define DIMS(...) ((const hsize_t[]){ __VA_ARGS__, 0 })

/* Dims end with a 0. `plist` and `values` may be omitted. */
hid_t put(const char *name, hid_t type, const hsize_t *shape, hid_t plist, hid_t memory,
          const void *values);

/* That many F32: 1, 2, … */
void put_simple(const char *name, int n);

/* Finds an entry; ends the case if the file lacks it. */
const ferry_io_entry *find(ferry_io *io, const char *name);

/* The file's string of that name; "(none)". */
const char *about(ferry_io *io, const char *key);

/*
 * Reads the whole array, and reads it in tiles of several sizes; each value must be first + i ·
 * step.
 */
void check_ramp(ferry_io *io, const char *name, double first, double step);

/* Creates the folder, runs the cases, and removes it. */
int hdf5_main(int argc, char **argv, const char *name, const ferry_test_case *cases, size_t count);

#endif
