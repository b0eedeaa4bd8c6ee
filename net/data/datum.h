/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Caffe's Datum: a picture with its label, as databases hold it.
 */
#ifndef FERRY_NET_DATA_DATUM_H
#define FERRY_NET_DATA_DATUM_H

#include <ferry/blob.h>
#include <stdbool.h>

struct ferry__datum {
    int64_t channels, height, width;
    const unsigned char *bytes; /* within the record: values, or a picture's file */
    size_t size;
    int64_t n_floats; /* values as floats, where there are no bytes */
    int32_t label;
    bool encoded;                /* the bytes are a PNG or JPEG */
    const unsigned char *record; /* all of it, borrowed */
    size_t record_size;
};

/* Finds the fields of a record; `name` is for messages. FERRY_EFORMAT for one that is cut off or damaged. */
int ferry__datum_read(const void *record, size_t size, const char *name, struct ferry__datum *out);

/*
 * The picture: bytes into the U8 blob, floats into the F32 one; *out is which of them. `channels` as
 * ferry_image_decode has it, for an encoded one. FERRY_EFORMAT where the dimensions are not those of the
 * values.
 */
int ferry__datum_picture(const struct ferry__datum *datum, const char *name, int channels,
                         ferry_blob *bytes, ferry_blob *floats, ferry_blob **out);

#endif
