/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record is a protobuf message: keys of field number and wire type, each followed by a payload.
 */
#include "net/data/datum.h"

#include "common/wire.h"

#include <ferry/image.h>
#include <ferry/status.h>

#include <string.h>

enum { CHANNELS = 1, HEIGHT, WIDTH, DATA, LABEL, FLOAT_DATA, ENCODED };

static bool has_floats(const struct ferry__field *f)
{
    return f->number == FLOAT_DATA &&
           (f->type == FERRY__WIRE_BYTES || f->type == FERRY__WIRE_32);
}

/*
 * Takes a field. As in protobuf, a known field with another wire type counts as an unknown field.
 */
static bool take(struct ferry__datum *d, const struct ferry__field *f)
{
    if (f->number == DATA && f->type == FERRY__WIRE_BYTES) {
        d->bytes = f->bytes;
        d->size = f->size;
    } else if (has_floats(f)) {
        d->n_floats += (int64_t)(f->size / sizeof(float));
        return f->size % sizeof(float) == 0;
    } else if (f->type == FERRY__WIRE_VARINT) {
        int32_t value = (int32_t)(uint32_t)f->value;

        if (f->number == CHANNELS)
            d->channels = value;
        else if (f->number == HEIGHT)
            d->height = value;
        else if (f->number == WIDTH)
            d->width = value;
        else if (f->number == LABEL)
            d->label = value;
        else if (f->number == ENCODED)
            d->encoded = f->value != 0;
    }
    return true;
}

int ferry__datum_read(const void *record, size_t size, const char *name, struct ferry__datum *out)
{
    struct ferry__datum d = { .record = record, .record_size = size };
    const unsigned char *at = record, *end = at + size;
    struct ferry__field f;

    while (at < end)
        if (ferry__take_field(&at, end, &f) || !take(&d, &f))
            return ferry_error_set(FERRY_EFORMAT, "%.600s: it is not a Datum, or is truncated",
                                   name);
    *out = d;
    return FERRY_OK;
}

/* ---- the picture ----------------------------------------------------------------------------- */

static uint32_t little_word(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static void copy_floats(const struct ferry__datum *d, float *to)
{
    const unsigned char *at = d->record, *end = at + d->record_size;
    struct ferry__field f;

    while (at < end && !ferry__take_field(&at, end, &f))
        for (size_t i = 0; has_floats(&f) && i < f.size; i += sizeof(*to)) {
            uint32_t word = little_word(f.bytes + i);

            memcpy(to++, &word, sizeof(word));
        }
}

static bool has_its_values(const struct ferry__datum *d)
{
    uint64_t count = d->size ? d->size : (uint64_t)d->n_floats;
    uint64_t c = (uint64_t)d->channels, h = (uint64_t)d->height, w = (uint64_t)d->width;

    if (d->channels < 1 || d->height < 1 || d->width < 1)
        return false;
    return c * h <= count && count % (c * h) == 0 && count / (c * h) == w;
}

int ferry__datum_picture(const struct ferry__datum *d, const char *name, int channels,
                         ferry_blob *bytes, ferry_blob *floats, ferry_blob **out)
{
    int64_t shape[3] = { d->channels, d->height, d->width };
    ferry_blob *blob = d->size || d->encoded ? bytes : floats;
    void *to;
    int err;

    if (d->encoded) {
        err = ferry_image_decode(d->bytes, d->size, name, channels, bytes);
    } else if (!has_its_values(d)) {
        err = ferry_error_set(FERRY_EFORMAT, "%.600s: a Datum of %lld x %lld x %lld with %lld %s",
                              name, (long long)shape[0], (long long)shape[1], (long long)shape[2],
                              d->size ? (long long)d->size : (long long)d->n_floats,
                              d->size ? "bytes" : "floats");
    } else {
        err = ferry_blob_reshape(blob, shape, 3, NULL);
        to = err ? NULL : ferry_blob_overwrite_host_data(blob);
        if (!err && !to)
            err = ferry_last_error_code();
        if (!err && d->size)
            memcpy(to, d->bytes, d->size);
        else if (!err)
            copy_floats(d, to);
    }
    if (!err)
        *out = blob;
    return err;
}
