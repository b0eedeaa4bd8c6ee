/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/elf_dynamic.h"

#include <elf.h>
#include <string.h>

#define MAX_ENTRIES 512 /* a linker writes about thirty entries */

bool ferry__dynamic_entry(const struct ferry__bytes *file, const struct ferry__dynamic *dynamic,
                          uint64_t index, int64_t *out_tag, uint64_t *out_value)
{
    Elf64_Dyn wide;
    Elf32_Dyn narrow;
    uint64_t size = dynamic->wide ? sizeof(wide) : sizeof(narrow);
    uint64_t offset = dynamic->offset + index * size;

    if (index >= MAX_ENTRIES || index >= dynamic->size / size)
        return false;
    if (dynamic->wide) {
        if (!ferry__elf_read(file, offset, &wide, sizeof(wide)))
            return false;
        *out_tag = wide.d_tag;
        *out_value = wide.d_un.d_val;
    } else {
        if (!ferry__elf_read(file, offset, &narrow, sizeof(narrow)))
            return false;
        *out_tag = narrow.d_tag;
        *out_value = narrow.d_un.d_val;
    }
    return *out_tag != DT_NULL;
}

bool ferry__dynamic_string(const struct ferry__bytes *file, const struct ferry__dynamic *dynamic,
                           uint64_t offset, char *out, size_t size)
{
    uint64_t left = offset < dynamic->strings_size ? dynamic->strings_size - offset : 0;
    size_t n = left < size ? (size_t)left : size;

    return n > 0 && ferry__elf_read(file, dynamic->strings_offset + offset, out, n) &&
           memchr(out, '\0', n);
}

/* Converts the address of the table of strings into an offset in the file. */
static bool find_strings(const struct ferry__bytes *file, const struct ferry__segments *segments,
                         uint64_t address, struct ferry__dynamic *d)
{
    struct ferry__segment s;

    for (unsigned i = 0; i < segments->count && ferry__elf_segment(file, segments, i, &s); i++) {
        uint64_t skip = address - s.address;

        if (s.type != PT_LOAD || skip >= s.size || d->strings_size > s.size - skip)
            continue;
        d->strings_offset = s.offset + skip;
        return true;
    }
    return false;
}

const char *ferry__dynamic_fault(const struct ferry__bytes *file,
                                 const struct ferry__segments *segments, struct ferry__dynamic *out)
{
    struct ferry__segment s = { .type = PT_NULL };
    uint64_t value, address = 0;
    int64_t tag;

    *out = (struct ferry__dynamic){ .wide = segments->wide };
    for (unsigned i = 0; i < segments->count && s.type != PT_DYNAMIC; i++)
        if (!ferry__elf_segment(file, segments, i, &s))
            return "its segments cannot be read";
    if (s.type != PT_DYNAMIC)
        return "it has no dynamic section";
    out->offset = s.offset;
    out->size = s.size;
    for (uint64_t i = 0; ferry__dynamic_entry(file, out, i, &tag, &value); i++) {
        if (tag == DT_STRTAB)
            address = value;
        if (tag == DT_STRSZ)
            out->strings_size = value;
    }
    return find_strings(file, segments, address, out)
               ? NULL
               : "its dynamic section has no table of strings";
}
