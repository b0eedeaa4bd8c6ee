/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills memory. Without a kernel, the driver sets 8, 16 and 32 bits at a time; a 64-bit element is
 * written once and doubled by copies.
 */
#include "cuda.h"

#include <string.h>

/* ---- the value as bits; to nearest even if the dtype is narrower ------ */

/* Drops the lowest `bits` bits of a significand, rounded to nearest even. */
static uint32_t shift_to_even(uint32_t significand, unsigned bits)
{
    uint32_t kept = significand >> bits, half = UINT32_C(1) << (bits - 1);
    uint32_t rest = significand & ((UINT32_C(1) << bits) - 1);

    return kept + (rest > half || (rest == half && (kept & 1)));
}

/*
 * Converts a double to a float with a sticky last bit, so that rounding the float gives the
 * rounding of the double.
 */
static uint32_t float_to_odd(double value)
{
    float near = (float)value;
    double error = value - (double)near;
    uint32_t bits;

    memcpy(&bits, &near, sizeof(bits));
    if (error == 0 || value != value || (bits & 0x7fffffff) == 0x7f800000)
        return bits;
    if ((error < 0) == (value > 0))
        bits--; /* rounds toward zero */
    return bits | 1;
}

static uint16_t f16_bits(double value)
{
    uint32_t f = float_to_odd(value), magnitude = f & 0x7fffffff;
    uint32_t sign = (f >> 16) & 0x8000, exponent = magnitude >> 23;
    uint32_t significand = (magnitude & 0x7fffff) | 0x800000;

    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (exponent >= 143) /* the value is 2^16 or more */
        return (uint16_t)(sign | 0x7c00);
    if (exponent >= 113)
        return (uint16_t)(sign | (((exponent - 113) << 10) + shift_to_even(significand, 13)));
    if (exponent < 102)
        return (uint16_t)sign;
    return (uint16_t)(sign | shift_to_even(significand, 126 - exponent));
}

static uint16_t bf16_bits(double value)
{
    uint32_t f = float_to_odd(value);

    if ((f & 0x7fffffff) > 0x7f800000)
        return (uint16_t)((f >> 16) | 0x40);
    return (uint16_t)((f + 0x7fff + ((f >> 16) & 1)) >> 16);
}

/* The bits of an element. ferry has checked that the value fits an integer dtype. */
static uint64_t bits_of(uint32_t dtype, double value)
{
    uint64_t bits = 0;
    float narrow = (float)value;

    switch (dtype) {
    case FERRY_F32:
        memcpy(&bits, &narrow, sizeof(narrow));
        return bits;
    case FERRY_F64:
        memcpy(&bits, &value, sizeof(value));
        return bits;
    case FERRY_F16:
        return f16_bits(value);
    case FERRY_BF16:
        return bf16_bits(value);
    default:
        return (uint64_t)(int64_t)value;
    }
}

/* ---- setting them ---- */

static int set_narrow(uint64_t size, uint64_t bits, char *at, size_t n, cudaStream_t stream)
{
    CUdeviceptr dst = (CUdeviceptr)(uintptr_t)at;
    CUresult failed;
    cudaError_t error;

    if (size == 1) {
        error = cudaMemsetAsync(at, (int)(bits & 0xff), n, stream);
        return error == cudaSuccess ? 0 : cuda_fail(CALL(cudaMemsetAsync), error);
    }
    if (size == 2)
        failed = cuda_driver.memset_d16(dst, (unsigned short)bits, n, (CUstream)stream);
    else
        failed = cuda_driver.memset_d32(dst, (CUDA_WORD)bits, n, (CUstream)stream);
    return failed ? cuda_fail_driver(size == 2 ? CALL(cuMemsetD16Async) : CALL(cuMemsetD32Async),
                                     failed)
                  : 0;
}

static int set_wide(uint64_t bits, char *at, size_t n, cudaStream_t stream)
{
    size_t done = 8, bytes = 8 * n;
    int err;

    if ((bits & 0xffffffff) == bits >> 32)
        return set_narrow(4, bits & 0xffffffff, at, 2 * n, stream);
    err = set_narrow(4, bits & 0xffffffff, at, 1, stream);
    if (!err)
        err = set_narrow(4, bits >> 32, at + 4, 1, stream);
    while (!err && done < bytes) {
        size_t part = done < bytes - done ? done : bytes - done;
        cudaError_t error = cudaMemcpyAsync(at + done, at, part, cudaMemcpyDeviceToDevice, stream);

        if (error != cudaSuccess)
            err = cuda_fail(CALL(cudaMemcpyAsync), error);
        done += part;
    }
    return err;
}

static int set(uint64_t size, uint64_t bits, char *at, size_t n, cudaStream_t stream)
{
    return size == 8 ? set_wide(bits, at, n, stream) : set_narrow(size, bits, at, n, stream);
}

int cuda_fill(void *device, void *queue, uint32_t dtype, int64_t n, double value, ferry_ref y)
{
    struct cuda_device *dev = device;
    const struct cuda_queue *on = cuda_queue_of(dev, queue);
    uint64_t size = cuda_element_size(dtype), bits = bits_of(dtype, value);
    struct cuda_scope scope;
    int err = cuda_enter_on(dev, queue, &scope);

    if (err)
        return err;
    err = cuda_vector_fill(dev, on, size, bits, n, cuda_at(y));
    if (err == FERRY_EUNSUPPORTED)
        err = set(size, bits, cuda_at(y), (size_t)n, on->stream);
    cuda_leave(&scope);
    if (!err)
        dev->counters.ops++;
    return err;
}
