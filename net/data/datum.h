/* SPDX-License-Identifier: BSD-2-Clause */
/* Caffe's Datum: a picture with its label, the record of a database. */
#ifndef FERRY_NET_DATA_DATUM_H
#define FERRY_NET_DATA_DATUM_H

#include <ferry/blob.h>
#include <stdbool.h>

struct ferry__datum {
    int64_t channels, height, width;
    const unsigned char *bytes; /* a part of the record: values, or an encoded picture */
    size_t size;
    int64_t n_floats; /* the number of float values if there are no bytes */
    int32_t label;
    bool encoded;                /* the bytes are a PNG or JPEG */
    const unsigned char *record; /* the whole record, borrowed */
    size_t record_size;
};

/*
 * Finds the fields of a record; `name` is for messages. FERRY_EFORMAT for a truncated or damaged
 * record.
 */
int ferry__datum_read(const void *record, size_t size, const char *name, struct ferry__datum *out);

/*
 * Decodes the picture: bytes into the U8 blob, floats into the F32 one; *out is the one that was
 * filled. `channels` is as in ferry_image_decode and is used for an encoded picture. FERRY_EFORMAT
 * if the dimensions do not match the number of values.
 */
int ferry__datum_picture(const struct ferry__datum *datum, const char *name, int channels,
                         ferry_blob *bytes, ferry_blob *floats, ferry_blob **out);

#endif
