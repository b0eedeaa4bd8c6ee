/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/elf_tables.h"

#include "core/load/elf_ahead.h"
#include "core/load/elf_relocations.h"

#include <elf.h>
#include <string.h>

#define MOST_VERSIONS 256 /* of all libraries that a file needs, and its own */
#define MOST_NAME     4096
#define MOST_SYMBOLS  UINT32_C(1 << 24)

struct tables {
    const struct ferry__bytes *file;
    const struct ferry__layout *l;
    struct ferry__ahead ahead;
    uint32_t symbols; /* at the least; all of them where `counted` */
    bool counted;
    bool version[MOST_VERSIONS]; /* which the tables of versions declare */
};

/* ---- reading -------------------------------------------------------------------------------- */

static bool read_at(struct tables *t, uint64_t address, void *out, size_t size)
{
    return ferry__ahead_read(&t->ahead, address, out, size);
}

/* A string of the table of names; false if it has no end there. */
static bool read_name(const struct tables *t, uint64_t offset, char out[MOST_NAME])
{
    uint64_t address = t->l->value[DT_STRTAB], size = t->l->value[DT_STRSZ];
    const struct ferry__segment *s = ferry__layout_segment(t->l, address, size);
    uint64_t left = offset < size ? size - offset : 0;
    size_t n = left < MOST_NAME ? (size_t)left : MOST_NAME;

    return s && n > 0 &&
           ferry__elf_read(t->file, s->offset + (address - s->address) + offset, out, n) &&
           memchr(out, '\0', n);
}

/* ---- versions ------------------------------------------------------------------------------- */

static bool is_needed(struct tables *t, const char *library)
{
    char name[MOST_NAME];
    uint64_t value;
    int64_t tag;

    for (uint64_t i = 0; ferry__layout_entry(t->file, t->l, i, &tag, &value); i++) {
        if (tag == DT_NULL)
            return false;
        if (tag == DT_NEEDED && read_name(t, value, name) && strcmp(name, library) == 0)
            return true;
    }
    return false;
}

static bool declare(struct tables *t, unsigned index)
{
    index &= 0x7fff;
    if (index < 1 || index >= MOST_VERSIONS)
        return false;
    t->version[index] = true;
    return true;
}

/* What it needs of one library. Both classes have the same structures. */
static const char *check_need(struct tables *t, uint64_t address, const Elf64_Verneed *need)
{
    static const char *const fault = "a version that it needs of a library cannot be read";
    char name[MOST_NAME];

    if (need->vn_version != VER_NEED_CURRENT || need->vn_cnt == 0 ||
        !read_name(t, need->vn_file, name))
        return fault;
    if (!is_needed(t, name))
        return "it needs a version of a library that it does not need";
    address += need->vn_aux;
    for (unsigned i = 0; i < need->vn_cnt; i++) {
        Elf64_Vernaux aux;

        if (address % 4 || !read_at(t, address, &aux, sizeof(aux)) ||
            !read_name(t, aux.vna_name, name) || (aux.vna_other & 0x7fff) < 2 ||
            !declare(t, aux.vna_other) || (aux.vna_next == 0) != (i + 1u == need->vn_cnt))
            return fault;
        address += aux.vna_next;
    }
    return NULL;
}

static const char *check_needs(struct tables *t)
{
    uint64_t address = t->l->value[FERRY__GNU(DT_VERNEED)];
    uint64_t count = t->l->value[FERRY__GNU(DT_VERNEEDNUM)];
    const char *fault = NULL;

    if (!t->l->has[FERRY__GNU(DT_VERNEED)])
        return NULL;
    for (uint64_t i = 0; i < count && !fault; i++) {
        Elf64_Verneed need;

        if (address % 4 || !read_at(t, address, &need, sizeof(need)) ||
            (need.vn_next == 0) != (i + 1 == count))
            return "its table of needed versions has no end, or another";
        fault = check_need(t, address, &need);
        address += need.vn_next;
    }
    return count ? fault : "its table of needed versions is empty";
}

