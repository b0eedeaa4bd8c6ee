/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool is_known(const struct ferry__bytes *file, uint64_t offset, size_t size)
{
    return file->fd < 0 || (offset >= file->begin && offset - file->begin <= file->known &&
                            size <= file->known - (offset - file->begin));
}

bool ferry__elf_read(const struct ferry__bytes *file, uint64_t offset, void *out, size_t size)
{
    size_t done = 0;

    if (offset > file->size || size > file->size - offset)
        return false;
    if (is_known(file, offset, size)) {
        memcpy(out, file->memory + (offset - file->begin), size);
        return true;
    }
    while (done < size) {
        ssize_t n = pread(file->fd, (char *)out + done, size - done, (off_t)(offset + done));

        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool ferry__elf_segment(const struct ferry__bytes *file, const struct ferry__segments *segments,
                        unsigned index, struct ferry__segment *out)
{
    uint64_t offset = segments->offset + (uint64_t)index * segments->size;
    Elf64_Phdr wide;
    Elf32_Phdr narrow;

    if (offset < segments->offset)
        return false;
    if (segments->wide) {
        if (segments->size < sizeof(wide) || !ferry__elf_read(file, offset, &wide, sizeof(wide)))
            return false;
        *out = (struct ferry__segment){ .type = wide.p_type,
                                        .flags = wide.p_flags,
                                        .offset = wide.p_offset,
                                        .size = wide.p_filesz,
                                        .address = wide.p_vaddr,
                                        .memory = wide.p_memsz,
                                        .align = wide.p_align };
        return true;
    }
    if (segments->size < sizeof(narrow) || !ferry__elf_read(file, offset, &narrow, sizeof(narrow)))
        return false;
    *out = (struct ferry__segment){ .type = narrow.p_type,
                                    .flags = narrow.p_flags,
                                    .offset = narrow.p_offset,
                                    .size = narrow.p_filesz,
                                    .address = narrow.p_vaddr,
                                    .memory = narrow.p_memsz,
                                    .align = narrow.p_align };
    return true;
}
