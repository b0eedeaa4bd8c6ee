/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>
#include <ferry/io.h>
#include <stdio.h>

/*
 * Creates a small network's weights on the selected device and writes them as a .caffemodel, for
 * `ferry inspect` to read. usage: weights FILE
 */

static const struct array {
    const char *name; /* layer/index */
    int rank;
    int64_t shape[4];
} arrays[] = {
    { "conv1/0", 4, { 8, 3, 3, 3 } }, { "conv1/1", 1, { 8 } },   { "conv2/0", 4, { 16, 8, 3, 3 } },
    { "conv2/1", 1, { 16 } },         { "fc/0", 2, { 10, 64 } }, { "fc/1", 1, { 10 } },
};

/* Values from a small generator, scaled on the device, so that they are copied back from there. */
static int fill(ferry_blob *b)
{
    float *w = ferry_blob_overwrite_host_data(b);
    uint32_t state = 12345;

    if (!w)
        return ferry_last_error_code();
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++) {
        state = state * 1664525u + 1013904223u;
        w[i] = (float)(state >> 8) - 8388608.0f;
    }
    if (!ferry_blob_mutable_device_data(b).handle)
        return ferry_last_error_code();
    return ferry_blob_scale_data(b, 1.0 / 8388608);
}

static int write_array(ferry_io_writer *file, ferry_device *dev, const struct array *a)
{
    ferry_blob *b = NULL;
    int err = ferry_blob_create(dev, FERRY_F32, a->shape, a->rank, &b);

    if (!err)
        err = fill(b);
    if (!err)
        err = ferry_io_writer_write(file, a->name, b, false);
    ferry_blob_destroy(b);
    return err;
}

/* The file appears under its name when it is complete, or not at all. */
static int write_all(ferry_device *dev, const char *path)
{
    ferry_io_writer *file = NULL;
    int err = ferry_io_writer_create(path, FERRY_IO_CAFFEMODEL, &file);

    for (size_t i = 0; !err && i < sizeof(arrays) / sizeof(arrays[0]); i++)
        err = write_array(file, dev, &arrays[i]);
    if (!err)
        return ferry_io_writer_commit(file);
    ferry_io_writer_abort(file);
    return err;
}

int main(int argc, char **argv)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    int err;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    err = ferry_runtime_open(NULL, &rt);
    if (!err)
        err = ferry_runtime_get_device(rt, NULL, &dev);
    if (!err)
        err = write_all(dev, argv[1]);
    if (err)
        fprintf(stderr, "weights: %s\n", ferry_last_error());
    else
        printf("%s: %zu arrays from %s\n", argv[1], sizeof(arrays) / sizeof(arrays[0]),
               ferry_device_name(dev));
    ferry_runtime_close(rt);
    return err != 0;
}
