/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the model's file. Tensors are messages that are left out of the tree
 * (ferry__proto_put_left): their values are read in pieces while the message is written.
 */
#include "net/onnx/graph.h"
#include "net/proto/wire.h"

#include <ferry/io_file.h>
#include <ferry/status.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE     2048      /* the number of elements that are read at a time */
#define OUTSIDE   1024      /* the size in bytes from which on a tensor may be external data */
#define ALIGNMENT 64        /* the alignment of a tensor in external data */
#define MOST      INT32_MAX /* the maximum size of a message in bytes */

/* ---- values --------------------------------------------------------------------------------- */

static size_t element_size(const struct ferry__onnx_tensor *t)
{
    switch (t->type) {
    case FERRY__ONNX_INT64:
        return 8;
    case FERRY__ONNX_INT8:
    case FERRY__ONNX_UINT8:
        return 1;
    default:
        return t->half ? 2 : 4;
    }
}

static uint64_t size_of(const struct ferry__onnx_tensor *t)
{
    return (uint64_t)t->count * element_size(t);
}

int ferry__onnx_tensor_read(const struct ferry__onnx_tensor *t, int64_t first, int64_t n,
                            float *out)
{
    const float *from = t->blob ? ferry_blob_host_data(t->blob) : t->bytes;
    int64_t i;

    if (!from)
        return ferry_last_error_code();
    for (i = 0; i < n; i++)
        out[i] = from[first + i];
    for (i = 0; t->factors && i < n; i++)
        out[i] = (float)((double)out[i] * t->factors[(first + i) / t->inner % t->channels]);
    return FERRY_OK;
}

/* Rounds to nearest even; overflow gives infinity. */
static uint16_t half_of(float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs((double)value);
    int exponent;

    if (isnan(value))
        return 0x7e00;
    if (size >= 65520)
        return sign | 0x7c00;
    if (size < 0x1p-14)
        return (uint16_t)(sign | (uint16_t)nearbyint(size * 0x1p24));
    frexp(size, &exponent);
    return (uint16_t)(sign | (uint16_t)(((exponent + 14) << 10) +
                                        (int)nearbyint(ldexp(size, 11 - exponent)) - 1024));
}

/* Stores the `size` lower bytes of a number, little-endian. */
static void put_little(unsigned char *out, uint64_t bits, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (unsigned char)(bits >> (8 * i));
}

/* Element `index` of a tensor of integers, whose value is `value`. */
static uint64_t integer_of(const struct ferry__onnx_tensor *t, int64_t index, float value)
{
    double step = t->steps ? t->steps[index / t->inner % t->channels] : 1;
    bool is_signed = t->type != FERRY__ONNX_UINT8;
    double most = t->type == FERRY__ONNX_INT32 ? INT32_MAX : is_signed ? 127 : 255;
    double level = nearbyint((double)value / step);

    return (uint64_t)(int64_t)(isnan(level) ? 0 : fmax(fmin(level, most), is_signed ? -most : 0));
}

/* Encodes elements first … first + n − 1. */
static void encode(const struct ferry__onnx_tensor *t, const float *values, int64_t first,
                   int64_t n, unsigned char *out)
{
    size_t size = element_size(t);

    for (int64_t i = 0; i < n; i++) {
        uint32_t word;

        if (t->type != FERRY__ONNX_FLOAT) {
            put_little(out + (int64_t)size * i, integer_of(t, first + i, values[i]), size);
            continue;
        }
        memcpy(&word, &values[i], sizeof word);
        if (t->half)
            put_little(out + 2 * i, half_of(values[i]), 2);
        else
            put_little(out + 4 * i, word, 4);
    }
}

typedef int (*write_fn)(void *arg, const void *bytes, size_t size);

static int write_ints(const struct ferry__onnx_tensor *t, write_fn write, void *arg)
{
    const int64_t *numbers = t->bytes;
    unsigned char bytes[8];
    int err = FERRY_OK;

    for (int64_t i = 0; i < t->count && !err; i++) {
        put_little(bytes, (uint64_t)numbers[i], 8);
        err = write(arg, bytes, 8);
    }
    return err;
}

static int write_values(const struct ferry__onnx_tensor *t, write_fn write, void *arg)
{
    unsigned char bytes[PIECE * 4];
    float values[PIECE];
    int err = FERRY_OK;
    int64_t first;

    if (t->type == FERRY__ONNX_INT64)
        return write_ints(t, write, arg);
    for (first = 0; first < t->count && !err; first += PIECE) {
        int64_t n = t->count - first < PIECE ? t->count - first : PIECE;

        err = ferry__onnx_tensor_read(t, first, n, values);
        if (err)
            break;
        encode(t, values, first, n, bytes);
        err = write(arg, bytes, (size_t)n * element_size(t));
    }
    return err;
}

/* ---- messages ------------------------------------------------------------------------------- */

static size_t put_varint(unsigned char *out, uint64_t value)
{
    size_t size = 0;

    for (; value >= 0x80; value >>= 7)
        out[size++] = (unsigned char)(value | 0x80);
    out[size++] = (unsigned char)value;
    return size;
}

/* Writes tag and length of raw_data, the last field of a tensor whose values are in the message. */
static size_t put_raw_head(const struct ferry__onnx_tensor *t, unsigned char out[16])
{
    out[0] = 9 << 3 | 2;
    return 1 + put_varint(out + 1, size_of(t));
}

