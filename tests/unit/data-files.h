/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DATA_FILES_H
#define DATA_FILES_H

#include "ferry-test.h"

/*
 * What layers that read data read: pictures, lists and databases, and damaged ones, in a folder of the
 * test's own. Only where there are libpng and liblmdb.
 */

/* A path in it; lives until the fourth call from now. */
const char *df_in(const char *name);

/* Value of a channel, blue first, of picture `seed`. */
unsigned char df_pixel(int seed, int c, int y, int x);

void df_write_text(const char *name, const char *text);

/*
 * Pictures "0", "1", "2" of 4 x 6 and "odd" of 3 x 5, lists and databases of them, those that are damaged;
 * "written" comes last.
 */
void df_write_files(void);

/* As ferry_test_main_backends, in such a folder, which goes with it. */
int df_main(int argc, char **argv, const char *name, const ferry_test_case *cases, size_t count);

#endif
