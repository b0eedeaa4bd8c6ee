/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/elf_relocations.h"

#include "core/load/elf_ahead.h"

#include <elf.h>

#define MOST_SLOTS 1024 /* of a list of functions: of more it is not known which are written */
#define FAR        (INT64_C(1) << 31)

/*
 * The kinds that dlopen does most with. 0, which does nothing, stands for those that this machine does
 * not have, and for all of one that is not known here: then only their places are looked at.
 */
static const struct {
    uint32_t relative,
        indirect;         /* the file's own address: of anything, of a function that says which */
    uint32_t slot, entry; /* a symbol's address and no more: of a function, of anything */
    uint32_t word;        /* a symbol's address, and some bytes on */
    uint32_t copy;        /* is for programs */
    uint32_t descriptor;  /* of a thread's variable, which may stand among slots */
} kinds =
#if defined(__x86_64__)
    { R_X86_64_RELATIVE, R_X86_64_IRELATIVE, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT,
      R_X86_64_64,       R_X86_64_COPY,      R_X86_64_TLSDESC };
#elif defined(__aarch64__)
    { R_AARCH64_RELATIVE, R_AARCH64_IRELATIVE, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT,
      R_AARCH64_ABS64,    R_AARCH64_COPY,      R_AARCH64_TLSDESC };
#else
    { 0, 0, 0, 0, 0, 0, 0 };
#endif

/* A list of functions, and which of its pointers are written when the file is loaded. */
struct list {
    uint64_t address, bytes;
    unsigned char written[MOST_SLOTS];
};

struct relocations {
    const struct ferry__layout *l;
    struct ferry__ahead table, place;
    uint64_t pointer; /* bytes */
    uint32_t symbols;
    struct list lists[2]; /* what is run first, and last */
};

struct relocation {
    uint64_t place, symbol;
    int64_t addend;
    uint32_t kind;
};

static bool is_kind(const struct relocation *r, uint32_t kind)
{
    return kind && r->kind == kind;
}

static bool is_inside(uint64_t address, uint64_t bytes, uint64_t begin, uint64_t size)
{
    return address < begin + size && begin < address + bytes;
}

/* In a segment, or at its end, where lists are said to end. */
static bool is_somewhere(const struct ferry__layout *l, uint64_t address)
{
    return ferry__layout_segment(l, address, 1) ||
           (address > 0 && ferry__layout_segment(l, address - 1, 1));
}

static bool is_code(const struct ferry__layout *l, uint64_t address)
{
    const struct ferry__segment *s = ferry__layout_segment(l, address, 1);

    return s && (s->flags & PF_X);
}

/* Bytes that can be written, and that dlopen does not go by itself. */
static const char *check_place(const struct relocations *all, uint64_t place)
{
    const struct ferry__layout *l = all->l;
    const struct ferry__segment *s = ferry__layout_segment(l, place, all->pointer);
    bool writes_code = l->has[DT_TEXTREL] || (l->value[DT_FLAGS] & DF_TEXTREL);

    if (!s || (!(s->flags & PF_W) && !writes_code))
        return "a relocation changes what cannot be written";
    if (is_inside(place, all->pointer, l->dynamic.address, l->dynamic.size))
        return "a relocation changes the dynamic section";
    return NULL;
}

/* A pointer of the file's own, to `address`: in a list of functions, to one. */
static const char *check_pointer(struct relocations *all, uint64_t place, uint64_t address)
{
    if (!is_somewhere(all->l, address))
        return "a relocation leads to none of its segments";
    for (int i = 0; i < 2; i++)
        if (is_inside(place, all->pointer, all->lists[i].address, all->lists[i].bytes) &&
            !is_code(all->l, address))
            return "what it runs first or last is no code";
    return NULL;
}

static void note_place(struct relocations *all, uint64_t place)
{
    for (int i = 0; i < 2; i++) {
        struct list *list = &all->lists[i];
        uint64_t slot = (place - list->address) / all->pointer;

        if (place >= list->address && place < list->address + list->bytes && slot < MOST_SLOTS)
            list->written[slot] = 1;
    }
}

/* What the kind says. An addend that is not in the table, but in the place, is not looked at. */
static const char *check_kind(struct relocations *all, const struct relocation *r, bool addends)
{
    uint64_t address = (uint64_t)r->addend;

    if (is_kind(r, kinds.copy))
        return "a relocation is of a kind for programs";
    if (is_kind(r, kinds.relative) && addends)
        return check_pointer(all, r->place, address);
    if (is_kind(r, kinds.indirect) && addends && !is_code(all->l, address))
        return "a relocation calls what is no code";
    if (!is_kind(r, kinds.slot) && !is_kind(r, kinds.entry))
        return is_kind(r, kinds.word) && addends && r->symbol &&
                       (r->addend < -FAR || r->addend > FAR)
                   ? "a relocation leads far from its symbol"
                   : NULL;
    if (r->symbol == 0)
        return "a relocation goes by no symbol";
    return r->place % all->pointer || (addends && r->addend) ? "a relocation is not aligned" : NULL;
}

static const char *check_relocation(struct relocations *all, const struct relocation *r,
                                    bool addends)
{
    const char *fault;

    if (r->kind == 0)
        return NULL;
    fault = check_place(all, r->place);
    if (!fault && all->symbols && r->symbol >= all->symbols)
        fault = "a relocation goes by no symbol";
    if (!fault)
        fault = check_kind(all, r, addends);
    if (!fault)
        note_place(all, r->place);
    return fault;
}

