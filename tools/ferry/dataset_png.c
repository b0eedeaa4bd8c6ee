/* SPDX-License-Identifier: BSD-2-Clause */
#include "dataset.h"

#include <stdlib.h>

#ifdef FERRY_NET_HAVE_PNG
#include <png.h>

static unsigned char *interleave(const struct dataset_datum *d)
{
    size_t area = (size_t)(d->height * d->width), c, i;
    unsigned char *pixels = malloc(d->size);

    for (c = 0; pixels && c < (size_t)d->channels; c++)
        for (i = 0; i < area; i++)
            pixels[i * (size_t)d->channels + c] = d->bytes[c * area + i];
    return pixels;
}

int dataset_png(const struct dataset_datum *d, unsigned char **out, size_t *out_size)
{
    png_image image = { .version = PNG_IMAGE_VERSION };
    unsigned char *pixels = interleave(d), *bytes;
    png_alloc_size_t size = 0;
    bool made;

    image.format = d->channels == 3 ? PNG_FORMAT_BGR : PNG_FORMAT_GRAY;
    image.height = (png_uint_32)d->height;
    image.width = (png_uint_32)d->width;
    size = PNG_IMAGE_PNG_SIZE_MAX(image);
    bytes = malloc(size);
    made = pixels && bytes && png_image_write_to_memory(&image, bytes, &size, 0, pixels, 0, NULL);
    free(pixels);
    if (!made) {
        free(bytes);
        return ferry_error_set(FERRY_ENOMEM, "encoding a PNG: %s",
                               image.message[0] ? image.message : "out of memory");
    }
    *out = bytes;
    *out_size = size;
    return 0;
}

#else

int dataset_png(const struct dataset_datum *d, unsigned char **out, size_t *out_size)
{
    (void)d;
    (void)out;
    (void)out_size;
    return ferry_error_set(FERRY_EUNSUPPORTED, "ferry was built without libpng");
}

#endif
