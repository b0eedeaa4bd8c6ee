/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/elf_ahead.h"

#include <string.h>

static bool read_file(struct ferry__ahead *a, uint64_t offset, void *out, size_t size)
{
    if (offset < a->begin || offset + size > a->begin + a->known) {
        uint64_t left = offset <= a->file->size ? a->file->size - offset : 0;

        a->begin = offset;
        a->known = left < sizeof(a->chunk) ? left : sizeof(a->chunk);
        if (a->known < size || !ferry__elf_read(a->file, offset, a->chunk, (size_t)a->known)) {
            a->known = 0;
            return false;
        }
    }
    memcpy(out, a->chunk + (offset - a->begin), size);
    return true;
}

bool ferry__ahead_read(struct ferry__ahead *a, uint64_t address, void *out, size_t size)
{
    const struct ferry__segment *s = ferry__layout_segment(a->layout, address, size);

    return s && address - s->address + size <= s->size &&
           read_file(a, s->offset + (address - s->address), out, size);
}
