/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/note.h"
#include "core/load/isa.h"
#include "core/base/text.h"

#include <ferry/status.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_SEGMENTS 256   /* a linker writes about ten segments */
#define MAX_NOTES    65536 /* the maximum size of a segment of notes */
#define NOTE_HEADER  12
#define OWNER        "ferry"
#define HEAD         2048 /* the number of leading bytes that usually contain headers and notes */

#define HINT_BUILD "rebuild the plugin for this machine"

/* ---- the header ----------------------------------------------------------------------------- */

static int check_identity(const unsigned char *ident, const struct ferry__self *self,
                          struct ferry__refusal *refusal)
{
    if (memcmp(ident, ELFMAG, SELFMAG) != 0)
        return ferry__refuse(refusal, FERRY_EPLUGIN, "", "not a shared object: no ELF header");
    if (ident[EI_CLASS] != self->elf_class)
        return ferry__refuse(refusal, FERRY_EPLUGIN, HINT_BUILD,
                             "built for another machine: %s-bit, this program is %s-bit",
                             ident[EI_CLASS] == ELFCLASS32 ? "32" : "64",
                             self->elf_class == ELFCLASS32 ? "32" : "64");
    if (ident[EI_DATA] != self->elf_data)
        return ferry__refuse(refusal, FERRY_EPLUGIN, HINT_BUILD,
                             "built for another machine: its byte order differs");
    return 0;
}

/* The members of Elf32_Ehdr and Elf64_Ehdr are the same up to e_version. */
static int read_header(const struct ferry__bytes *file, const struct ferry__self *self,
                       struct ferry__segments *out, struct ferry__refusal *refusal)
{
    union {
        unsigned char ident[EI_NIDENT];
        Elf32_Ehdr narrow;
        Elf64_Ehdr wide;
    } header;
    bool wide = self->elf_class == ELFCLASS64;
    size_t size = wide ? sizeof(header.wide) : sizeof(header.narrow);
    int err;

    memset(&header, 0, sizeof(header));
    if (file->size == 0)
        return ferry__refuse(refusal, FERRY_EPLUGIN, "", "not a shared object: it is empty");
    if (!ferry__elf_read(file, 0, &header, file->size < EI_NIDENT ? (size_t)file->size : EI_NIDENT))
        return ferry__refuse(refusal, FERRY_EIO, "", "cannot be read: %s", strerror(errno));
    err = check_identity(header.ident, self, refusal);
    if (err)
        return err;
    if (!ferry__elf_read(file, 0, &header, size))
        return ferry__refuse(refusal, FERRY_EPLUGIN, "copy the file again",
                             "truncated: its ELF header ends early");
    if (header.wide.e_machine != self->machine)
        return ferry__refuse(refusal, FERRY_EPLUGIN, HINT_BUILD,
                             "built for another machine: ELF machine %u, this program is %u",
                             (unsigned)header.wide.e_machine, (unsigned)self->machine);
    if (header.wide.e_type != ET_DYN)
        return ferry__refuse(refusal, FERRY_EPLUGIN, "", "not a shared object: ELF type %u",
                             (unsigned)header.wide.e_type);
    out->wide = wide;
    out->offset = wide ? header.wide.e_phoff : header.narrow.e_phoff;
    out->count = wide ? header.wide.e_phnum : header.narrow.e_phnum;
    out->size = wide ? header.wide.e_phentsize : header.narrow.e_phentsize;
    return 0;
}

/* ---- the note ------------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

/* Searches one segment of notes for ferry's note; *out_size: bytes of its content. */
static bool find_in_segment(const struct ferry__bytes *file, const struct ferry__segment *segment,
                            uint64_t *out_offset, uint32_t *out_size)
{
    uint64_t align = segment->align == 8 ? 8 : 4;
    uint64_t at = 0;
    uint64_t end = segment->size < MAX_NOTES ? segment->size : MAX_NOTES;

    while (at < end && end - at >= NOTE_HEADER) {
        uint32_t header[3]; /* the size of the owner's name, the size of the content, the type */
        char owner[sizeof(OWNER)];
        uint64_t content;

        if (!ferry__elf_read(file, segment->offset + at, header, sizeof(header)))
            return false;
        content = at + round_up(NOTE_HEADER + (uint64_t)header[0], align);
        if (header[2] == FERRY_PLUGIN_NOTE_TYPE && header[0] == sizeof(OWNER) &&
            ferry__elf_read(file, segment->offset + at + NOTE_HEADER, owner, sizeof(owner)) &&
            memcmp(owner, OWNER, sizeof(OWNER)) == 0) {
            *out_offset = segment->offset + content;
            *out_size = header[1];
            return true;
        }
        at = content + round_up(header[1], align);
    }
    return false;
}

/*
 * Searches for the note, and checks that the file contains all bytes of its segments: mapping a
 * shorter file ends in SIGBUS.
 */
static bool find_note(const struct ferry__bytes *file, const struct ferry__segments *segments,
                      uint64_t *out_offset, uint32_t *out_size, bool *out_whole)
{
    bool found = false;

    *out_whole = segments->count <= MAX_SEGMENTS;
    for (unsigned i = 0; i < segments->count && *out_whole; i++) {
        struct ferry__segment segment;

        *out_whole = ferry__elf_segment(file, segments, i, &segment) &&
                     segment.size <= file->size &&
                     (segment.size == 0 || segment.offset <= file->size - segment.size);
        if (*out_whole && !found && segment.type == PT_NOTE)
            found = find_in_segment(file, &segment, out_offset, out_size);
    }
    return found;
}

