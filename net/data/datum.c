/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record is a protobuf message: keys of field number and wire type, each followed by a payload.
 */
#include "net/data/datum.h"

#include <ferry/image.h>
#include <ferry/status.h>

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { CHANNELS = 1, HEIGHT, WIDTH, DATA, LABEL, FLOAT_DATA, ENCODED };

/* ---- fields ---------------------------------------------------------------------------------- */

struct reader {
    const unsigned char *at, *end;
};

struct field {
    uint64_t number, value; /* of a VARINT */
    int kind;
    const unsigned char *bytes; /* the payload of other wire types */
    size_t size;
};

static bool read_varint(struct reader *r, uint64_t *out)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 70 && r->at < r->end; shift += 7) {
        unsigned char byte = *r->at++;

        if (shift < 64)
            value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool read_field(struct reader *r, struct field *out)
{
    uint64_t key, size;

    if (!read_varint(r, &key))
        return false;
    out->number = key >> 3;
    out->kind = (int)(key & 7);
    if (out->kind == VARINT)
        return read_varint(r, &out->value);
    size = out->kind == FIXED64 ? 8 : 4;
    if (out->kind == BYTES ? !read_varint(r, &size) : out->kind != FIXED64 && out->kind != FIXED32)
        return false;
    if (size > (uint64_t)(r->end - r->at))
        return false;
    out->bytes = r->at;
    out->size = (size_t)size;
    r->at += size;
    return true;
}

/* As in protobuf, a known field with another wire type counts as an unknown field. */
static bool take(struct ferry__datum *d, const struct field *f)
{
    if (f->number == DATA && f->kind == BYTES) {
        d->bytes = f->bytes;
        d->size = f->size;
    } else if (f->number == FLOAT_DATA && (f->kind == BYTES || f->kind == FIXED32)) {
        d->n_floats += (int64_t)(f->size / sizeof(float));
        return f->size % sizeof(float) == 0;
    } else if (f->kind == VARINT) {
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
    struct reader r = { record, d.record + size };
    struct field f;

    while (r.at < r.end)
        if (!read_field(&r, &f) || !take(&d, &f))
            return ferry_error_set(FERRY_EFORMAT, "%.600s: it is not a Datum, or is truncated",
                                   name);
    *out = d;
    return FERRY_OK;
}

/* ---- the picture ----------------------------------------------------------------------------- */

static void copy_floats(const struct ferry__datum *d, float *to)
{
    struct reader r = { d->record, d->record + d->record_size };
    struct field f;

    while (r.at < r.end && read_field(&r, &f))
        if (f.number == FLOAT_DATA && (f.kind == BYTES || f.kind == FIXED32)) {
            memcpy(to, f.bytes, f.size);
            to += f.size / sizeof(*to);
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