static const char *check_definitions(struct tables *t)
{
    uint64_t address = t->l->value[FERRY__GNU(DT_VERDEF)];
    uint64_t count = t->l->value[FERRY__GNU(DT_VERDEFNUM)];

    if (!t->l->has[FERRY__GNU(DT_VERDEF)])
        return NULL;
    for (uint64_t i = 0; i < count; i++) {
        char name[MOST_NAME];
        Elf64_Verdef def;
        Elf64_Verdaux aux;

        if (address % 4 || !read_at(t, address, &def, sizeof(def)) ||
            def.vd_version != VER_DEF_CURRENT || def.vd_cnt == 0 || !declare(t, def.vd_ndx) ||
            (def.vd_next == 0) != (i + 1 == count) ||
            !read_at(t, address + def.vd_aux, &aux, sizeof(aux)) ||
            !read_name(t, aux.vda_name, name))
            return "its table of versions cannot be read";
        address += def.vd_next;
    }
    return NULL;
}

/* ---- symbols -------------------------------------------------------------------------------- */

static bool read_symbol(struct tables *t, uint32_t index, Elf64_Sym *out)
{
    uint64_t address = t->l->value[DT_SYMTAB];
    Elf32_Sym narrow;

    if (t->l->wide)
        return read_at(t, address + index * (uint64_t)sizeof(*out), out, sizeof(*out));
    if (!read_at(t, address + index * (uint64_t)sizeof(narrow), &narrow, sizeof(narrow)))
        return false;
    *out = (Elf64_Sym){ .st_name = narrow.st_name,
                        .st_info = narrow.st_info,
                        .st_other = narrow.st_other,
                        .st_shndx = narrow.st_shndx,
                        .st_value = narrow.st_value,
                        .st_size = narrow.st_size };
    return true;
}

/* Where a symbol is: in a segment or at its end, and in code if it is called to find out. */
static bool is_somewhere(const struct ferry__layout *l, const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    const struct ferry__segment *s = ferry__layout_segment(l, symbol->st_value, 1);

    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || type == STT_TLS)
        return true;
    if (type == STT_FUNC || type == STT_GNU_IFUNC)
        return s && (s->flags & PF_X) && symbol->st_size <= s->memory;
    return s || (symbol->st_value > 0 && ferry__layout_segment(l, symbol->st_value - 1, 1));
}

/* One that is to be found elsewhere, which the linker does not do for these: they are at address 0. */
static bool is_nowhere(const Elf64_Sym *symbol)
{
    return symbol->st_shndx == SHN_UNDEF && (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL ||
                                             ELF64_ST_VISIBILITY(symbol->st_other) != STV_DEFAULT);
}

static const char *check_symbol(struct tables *t, uint32_t index)
{
    Elf64_Sym symbol;

    if (!read_symbol(t, index, &symbol))
        return "its symbols cannot be read";
    if (symbol.st_name >= t->l->value[DT_STRSZ])
        return "the name of a symbol lies outside of its table of strings";
    if (index > 0 && !is_somewhere(t->l, &symbol))
        return "a symbol is in none of its segments";
    if (index > 0 && is_nowhere(&symbol))
        return "a symbol is to be found elsewhere, and is its own";
    return NULL;
}

static const char *check_versions(struct tables *t)
{
    uint64_t address = t->l->value[FERRY__GNU(DT_VERSYM)];

    if (!t->l->has[FERRY__GNU(DT_VERSYM)])
        return NULL;
    for (uint32_t i = 0; i < t->symbols; i++) {
        uint16_t version;

        if (!read_at(t, address + i * 2u, &version, sizeof(version)))
            return "the versions of its symbols cannot be read";
        version &= 0x7fff;
        if (version > 1 && (version >= MOST_VERSIONS || !t->version[version]))
            return "a symbol has a version that is not declared";
    }
    return NULL;
}

static const char *check_symbols(struct tables *t)
{
    const char *fault = NULL;

    for (uint32_t i = 0; i < t->symbols && !fault; i++)
        fault = check_symbol(t, i);
    return fault;
}

/* ---- hashes --------------------------------------------------------------------------------- */

