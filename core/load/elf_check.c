/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/elf_check.h"

#include <elf.h>

#define MOST_PAGE    UINT64_C(65536) /* some linkers round up to a page */
#define MOST_ENTRIES 512             /* of the dynamic section, where it writes thirty */

#define STANDARD     FERRY__STANDARD_TAGS
#define GNU          FERRY__GNU
#define SYSTEM_FIRST INT64_C(0x6000000d) /* and up to all positive 32 bits: somebody's own */
#define SYSTEM_LAST  INT64_C(0x7fffffff)

/* Tables: their address, how many bytes they have, the size of an entry, and what that must be. */
static const struct table {
    unsigned address, bytes, entry, narrow, wide; /* no such tag: DT_NULL */
} tables[] = {
    { GNU(DT_VERSYM), DT_NULL, DT_NULL, 0, 0 },
    { GNU(DT_VERDEF), DT_NULL, DT_NULL, 0, 0 },
    { GNU(DT_VERNEED), DT_NULL, DT_NULL, 0, 0 },
    { DT_STRTAB, DT_STRSZ, DT_NULL, 0, 0 },
    { DT_SYMTAB, DT_NULL, DT_SYMENT, sizeof(Elf32_Sym), sizeof(Elf64_Sym) },
    { DT_RELA, DT_RELASZ, DT_RELAENT, sizeof(Elf32_Rela), sizeof(Elf64_Rela) },
    { DT_REL, DT_RELSZ, DT_RELENT, sizeof(Elf32_Rel), sizeof(Elf64_Rel) },
    { FERRY__RELR, FERRY__RELRSZ, FERRY__RELRENT, 4, 8 },
    { DT_JMPREL, DT_PLTRELSZ, DT_NULL, 0, 0 },
    { DT_INIT_ARRAY, DT_INIT_ARRAYSZ, DT_NULL, 0, 0 },
    { DT_FINI_ARRAY, DT_FINI_ARRAYSZ, DT_NULL, 0, 0 },
    { DT_INIT, DT_NULL, DT_NULL, 0, 0 },
    { DT_FINI, DT_NULL, DT_NULL, 0, 0 },
    { DT_HASH, DT_NULL, DT_NULL, 0, 0 },
    { DT_PLTGOT, DT_NULL, DT_NULL, 0, 0 },
};

/* Neither goes without the other. */
static const unsigned pairs[][2] = {
    { DT_STRTAB, DT_STRSZ },
    { DT_SYMTAB, DT_STRTAB },
    { DT_RELA, DT_RELASZ },
    { DT_REL, DT_RELSZ },
    { FERRY__RELR, FERRY__RELRSZ },
    { DT_JMPREL, DT_PLTRELSZ },
    { DT_INIT_ARRAY, DT_INIT_ARRAYSZ },
    { DT_FINI_ARRAY, DT_FINI_ARRAYSZ },
    { GNU(DT_VERDEF), GNU(DT_VERDEFNUM) },
    { GNU(DT_VERNEED), GNU(DT_VERNEEDNUM) },
};

/* ---- segments ------------------------------------------------------------------------------- */

static const char *take_segment(struct ferry__layout *l, const struct ferry__segment *s)
{
    const struct ferry__segment *before = l->count ? &l->loads[l->count - 1] : NULL;

    if (s->type == PT_DYNAMIC) {
        l->dynamic = *s;
        l->dynamics++;
    }
    if (s->type == PT_GNU_RELRO)
        l->relro = *s;
    if (s->type != PT_LOAD)
        return NULL;
    if (l->count == FERRY__MOST_LOADS)
        return "it has too many segments";
    if (s->memory < s->size || s->address + s->memory < s->address || !(s->flags & PF_R))
        return "a segment is not as large as what is in it, or cannot be read";
    if (before && s->address < before->address + before->memory)
        return "its segments overlap, or are not in order";
    if (before && (s->offset < before->offset || s->offset - before->offset < before->size))
        return "its segments overlap in the file, or are not in order";
    if (s->align > 1 && ((s->align & (s->align - 1)) || (s->address - s->offset) % s->align))
        return "a segment is not aligned";
    l->loads[l->count++] = *s;
    return NULL;
}

