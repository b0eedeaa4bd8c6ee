/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/import/tensor.h"

#include <ferry/status.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_MADE (64 << 20)

int64_t ferry__import_shape_count(const struct ferry__import_shape *shape)
{
    int64_t count = 1;

    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i] < 0 || __builtin_mul_overflow(count, shape->dim[i], &count))
            return -1;
    return count > INT64_MAX / 16 ? -1 : count;
}

/* ---- elements ------------------------------------------------------------------------------- */

size_t ferry__import_type_size(int type)
{
    switch (type) {
    case FERRY__ONNX_UINT8:
    case FERRY__ONNX_INT8:
    case FERRY__ONNX_BOOL:
        return 1;
    case FERRY__ONNX_FLOAT16:
        return 2;
    case FERRY__ONNX_FLOAT:
    case FERRY__ONNX_INT32:
        return 4;
    case FERRY__ONNX_INT64:
    case FERRY__ONNX_DOUBLE:
        return 8;
    default:
        return 0;
    }
}

bool ferry__import_type_is_integer(int type)
{
    return type != FERRY__ONNX_FLOAT && type != FERRY__ONNX_FLOAT16 && type != FERRY__ONNX_DOUBLE;
}

static bool is_big_endian(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 0;
}

static uint64_t bits_at(const struct ferry__import_tensor *t, int64_t i)
{
    size_t size = ferry__import_type_size(t->type);
    const unsigned char *at = t->bytes + (size_t)i * size;
    uint64_t bits = 0;

    for (size_t k = 0; k < size; k++)
        bits |= (uint64_t)at[t->native && is_big_endian() ? size - 1 - k : k] << (8 * k);
    return bits;
}

static double half_of(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31), mantissa = (int)(bits & 1023);
    double value = exponent == 31  ? mantissa ? (double)NAN : HUGE_VAL
                   : exponent == 0 ? ldexp(mantissa, -24)
                                   : ldexp(1024 + mantissa, exponent - 25);

    return bits >> 15 ? -value : value;
}

double ferry__import_tensor_real(const struct ferry__import_tensor *t, int64_t i)
{
    uint64_t bits;
    uint32_t word;
    double real;
    float single;

    if (ferry__import_type_is_integer(t->type))
        return (double)ferry__import_tensor_integer(t, i);
    bits = bits_at(t, i);
    if (t->type == FERRY__ONNX_FLOAT16)
        return half_of(bits);
    word = (uint32_t)bits;
    memcpy(&single, &word, sizeof single);
    memcpy(&real, &bits, sizeof real);
    return t->type == FERRY__ONNX_FLOAT ? (double)single : real;
}

/* Rounds toward 0 and saturates; NaN becomes 0. */
static int64_t truncated(double real)
{
    if (!(real > -9.2e18))
        return real < 0 ? INT64_MIN : 0;
    return real < 9.2e18 ? (int64_t)real : INT64_MAX;
}

int64_t ferry__import_tensor_integer(const struct ferry__import_tensor *t, int64_t i)
{
    uint64_t bits;

    if (!ferry__import_type_is_integer(t->type))
        return truncated(ferry__import_tensor_real(t, i));
    bits = bits_at(t, i);
    switch (t->type) {
    case FERRY__ONNX_INT8:
        return (int8_t)bits;
    case FERRY__ONNX_INT32:
        return (int32_t)bits;
    default:
        return (int64_t)bits;
    }
}

void ferry__import_tensor_copy(const struct ferry__import_tensor *t, float *out)
{
    if (t->type == FERRY__ONNX_FLOAT && t->count && (t->native || !is_big_endian())) {
        memcpy(out, t->bytes, (size_t)t->count * sizeof *out);
        return;
    }
    for (int64_t i = 0; i < t->count; i++)
        out[i] = (float)ferry__import_tensor_real(t, i);
}

bool ferry__import_tensor_make(struct ferry__mem_arena *arena, int type,
                               const struct ferry__import_shape *shape,
                               struct ferry__import_tensor *out, void **out_elements)
{
    int64_t count = ferry__import_shape_count(shape);
    size_t size = ferry__import_type_size(type);

    if (count < 0 || count > (int64_t)(LARGEST_MADE / size))
        return false;
    *out_elements = ferry__mem_alloc(arena, (size_t)count * size + 1);
    *out = (struct ferry__import_tensor){ type, *shape, count, *out_elements, true };
    return *out_elements != NULL;
}

/* ---- the forms of a TensorProto ------------------------------------------------------------- */

struct reading {
    struct ferry__import_file *file;
    const ferry_proto *message;
    const char *name;
    struct ferry__mem_arena *arena;
    struct ferry__import_tensor *t;
};

