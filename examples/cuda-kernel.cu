/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CUDA kernel of the program on a blob's data: it squares the elements, on the stream on which
 * ferry copies and computes, so that nothing has to wait in between.
 *
 *     FERRY_BACKEND=cuda ./cuda-kernel
 */
#include <ferry/ferry.h>

#include <cstdio>

__global__ void square(float *x, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        x[i] *= x[i];
}

/* The device pointer to the blob's data, and the stream on which it is ready. */
static int launch(ferry_device *dev, ferry_blob *b)
{
    ferry_ref ref = ferry_blob_mutable_device_data(b);
    float *x = ref.handle ? (float *)ferry_device_pointer(dev, ref) : nullptr;
    int64_t n = ferry_blob_element_count(b);
    cudaStream_t stream = nullptr;
    int ordinal = 0, before = 0;
    cudaError_t error;
    int err = x ? 0 : ferry_last_error_code();

    if (!err)
        err = ferry_device_native(dev, "cuda_stream", &stream, sizeof(stream));
    if (!err)
        err = ferry_device_native(dev, "cuda_device", &ordinal, sizeof(ordinal));
    if (err)
        return err;
    cudaGetDevice(&before); /* ferry restores the current device after each call; a launch needs
                             * the stream's device */
    cudaSetDevice(ordinal);
    square<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, n);
    error = cudaGetLastError();
    cudaSetDevice(before);
    if (error == cudaSuccess)
        return 0;
    std::fprintf(stderr, "cuda-kernel: square: %s\n", cudaGetErrorString(error));
    return 1; /* already printed; ferry does not know of it */
}

static int run(ferry_device *dev, ferry_blob *b)
{
    float *host = (float *)ferry_blob_overwrite_host_data(b);
    double sum = 0;
    int err = host ? 0 : ferry_last_error_code();

    for (int i = 0; !err && i < 6; i++)
        host[i] = (float)i;
    if (!err)
        err = launch(dev, b);
    if (!err)
        err = ferry_blob_asum_data(b, &sum); /* ordered after the kernel */
    if (!err)
        std::printf("%s: 0 + 1 + 4 + 9 + 16 + 25 = %g\n", ferry_device_name(dev), sum);
    return err;
}

int main()
{
    const int64_t shape[] = { 2, 3 };
    ferry_runtime *rt = nullptr;
    ferry_device *dev = nullptr;
    ferry_blob *b = nullptr;
    int err = ferry_runtime_open(nullptr, &rt);

    if (!err)
        err = ferry_runtime_get_device(rt, "cuda:0", &dev);
    if (!err)
        err = ferry_blob_create(dev, FERRY_F32, shape, 2, &b);
    if (!err)
        err = run(dev, b);
    if (err < 0)
        std::fprintf(stderr, "cuda-kernel: %s\n", ferry_last_error());
    ferry_blob_destroy(b);
    ferry_runtime_close(rt);
    return err ? 1 : 0;
}