const struct ferry__segment *ferry__layout_segment(const struct ferry__layout *l, uint64_t address,
                                                   uint64_t bytes)
{
    for (unsigned i = 0; i < l->count; i++) {
        const struct ferry__segment *s = &l->loads[i];

        if (address >= s->address && address - s->address < s->memory &&
            bytes <= s->memory - (address - s->address))
            return s;
    }
    return NULL;
}

static const char *check_segments(const struct ferry__bytes *file,
                                  const struct ferry__segments *segments, struct ferry__layout *l)
{
    const struct ferry__segment *home;
    const char *fault = NULL;

    for (unsigned i = 0; i < segments->count && !fault; i++) {
        struct ferry__segment s;

        if (!ferry__elf_segment(file, segments, i, &s))
            return "its segments cannot be read";
        fault = take_segment(l, &s);
    }
    if (fault)
        return fault;
    if (l->dynamics != 1)
        return "it has no dynamic section, or several";
    home = ferry__layout_segment(l, l->dynamic.address, l->dynamic.size);
    if (!home || l->dynamic.address - home->address != l->dynamic.offset - home->offset ||
        l->dynamic.offset + l->dynamic.size > home->offset + home->size)
        return "its dynamic section is in none of its segments";
    home = ferry__layout_segment(l, l->relro.address, 1);
    if (l->relro.memory > 0 && (!home || l->relro.memory > home->memory + MOST_PAGE))
        return "what is to be write-protected is in none of its segments";
    return NULL;
}

/* ---- the dynamic section -------------------------------------------------------------------- */

bool ferry__layout_entry(const struct ferry__bytes *file, const struct ferry__layout *l,
                         uint64_t index, int64_t *out_tag, uint64_t *out_value)
{
    Elf64_Dyn wide;
    Elf32_Dyn narrow;
    uint64_t size = l->wide ? sizeof(wide) : sizeof(narrow);
    uint64_t offset = l->dynamic.offset + index * size;

    if (index >= MOST_ENTRIES || index >= l->dynamic.size / size)
        return false;
    if (l->wide) {
        if (!ferry__elf_read(file, offset, &wide, sizeof(wide)))
            return false;
        *out_tag = wide.d_tag;
        *out_value = wide.d_un.d_val;
        return true;
    }
    if (!ferry__elf_read(file, offset, &narrow, sizeof(narrow)))
        return false;
    *out_tag = narrow.d_tag;
    *out_value = narrow.d_un.d_val;
    return true;
}

/* Where it is kept: at 0, whose own tag ends the section, if nobody here asks for it. */
static unsigned slot_of(int64_t tag)
{
    if (tag > 0 && tag < STANDARD)
        return (unsigned)tag;
    if (tag == DT_GNU_HASH)
        return FERRY__GNU_HASH;
    return tag >= FERRY__GNU_FIRST && tag < FERRY__GNU_FIRST + 16 ? GNU(tag) : 0;
}

/* Reads the section at once, into `held`; what does not fit is read as it comes. */
static struct ferry__bytes hold(const struct ferry__bytes *file, const struct ferry__layout *l,
                                unsigned char *held, size_t room)
{
    size_t size = l->dynamic.size < room ? (size_t)l->dynamic.size : room;
    struct ferry__bytes near = *file;

    if (file->fd < 0 || !ferry__elf_read(file, l->dynamic.offset, held, size))
        return near;
    near.memory = held;
    near.begin = l->dynamic.offset;
    near.known = size;
    return near;
}

