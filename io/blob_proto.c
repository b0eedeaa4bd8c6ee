/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversion of a blob to and from one serialised BlobProto. */
#include "proto.h"
#include "proto_write.h"
#include "read.h"

#include <ferry/io.h>

#include <string.h>

/* The serialised bytes as a file; messages show this name, since there is no path. */
static struct ferry__io_file file_of(const void *bytes, size_t size)
{
    static char path[] = "BlobProto bytes";
    struct ferry__io_file file = {
        .real = path, .path = path, .stem = path, .bytes = bytes, .size = size, .fd = -1
    };

    return file;
}

static struct ferry__wire wire_of(const struct ferry__io_file *file)
{
    struct ferry__wire wire = { file, &ferry__blob_proto_names, file->bytes,
                                file->bytes + file->size, false };

    return wire;
}

/*
 * Checks the arguments. An empty message may be passed as NULL, because pointers into it are never
 * dereferenced.
 */
static int check_bytes(const char *function, const ferry_blob *b, const void **bytes, size_t size)
{
    if (!b)
        return ferry_error_set(FERRY_EINVAL, "%s: the blob is NULL", function);
    if (!*bytes && size > 0)
        return ferry_error_set(FERRY_EINVAL, "%s: the bytes are NULL", function);
    if (!*bytes)
        *bytes = "";
    return FERRY_OK;
}

static bool same_shape(const ferry_blob *b, const struct ferry__blob_proto *proto)
{
    int rank = ferry_blob_rank(b);

    if (proto->legacy) {
        for (int axis = 0; axis < 4; axis++)
            if (rank > 4 || ferry_blob_legacy_dim(b, axis - 4) != proto->shape[axis])
                return false;
        return true;
    }
    if (rank != proto->rank)
        return false;
    return rank == 0 ||
           memcmp(ferry_blob_shape(b), proto->shape, (size_t)rank * sizeof(*proto->shape)) == 0;
}

int ferry_blob_shape_equals_proto(const ferry_blob *b, const void *bytes, size_t size)
{
    int err = check_bytes("ferry_blob_shape_equals_proto", b, &bytes, size);
    struct ferry__io_file file = file_of(bytes, size);
    struct ferry__blob_proto proto;
    struct ferry__wire wire;

    if (err)
        return err;
    wire = wire_of(&file);
    err = ferry__blob_proto_shape(&wire, &proto);
    return err ? err : same_shape(b, &proto);
}

/* ---- from ----------------------------------------------------------------------------------- */

struct source {
    const struct ferry__io_file *file;
    const struct ferry__blob_proto *proto;
};

static int read_source(const void *arg, bool diff, void *out)
{
    const struct source *source = arg;
    const struct ferry__blob_proto *proto = source->proto;

    return ferry__values_read(source->file, diff ? &proto->diff : &proto->data, proto->rank,
                              proto->shape, 0, proto->count, out);
}

static int fill(const struct source *source, bool diff, ferry_blob *b)
{
    const struct ferry__values *values = diff ? &source->proto->diff : &source->proto->data;

    if (values->encoding == FERRY__VALUES_NONE)
        return FERRY_OK;
    if (values->dtype != ferry_blob_dtype(b))
        return ferry__io_fill_converted(b, diff, values->dtype, read_source, source);
    return ferry__io_fill(b, diff, read_source, source);
}

static int take_shape(ferry_blob *b, const struct ferry__blob_proto *proto, bool reshape)
{
    char shape[FERRY_MAX_AXES * 21 + 24] = "?";

    if (reshape)
        return ferry_blob_reshape(b, proto->shape, proto->rank, NULL);
    if (same_shape(b, proto))
        return FERRY_OK;
    (void)ferry_blob_shape_string(b, shape, sizeof(shape));
    return ferry_error_set(FERRY_ESHAPE,
                           "BlobProto bytes: %d axes with %lld values do not fit the blob's %s",
                           proto->rank, (long long)proto->count, shape);
}

int ferry_blob_from_proto(ferry_blob *b, const void *bytes, size_t size, bool reshape)
{
    int err = check_bytes("ferry_blob_from_proto", b, &bytes, size);
    struct ferry__io_file file = file_of(bytes, size);
    struct ferry__blob_proto proto;
    struct source source = { &file, &proto };
    struct ferry__wire wire;

    if (err)
        return err;
    wire = wire_of(&file);
    err = ferry__blob_proto_parse(&wire, &proto);
    if (!err)
        err = take_shape(b, &proto, reshape);
    if (!err)
        err = fill(&source, false, b);
    if (!err)
        err = fill(&source, true, b);
    return err;
}

/* ---- to ------------------------------------------------------------------------------------- */

static void describe(const ferry_blob *b, bool write_diff, struct ferry__proto_shape *out)
{
    static const int64_t nothing[1] = { 0 };

    *out = (struct ferry__proto_shape){ .dtype = ferry_blob_dtype(b),
                                        .rank = ferry_blob_rank(b),
                                        .shape = ferry_blob_shape(b),
                                        .count = ferry_blob_element_count(b),
                                        .diff = write_diff };
    if (out->rank == 0 && out->count == 0) { /* the blob was never reshaped: without a shape the
                                              * message would mean a scalar */
        out->rank = 1;
        out->shape = nothing;
    }
}

static int put_values(const ferry_blob *b, bool diff, size_t size, unsigned char *out)
{
    const void *values = diff ? ferry_blob_host_diff(b) : ferry_blob_host_data(b);

    if (!values)
        return ferry_last_error_code();
    memcpy(out, values, size);
    if (ferry__big_endian())
        ferry__swap_bytes(out, ferry_blob_element_count(b), ferry_dtype_size(ferry_blob_dtype(b)));
    return FERRY_OK;
}

static int put_message(const ferry_blob *b, const struct ferry__proto_shape *shape,
                       const struct ferry__proto_parts *parts, unsigned char *out)
{
    size_t size = (size_t)shape->count * ferry_dtype_size(shape->dtype);
    int err = FERRY_OK;

    memcpy(out, parts->before_data.bytes, parts->before_data.size);
    out += parts->before_data.size;
    if (size > 0)
        err = put_values(b, false, size, out);
    out += size;
    if (!err && shape->diff) {
        memcpy(out, parts->before_diff.bytes, parts->before_diff.size);
        out += parts->before_diff.size;
        if (size > 0)
            err = put_values(b, true, size, out);
        out += size;
    }
    memcpy(out, parts->after.bytes, parts->after.size);
    return err;
}

int ferry_blob_to_proto(const ferry_blob *b, bool write_diff, void *buf, size_t capacity,
                        size_t *out_size)
{
    struct ferry__proto_shape shape;
    struct ferry__proto_parts parts;
    int err;

    if (!b || !out_size)
        return ferry_error_set(FERRY_EINVAL, "ferry_blob_to_proto: %s is NULL",
                               b ? "out_size" : "the blob");
    describe(b, write_diff, &shape);
    if (!ferry__proto_can_hold(shape.dtype))
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "ferry_blob_to_proto: a BlobProto has no field for %s",
                               ferry_dtype_name(shape.dtype));
    ferry__proto_layout(&shape, &parts);
    if (buf && capacity < parts.total)
        return ferry_error_set(FERRY_EOVERFLOW,
                               "ferry_blob_to_proto: %llu bytes do not fit into %zu",
                               (unsigned long long)parts.total, capacity);
    err = buf ? put_message(b, &shape, &parts, buf) : FERRY_OK;
    if (!err)
        *out_size = (size_t)parts.total;
    return err;
}
