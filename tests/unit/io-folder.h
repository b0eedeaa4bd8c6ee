/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_IO_FOLDER_H
#define FERRY_TEST_IO_FOLDER_H

#include "fixture.h"

#include <ferry/io.h>

/* What tests that write files with libferryio share; each program has a folder of its own. */

extern char folder[];

/* A path in the folder; one of two that take turns. */
const char *in_folder(const char *name);

/* How many files there are in the folder, hidden ones too. */
int files(void);

/* These end the case where they fail. */
ferry_io_writer *create(const char *name, ferry_io_format format);
ferry_io *open_file(const char *name);

/* Element i is first + i % 50. */
void fill(ferry_blob *b, double first);

/* Makes the folder, runs the cases on each backend, and removes it. */
int io_folder_main(int argc, char **argv, const char *name, const ferry_test_case *cases,
                   size_t count);

#endif
