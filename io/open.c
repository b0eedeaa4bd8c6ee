/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program's interface for reading: detects a file's format and lists its arrays, for all
 * formats.
 */
#define _POSIX_C_SOURCE 200809L
#include "common/wire.h"
#include "foreign.h"
#include "hdf5_family.h"
#include "foreign_proto.h"
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The memory for names and shapes is limited to twice the file's size plus this number. */
#define ARENA_SLACK (48u * 1024 * 1024)

#define SHORT 128 /* a caffemodel has a layer within this many bytes */

static const struct ferry__io_reader *const readers[] = {
    &ferry__npy_reader,         &ferry__torch_reader,   &ferry__npz_reader,
    &ferry__safetensors_reader, &ferry__sharded_reader, &ferry__hdf5_reader,
    &ferry__caffemodel_reader, /* comes last, because Caffe's format has no magic number */
};

/* ---- names ---------------------------------------------------------------------------------- */

static int make_names(struct ferry_io *io)
{
    for (int64_t i = 0; i < io->count; i++) {
        const ferry_io_entry *entry = &io->table[i]->entry;
        int64_t former = ferry__names_add(&io->names, entry->name, i);

        if (former == -2)
            return ferry_error_set(FERRY_ENOMEM, "%s: out of memory for %lld names", io->file.path,
                                   (long long)io->count);
        if (former >= 0 && io->reader->unique)
            return ferry_error_set(FERRY_EFORMAT, "%s: %.200s at byte %llu: comes twice",
                                   io->file.path, entry->name, (unsigned long long)entry->offset);
    }
    return FERRY_OK;
}

/* ---- open and close ------------------------------------------------------------------------- */

static int make_table(struct ferry_io *io)
{
    int64_t i = 0;

    io->table = ferry__io_alloc(io, (size_t)io->count * sizeof(*io->table));
    if (!io->table)
        return ferry_last_error_code();
    for (struct ferry__io_array *array = io->first; array; array = array->next)
        io->table[i++] = array;
    io->metadata_table =
        ferry__io_alloc(io, (size_t)io->metadata_count * sizeof(*io->metadata_table));
    if (!io->metadata_table)
        return ferry_last_error_code();
    i = 0;
    for (const struct ferry__io_metadata *m = io->metadata; m; m = m->next)
        io->metadata_table[i++] = m;
    return FERRY_OK;
}

/* Whether the examined bytes are UTF-8 without control characters. */
static bool is_text(const struct ferry__io_file *file)
{
    uint64_t n = file->size < 256 ? file->size : 256;
    unsigned rest = 0; /* continuation bytes that the current character still needs */

    for (uint64_t i = 0; i < n; i++) {
        unsigned char c = file->bytes[i];
        bool blank = c == '\t' || c == '\n' || c == '\r';

        if (rest > 0 ? (c & 0xc0) != 0x80
                     : (c < ' ' && !blank) || c == 0x7f || (c >= 0x80 && c < 0xc2) || c > 0xf4)
            return false;
        rest = rest > 0 ? rest - 1 : c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    }
    return true;
}

/* Whether the file ends within, or just after, a net's name, with which a caffemodel begins. */
static bool is_cut_net(const struct ferry__io_file *file)
{
    const unsigned char *at = file->bytes, *end = at + file->size;
    struct ferry__field field;
    bool cut = ferry__take_field(&at, end, &field) || end - at < 2;

    if (file->size < 3)
        return field.number < 2;
    for (uint64_t i = 2; i < file->size && i < 2u + file->bytes[1]; i++)
        if (file->bytes[i] < ' ')
            return false;
    return file->size < SHORT && cut && field.number == 1 && field.type == FERRY__WIRE_BYTES;
}

static int unknown_format(const struct ferry__io_file *file)
{
    if (is_cut_net(file))
        return ferry_error_set(FERRY_EFORMAT,
                               "%s: format at byte 0: too short for a file of weights: it ends at "
                               "byte %llu%s",
                               file->path, (unsigned long long)file->size,
                               is_text(file) ? ", and may be text" : "");
    if (is_text(file))
        return ferry_error_set(
            FERRY_EFORMAT, "%s: format at byte 0: is text; weights are binary files", file->path);
    return ferry_error_set(FERRY_EFORMAT,
                           "%s: format at byte 0: not a format of Caffe, NumPy, PyTorch, "
                           "safetensors or HDF5",
                           file->path);
}

/*
 * Refuses files of other programs. Zip archives and protobuf messages are used by many programs;
 * the other formats have magic numbers of their own. A message with Caffe's fields is not checked
 * for other programs' magic numbers, since its name may contain one.
 */
static int refuse_foreign(const struct ferry_io *io)
{
    bool caffe = io->reader == &ferry__caffemodel_reader;
    int err;

    if (io->reader && !caffe && io->reader != &ferry__npz_reader)
        return FERRY_OK;
    err = ferry__hdf5_family_refuse(&io->file);
    if (err)
        return err;
    return caffe ? ferry__foreign_by_fields(&io->file) : ferry__foreign_refuse(&io->file);
}

static int find_reader(struct ferry_io *io)
{
    int err;

    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]) && !io->reader; i++) {
        io->format = readers[i]->probe(&io->file);
        if (io->format != FERRY_IO_UNKNOWN && !(io->part && readers[i] == &ferry__sharded_reader))
            io->reader = readers[i];
    }
    err = refuse_foreign(io);
    if (err) /* the reader was not opened and must not be closed */
        io->reader = NULL;
    else if (!io->reader)
        err = unknown_format(&io->file);
    return err;
}