static int bad(const struct reading *r, int code, const char *what)
{
    return ferry_error_set(code, "%.300s: tensor \"%.200s\": %s", r->file->path, r->name, what);
}

/* The field other than raw_data that has the elements of a type. */
static const char *field_of(int type)
{
    switch (type) {
    case FERRY__ONNX_FLOAT:
        return "float_data";
    case FERRY__ONNX_DOUBLE:
        return "double_data";
    case FERRY__ONNX_INT64:
        return "int64_data";
    default:
        return "int32_data";
    }
}

static bool take_varint(const unsigned char **at, const unsigned char *end, uint64_t *out)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70 && *at < end; shift += 7) {
        unsigned char c = *(*at)++;

        if (shift < 64)
            value |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* Decodes the varints of all packed runs to elements. */
static int decode(const struct reading *r, const char *field)
{
    size_t size = ferry__import_type_size(r->t->type), run_size;
    int64_t n = ferry_proto_value_count(r->message, field), i, made = 0;
    unsigned char *out = ferry__mem_alloc(r->arena, (size_t)r->t->count * size + 1);
    uint64_t value;

    if (!out)
        return bad(r, FERRY_ENOMEM, "no memory, or more than the limit of 1 GiB");
    for (i = 0; i < n; i++) {
        const unsigned char *at =
            (const unsigned char *)ferry_proto_string(r->message, field, i, &run_size);
        const unsigned char *end = at + run_size;

        for (; at < end; made++) {
            if (made == r->t->count || !take_varint(&at, end, &value))
                return bad(r, FERRY_EFORMAT,
                           "its numbers are malformed, or more than its shape has");
            for (size_t k = 0; k < size; k++)
                out[(size_t)made * size + k] = (unsigned char)(value >> (8 * k));
        }
    }
    r->t->bytes = out;
    return made == r->t->count ? 0 : bad(r, FERRY_EFORMAT, "fewer numbers than its shape has");
}

/* Takes raw bytes as the elements. */
static int take_bytes(const struct reading *r, const void *bytes, uint64_t size)
{
    if (size != (uint64_t)r->t->count * ferry__import_type_size(r->t->type))
        return ferry_error_set(
            FERRY_EFORMAT, "%.300s: tensor \"%.200s\": %llu bytes for %lld elements", r->file->path,
            r->name, (unsigned long long)size, (long long)r->t->count);
    r->t->bytes = bytes;
    return 0;
}

/* Takes packed runs of fixed-width elements, and joins them if there are several. */
static int take_runs(const struct reading *r, const char *field)
{
    int64_t n = ferry_proto_value_count(r->message, field), i;
    uint64_t total = 0;
    size_t size = 0;
    const char *run = ferry_proto_string(r->message, field, 0, &size);
    unsigned char *out;

    if (n <= 1)
        return take_bytes(r, run, n ? size : 0);
    out =
        ferry__mem_alloc(r->arena, (size_t)r->t->count * ferry__import_type_size(r->t->type) + 1);
    if (!out)
        return bad(r, FERRY_ENOMEM, "no memory, or more than the limit of 1 GiB");
    for (i = 0; i < n; i++, total += size) {
        run = ferry_proto_string(r->message, field, i, &size);
        if (total + size > (uint64_t)r->t->count * ferry__import_type_size(r->t->type))
            return bad(r, FERRY_EFORMAT, "more numbers than its shape has");
        memcpy(out + total, run, size);
    }
    return take_bytes(r, out, total);
}

/* Parses a number of external_data, which has digits only. */
static bool parse_number(const char *text, uint64_t *out)
{
    char *end;

    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end;
}

static int take_external(const struct reading *r)
{
    const struct ferry__proto_file *in;
    const char *location = "";
    uint64_t offset = 0, length = UINT64_MAX;
    bool fine = true;
    int err;

    for (int64_t i = 0; i < ferry_proto_value_count(r->message, "external_data"); i++) {
        const ferry_proto *entry = ferry_proto_message(r->message, "external_data", i);
        const char *key = ferry_proto_string(entry, "key", 0, NULL);
        const char *value = ferry_proto_string(entry, "value", 0, NULL);

        if (!strcmp(key, "location"))
            location = value;
        else if (!strcmp(key, "offset"))
            fine = parse_number(value, &offset) && fine;
        else if (!strcmp(key, "length"))
            fine = parse_number(value, &length) && fine;
    }
    if (!fine)
        return bad(r, FERRY_EFORMAT, "offset or length of its external data is not a number");
    err = ferry__import_file_beside(r->file, location, &in);
    if (err)
        return err;
    if (length == UINT64_MAX)
        length = (uint64_t)r->t->count * ferry__import_type_size(r->t->type);
    if (offset > in->size || length > in->size - offset)
        return bad(r, FERRY_EFORMAT, "its external data ends behind the end of that file");
    return take_bytes(r, in->bytes + offset, length);
}

static int read_dims(const struct reading *r)
{
    int64_t rank = ferry_proto_value_count(r->message, "dims");

    if (rank > FERRY_OP_AXES)
        return bad(r, FERRY_EUNSUPPORTED, "more than 8 axes");
    r->t->shape.rank = (int)rank;
    for (int i = 0; i < rank; i++)
        r->t->shape.dim[i] = ferry_proto_integer(r->message, "dims", i);
    r->t->count = ferry__import_shape_count(&r->t->shape);
    return r->t->count < 0 ? bad(r, FERRY_EFORMAT, "its shape is invalid") : 0;
}

int ferry__import_tensor_read(struct ferry__import_file *file, const ferry_proto *message,
                              const char *name, struct ferry__mem_arena *arena,
                              struct ferry__import_tensor *out)
{
    struct ferry__import_tensor t = { .type = (int)ferry_proto_integer(message, "data_type", 0) };
    const struct reading r = { file, message, name, arena, &t };
    const char *field = field_of(t.type), *raw;
    size_t size = 0;
    int err = read_dims(&r);

    if (err)
        return err;
    if (!ferry__import_type_size(t.type))
        return ferry_error_set(FERRY_EUNSUPPORTED, "%.300s: tensor \"%.200s\": elements of type %d",
                               file->path, name, t.type);
    raw = ferry_proto_string(message, "raw_data", 0, &size);
    if (ferry_proto_integer(message, "data_location", 0) == 1)
        err = take_external(&r);
    else if (ferry_proto_value_count(message, "raw_data"))
        err = take_bytes(&r, raw, size);
    else if (!strcmp(field, "float_data") || !strcmp(field, "double_data"))
        err = take_runs(&r, field);
    else
        err = decode(&r, field);
    if (!err)
        *out = t;
    return err;
}

/* ---- sparse tensors ------------------------------------------------------------------------- */

/*
 * The index of value i of a sparse tensor: it is given directly, or as one index for each axis. −1:
 * out of range.
 */
static int64_t place_of(const struct ferry__import_tensor *t,
                        const struct ferry__import_tensor *indices, int64_t i)
{
    int64_t place = 0;

    if (indices->shape.rank == 1)
        place = ferry__import_tensor_integer(indices, i);
    for (int k = 0; indices->shape.rank == 2 && k < t->shape.rank; k++) {
        int64_t at = ferry__import_tensor_integer(indices, i * t->shape.rank + k);

        if (at < 0 || at >= t->shape.dim[k])
            return -1;
        place = place * t->shape.dim[k] + at;
    }
    return place < 0 || place >= t->count ? -1 : place;
}

int ferry__import_tensor_read_sparse(struct ferry__import_file *file, const ferry_proto *message,
                                     const char *name, struct ferry__mem_arena *arena,
                                     struct ferry__import_tensor *out)
{
    struct ferry__import_tensor t = { 0 }, values, indices;
    const struct reading r = { file, message, name, arena, &t };
    bool integer;
    void *to;
    int err = ferry__import_tensor_read(file, ferry_proto_message(message, "values", 0), name,
                                        arena, &values);

    if (!err)
        err = ferry__import_tensor_read(file, ferry_proto_message(message, "indices", 0), name,
                                        arena, &indices);
    if (!err)
        err = read_dims(&r);
    if (err)
        return err;
    if (values.shape.rank != 1 || !ferry__import_type_is_integer(indices.type) ||
        indices.shape.rank < 1 || indices.shape.rank > 2 ||
        indices.count != values.count * (indices.shape.rank == 2 ? t.shape.rank : 1))
        return bad(&r, FERRY_EFORMAT, "its indices do not match its values");
    integer = ferry__import_type_is_integer(values.type);
    if (!ferry__import_tensor_make(arena, integer ? FERRY__ONNX_INT64 : FERRY__ONNX_FLOAT, &t.shape,
                                   &t, &to))
        return bad(&r, FERRY_ENOMEM, "no memory, or more than the limit of 64 MiB");
    for (int64_t i = 0; i < values.count; i++) {
        int64_t place = place_of(&t, &indices, i);

        if (place < 0)
            return bad(&r, FERRY_EFORMAT, "an index is out of range");
        if (integer)
            ((int64_t *)to)[place] = ferry__import_tensor_integer(&values, i);
        else
            ((float *)to)[place] = (float)ferry__import_tensor_real(&values, i);
    }
    *out = t;
    return 0;
}
