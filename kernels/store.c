/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kernels/store.h"

#include "common/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC     "ferry cl"
#define VERSION   1u
#define MOST      (UINT64_C(256) << 20) /* maximum size of a file, in bytes */

/* The beginning of a file; the key follows, then the binary. */
struct header {
    char magic[8];
    uint32_t version, key_bytes;
    uint64_t binary_bytes, checksum;
};

/* ---- reading -------------------------------------------------------------------------------- */

static bool read_all(int fd, void *out, size_t bytes)
{
    char *at = out;

    while (bytes > 0) {
        ssize_t n = read(fd, at, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* The reason why the file is not trusted; NULL if it is. */
static const char *distrust(int fd, uint64_t *out_bytes)
{
    struct stat s;

    if (fstat(fd, &s) || !S_ISREG(s.st_mode))
        return "it is not a file";
    if (s.st_uid != geteuid() || s.st_mode & (S_IWGRP | S_IWOTH))
        return "other users can write it";
    if ((uint64_t)s.st_size < sizeof(struct header) || (uint64_t)s.st_size > MOST)
        return "its size is not valid";
    *out_bytes = (uint64_t)s.st_size;
    return NULL;
}

/* The error in the file's content; NULL, and the position of the binary, if it is valid. */
static const char *parse(const char *key, uint64_t bytes, struct stored *out)
{
    const unsigned char *body = out->file + sizeof(struct header);
    uint64_t body_bytes = bytes - sizeof(struct header);
    struct header h;

    memcpy(&h, out->file, sizeof(h));
    if (memcmp(h.magic, MAGIC, sizeof(h.magic)) != 0 || h.version != VERSION)
        return "it has another format";
    if (h.key_bytes > body_bytes || h.binary_bytes != body_bytes - h.key_bytes)
        return "it is truncated";
    if (ferry__hash(FERRY__HASH, body, (size_t)body_bytes) != h.checksum)
        return "it is damaged";
    if (h.key_bytes != strlen(key) || memcmp(body, key, h.key_bytes) != 0)
        return "it was made by another driver";
    out->binary = body + h.key_bytes;
    out->bytes = (size_t)h.binary_bytes;
    return NULL;
}

static const char *read_open(int fd, const char *key, struct stored *out)
{
    uint64_t bytes = 0;
    const char *why = distrust(fd, &bytes);

    if (why)
        return why;
    out->file = malloc((size_t)bytes);
    if (!out->file || !read_all(fd, out->file, (size_t)bytes))
        return "it cannot be read";
    return parse(key, bytes, out);
}

const char *store_read(const char *path, const char *key, struct stored *out)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const char *why;

    *out = (struct stored){ NULL, NULL, 0 };
    if (fd < 0)
        return "";
    why = read_open(fd, key, out);
    close(fd);
    return why;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Writes all parts and closes `file`; fails if it is NULL. */
static bool write_parts(FILE *file, const struct header *h, const char *key, const void *binary)
{
    bool written = file && fwrite(h, sizeof(*h), 1, file) == 1 &&
                   fwrite(key, 1, h->key_bytes, file) == h->key_bytes &&
                   fwrite(binary, 1, (size_t)h->binary_bytes, file) == h->binary_bytes;

    return file && !fclose(file) && written;
}

static bool write_file(const char *path, const struct header *h, const char *key,
                       const void *binary)
{
    char name[STORE_PATH + 8];
    bool written;
    FILE *file;
    int fd;

    snprintf(name, sizeof(name), "%s.XXXXXX", path);
    fd = mkostemp(name, O_CLOEXEC); /* with mode 0600 */
    if (fd < 0)
        return false;
    file = fdopen(fd, "wb");
    if (!file)
        close(fd);
    written = write_parts(file, h, key, binary) && !rename(name, path);
    if (!written)
        unlink(name);
    return written;
}

bool store_write(const char *path, const char *key, const void *binary, size_t bytes)
{
    struct header h = { .magic = MAGIC, .version = VERSION };

    h.key_bytes = (uint32_t)strlen(key);
    h.binary_bytes = bytes;
    h.checksum = ferry__hash(ferry__hash(FERRY__HASH, key, h.key_bytes), binary, bytes);
    return bytes <= MOST / 2 && write_file(path, &h, key, binary);
}
