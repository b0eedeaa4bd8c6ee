/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "dataset.h"

#include <ferry/image.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int no_memory(const char *path)
{
    return ferry_error_set(FERRY_ENOMEM, "%.400s: out of memory", path);
}

/* Opens a regular file or a pipe. Character devices are refused because they may never end. */
static int open_file(const char *path, FILE **out)
{
    FILE *f = fopen(path, "rb");
    struct stat info;

    if (f && !fstat(fileno(f), &info) && !S_ISCHR(info.st_mode)) {
        *out = f;
        return 0;
    }
    if (!f)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", path, strerror(errno));
    fclose(f);
    return ferry_error_set(FERRY_EIO, "%.400s: is a device, not a file", path);
}

/* Reads a whole file and appends a NUL; the caller frees the result. */
static int read_all(const char *path, char **out, size_t *out_size)
{
    char *bytes = NULL;
    size_t size = 0, room = 0, got = 1;
    FILE *f = NULL;
    int err = open_file(path, &f);

    if (err)
        return err;
    while (got) {
        if (room - size < 2) {
            char *grown = realloc(bytes, room = room ? 2 * room : 65536);

            if (!grown)
                break;
            bytes = grown;
        }
        got = fread(bytes + size, 1, room - size - 1, f);
        size += got;
    }
    if (ferror(f) || got) {
        free(bytes);
        fclose(f);
        return got ? no_memory(path) : ferry_error_set(FERRY_EIO, "%.400s: cannot be read", path);
    }
    fclose(f);
    bytes[size] = 0;
    *out = bytes;
    *out_size = size;
    return 0;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static int read_line(struct dataset_source *s, char *line, long long number)
{
    size_t length = strlen(line);
    char *space, *end = NULL;
    long label = 0;

    while (length && strchr(" \t\r", line[length - 1]))
        line[--length] = 0;
    if (!length)
        return 0;
    space = strrchr(line, ' ');
    errno = 0;
    if (space)
        label = strtol(space + 1, &end, 10);
    if (!space || *end || errno || label < INT32_MIN || label > INT32_MAX)
        return ferry_error_set(FERRY_EFORMAT, "%.400s: line %lld: no label after \"%.200s\"",
                               s->file, number, line);
    *space = 0;
    s->items[s->count++] = (struct dataset_item){ line, (int32_t)label };
    return 0;
}

static int read_list(struct dataset_source *s)
{
    char *line, *next;
    long long number = 0;
    size_t n = 1;
    int err = 0;

    for (line = s->text; *line; line++)
        n += *line == '\n';
    s->items = calloc(n, sizeof *s->items);
    if (!s->items)
        return no_memory(s->file);
    for (line = s->text; !err && line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        err = read_line(s, line, ++number);
    }
    return !err && !s->count
               ? ferry_error_set(FERRY_EFORMAT, "%.400s: does not list any picture", s->file)
               : err;
}

static int set_root(struct dataset_source *s, const char *root)
{
    const char *slash = strrchr(s->file, '/');
    size_t length = root ? strlen(root) : slash ? (size_t)(slash + 1 - s->file) : 0;

    s->root = calloc(length + 2, 1);
    if (!s->root)
        return no_memory(s->file);
    memcpy(s->root, root ? root : s->file, length);
    if (root && length && root[length - 1] != '/')
        s->root[length] = '/';
    return 0;
}

/* ---- idx files ------------------------------------------------------------------------------- */

static uint32_t big_endian(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/*
 * Whether the file is an idx file: it starts with two zeros, the type, the number of axes, and
 * their lengths.
 */
static bool is_idx(const char *bytes, size_t size)
{
    return size >= 4 && !bytes[0] && !bytes[1] && bytes[2] >= 8 && bytes[2] <= 14;
}

/* Parses the axes of an idx file of bytes; *out_data is the data after them. */
static int idx_axes(const char *path, const char *bytes, size_t size, int least, int most,
                    uint64_t shape[4], const unsigned char **out)
{
    int rank = size >= 4 ? bytes[3] : 0;
    uint64_t count = 1, rest = size - 4 - 4 * (size_t)rank;

    if (bytes[2] != 8 || rank < least || rank > most || size < 4 + 4 * (size_t)rank)
        return ferry_error_set(FERRY_EFORMAT,
                               "%.400s: an idx file of type %d with %d axes; expected bytes (8) "
                               "with %d axes",
                               path, bytes[2], rank, least);
    for (int i = 0; i < rank; i++) {
        shape[i] = big_endian(bytes + 4 + 4 * i);
        count = shape[i] && count > rest / shape[i] ? rest + 1 : count * shape[i];
    }
    if (count != rest || !count)
        return ferry_error_set(FERRY_EFORMAT,
                               "%.400s: %llu bytes of data, which do not match its axes", path,
                               (unsigned long long)rest);
    *out = (const unsigned char *)bytes + 4 + 4 * rank;
    return 0;
}

static int read_labels(struct dataset_source *s, const char *path)
{
    const unsigned char *values = NULL;
    uint64_t shape[4];
    char *bytes = NULL;
    size_t size;
    int err = read_all(path, &bytes, &size);

    if (!err && !is_idx(bytes, size))
        err = ferry_error_set(FERRY_EFORMAT, "%.400s: not an idx file", path);
    if (!err)
        err = idx_axes(path, bytes, size, 1, 1, shape, &values);
    if (!err && shape[0] != (uint64_t)s->count)
        err = ferry_error_set(FERRY_ESHAPE, "%.300s: %llu labels for the %lld pictures of %.300s",
                              path, (unsigned long long)shape[0], (long long)s->count, s->file);
    for (int64_t i = 0; !err && i < s->count; i++)
        s->items[i].label = values[i];
    free(bytes);
    return err;
}

static int read_idx(struct dataset_source *s, size_t size, const char *labels)
{
    uint64_t shape[4];
    int color, err = idx_axes(s->file, s->text, size, 3, 4, shape, &s->pixels);

    if (err)
        return err;
    color = s->text[3] == 4;
    s->count = (int64_t)shape[0];
    s->channels = color ? (int64_t)shape[1] : 1;
    s->height = (int64_t)shape[color ? 2 : 1];
    s->width = (int64_t)shape[color ? 3 : 2];
    s->items = calloc((size_t)s->count, sizeof *s->items);
    if (!s->items)
        return no_memory(s->file);
    return labels
               ? read_labels(s, labels)
               : ferry_error_set(FERRY_EINVAL,
                                 "%.400s: is an idx file and requires a file of labels", s->file);
}

/* ---- both ------------------------------------------------------------------------------------ */

int dataset_open(struct dataset_source *s, const char *file, const char *labels, const char *root)
{
    size_t size = 0;
    int err;

    s->file = file;
    err = read_all(file, &s->text, &size);
    if (err)
        return err;
    if (size > 2 && (unsigned char)s->text[0] == 0x1f && (unsigned char)s->text[1] == 0x8b)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: is compressed; run gunzip first", file);
    if (is_idx(s->text, size))
        return root ? ferry_error_set(FERRY_EINVAL, "%.400s: --root requires a list", file)
                    : read_idx(s, size, labels);
    if (labels)
        return ferry_error_set(FERRY_EINVAL,
                               "%.400s: not an idx file; the labels of a list are in "
                               "the list itself",
                               file);
    if (strlen(s->text) != size)
        return ferry_error_set(FERRY_EFORMAT, "%.400s: not a list: byte %zu is 0", file,
                               strlen(s->text) + 1);
    err = set_root(s, root);
    return err ? err : read_list(s);
}

void dataset_close(struct dataset_source *s)
{
    free(s->root);
    free(s->text);
    free(s->items);
}

char *dataset_path(const struct dataset_source *s, int64_t i)
{
    const char *root = s->items[i].path[0] == '/' ? "" : s->root;
    size_t size = strlen(root) + strlen(s->items[i].path) + 1;
    char *path = malloc(size);

    if (path)
        snprintf(path, size, "%s%s", root, s->items[i].path);
    return path;
}

static int idx_picture(const struct dataset_source *s, int64_t i, ferry_blob *out)
{
    int64_t shape[3] = { s->channels, s->height, s->width };
    size_t size = (size_t)(s->channels * s->height * s->width);
    int err = ferry_blob_reshape(out, shape, 3, NULL);
    unsigned char *to = err ? NULL : ferry_blob_overwrite_host_data(out);

    if (!to)
        return err ? err : ferry_last_error_code();
    memcpy(to, s->pixels + (size_t)i * size, size);
    return 0;
}

int dataset_picture(const struct dataset_source *s, int64_t i, int channels, ferry_blob *out)
{
    char *path;
    int err;

    if (s->pixels && channels == 1 && s->channels != 1)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "--gray does not apply to an idx file of %lld "
                               "channels",
                               (long long)s->channels);
    if (s->pixels)
        return idx_picture(s, i, out);
    path = dataset_path(s, i);
    err = path ? ferry_image_read(path, channels, out) : no_memory(s->items[i].path);
    free(path);
    return err;
}
