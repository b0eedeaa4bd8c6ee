/* SPDX-License-Identifier: BSD-2-Clause */
/* A picture that is being decoded: one or three bytes per pixel, blue first. */
#ifndef FERRY_NET_DATA_IMAGE_H
#define FERRY_NET_DATA_IMAGE_H

#include <ferry/image.h>

/* The largest number of pixels that a file may claim. */
#ifndef FERRY__IMAGE_PIXELS
#define FERRY__IMAGE_PIXELS (1u << 28)
#endif

/* The size of a message of a decoding library. */
#define FERRY__IMAGE_REASON 240

struct ferry__image {
    const char *name; /* the file's name, for messages */
    const unsigned char *bytes;
    size_t size;
    int channels;  /* the request: 0, 1 or 3; then the actual number */
    unsigned each; /* bytes of memory that decoding needs for each value: the pixel's and the
                    * blob's */
    int64_t height, width;
    unsigned char *pixels; /* height × width × channels bytes, allocated by malloc */
};

/* Decodes bytes of any supported format; the caller frees pixels, even after a failure. */
int ferry__image_decode(struct ferry__image *image);

/*
 * Allocates the pixels for the dimensions that the file claims. FERRY_EUNSUPPORTED, FERRY_EOVERFLOW
 * if decoding needs more than ferry_io_max_bytes, FERRY_ENOMEM.
 */
int ferry__image_make(struct ferry__image *image, uint64_t height, uint64_t width);

/* Decoders of one format each. */
int ferry__image_png(struct ferry__image *image);
int ferry__image_jpeg(struct ferry__image *image);

#endif
