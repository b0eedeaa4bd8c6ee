/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_SHA256_H
#define FERRY_TOOL_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* SHA-256 as defined by FIPS 180-4. */
struct sha256 {
    uint32_t state[8];
    uint64_t size; /* the number of processed bytes */
    unsigned char block[64];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t size);

/* Writes 64 hexadecimal digits and a NUL. */
void sha256_end(struct sha256 *s, char out[65]);

#endif
