/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_IO_FOLDER_H
#define FERRY_TEST_IO_FOLDER_H

#include "fixture.h"

#include <ferry/io.h>

/*
 * Functions that tests that write files with libferryio share; each program has a folder of its
 * own.
 */

extern char folder[];

/* A path in the folder, in one of two rotating buffers. */
const char *in_folder(const char *name);

/* The number of files in the folder, including hidden ones. */
int files(void);

/* These end the case on failure. */
ferry_io_writer *create(const char *name, ferry_io_format format);
ferry_io *open_file(const char *name);

/* Element i is first + i % 50. */
void fill(ferry_blob *b, double first);

/* Creates the folder, runs the cases on each backend, and removes it. */
int io_folder_main(int argc, char **argv, const char *name, const ferry_test_case *cases,
                   size_t count);

#endif
