/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dynamic section of an ELF file: the libraries that it needs and the folders that it searches.
 */
#ifndef FERRY_CORE_ELF_DYNAMIC_H
#define FERRY_CORE_ELF_DYNAMIC_H

#include "core/load/elf_file.h"

struct ferry__dynamic {
    uint64_t offset, size;                 /* the section in the file */
    uint64_t strings_offset, strings_size; /* its table of strings in the file */
    bool wide;                             /* ELFCLASS64 */
};

/* Finds the section and its table of strings. NULL, or the reason why the file cannot be read. */
const char *ferry__dynamic_fault(const struct ferry__bytes *file,
                                 const struct ferry__segments *segments,
                                 struct ferry__dynamic *out);

/* Reads entry `index`; false at the end of the section (DT_NULL), or where the read fails. */
bool ferry__dynamic_entry(const struct ferry__bytes *file, const struct ferry__dynamic *dynamic,
                          uint64_t index, int64_t *out_tag, uint64_t *out_value);

/* Reads a string; false if the table does not contain it, or it has `size` bytes or more. */
bool ferry__dynamic_string(const struct ferry__bytes *file, const struct ferry__dynamic *dynamic,
                           uint64_t offset, char *out, size_t size);

#endif
