/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_LITTLE_H
#define FERRY_TEST_LITTLE_H

#include <stddef.h>
#include <string.h>

/* An array of this machine's elements as three arguments: values, size, size of an element. */
#define ELEMENTS(values) (values), sizeof(values), sizeof(*(values))

/* Copies elements little-endian, as files have them; `to` may be the values. */
static inline void *put_little(void *to, const void *values, size_t size, size_t element)
{
    const unsigned short one = 1;
    unsigned char *bytes = to;

    memmove(to, values, size);
    if (*(const unsigned char *)&one == 0)
        for (size_t i = 0; i + element <= size; i += element)
            for (size_t k = 0; k < element / 2; k++) {
                unsigned char byte = bytes[i + k];

                bytes[i + k] = bytes[i + element - 1 - k];
                bytes[i + element - 1 - k] = byte;
            }
    return to;
}

#endif
