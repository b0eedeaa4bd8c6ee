/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is at an address, once a file is loaded, as far as it comes from the file. Tables are read from
 * front to back: more than is asked for is read at once.
 */
#ifndef FERRY_CORE_ELF_AHEAD_H
#define FERRY_CORE_ELF_AHEAD_H

#include "core/load/elf_check.h"

/* Zeroes but for the file and its layout, in which nothing is wrong. */
struct ferry__ahead {
    const struct ferry__bytes *file;
    const struct ferry__layout *layout;
    uint64_t begin, known; /* of the file, in `chunk` */
    unsigned char chunk[4096];
};

/* False where no segment has all of these bytes in the file, or they cannot be read. */
bool ferry__ahead_read(struct ferry__ahead *a, uint64_t address, void *out, size_t size);

#endif