struct hashes {
    uint32_t buckets, first, blooms, shift; /* the header, as it is in the file */
};

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* Follows one bucket's chain; *out_end: the symbol after its last. */
static const char *check_chain(struct tables *t, uint64_t chains, const struct hashes *h,
                               uint32_t bucket, uint32_t from, uint32_t *out_end)
{
    for (uint32_t i = from; i < MOST_SYMBOLS; i++) {
        char name[MOST_NAME];
        Elf64_Sym symbol;
        uint32_t chain;

        if (!read_at(t, chains + (i - h->first) * UINT64_C(4), &chain, sizeof(chain)) ||
            !read_symbol(t, i, &symbol))
            break;
        if (read_name(t, symbol.st_name, name) && /* some of C++ are too long for us */
            ((hash_of(name) | 1) != (chain | 1) || hash_of(name) % h->buckets != bucket))
            return "its table of hashes is not that of its symbols";
        *out_end = i + 1;
        if (chain & 1)
            return NULL;
    }
    return "its table of hashes has no end";
}

/* GNU's table of hashes, which says in its way how many symbols there are. */
static const char *check_gnu_hash(struct tables *t, uint64_t address)
{
    uint64_t buckets, chains;
    struct hashes h;

    if (!read_at(t, address, &h, sizeof(h)))
        return "its table of hashes cannot be read";
    if (h.buckets == 0 || h.blooms == 0 || (h.blooms & (h.blooms - 1)) || h.shift > 31 ||
        h.buckets > MOST_SYMBOLS || h.blooms > MOST_SYMBOLS || h.first > MOST_SYMBOLS)
        return "its table of hashes does not begin as one";
    buckets = address + sizeof(h) + h.blooms * (t->l->wide ? UINT64_C(8) : UINT64_C(4));
    chains = buckets + h.buckets * UINT64_C(4);
    t->symbols = h.first;
    for (uint32_t i = 0; i < h.buckets; i++) {
        const char *fault = NULL;
        uint32_t from, end = 0;

        if (!read_at(t, buckets + i * UINT64_C(4), &from, sizeof(from)))
            return "its table of hashes cannot be read";
        if (from != 0 && from < h.first)
            return "its table of hashes is not that of its symbols";
        if (from != 0)
            fault = check_chain(t, chains, &h, i, from, &end);
        if (fault)
            return fault;
        t->symbols = end > t->symbols ? end : t->symbols;
        t->counted |= from != 0; /* those that are not defined stand before the hashed ones */
    }
    return NULL;
}

/* The older table: how many buckets, how many symbols, and for each the next of its bucket. */
static const char *check_hash(struct tables *t, uint64_t address)
{
    uint32_t head[2];

    if (!read_at(t, address, head, sizeof(head)) || head[0] == 0 || head[0] > MOST_SYMBOLS ||
        head[1] > MOST_SYMBOLS)
        return "its table of hashes does not begin as one";
    for (uint32_t i = 0; i < head[0] + head[1]; i++) {
        uint32_t index;

        if (!read_at(t, address + 8 + i * UINT64_C(4), &index, sizeof(index)) || index >= head[1])
            return "its table of hashes is not that of its symbols";
    }
    t->symbols = head[1];
    t->counted = true;
    return NULL;
}

const char *ferry__tables_fault(const struct ferry__bytes *file, const struct ferry__layout *layout)
{
    struct tables t = { .file = file, .l = layout, .ahead = { .file = file, .layout = layout } };
    const char *fault = NULL;

    if (layout->has[DT_HASH])
        fault = check_hash(&t, layout->value[DT_HASH]);
    if (!fault && layout->has[FERRY__GNU_HASH])
        fault = check_gnu_hash(&t, layout->value[FERRY__GNU_HASH]);
    if (!fault)
        fault = check_needs(&t);
    if (!fault)
        fault = check_definitions(&t);
    if (!fault)
        fault = check_symbols(&t);
    if (!fault)
        fault = check_versions(&t);
    return fault ? fault : ferry__relocations_fault(file, layout, t.counted ? t.symbols : 0);
}