/* A flag for open_file: the file is listed in an index. */
#define PART (1u << 31)

static int open_part(const char *path, ferry_io **out);

static const struct ferry__io_parts parts = { open_part, ferry_io_entry_find, ferry_io_close };

/* Opens a file. Takes ownership of `file`, even on failure. */
static int open_file(struct ferry__io_file *file, unsigned flags, ferry_io **out)
{
    struct ferry_io *io = calloc(1, sizeof(*io));
    int err;

    if (!io) {
        err = ferry_error_set(FERRY_ENOMEM, "%s: out of memory", file->path);
        ferry__io_file_close(file);
        return err;
    }
    io->file = *file;
    io->trusted = flags & FERRY_IO_TRUST;
    io->part = flags & PART;
    io->parts = &parts;
    io->arena.limit = 2 * file->size + ARENA_SLACK;
    err = find_reader(io);
    if (!err)
        err = io->reader->open(io);
    if (!err)
        err = make_table(io);
    if (!err && io->reader->unique)
        err = make_names(io);
    if (err) {
        ferry_io_close(io);
        return err;
    }
    *out = io;
    return FERRY_OK;
}

static int open_part(const char *path, ferry_io **out)
{
    struct ferry__io_file file;
    int err = ferry__io_file_open(path, &file);

    return err ? err : open_file(&file, PART, out);
}

int ferry_io_open_with(const char *path, unsigned flags, ferry_io **out)
{
    struct ferry__io_file file;
    int err;

    if (!path || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_open: %s is NULL", path ? "out" : "path");
    if (flags & ~FERRY_IO_TRUST)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_open_with: unknown flags 0x%x", flags);
    err = ferry__io_file_open(path, &file);
    if (err)
        ferry__foreign_folder(path);
    return err ? err : open_file(&file, flags, out);
}

int ferry_io_open(const char *path, ferry_io **out)
{
    return ferry_io_open_with(path, 0, out);
}

int ferry_io_open_bytes(const void *bytes, size_t size, const char *name, ferry_io **out)
{
    struct ferry__io_file file;
    int err;

    if (!bytes || !name || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_open_bytes: an argument is NULL");
    if (size == 0)
        return ferry_error_set(FERRY_EFORMAT, "%.400s: is empty: 0 bytes at byte 0", name);
    err = ferry__io_file_borrow(bytes, size, name, &file);
    return err ? err : open_file(&file, 0, out);
}

void ferry_io_close(ferry_io *io)
{
    if (!io)
        return;
    if (io->reader && io->reader->close)
        io->reader->close(io);
    ferry__names_free(&io->names);
    ferry__mem_free(&io->arena);
    ferry__io_file_close(&io->file);
    free(io);
}

/* ---- entries -------------------------------------------------------------------------------- */

bool ferry_io_is_unchanged(const ferry_io *io)
{
    return io && ferry__io_file_is_unchanged(&io->file);
}

ferry_io_format ferry_io_get_format(const ferry_io *io)
{
    return io ? io->format : FERRY_IO_UNKNOWN;
}

int64_t ferry_io_entry_count(const ferry_io *io)
{
    return io ? io->count : 0;
}

int ferry_io_entry_at(const ferry_io *io, int64_t index, const ferry_io_entry **out)
{
    if (!io || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_entry_at: an argument is NULL");
    if (index < 0 || index >= io->count)
        return ferry_error_set(FERRY_EINVAL, "%s: there is no array %lld of %lld", io->file.path,
                               (long long)index, (long long)io->count);
    *out = &io->table[index]->entry;
    return FERRY_OK;
}

int ferry_io_next(ferry_io *io, const ferry_io_entry **out)
{
    if (!io || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_next: an argument is NULL");
    *out = io->position < io->count ? &io->table[io->position++]->entry : NULL;
    return FERRY_OK;
}

int64_t ferry_io_metadata_count(const ferry_io *io)
{
    return io ? io->metadata_count : 0;
}

/* The metadata of that index; NULL if the index is out of range. */
static const struct ferry__io_metadata *metadata_at(const ferry_io *io, int64_t index)
{
    return index < 0 || index >= io->metadata_count ? NULL : io->metadata_table[index];
}

int ferry_io_metadata_at(const ferry_io *io, int64_t index, const char **out_key,
                         const char **out_value)
{
    const struct ferry__io_metadata *metadata;

    if (!io || !out_key || !out_value)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_metadata_at: an argument is NULL");
    metadata = metadata_at(io, index);
    if (!metadata)
        return ferry_error_set(FERRY_EINVAL, "%s: there is no string %lld of %lld", io->file.path,
                               (long long)index, (long long)ferry_io_metadata_count(io));
    *out_key = metadata->key;
    *out_value = metadata->value;
    return FERRY_OK;
}

void ferry_io_rewind(ferry_io *io)
{
    if (io)
        io->position = 0;
}

int ferry_io_entry_find(ferry_io *io, const char *name, const ferry_io_entry **out)
{
    int64_t found;
    int err;

    if (!io || !name || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_entry_find: an argument is NULL");
    if (!io->names.used) {
        err = make_names(io);
        if (err)
            return err;
    }
    found = ferry__names_find(&io->names, name);
    *out = found >= 0 ? &io->table[found]->entry : NULL;
    return FERRY_OK;
}
