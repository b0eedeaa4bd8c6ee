/* SPDX-License-Identifier: BSD-2-Clause */
#include "values.h"

#include "wire.h"

#include <string.h>

int64_t ferry__io_count(int rank, const int64_t *shape, size_t size)
{
    int64_t product = 1, limit = INT64_MAX / (int64_t)size;
    bool empty = false;

    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return FERRY_EINVAL;
        if (shape[i] == 0) {
            empty = true;
            continue;
        }
        if (product > limit / shape[i])
            return FERRY_EOVERFLOW;
        product *= shape[i];
    }
    return empty ? 0 : product;
}

bool ferry__values_adoptable(const struct ferry__values *v)
{
    return v->encoding == FERRY__VALUES_PLAIN && !v->storage && !v->swap && !v->fortran &&
           (uintptr_t)v->bytes % ferry_dtype_size(v->dtype) == 0;
}

void ferry__swap_bytes(void *values, int64_t count, size_t size)
{
    unsigned char *at = values;

    for (int64_t i = 0; i < count; i++, at += size)
        for (size_t j = 0; j < size / 2; j++) {
            unsigned char byte = at[j];

            at[j] = at[size - 1 - j];
            at[size - 1 - j] = byte;
        }
}

/* ---- column-major --------------------------------------------------------------------------- */

/*
 * The walk of a column-major array in row-major order: `index` is the multi-dimensional index, and
 * `place` is the element's position in the file.
 */
struct odometer {
    int rank;
    const int64_t *shape;
    int64_t index[FERRY_MAX_AXES], stride[FERRY_MAX_AXES];
    int64_t place;
};

static void odometer_set(struct odometer *o, int rank, const int64_t *shape, int64_t start)
{
    int64_t stride = 1;

    o->rank = rank;
    o->shape = shape;
    o->place = 0;
    for (int i = 0; i < rank; i++) {
        o->stride[i] = stride;
        stride *= shape[i];
    }
    for (int i = rank - 1; i >= 0; i--) {
        o->index[i] = start % shape[i];
        start /= shape[i];
        o->place += o->index[i] * o->stride[i];
    }
}

/*
 * Moves to the next row. The caller iterates over the last axis; this function carries into the
 * axes before it.
 */
static void odometer_carry(struct odometer *o)
{
    int last = o->rank - 1;

    o->place -= o->index[last] * o->stride[last];
    o->index[last] = 0;
    for (int i = last - 1; i >= 0; i--) {
        o->place += o->stride[i];
        if (++o->index[i] < o->shape[i])
            return;
        o->place -= o->shape[i] * o->stride[i];
        o->index[i] = 0;
    }
}

static void gather(const unsigned char *from, int64_t stride, size_t size, int64_t n,
                   unsigned char *out)
{
    for (int64_t i = 0; i < n; i++, out += size, from += stride * (int64_t)size)
        memcpy(out, from, size);
}

static void read_fortran(const struct ferry__values *v, int rank, const int64_t *shape,
                         int64_t start, int64_t count, unsigned char *out)
{
    size_t size = ferry__values_element(v);
    struct odometer o;

    odometer_set(&o, rank, shape, start);
    while (count > 0) {
        int last = rank - 1;
        int64_t n = shape[last] - o.index[last];
        const unsigned char *from = v->bytes + o.place * (int64_t)size;

        if (n > count)
            n = count;
        gather(from, o.stride[last], size, n, out);
        o.index[last] += n;
        o.place += n * o.stride[last];
        odometer_carry(&o);
        out += n * (int64_t)size;
        count -= n;
    }
}

/* ---- values spread over a message ----------------------------------------------------------- */

/*
 * Reads values from a message. The message was checked when the file was opened, so the walk cannot
 * fail.
 */
static int read_wire(const struct ferry__io_file *file, const struct ferry__values *v,
                     int64_t start, int64_t count, unsigned char *out)
{
    static const struct ferry__wire_names names = { .message = "BlobProto" };
    struct ferry__wire wire = { file, &names, v->bytes, v->bytes + v->size, false };
    uint64_t size = ferry_dtype_size(v->dtype);
    uint64_t skip = (uint64_t)start * size, want = (uint64_t)count * size;
    struct ferry__field field;

    while (want > 0) {
        int got = ferry__wire_next(&wire, &field);
        uint64_t piece;

        if (got <= 0)
            return got < 0 ? got
                           : ferry_error_set(FERRY_EFORMAT, "%s: changed while open", file->path);
        if (field.number != v->field)
            continue;
        if (field.size <= skip) {
            skip -= field.size;
            continue;
        }
        piece = field.size - skip < want ? field.size - skip : want;
        memcpy(out, field.bytes + skip, (size_t)piece);
        out += piece;
        want -= piece;
        skip = 0;
    }
    return FERRY_OK;
}

struct ferry__rows ferry__values_rows(const struct ferry__io_file *file,
                                      const struct ferry__values *v, int64_t rows)
{
    return (struct ferry__rows){ .file = file,
                                 .at = (uint64_t)(v->bytes - file->bytes),
                                 .each = (int64_t)(v->size / (uint64_t)rows) - FERRY__ROWS_HEAD };
}

int ferry__values_read(const struct ferry__io_file *file, const struct ferry__values *v, int rank,
                       const int64_t *shape, int64_t start, int64_t count, void *out)
{
    uint64_t size = ferry__values_element(v);
    int err = FERRY_OK;

    if (count == 0)
        return FERRY_OK;
    if (v->encoding == FERRY__VALUES_ROWS) {
        const struct ferry__rows rows = ferry__values_rows(file, v, shape[0]);

        return ferry__rows_read(&rows, start, count, out);
    }
    if (v->encoding == FERRY__VALUES_WIRE)
        err = read_wire(file, v, start, count, out);
    else if (v->fortran && rank > 1)
        read_fortran(v, rank, shape, start, count, out);
    else
        err = ferry__io_file_copy(file, (uint64_t)(v->bytes - file->bytes) + (uint64_t)start * size,
                                  (uint64_t)count * size, out);
    if (!err && v->swap)
        ferry__swap_bytes(out, count, (size_t)size);
    return err;
}
