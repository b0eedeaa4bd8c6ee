/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the tables that dlopen follows lead anywhere. It believes them, and a file with a few
 * wrong bytes there takes the program along.
 */
#ifndef FERRY_CORE_ELF_CHECK_H
#define FERRY_CORE_ELF_CHECK_H

#include "core/load/elf_file.h"

/* Packed relocations, of which older C libraries' headers do not know. */
#define FERRY__RELRSZ  35
#define FERRY__RELR    36
#define FERRY__RELRENT 37

#define FERRY__MOST_LOADS 32 /* a linker writes four or five */

/* Tags are kept in a row: those of the standard from 0 on, and behind them GNU's, which end it. */
#define FERRY__STANDARD_TAGS 38
#define FERRY__GNU_FIRST     INT64_C(0x6ffffff0)
#define FERRY__GNU(tag)      (FERRY__STANDARD_TAGS + (unsigned)((tag)-FERRY__GNU_FIRST))
#define FERRY__GNU_HASH      (FERRY__STANDARD_TAGS + 16u) /* DT_GNU_HASH, far from the others */
#define FERRY__TAGS          (FERRY__GNU_HASH + 1)

/* What a file's segments and its dynamic section are, once nothing is wrong with them. */
struct ferry__layout {
    struct ferry__segment loads[FERRY__MOST_LOADS], dynamic, relro;
    unsigned count, dynamics;
    bool wide;
    bool has[FERRY__TAGS];
    uint64_t value[FERRY__TAGS];
};

/* What is wrong with a file's segments or its dynamic section, or NULL, and what they are. */
const char *ferry__layout_fault(const struct ferry__bytes *file,
                                const struct ferry__segments *segments, struct ferry__layout *out);

/* Entry `index` of the dynamic section; false where it cannot be read. DT_NULL ends them. */
bool ferry__layout_entry(const struct ferry__bytes *file, const struct ferry__layout *layout,
                         uint64_t index, int64_t *out_tag, uint64_t *out_value);

/* The segment that has all those bytes in memory, or NULL. */
const struct ferry__segment *ferry__layout_segment(const struct ferry__layout *layout,
                                                   uint64_t address, uint64_t bytes);

#endif
