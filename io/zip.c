/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads zip files as in PKWARE's APPNOTE 6.3: local headers and data, the central directory, the
 * end record. ZIP64's 64-bit sizes replace 32-bit fields that are all ones.
 */
#include "zip.h"

#include <stdbool.h>
#include <string.h>

#define LOCAL_SIZE   30u
#define ENTRY_SIZE   46u
#define END_SIZE     22u
#define LOCATOR_SIZE 20u
#define END64_SIZE   56u

static uint32_t get16(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t get32(const unsigned char *at)
{
    return get16(at) | get16(at + 2) << 16;
}

static uint64_t get64(const unsigned char *at)
{
    return get32(at) | (uint64_t)get32(at + 4) << 32;
}

static int fail(const struct ferry__io_file *file, const unsigned char *at, const char *field,
                const char *what)
{
    return ferry_error_set(FERRY_EFORMAT, "%s: zip %s at byte %llu: %s", file->path, field,
                           (unsigned long long)(at - file->bytes), what);
}

/* ---- the directory -------------------------------------------------------------------------- */

/* Finds the end record, which only a comment of up to 64 KiB may follow. */
static const unsigned char *find_end(const struct ferry__io_file *file)
{
    const unsigned char *at;
    uint64_t back = 0;

    if (file->size < END_SIZE)
        return NULL;
    at = file->bytes + file->size - END_SIZE;
    for (; at >= file->bytes && back <= FERRY__ZIP_FULL16; at--, back++) {
        if (memcmp(at, "PK\5\6", 4) == 0 && get16(at + 20) == back)
            return at;
        if (at == file->bytes)
            break;
    }
    return NULL;
}

struct extent {
    uint64_t members, size, offset;
};

static int read_end64(const struct ferry__io_file *file, const unsigned char *end,
                      struct extent *out)
{
    const unsigned char *locator = end - LOCATOR_SIZE;
    uint64_t offset;

    if ((uint64_t)(end - file->bytes) < LOCATOR_SIZE || memcmp(locator, "PK\6\7", 4) != 0)
        return fail(file, end, "end record", "marks ZIP64, but there is no locator");
    offset = get64(locator + 8);
    if (file->size < END64_SIZE || offset > file->size - END64_SIZE ||
        memcmp(file->bytes + offset, "PK\6\6", 4) != 0)
        return fail(file, locator, "ZIP64 locator", "does not point at an end record");
    out->members = get64(file->bytes + offset + 32);
    out->size = get64(file->bytes + offset + 40);
    out->offset = get64(file->bytes + offset + 48);
    return FERRY_OK;
}

int ferry__zip_open(const struct ferry__io_file *file, struct ferry__zip *out)
{
    const unsigned char *end = find_end(file);
    struct extent directory;
    int err = FERRY_OK;

    if (!end)
        return ferry_error_set(FERRY_EFORMAT,
                               "%s: zip end record at byte %llu: is missing; is the file "
                               "truncated?",
                               file->path, (unsigned long long)file->size);
    directory.members = get16(end + 10);
    directory.size = get32(end + 12);
    directory.offset = get32(end + 16);
    if (get32(end + 4) != 0)
        return fail(file, end, "end record", "the archive has several parts");
    if (directory.members == FERRY__ZIP_FULL16 || directory.size == FERRY__ZIP_FULL32 ||
        directory.offset == FERRY__ZIP_FULL32)
        err = read_end64(file, end, &directory);
    if (err)
        return err;
    if (directory.offset > file->size || directory.size > file->size - directory.offset)
        return fail(file, end, "end record", "the directory is outside of the file");
    out->file = file;
    out->at = file->bytes + directory.offset;
    out->end = out->at + directory.size;
    out->left = directory.members;
    return FERRY_OK;
}

/* ---- members -------------------------------------------------------------------------------- */

/* Replaces fields that are all ones by the values in the ZIP64 extra field, in its order. */
static int take_zip64(const struct ferry__zip *zip, const unsigned char *at,
                      const unsigned char *end, struct ferry__zip_member *m, uint64_t *offset)
{
    uint64_t *full[3];
    size_t n = 0;

    if (m->size == FERRY__ZIP_FULL32)
        full[n++] = &m->size;
    if (m->stored == FERRY__ZIP_FULL32)
        full[n++] = &m->stored;
    if (*offset == FERRY__ZIP_FULL32)
        full[n++] = offset;
    while (n > 0 && end - at >= 4) {
        uint32_t size = get16(at + 2);

        if (size > (uint64_t)(end - at) - 4)
            break;
        if (get16(at) == 1) {
            if (size < 8 * n)
                break;
            for (size_t i = 0; i < n; i++)
                *full[i] = get64(at + 4 + 8 * i);
            return FERRY_OK;
        }
        at += 4 + size;
    }
    return n > 0 ? fail(zip->file, at, "extra field", "has no 64-bit sizes") : FERRY_OK;
}

/*
 * Finds a member's values. They follow the local header, which repeats the lengths of name and
 * extra field.
 */
static int find_bytes(const struct ferry__zip *zip, const unsigned char *entry, uint64_t offset,
                      struct ferry__zip_member *m)
{
    const struct ferry__io_file *file = zip->file;
    const unsigned char *local;
    uint64_t begin;

    if (file->size < LOCAL_SIZE || offset > file->size - LOCAL_SIZE)
        return fail(file, entry, "directory entry", "its local header is outside of the file");
    local = file->bytes + offset;
    if (memcmp(local, "PK\3\4", 4) != 0)
        return fail(file, local, "local header", "is not a local header");
    begin = offset + LOCAL_SIZE + get16(local + 26) + get16(local + 28);
    if (begin > file->size || m->stored > file->size - begin)
        return fail(file, local, "local header", "its bytes run past the end of the file");
    m->bytes = file->bytes + begin;
    return FERRY_OK;
}

int ferry__zip_refuse(const struct ferry__zip *zip, const struct ferry__zip_member *m)
{
    return ferry_error_set(FERRY_EUNSUPPORTED, "%s: %.*s: zip member at byte %llu: %s",
                           zip->file->path, m->name_size < 100 ? (int)m->name_size : 100,
                           (const char *)m->name, (unsigned long long)(m->bytes - zip->file->bytes),
                           m->unreadable);
}

static int check_method(const struct ferry__zip *zip, const unsigned char *entry,
                        struct ferry__zip_member *m)
{
    bool known = m->method == FERRY__ZIP_STORED || m->method == FERRY__ZIP_DEFLATED;

    m->unreadable = get16(entry + 8) & 1 ? "is encrypted"
                    : !known             ? "neither stored nor deflated"
                                         : NULL;
    if (m->unreadable)
        return FERRY_OK;
    if (m->method == FERRY__ZIP_STORED && m->stored != m->size)
        return fail(zip->file, entry, "directory entry", "has two sizes for stored bytes");
    return FERRY_OK;
}

int ferry__zip_next(struct ferry__zip *zip, struct ferry__zip_member *out)
{
    const unsigned char *entry = zip->at, *extra;
    uint64_t offset, room = (uint64_t)(zip->end - zip->at);
    uint64_t size;
    int err;

    if (zip->left == 0)
        return 0;
    if (room < ENTRY_SIZE || memcmp(entry, "PK\1\2", 4) != 0)
        return fail(zip->file, entry, "directory", "is missing");
    size = (uint64_t)ENTRY_SIZE + get16(entry + 28) + get16(entry + 30) + get16(entry + 32);
    if (size > room)
        return fail(zip->file, entry, "directory entry", "runs past the directory");
    out->name = entry + ENTRY_SIZE;
    out->name_size = get16(entry + 28);
    out->method = get16(entry + 10);
    out->crc = get32(entry + 16);
    out->stored = get32(entry + 20);
    out->size = get32(entry + 24);
    offset = get32(entry + 42);
    extra = out->name + out->name_size;
    err = take_zip64(zip, extra, extra + get16(entry + 30), out, &offset);
    if (!err)
        err = check_method(zip, entry, out);
    if (!err)
        err = find_bytes(zip, entry, offset, out);
    zip->at += size;
    zip->left--;
    return err ? err : 1;
}