static const char *read_entries(const struct ferry__bytes *file, struct ferry__layout *l)
{
    unsigned char held[1024];
    const struct ferry__bytes near = hold(file, l, held, sizeof(held));

    for (uint64_t i = 0;; i++) {
        uint64_t value;
        int64_t tag;

        if (!ferry__layout_entry(&near, l, i, &tag, &value))
            return "its dynamic section has no end";
        if (tag == DT_NULL)
            return NULL;
        if (tag == DT_GNU_HASH && !ferry__layout_segment(l, value, 1))
            return "a table of symbols is in none of its segments";
        if (tag < 0 || tag > SYSTEM_LAST || (tag >= STANDARD && tag < SYSTEM_FIRST))
            return "its dynamic section has an entry of no known kind";
        /* of several, the linker takes the last; but every library that is needed */
        if (tag != DT_NEEDED || !l->has[DT_NEEDED] || value > l->value[DT_NEEDED])
            l->value[slot_of(tag)] = value;
        l->has[slot_of(tag)] = true;
    }
}

static const char *check_table(const struct ferry__layout *l, const struct table *t)
{
    unsigned entry = l->wide ? t->wide : t->narrow;
    uint64_t bytes = t->bytes ? l->value[t->bytes] : 1;

    if (!l->has[t->address])
        return NULL;
    if (t->entry && l->value[t->entry] != entry)
        return "the entries of a table are of the wrong size";
    if (entry && t->bytes && bytes % entry)
        return "a table ends within an entry";
    if (entry && l->value[t->address] % (l->wide ? 8 : 4))
        return "a table is not aligned";
    if (t->address == DT_RELA && l->value[GNU(DT_RELACOUNT)] > bytes / entry)
        return "a table has fewer entries than are counted";
    if (bytes > 0 && !ferry__layout_segment(l, l->value[t->address], bytes))
        return "a table is in none of its segments";
    return NULL;
}

static const char *check_pairs(const struct ferry__layout *l)
{
    bool versions = l->has[GNU(DT_VERDEF)] || l->has[GNU(DT_VERNEED)];

    if (!l->has[DT_STRTAB])
        return "it has no names";
    for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (l->has[pairs[i][0]] != l->has[pairs[i][1]])
            return "a table has an address or a size, and not both";
    return versions && !l->has[GNU(DT_VERSYM)] ? "its symbols have no versions" : NULL;
}

/* Offsets into the table of strings. */
static const char *check_strings(const struct ferry__layout *l)
{
    static const unsigned tags[] = { DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH };

    for (unsigned i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
        if (l->has[tags[i]] && l->value[tags[i]] >= l->value[DT_STRSZ])
            return "a name lies outside of its table of strings";
    return NULL;
}

/* What is run first and last: code, and lists of pointers, which are written when it is loaded. */
static const char *check_code(const struct ferry__layout *l)
{
    static const unsigned tags[] = { DT_INIT, DT_FINI, DT_INIT_ARRAY, DT_FINI_ARRAY };
    static const unsigned sizes[] = { DT_NULL, DT_NULL, DT_INIT_ARRAYSZ, DT_FINI_ARRAYSZ };
    uint64_t pointer = l->wide ? 8 : 4;

    for (unsigned i = 0; i < 4; i++) {
        uint64_t address = l->value[tags[i]];
        const struct ferry__segment *s =
            l->has[tags[i]] ? ferry__layout_segment(l, address, 1) : NULL;

        if (s && !(s->flags & (i < 2 ? PF_X : PF_W)))
            return "what it runs first or last is no code";
        if (s && i >= 2 && (address % pointer || l->value[sizes[i]] % pointer))
            return "a list of pointers is not aligned";
    }
    if (l->has[DT_JMPREL] && l->value[DT_PLTREL] != DT_REL && l->value[DT_PLTREL] != DT_RELA)
        return "its relocations are of no known kind";
    return NULL;
}

const char *ferry__layout_fault(const struct ferry__bytes *file,
                                const struct ferry__segments *segments, struct ferry__layout *out)
{
    const char *fault;

    *out = (struct ferry__layout){ .wide = segments->wide };
    fault = check_segments(file, segments, out);
    if (!fault)
        fault = read_entries(file, out);
    if (!fault)
        fault = check_pairs(out);
    if (!fault)
        fault = check_strings(out);
    for (unsigned i = 0; !fault && i < sizeof(tables) / sizeof(tables[0]); i++)
        fault = check_table(out, &tables[i]);
    return fault ? fault : check_code(out);
}