static int read_note(const struct ferry__bytes *file, const struct ferry__self *self,
                     ferry_plugin_descriptor *out, struct ferry__dynamic *out_dynamic,
                     struct ferry__refusal *refusal)
{
    ferry_plugin_descriptor note = { 0 };
    struct ferry__segments segments = { 0 };
    uint64_t offset = 0;
    uint32_t size = 0;
    const char *fault;
    bool found, whole;
    int err = read_header(file, self, &segments, refusal);

    if (err)
        return err;
    found = find_note(file, &segments, &offset, &size, &whole);
    if (!whole)
        return ferry__refuse(refusal, FERRY_EPLUGIN, "copy the file again",
                             "truncated: it is shorter than its ELF header says");
    if (!found)
        return ferry__refuse(refusal, FERRY_EPLUGIN, "use FERRY_PLUGIN(.name = …) in its source",
                             "not a plugin of ferry: it has no descriptor");
    fault = ferry__dynamic_fault(file, &segments, out_dynamic);
    if (fault)
        return ferry__refuse(refusal, FERRY_EPLUGIN, "copy the file again", "damaged: %s", fault);
    note.note_descsz = size;
    note.note_type = FERRY_PLUGIN_NOTE_TYPE;
    if (size > FERRY_PLUGIN_DESCRIPTOR_SIZE)
        size = FERRY_PLUGIN_DESCRIPTOR_SIZE;
    if (!ferry__elf_read(file, offset, &note.magic, size))
        return ferry__refuse(refusal, FERRY_EPLUGIN, "copy the file again",
                             "truncated: its descriptor ends early");
    *out = note;
    return 0;
}

int ferry__note_read(const struct ferry__bytes *file, const struct ferry__self *self,
                     ferry_plugin_descriptor *out, struct ferry__dynamic *out_dynamic,
                     struct ferry__refusal *refusal)
{
    struct ferry__dynamic own;
    unsigned char head[HEAD];
    struct ferry__bytes begun = *file;
    ssize_t n;

    if (!out_dynamic)
        out_dynamic = &own;
    if (file->fd < 0)
        return read_note(file, self, out, out_dynamic, refusal);
    n = pread(file->fd, head, file->size < HEAD ? (size_t)file->size : HEAD, 0);
    begun.memory = head;
    begun.known = n > 0 ? (uint64_t)n : 0; /* a failure of this read is detected by the next one */
    return read_note(&begun, self, out, out_dynamic, refusal);
}

/* ---- checking the note ---------------------------------------------------------------------- */

/*
 * Checks the descriptor's size after its major version: another major version may have a descriptor
 * of another size.
 */
static int check_shape(const ferry_plugin_descriptor *note, const struct ferry__self *self,
                       struct ferry__refusal *refusal)
{
    uint32_t before_major = (uint32_t)(offsetof(ferry_plugin_descriptor, abi_minor) -
                                       offsetof(ferry_plugin_descriptor, magic));

    if (note->note_descsz < before_major || note->magic != FERRY_PLUGIN_MAGIC)
        return ferry__refuse(refusal, FERRY_EABI, "", "its descriptor has no valid magic number");
    if (note->abi_major != self->abi_major)
        return ferry__refuse(refusal, FERRY_EABI, "rebuild the plugin against this ferry's headers",
                             "built for ABI %u, this ferry has %u", note->abi_major,
                             self->abi_major);
    if (note->struct_size < FERRY_PLUGIN_DESCRIPTOR_SIZE ||
        note->note_descsz < FERRY_PLUGIN_DESCRIPTOR_SIZE)
        return ferry__refuse(refusal, FERRY_EABI, "", "its descriptor is too short: %u bytes of %u",
                             note->struct_size < note->note_descsz ? note->struct_size
                                                                   : note->note_descsz,
                             FERRY_PLUGIN_DESCRIPTOR_SIZE);
    if (note->struct_size > note->note_descsz)
        return ferry__refuse(refusal, FERRY_EABI, "",
                             "its descriptor claims %u bytes, its note has %u", note->struct_size,
                             note->note_descsz);
    if (note->min_host_minor > self->abi_minor)
        return ferry__refuse(refusal, FERRY_EABI, "install a newer ferry",
                             "needs ABI %u.%u or newer, this ferry has %u.%u", note->abi_major,
                             note->min_host_minor, self->abi_major, self->abi_minor);
    return 0;
}

static const char *sanitizer_name(uint32_t missing)
{
    if (missing & FERRY_SANITIZER_ADDRESS)
        return "AddressSanitizer";
    if (missing & FERRY_SANITIZER_THREAD)
        return "ThreadSanitizer";
    return missing & FERRY_SANITIZER_MEMORY ? "MemorySanitizer" : "an unknown sanitizer";
}

int ferry__note_check(const ferry_plugin_descriptor *note, const struct ferry__self *self,
                      struct ferry__refusal *refusal)
{
    uint32_t lacking = note->cpu_features & ~self->cpu_features;
    uint32_t missing = note->sanitizer & ~self->sanitizer;
    size_t length = strnlen(note->name, sizeof(note->name));
    char names[160];
    int err = check_shape(note, self, refusal);

    if (err)
        return err;
    if (!ferry__text_is_name(note->name, length))
        return ferry__refuse(refusal, FERRY_EABI, "names are [a-z][a-z0-9_-]*, up to 31 bytes",
                             "its descriptor has no valid name");
    if (lacking) {
        ferry__isa_names(lacking, names, sizeof(names));
        return ferry__refuse(refusal, FERRY_EABI, "rebuild the plugin for this CPU",
                             "compiled for CPU features that are missing here: %s", names);
    }
    if (missing)
        return ferry__refuse(refusal, FERRY_EABI,
                             "build both the program and the plugin with it, or both without",
                             "compiled with %s, the program is not", sanitizer_name(missing));
    return 0;
}
