/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/data/leveldb/log.h"

#include "net/data/leveldb/bytes.h"
#include "net/data/leveldb/crc32c.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32768, HEADER = 7 }; /* sizes in bytes; a header has a checksum, a length and a
                                     * type */
enum { ZERO = 0, WHOLE = 1, FIRST, MIDDLE, LAST }; /* the types of a part */

struct part {
    unsigned type;
    uint64_t begin; /* the offset of the part's header */
    size_t size;
};

int ferry__leveldb_log_open(const char *folder, const char *name, struct ferry__leveldb_log *log)
{
    memset(log, 0, sizeof *log);
    return ferry__leveldb_file_open(folder, name, &log->file);
}

void ferry__leveldb_log_close(struct ferry__leveldb_log *log)
{
    if (log->file.folder)
        ferry__leveldb_file_close(&log->file);
    free(log->record);
    log->record = NULL;
}

/* Grows the buffer and keeps the parts read so far. */
static int grow(struct ferry__leveldb_log *log, size_t size)
{
    size_t room = log->room ? log->room : BLOCK;
    unsigned char *grown;

    if (size <= log->room)
        return FERRY_OK;
    while (room < size)
        room *= 2;
    grown = realloc(log->record, room);
    if (!grown)
        return ferry__leveldb_no_memory(log->file.folder);
    log->record = grown;
    log->room = room;
    return FERRY_OK;
}

/*
 * Finds the next part and the offset after its header. *out_end: the file ends before the part is
 * complete.
 */
static int find_part(struct ferry__leveldb_log *log, struct part *out, unsigned char *header,
                     bool *out_end)
{
    uint64_t left = BLOCK - log->at % BLOCK;
    int err;

    if (left < HEADER) /* a header does not fit: the rest of the block is unused */
        log->at += left;
    *out_end = log->at > log->file.size || log->file.size - log->at < HEADER;
    if (*out_end)
        return FERRY_OK;
    err = ferry__leveldb_file_read(&log->file, log->at, header, HEADER);
    if (err)
        return err;
    out->begin = log->at;
    out->size = (size_t)ferry__le(header + 4, 2);
    out->type = header[6];
    if (out->type > LAST || (out->type == ZERO && out->size))
        return ferry__leveldb_damaged(&log->file, log->at, "a record has an unknown type");
    if (log->at % BLOCK + HEADER + out->size > BLOCK)
        return ferry__leveldb_damaged(&log->file, log->at, "a record leaves its block");
    *out_end = log->file.size - log->at - HEADER < out->size;
    return FERRY_OK;
}

/* Appends the next part to the record. */
static int read_part(struct ferry__leveldb_log *log, struct part *out, bool *out_end)
{
    unsigned char header[HEADER];
    int err = find_part(log, out, header, out_end);
    uint32_t crc;

    if (err || *out_end)
        return err;
    if (out->type == ZERO) { /* space that a writer reserved but did not use */
        log->at += BLOCK - log->at % BLOCK;
        return FERRY_OK;
    }
    err = grow(log, log->size + out->size);
    if (!err)
        err = ferry__leveldb_file_read(&log->file, log->at + HEADER, log->record + log->size,
                                       out->size);
    if (err)
        return err;
    crc = ferry__crc32c(ferry__crc32c(0, header + 6, 1), log->record + log->size, out->size);
    if (ferry__crc32c_mask(crc) != ferry__le(header, 4))
        return ferry__leveldb_damaged(&log->file, log->at, "a record's checksum is wrong");
    log->size += out->size;
    log->at += HEADER + out->size;
    return FERRY_OK;
}

int ferry__leveldb_log_next(struct ferry__leveldb_log *log, bool *out_end)
{
    bool begun = false;
    struct part part;

    log->size = 0;
    for (;;) {
        int err = read_part(log, &part, out_end);

        if (err || *out_end)
            return err;
        if (part.type == ZERO)
            continue;
        if ((part.type == WHOLE || part.type == FIRST) == begun)
            return ferry__leveldb_damaged(&log->file, part.begin,
                                          begun ? "a record begins within another one"
                                                : "a record lacks its first part");
        if (!begun)
            log->begin = part.begin;
        begun = true;
        if (part.type == WHOLE || part.type == LAST)
            return FERRY_OK;
    }
}
