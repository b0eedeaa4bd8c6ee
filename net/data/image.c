/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net/data/image.h"

#include <ferry/io.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * ---- detecting the format -----------------------------------------------------------------------
 */

static const struct {
    const char *magic;
    size_t size;
    const char *name; /* the name of a format that is not supported */
    int (*decode)(struct ferry__image *image);
} formats[] = {
    { "\x89PNG\r\n\x1a\n", 8, NULL, ferry__image_png },
    { "\xff\xd8\xff", 3, NULL, ferry__image_jpeg },
    { "GIF8", 4, "GIF", NULL },
    { "BM", 2, "BMP", NULL },
    { "II*\0", 4, "TIFF", NULL },
    { "MM\0*", 4, "TIFF", NULL },
    { "RIFF", 4, "WebP", NULL },
};

int ferry__image_decode(struct ferry__image *image)
{
    if (image->size == 0)
        return ferry_error_set(FERRY_EFORMAT, "%.400s: it is empty", image->name);
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (image->size < formats[i].size ||
            memcmp(image->bytes, formats[i].magic, formats[i].size) != 0)
            continue;
        if (formats[i].decode)
            return formats[i].decode(image);
        return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: it is %s; PNG and JPEG are supported",
                               image->name, formats[i].name);
    }
    return ferry_error_set(FERRY_EFORMAT, "%.400s: it is neither PNG nor JPEG", image->name);
}

/* ---- into a blob ----------------------------------------------------------------------------- */

/* Converts interleaved channels to planes. */
static void spread(const struct ferry__image *image, void *to, bool bytes)
{
    int64_t count = image->height * image->width;

    for (int c = 0; c < image->channels; c++) {
        const unsigned char *from = image->pixels + c;

        for (int64_t i = 0; i < count; i++, from += image->channels)
            if (bytes)
                ((unsigned char *)to)[c * count + i] = *from;
            else
                ((float *)to)[c * count + i] = *from;
    }
}

static int put(const struct ferry__image *image, ferry_blob *out)
{
    int64_t shape[3] = { image->channels, image->height, image->width };
    int err = ferry_blob_reshape(out, shape, 3, NULL);
    void *to = err ? NULL : ferry_blob_overwrite_host_data(out);

    if (!to)
        return err ? err : ferry_last_error_code();
    spread(image, to, ferry_blob_dtype(out) == FERRY_U8);
    return FERRY_OK;
}

int ferry_image_decode(const void *bytes, size_t size, const char *name, int channels,
                       ferry_blob *out)
{
    struct ferry__image image = { .name = name ? name : "", .bytes = bytes, .size = size };
    int err;

    if ((!bytes && size) || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_image_decode: an argument is NULL");
    if (channels != 0 && channels != 1 && channels != 3)
        return ferry_error_set(FERRY_EINVAL, "%.400s: %d channels; 1 and 3 are supported",
                               image.name, channels);
    if (ferry_blob_dtype(out) != FERRY_U8 && ferry_blob_dtype(out) != FERRY_F32)
        return ferry_error_set(FERRY_EINVAL, "%.400s: pictures can be read into blobs of U8 or F32",
                               image.name);
    image.channels = channels;
    image.each = 1 + (unsigned)ferry_dtype_size(ferry_blob_dtype(out));
    err = ferry__image_decode(&image);
    if (!err)
        err = put(&image, out);
    free(image.pixels);
    return err;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int decode_open_file(int fd, const char *path, int channels, ferry_blob *out)
{
    struct stat about;
    void *mapping = NULL;
    int err;

    if (fstat(fd, &about) != 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return ferry_error_set(FERRY_EIO, "%.400s: %s", path,
                               S_ISDIR(about.st_mode) ? "is a directory" : "is not a regular file");
    if (about.st_size > 0)
        mapping = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping == MAP_FAILED)
        return ferry_error_set(FERRY_EIO, "%.400s: mapping it: %s", path, strerror(errno));
    err = ferry_image_decode(mapping, (size_t)about.st_size, path, channels, out);
    if (mapping)
        munmap(mapping, (size_t)about.st_size);
    return err;
}

/* O_NONBLOCK: opening a pipe without a writer does not block, and the check refuses it. */
int ferry_image_read(const char *path, int channels, ferry_blob *out)
{
    int fd, err;

    if (!path || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_image_read: an argument is NULL");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", path, strerror(errno));
    err = decode_open_file(fd, path, channels, out);
    close(fd);
    return err;
}
