/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A picture that is being read: bytes of one or three channels a pixel, blue first.
 */
#ifndef FERRY_NET_DATA_IMAGE_H
#define FERRY_NET_DATA_IMAGE_H

#include <ferry/image.h>

/* The most pixels that a file may claim. */
#ifndef FERRY__IMAGE_PIXELS
#define FERRY__IMAGE_PIXELS (1u << 28)
#endif

/* Messages of the libraries that decode. */
#define FERRY__IMAGE_REASON 240

struct ferry__image {
    const char *name; /* of the file, for messages */
    const unsigned char *bytes;
    size_t size;
    int channels; /* asked for: 0, 1 or 3; then what there are */
    unsigned each; /* bytes that decoding takes for a value: the pixel's, the blob's */
    int64_t height, width;
    unsigned char *pixels; /* height × width × channels, malloc's */
};

/* Decodes bytes of whatever format; pixels are the caller's to free, whatever the result. */
int ferry__image_decode(struct ferry__image *image);

/*
 * Makes room for the pixels of the dimensions that the file claims. FERRY_EUNSUPPORTED,
 * FERRY_EOVERFLOW where decoding takes more than ferry_io_max_bytes, FERRY_ENOMEM.
 */
int ferry__image_make(struct ferry__image *image, uint64_t height, uint64_t width);

/* The same of one format. */
int ferry__image_png(struct ferry__image *image);
int ferry__image_jpeg(struct ferry__image *image);

#endif
