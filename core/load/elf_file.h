/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes and program headers of an ELF file of either class. The file may be malformed. */
#ifndef FERRY_CORE_ELF_FILE_H
#define FERRY_CORE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file, or bytes in memory (fd −1; all of them). */
struct ferry__bytes {
    int fd;
    const unsigned char *memory; /* for a file: its `known` bytes from `begin` on, read already */
    uint64_t begin, known, size;
};

/* Where the program headers are. */
struct ferry__segments {
    uint64_t offset;
    unsigned count, size;
    bool wide; /* ELFCLASS64 */
};

struct ferry__segment {
    uint32_t type, flags;
    uint64_t offset, size;    /* in the file */
    uint64_t address, memory; /* its address and size in memory */
    uint64_t align;
};

/*
 * Reads bytes. False if the file ends before them, or cannot be read: errno distinguishes the two.
 */
bool ferry__elf_read(const struct ferry__bytes *file, uint64_t offset, void *out, size_t size);
bool ferry__elf_segment(const struct ferry__bytes *file, const struct ferry__segments *segments,
                        unsigned index, struct ferry__segment *out);

#endif
