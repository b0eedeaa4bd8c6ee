/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>
#include <ferry/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Makes a small network's weights on the selected device and writes them as a .caffemodel, for
 * `ferry inspect` to read. usage: weights FILE
 *
 * A .caffemodel is a protobuf message: layers in field 100, each with a name (1), a type (2) and
 * its blobs (7). ferry_blob_to_proto writes the blobs; the envelope around them is written here.
 */

static const struct layer {
    const char *name, *type;
    int naxes;
    int64_t weights[4], biases[1];
} layers[] = {
    { "conv1", "Convolution", 4, { 8, 3, 3, 3 }, { 8 } },
    { "conv2", "Convolution", 4, { 16, 8, 3, 3 }, { 16 } },
    { "fc", "InnerProduct", 2, { 10, 64 }, { 10 } },
};

struct bytes {
    unsigned char data[65536];
    size_t size;
};

static int put(struct bytes *to, const void *data, size_t size)
{
    if (size > sizeof(to->data) - to->size)
        return -1;
    memcpy(to->data + to->size, data, size);
    to->size += size;
    return 0;
}

static int put_varint(struct bytes *to, uint64_t value)
{
    unsigned char digits[10];
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        digits[n++] = (unsigned char)(value | 0x80);
    digits[n++] = (unsigned char)value;
    return put(to, digits, n);
}

/* A field whose value has a length of its own: wire type 2. */
static int put_field(struct bytes *to, unsigned field, const void *data, size_t size)
{
    return put_varint(to, (uint64_t)field << 3 | 2) || put_varint(to, size) || put(to, data, size);
}

/* Weights from a small generator, scaled on the device, so that they come home from there. */
static int fill(ferry_blob *b)
{
    float *w = ferry_blob_overwrite_host_data(b);
    uint32_t state = 12345;

    if (!w)
        return -1;
    for (int64_t i = 0; i < ferry_blob_count(b); i++) {
        state = state * 1664525u + 1013904223u;
        w[i] = (float)(state >> 8) - 8388608.0f;
    }
    if (!ferry_blob_mutable_device_data(b).handle)
        return -1;
    return ferry_blob_scale_data(b, 1.0 / 8388608);
}

static int put_blob(struct bytes *layer, ferry_device *dev, int naxes, const int64_t *dims)
{
    static unsigned char proto[32768];
    ferry_blob *b = NULL;
    size_t size = 0;
    int err = ferry_blob_create(dev, FERRY_F32, naxes, dims, &b);

    if (!err)
        err = fill(b);
    if (!err)
        err = ferry_blob_to_proto(b, false, proto, sizeof(proto), &size);
    ferry_blob_destroy(b);
    return err ? err : put_field(layer, 7, proto, size);
}

static int put_layer(struct bytes *net, ferry_device *dev, const struct layer *l)
{
    static struct bytes layer;

    layer.size = 0;
    if (put_field(&layer, 1, l->name, strlen(l->name)) ||
        put_field(&layer, 2, l->type, strlen(l->type)) ||
        put_blob(&layer, dev, l->naxes, l->weights) || put_blob(&layer, dev, 1, l->biases))
        return -1;
    return put_field(net, 100, layer.data, layer.size);
}

static int write_file(const char *path, const struct bytes *net)
{
    FILE *file = fopen(path, "wb");
    size_t written;

    if (!file) {
        perror(path);
        return 1;
    }
    written = fwrite(net->data, 1, net->size, file);
    if (fclose(file) != 0 || written != net->size) {
        perror(path);
        return 1;
    }
    printf("%s: %zu layers, %zu bytes\n", path, sizeof(layers) / sizeof(layers[0]), net->size);
    return 0;
}

int main(int argc, char **argv)
{
    static struct bytes net;
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    int err;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    err = ferry_runtime_open(NULL, &rt);
    if (!err)
        err = ferry_runtime_device(rt, NULL, &dev);
    for (size_t i = 0; !err && i < sizeof(layers) / sizeof(layers[0]); i++)
        err = put_layer(&net, dev, &layers[i]);
    if (err)
        fprintf(stderr, "weights: %s\n", ferry_last_error());
    ferry_runtime_close(rt);
    return err ? 1 : write_file(argv[1], &net);
}