static int put_location(ferry_proto *header, const char *key, const char *value)
{
    ferry_proto *entry;
    int err = ferry__proto_put_message(header, "external_data", &entry);

    if (!err)
        err = ferry__proto_put_string(entry, "key", key);
    return err ? err : ferry__proto_put_string(entry, "value", value);
}

static int put_locations(const struct ferry__onnx_tensor *t, const char *file)
{
    char number[24];
    int err = put_location(t->header, "location", file);

    snprintf(number, sizeof number, "%llu", (unsigned long long)t->offset);
    if (!err)
        err = put_location(t->header, "offset", number);
    snprintf(number, sizeof number, "%llu", (unsigned long long)size_of(t));
    if (!err)
        err = put_location(t->header, "length", number);
    return err ? err : ferry__proto_put_integer(t->header, "data_location", 1);
}

/* Creates the tensor's message without its values and adds it to the graph. */
static int put_tensor(struct ferry__onnx *o, int index, const char *file)
{
    struct ferry__onnx_tensor *t = &o->tensors[index];
    unsigned char head[16];
    uint64_t size;
    int i, err = FERRY_OK;

    t->header = ferry__proto_new(o->document, &ferry__proto_TensorProto);
    if (!t->header)
        return ferry__proto_no_memory(o->document);
    for (i = 0; i < t->rank && !err; i++)
        err = ferry__proto_put_integer(t->header, "dims", t->dims[i]);
    if (!err)
        err = ferry__proto_put_integer(t->header, "data_type",
                                       t->half ? FERRY__ONNX_FLOAT16 : t->type);
    if (!err)
        err = ferry__proto_put_string(t->header, "name", o->values[t->value].name);
    if (!err && t->outside)
        err = put_locations(t, file);
    size =
        ferry__proto_wire_size(t->header) + (t->outside ? 0 : put_raw_head(t, head) + size_of(t));
    return err ? err
               : ferry__proto_put_left(o->graph->message, "initializer", size, (uint64_t)index);
}

/* Decides which tensors are external data, and their offsets. */
static void place_tensors(struct ferry__onnx *o)
{
    uint64_t total = ferry__proto_wire_size(o->model), at = 0;
    bool outside = o->external;
    int i;

    for (i = 0; i < o->n_tensors; i++)
        if (o->tensors[i].used) /* a tensor's header is shorter than this */
            total += size_of(&o->tensors[i]) + 1024;
    outside = outside || total > MOST;
    for (i = 0; i < o->n_tensors; i++) {
        struct ferry__onnx_tensor *t = &o->tensors[i];

        t->outside = outside && t->used && size_of(t) >= OUTSIDE;
        if (!t->outside)
            continue;
        t->offset = at;
        at += (size_of(t) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

/* ---- files ---------------------------------------------------------------------------------- */

/* The argument of a ferry__proto_sink, for `write` and `left`. */
struct output {
    const struct ferry__onnx *o;
    ferry_io_file *file;
};

static int write_bytes(void *arg, const void *bytes, size_t size)
{
    return ferry_io_file_write(((struct output *)arg)->file, bytes, size);
}

static int write_left(void *arg, const ferry_proto *p)
{
    struct output *out = arg;
    const struct ferry__onnx_tensor *t = &out->o->tensors[p->left_at];
    const struct ferry__proto_sink sink = { .write = write_bytes, .arg = out };
    unsigned char head[16];
    int err = ferry__proto_to_wire(t->header, &sink);

    if (err || t->outside)
        return err;
    err = write_bytes(out, head, put_raw_head(t, head));
    return err ? err : write_values(t, write_bytes, out);
}

static int write_model(const struct ferry__onnx *o, const char *path)
{
    struct output out = { .o = o };
    const struct ferry__proto_sink sink = { .write = write_bytes, .left = write_left, .arg = &out };
    int err = ferry_io_file_create(path, &out.file);

    if (err)
        return err;
    err = ferry__proto_to_wire(o->model, &sink);
    if (!err)
        return ferry_io_file_commit(out.file);
    ferry_io_file_abort(out.file);
    return err;
}

static int write_outside(const struct ferry__onnx *o, const char *path)
{
    static const unsigned char zeros[ALIGNMENT];
    struct output out = { .o = o };
    int i, err = ferry_io_file_create(path, &out.file);

    if (err)
        return err;
    for (i = 0; i < o->n_tensors && !err; i++) {
        const struct ferry__onnx_tensor *t = &o->tensors[i];

        if (!t->outside)
            continue;
        err = write_values(t, write_bytes, &out);
        if (!err && size_of(t) % ALIGNMENT)
            err = write_bytes(&out, zeros, ALIGNMENT - size_of(t) % ALIGNMENT);
    }
    if (!err)
        return ferry_io_file_commit(out.file);
    ferry_io_file_abort(out.file);
    return err;
}

int ferry__onnx_write(struct ferry__onnx *o, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t size = strlen(path) + 6;
    char *data = ferry__onnx_alloc(o, size);
    bool outside = false;
    int i, err = o->err;

    if (err)
        return err;
    snprintf(data, size, "%s.data", path);
    place_tensors(o);
    for (i = 0; i < o->n_tensors && !err; i++) {
        outside = outside || o->tensors[i].outside;
        if (o->tensors[i].used)
            err = put_tensor(o, i, slash ? data + (slash + 1 - path) : data);
    }
    if (!err && ferry__proto_wire_size(o->model) > MOST)
        err = ferry_error_set(FERRY_EOVERFLOW, "%.400s: the graph has more than 2^31 bytes", path);
    if (!err && outside)
        err = write_outside(o, data);
    return err ? err : write_model(o, path);
}
