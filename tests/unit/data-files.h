/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DATA_FILES_H
#define DATA_FILES_H

/*
 * What layers that read data read: pictures, lists and databases, and damaged ones, in a folder of the
 * test's own. Only where there are libpng and liblmdb.
 */

/* The folder: to be made before the first call. */
extern char df_folder[64];

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

#endif
