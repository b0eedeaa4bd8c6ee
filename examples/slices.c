/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>
#include <stdio.h>

/*
 * Slices: blobs over a range of another blob's axis 0, in the same memory. A batch is filled image
 * by image, and a slice outlives the batch.
 */

#define IMAGES 4
#define PIXELS 6

static int fill_images(const ferry_blob *batch)
{
    int err = 0;

    for (int i = 0; i < IMAGES && !err; i++) {
        ferry_blob *image;

        err = ferry_blob_slice(batch, i, 1, &image);
        if (err)
            break;
        err = ferry_blob_fill_data(image, i); /* on the device, and only this part of the batch */
        ferry_blob_destroy(image);
    }
    return err;
}

static int print_row(const char *what, const ferry_blob *b)
{
    const float *p = ferry_blob_host_data(b);

    if (!p)
        return ferry_last_error_code();
    printf("%-16s", what);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i += PIXELS)
        printf(" %g", (double)p[i]);
    printf("\n");
    return 0;
}

int main(void)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_blob *batch = NULL, *tail = NULL;
    int err = ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, NULL, &dev) ||
              ferry_blob_create(dev, FERRY_F32, (int64_t[]){ IMAGES, PIXELS }, 2, &batch) ||
              fill_images(batch) || print_row("the batch", batch) ||
              ferry_blob_slice(batch, 2, 2, &tail) || ferry_blob_scale_data(tail, 10) ||
              print_row("scaled its tail", batch);

    ferry_blob_destroy(batch); /* the slice keeps the memory */
    if (!err)
        err = print_row("the tail", tail);
    if (!err && ferry_blob_reshape(tail, (int64_t[]){ 3, PIXELS }, 2, NULL) == FERRY_ESHAPE)
        printf("and it cannot grow out of its range\n");
    if (err)
        fprintf(stderr, "slices: %s\n", ferry_last_error());
    ferry_blob_destroy(tail);
    ferry_runtime_close(rt);
    return err != 0;
}