/* ---- the tables ----------------------------------------------------------------------------- */

static bool read_relocation(struct relocations *all, uint64_t address, bool addends,
                            struct relocation *out)
{
    Elf64_Rela wide = { 0 };
    Elf32_Rela narrow = { 0 };

    if (all->l->wide) {
        if (!ferry__ahead_read(&all->table, address, &wide,
                               addends ? sizeof(wide) : sizeof(Elf64_Rel)))
            return false;
        *out = (struct relocation){ wide.r_offset, ELF64_R_SYM(wide.r_info), wide.r_addend,
                                    (uint32_t)ELF64_R_TYPE(wide.r_info) };
        return true;
    }
    if (!ferry__ahead_read(&all->table, address, &narrow,
                           addends ? sizeof(narrow) : sizeof(Elf32_Rel)))
        return false;
    *out = (struct relocation){ narrow.r_offset, ELF32_R_SYM(narrow.r_info), narrow.r_addend,
                                ELF32_R_TYPE(narrow.r_info) };
    return true;
}

/* Among the slots of functions there is no other kind, and none is left out. */
static bool is_of_slots(const struct relocation *r)
{
    return !kinds.slot || is_kind(r, kinds.slot) || is_kind(r, kinds.indirect) ||
           is_kind(r, kinds.descriptor);
}

static const char *check_table(struct relocations *all, unsigned table, unsigned bytes,
                               bool addends)
{
    uint64_t size = all->l->wide ? (addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel))
                                 : (addends ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel));
    uint64_t count = all->l->has[table] ? all->l->value[bytes] / size : 0;
    const char *fault = NULL;

    for (uint64_t i = 0; i < count && !fault; i++) {
        struct relocation r;

        if (!read_relocation(all, all->l->value[table] + i * size, addends, &r))
            return "its relocations cannot be read";
        if (table == DT_JMPREL && !is_of_slots(&r))
            return "its relocations are of no known kind";
        fault = check_relocation(all, &r, addends);
    }
    return fault;
}

/* A pointer that stands where it is written, and is moved with the file. */
static const char *check_packed(struct relocations *all, uint64_t place)
{
    const char *fault = check_place(all, place);
    uint64_t wide = 0;
    uint32_t narrow = 0;

    if (fault)
        return fault;
    if (!(all->l->wide ? ferry__ahead_read(&all->place, place, &wide, sizeof(wide))
                       : ferry__ahead_read(&all->place, place, &narrow, sizeof(narrow))))
        return "a relocation leads to none of its segments";
    note_place(all, place);
    return check_pointer(all, place, all->l->wide ? wide : narrow);
}

/* The packed table: a place, and words whose bits say which of the places behind it are meant. */
static const char *check_packed_table(struct relocations *all)
{
    uint64_t size = all->pointer, next = 0;
    uint64_t count = all->l->has[FERRY__RELR] ? all->l->value[FERRY__RELRSZ] / size : 0;
    const char *fault = NULL;

    for (uint64_t i = 0; i < count && !fault; i++) {
        uint64_t address = all->l->value[FERRY__RELR] + i * size, word = 0;
        uint32_t narrow = 0;

        if (!(all->l->wide ? ferry__ahead_read(&all->table, address, &word, sizeof(word))
                           : ferry__ahead_read(&all->table, address, &narrow, sizeof(narrow))))
            return "its relocations cannot be read";
        word = all->l->wide ? word : narrow;
        if (!(word & 1)) {
            fault = check_packed(all, word);
            next = word + size;
            continue;
        }
        for (unsigned bit = 1; bit < size * 8 && !fault; bit++)
            if (word >> bit & 1)
                fault = check_packed(all, next + (bit - 1) * size);
        next += (size * 8 - 1) * size;
    }
    return fault;
}

/* A list of functions that is not written holds addresses of nothing. */
static const char *check_lists(const struct relocations *all)
{
    for (int i = 0; i < 2; i++) {
        uint64_t slots = all->lists[i].bytes / all->pointer;

        for (uint64_t k = 0; k < slots && slots <= MOST_SLOTS; k++)
            if (!all->lists[i].written[k])
                return "what it runs first or last is no code";
    }
    return NULL;
}

const char *ferry__relocations_fault(const struct ferry__bytes *file,
                                     const struct ferry__layout *layout, uint32_t symbols)
{
    static const unsigned lists[][2] = { { DT_INIT_ARRAY, DT_INIT_ARRAYSZ },
                                         { DT_FINI_ARRAY, DT_FINI_ARRAYSZ } };
    struct relocations all = { .l = layout,
                               .table = { .file = file, .layout = layout },
                               .place = { .file = file, .layout = layout },
                               .pointer = layout->wide ? 8 : 4,
                               .symbols = symbols };
    const char *fault;

    for (int i = 0; i < 2; i++)
        if (layout->has[lists[i][0]]) {
            all.lists[i].address = layout->value[lists[i][0]];
            all.lists[i].bytes = layout->value[lists[i][1]];
        }
    fault = check_table(&all, DT_RELA, DT_RELASZ, true);
    if (!fault)
        fault = check_table(&all, DT_REL, DT_RELSZ, false);
    if (!fault)
        fault = check_table(&all, DT_JMPREL, DT_PLTRELSZ, layout->value[DT_PLTREL] == DT_RELA);
    if (!fault)
        fault = check_packed_table(&all);
    return fault ? fault : check_lists(&all);
}
