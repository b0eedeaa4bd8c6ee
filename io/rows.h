/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values stored as rows of common/rows.h: for each index of axis 0, the magnitude, a float in
 * little-endian order, and the integers. They are read as F32. A row has an integer of 127 or −127,
 * or only zeros and the magnitude 0: reading others is FERRY_EFORMAT.
 */
#ifndef FERRY_IO_ROWS_H
#define FERRY_IO_ROWS_H

#include "file_map.h"

#include <stdint.h>

/* The bytes of a magnitude. */
#define FERRY__ROWS_HEAD 4

/* The bytes of an array with rank ≥ 1 and count > 0. */
uint64_t ferry__rows_size(const int64_t *shape, int64_t count);

/* Rows of `each` integers from offset `at` of a file on. */
struct ferry__rows {
    const struct ferry__io_file *file;
    uint64_t at;
    int64_t each;
};

/* Reads elements start … start + count − 1; the range is valid. */
int ferry__rows_read(const struct ferry__rows *r, int64_t start, int64_t count, float *out);

/* Reads the integers and the magnitudes of the first `rows` rows; either may be NULL. */
int ferry__rows_integers(const struct ferry__rows *r, int64_t rows, int8_t *integers,
                         float *magnitudes);

/* Stores the magnitude of a row at the FERRY__ROWS_HEAD bytes before its integers. */
void ferry__rows_put(float magnitude, unsigned char *head);

#endif
