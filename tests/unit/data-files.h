/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DATA_FILES_H
#define DATA_FILES_H

#include "ferry-test.h"

/*
 * Inputs of data layers: pictures, lists and databases, and damaged ones, in a folder of the test.
 * Requires libpng and liblmdb.
 */

/* A path in the folder; valid until the fourth later call. */
const char *df_in(const char *name);

/* Value of a channel, blue first, of picture `seed`. */
unsigned char df_pixel(int seed, int c, int y, int x);

void df_write_text(const char *name, const char *text);

/*
 * Writes pictures "0", "1", "2" of 4 x 6 and "odd" of 3 x 5, lists and databases of them, and
 * damaged ones; "written" is created last.
 */
void df_write_files(void);

/* Like ferry_test_main_backends, in such a folder, which is removed at the end. */
int df_main(int argc, char **argv, const char *name, const ferry_test_case *cases, size_t count);

#endif
