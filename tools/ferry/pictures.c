/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "pictures.h"

#include <ferry/io.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the mean -------------------------------------------------------------------------------- */

/*
 * Parses "B,G,R" or one number. Returns the number of values, or 0 if the text is not a list of
 * numbers.
 */
static int parse_numbers(const char *text, float out[3])
{
    int n = 0;
    char *end;

    for (;;) {
        double value = strtod(text, &end);

        if (end == text || n == 3)
            return 0;
        out[n++] = (float)value;
        if (!*end)
            return n == 2 ? 0 : n;
        if (*end != ',')
            return 0;
        text = end + 1;
    }
}

static int mean_of_numbers(ferry_blob *mean, const float *numbers, int n)
{
    int err = ferry_blob_reshape(mean, (int64_t[]){ n }, 1, NULL);
    float *to = err ? NULL : ferry_blob_overwrite_host_data(mean);

    if (!to)
        return tool_ferry_error();
    memcpy(to, numbers, (size_t)n * sizeof(*to));
    return TOOL_OK;
}

static int mean_of_file(ferry_blob *mean, const char *path)
{
    const ferry_io_entry *entry = NULL;
    ferry_io *io;
    int status = TOOL_OK;

    if (ferry_io_open(path, &io))
        return tool_ferry_error();
    if (ferry_io_entry_count(io) != 1)
        status = tool_error(TOOL_FAILURE, "--mean %s: has %lld arrays, expected one", path,
                            (long long)ferry_io_entry_count(io));
    else if (ferry_io_entry_at(io, 0, &entry) || ferry_io_read(io, entry, mean))
        status = tool_ferry_error();
    ferry_io_close(io);
    return status;
}

static int read_mean(struct net_pictures *p)
{
    float numbers[3];
    int n = parse_numbers(p->mean, numbers);

    return n ? mean_of_numbers(p->mean_blob, numbers, n) : mean_of_file(p->mean_blob, p->mean);
}

static int read_scale(const struct tool_command *self, struct net_pictures *p)
{
    char *end;

    p->factor = p->scale ? strtod(p->scale, &end) : 1;
    if (p->scale && (end == p->scale || *end || !(p->factor != 0) || p->factor - p->factor != 0))
        return tool_error(TOOL_USAGE, "%s: --scale %s: expected a number other than 0", self->name,
                          p->scale);
    return TOOL_OK;
}

int pictures_begin(const struct tool_command *self, struct net_pictures *p, ferry_device *dev)
{
    int status = read_scale(self, p);

    if (status != TOOL_OK)
        return status;
    if (ferry_blob_create(dev, FERRY_U8, NULL, FERRY_UNSHAPED, &p->decoded))
        return tool_ferry_error();
    if (!p->mean)
        return TOOL_OK;
    if (ferry_blob_create(dev, FERRY_F32, NULL, FERRY_UNSHAPED, &p->mean_blob))
        return tool_ferry_error();
    return read_mean(p);
}

void pictures_end(struct net_pictures *p)
{
    ferry_blob_destroy(p->mean_blob);
    ferry_blob_destroy(p->decoded);
    p->mean_blob = p->decoded = NULL;
}

/* ---- one picture ----------------------------------------------------------------------------- */

bool pictures_is_one(const char *path)
{
    unsigned char bytes[8] = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: opening a pipe does not
                                                             * block */
    struct stat about;
    ssize_t n = 0;

    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
        n = pread(fd, bytes, sizeof(bytes), 0);
    if (fd >= 0)
        close(fd);
    return (n == 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0) ||
           (n >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0);
}

int pictures_are_there(const struct tool_command *self, const struct net_pictures *p,
                       const char *const *inputs, size_t n)
{
    const char *option = p->mean      ? "--mean"
                         : p->scale   ? "--scale"
                         : p->swap_rb ? "--swap-rb"
                         : p->crop    ? "--crop"
                                      : NULL;

    for (size_t i = 0; option && i < n; i++) {
        const char *equals = strchr(inputs[i], '=');

        if (pictures_is_one(equals ? equals + 1 : inputs[i]))
            option = NULL;
    }
    return option ? tool_error(TOOL_USAGE, "%s: %s: none of the inputs is a picture", self->name,
                               option)
                  : TOOL_OK;
}

/*
 * The size to resize a picture to. If the mean is larger than the input, it is the size of the
 * mean, and the input is cropped from the picture.
 */
static void size_of(const struct net_pictures *p, int64_t height, int64_t width,
                    ferry_image_transform_options *o)
{
    int rank = p->mean_blob ? ferry_blob_rank(p->mean_blob) : 0;

    o->height = height;
    o->width = width;
    if (rank >= 2 && ferry_blob_dim(p->mean_blob, rank - 2) >= height &&
        ferry_blob_dim(p->mean_blob, rank - 1) >= width) {
        o->height = ferry_blob_dim(p->mean_blob, rank - 2);
        o->width = ferry_blob_dim(p->mean_blob, rank - 1);
        o->crop_height = height;
        o->crop_width = width;
    }
}

int pictures_read(const struct net_pictures *p, const char *path, ferry_blob *input, int64_t item)
{
    ferry_image_transform_options o = { .struct_size = sizeof o, .mean = p->mean_blob };
    char shape[160];
    int err;

    ferry_blob_shape_string(input, shape, sizeof(shape));
    if (ferry_blob_rank(input) != 4 ||
        (ferry_blob_dim(input, 1) != 1 && ferry_blob_dim(input, 1) != 3))
        return ferry_error_set(FERRY_ESHAPE,
                               "%.400s: is a picture, and \"%.100s\" is %s: it must have one or "
                               "three channels",
                               path, ferry_blob_name(input), shape);
    size_of(p, ferry_blob_dim(input, 2), ferry_blob_dim(input, 3), &o);
    o.cover = p->crop;
    o.scale = p->factor;
    o.swap_rb = p->swap_rb;
    err = ferry_image_read(path, (int)ferry_blob_dim(input, 1), p->decoded);
    return err ? err : ferry_image_transform(p->decoded, &o, input, item);
}
