/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates a picture's pixels within the limits on the size that a file may claim. */
#include "net/data/image.h"

#include <ferry/io.h>

#include <stdlib.h>

int ferry__image_make(struct ferry__image *image, uint64_t height, uint64_t width)
{
    uint64_t most = ferry_io_max_bytes(), values;

    if (height == 0 || width == 0)
        return ferry_error_set(FERRY_EFORMAT, "%.400s: a picture of %llu x %llu pixels",
                               image->name, (unsigned long long)width, (unsigned long long)height);
    if (width > FERRY__IMAGE_PIXELS || height > FERRY__IMAGE_PIXELS / width)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%.400s: a picture of %llu x %llu pixels; the limit is %u",
                               image->name, (unsigned long long)width, (unsigned long long)height,
                               FERRY__IMAGE_PIXELS);
    values = height * width * (uint64_t)image->channels;
    if (values > most / image->each)
        return ferry_error_set(
            FERRY_EOVERFLOW,
            "%.400s: a picture of %llu x %llu pixels: decoding needs %llu bytes, the limit is %llu "
            "(ferry_io_set_max_bytes, --max-bytes)",
            image->name, (unsigned long long)width, (unsigned long long)height,
            (unsigned long long)(values * image->each), (unsigned long long)most);
    image->height = (int64_t)height;
    image->width = (int64_t)width;
    image->pixels = malloc((size_t)values);
    return image->pixels ? FERRY_OK
                         : ferry_error_set(FERRY_ENOMEM, "%.400s: no memory for %llu x %llu pixels",
                                           image->name, (unsigned long long)width,
                                           (unsigned long long)height);
}
