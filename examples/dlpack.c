/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlpack/dlpack.h>
#include <ferry/ferry.h>
#include <ferry/io.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * DLPack: memory shared with another library, represented here by two functions. PyTorch and NumPy
 * exchange the same structure.
 */

#define ROWS    2
#define COLUMNS 3

/* The other library: an array of its own, and its tensor. */
struct array {
    DLManagedTensor tensor;
    int64_t shape[2];
    float values[ROWS * COLUMNS];
};

static void array_delete(DLManagedTensor *self)
{
    printf("the other library frees its array\n");
    free(self->manager_ctx);
}

static DLManagedTensor *array_create(void)
{
    struct array *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->shape[0] = ROWS;
    a->shape[1] = COLUMNS;
    a->tensor.dl_tensor.data = a->values;
    a->tensor.dl_tensor.device.device_type = kDLCPU;
    a->tensor.dl_tensor.ndim = 2;
    a->tensor.dl_tensor.dtype = (DLDataType){ kDLFloat, 32, 1 };
    a->tensor.dl_tensor.shape = a->shape;
    a->tensor.manager_ctx = a;
    a->tensor.deleter = array_delete;
    return &a->tensor;
}

/* Converts its array to a blob, and the blob to a tensor again. */
static int there_and_back(ferry_device *dev, ferry_blob **out)
{
    DLManagedTensor *tensor = array_create(), *back;
    int err = tensor ? ferry_blob_from_dlpack(dev, tensor, out) : FERRY_ENOMEM;

    if (err && tensor)
        tensor->deleter(tensor); /* after a failure the caller still owns it */
    if (!err)
        err = ferry_blob_fill_data(*out, 7);
    if (!err)
        err = ferry_blob_to_dlpack(*out, NULL, 0, &back);
    if (err)
        return err;
    printf("%d axes, the last value is %g\n", (int)back->dl_tensor.ndim,
           (double)((float *)back->dl_tensor.data)[ROWS * COLUMNS - 1]);
    back->deleter(back);
    return 0;
}

int main(void)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_blob *b = NULL;
    int err = ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, NULL, &dev) ||
              there_and_back(dev, &b);

    if (err)
        fprintf(stderr, "dlpack: %s\n", ferry_last_error());
    ferry_blob_destroy(b);
    ferry_runtime_close(rt);
    return err;
}
