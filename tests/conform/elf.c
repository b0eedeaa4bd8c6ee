/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "elf.h"

#include <ferry/descriptor.h>

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Offsets in a file are only used after a check that they are inside it. */

struct file {
    const char *bytes;
    size_t size;
};

static bool inside(const struct file *f, uint64_t offset, uint64_t size)
{
    return offset <= f->size && size <= f->size - offset;
}

/* A string of a table, which must end within the table. */
static const char *string_at(const struct file *f, const Elf64_Shdr *table, uint64_t offset)
{
    if (offset >= table->sh_size || !inside(f, table->sh_offset, table->sh_size) ||
        !memchr(f->bytes + table->sh_offset + offset, 0, table->sh_size - offset))
        return NULL;
    return f->bytes + table->sh_offset + offset;
}

static bool section_at(const struct file *f, const Elf64_Ehdr *header, size_t i, Elf64_Shdr *out)
{
    uint64_t at = header->e_shoff + i * sizeof(*out);

    if (i >= header->e_shnum || at < header->e_shoff || !inside(f, at, sizeof(*out)))
        return false;
    memcpy(out, f->bytes + at, sizeof(*out));
    return true;
}

static bool walk(const struct file *f, const Elf64_Shdr *symbols, const Elf64_Shdr *strings,
                 void (*each)(void *arg, const char *name, bool defined), void *arg)
{
    if (!inside(f, symbols->sh_offset, symbols->sh_size))
        return false;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
        const char *name;
        Elf64_Sym symbol;

        memcpy(&symbol, f->bytes + symbols->sh_offset + at, sizeof(symbol));
        name = string_at(f, strings, symbol.st_name);
        if (name && *name && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
            ELF64_ST_VISIBILITY(symbol.st_other) != STV_HIDDEN)
            each(arg, name, symbol.st_shndx != SHN_UNDEF);
    }
    return true;
}

static bool read_header(const struct file *f, Elf64_Ehdr *out)
{
    if (!inside(f, 0, sizeof(*out)))
        return false;
    memcpy(out, f->bytes, sizeof(*out));
    return memcmp(out->e_ident, ELFMAG, SELFMAG) == 0 && out->e_ident[EI_CLASS] == ELFCLASS64 &&
           out->e_shentsize == sizeof(Elf64_Shdr);
}

static bool read_symbols(const struct file *f, void (*each)(void *, const char *, bool), void *arg)
{
    Elf64_Ehdr header;
    Elf64_Shdr symbols, strings;

    if (!read_header(f, &header))
        return false;
    for (size_t i = 0; section_at(f, &header, i, &symbols); i++)
        if (symbols.sh_type == SHT_DYNSYM && section_at(f, &header, symbols.sh_link, &strings))
            return walk(f, &symbols, &strings, each, arg);
    return false;
}

static void read_needed(const struct file *f, void (*each)(void *, const char *), void *arg)
{
    Elf64_Shdr dynamic, strings;
    Elf64_Ehdr header;

    if (!read_header(f, &header))
        return;
    for (size_t i = 0; section_at(f, &header, i, &dynamic); i++) {
        if (dynamic.sh_type != SHT_DYNAMIC || !inside(f, dynamic.sh_offset, dynamic.sh_size) ||
            !section_at(f, &header, dynamic.sh_link, &strings))
            continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.sh_size; at += sizeof(Elf64_Dyn)) {
            const char *name;
            Elf64_Dyn entry;

            memcpy(&entry, f->bytes + dynamic.sh_offset + at, sizeof(entry));
            name = entry.d_tag == DT_NEEDED ? string_at(f, &strings, entry.d_un.d_val) : NULL;
            if (name)
                each(arg, name);
        }
    }
}

static bool map_file(const char *path, struct file *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    struct stat st;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return false;
    out->bytes = bytes;
    out->size = (size_t)st.st_size;
    return true;
}

bool elf_symbols(const char *path, void (*each)(void *arg, const char *name, bool defined),
                 void *arg)
{
    struct file f;
    bool ok;

    if (!map_file(path, &f))
        return false;
    ok = read_symbols(&f, each, arg);
    munmap((void *)(uintptr_t)f.bytes, f.size);
    return ok;
}

void elf_needed(const char *path, void (*each)(void *arg, const char *name), void *arg)
{
    struct file f;

    if (!map_file(path, &f))
        return;
    read_needed(&f, each, arg);
    munmap((void *)(uintptr_t)f.bytes, f.size);
}

static void read_name(const struct file *f, char *out, size_t size)
{
    ferry_plugin_descriptor d;
    Elf64_Shdr section, names;
    Elf64_Ehdr header;

    if (!read_header(f, &header) || !section_at(f, &header, header.e_shstrndx, &names))
        return;
    for (size_t i = 0; section_at(f, &header, i, &section); i++) {
        const char *name = string_at(f, &names, section.sh_name);

        if (!name || strcmp(name, ".note.ferry") != 0 || !inside(f, section.sh_offset, sizeof(d)))
            continue;
        memcpy(&d, f->bytes + section.sh_offset, sizeof(d));
        if (memchr(d.name, '\0', sizeof(d.name)) && strlen(d.name) < size)
            memcpy(out, d.name, strlen(d.name) + 1);
    }
}

void elf_plugin_name(const char *path, char *out, size_t size)
{
    struct file f;

    out[0] = '\0';
    if (!map_file(path, &f))
        return;
    read_name(&f, out, size);
    munmap((void *)(uintptr_t)f.bytes, f.size);
}
