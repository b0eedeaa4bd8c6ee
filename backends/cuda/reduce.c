/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reductions, whose result stays on the device. A kernel reduces F32, F16 and BF16 (launch.c);
 * cuBLAS reduces F64, and all types if there are no kernels. cuBLAS accumulates in the operand's
 * own precision, many elements per thread: long vectors are divided into pieces whose sums are
 * added last, so that a float never accumulates thousands of others one by one. F16 and BF16 are
 * reduced by 1×1 matrix products with F32 results, because cublasDotEx rounds its result to the
 * operand's type; for asum a product with one converts them to floats.
 */
#include "cuda.h"

#define PIECE INT64_C(1048576) /* the number of elements per call */
#define ROW   64               /* the number of 16-bit elements that one product sums */
#define ROWS  (PIECE / ROW)
#define SUMS  1024 /* enough pieces for 2^30 elements, the maximum */

/*
 * The buffers of a queue on the device: sums of rows, sums of pieces, ones to multiply either with,
 * and one as F16 and as BF16.
 */
struct scratch {
    float *rows, *pieces, *ones;
    char *half_ones;
};

struct reduction {
    struct cuda_queue *queue;
    cublasHandle_t blas;
    uint32_t op, dtype;
    const char *x, *y;
    void *result;
};

static CUresult set_ones(const struct scratch *s, CUstream stream)
{
    static const unsigned short half[] = { 0x3c00, 0x3f80 };
    CUresult failed =
        cuda_driver.memset_d32((CUdeviceptr)(uintptr_t)s->ones, 0x3f800000, ROWS, stream);

    for (int i = 0; i < 2 && !failed; i++)
        failed = cuda_driver.memset_d16((CUdeviceptr)(uintptr_t)(s->half_ones + 2 * i), half[i], 1,
                                        stream);
    return failed;
}

static int scratch_of(struct cuda_queue *queue, struct scratch *out)
{
    float *block = queue->scratch;
    cudaError_t error = cudaSuccess;
    CUresult failed = CUDA_SUCCESS;

    if (!block)
        error = cudaMalloc((void **)&block, (2 * ROWS + SUMS + 1) * sizeof(float));
    if (error != cudaSuccess)
        return cuda_fail(CALL(cudaMalloc), error);
    out->rows = block;
    out->pieces = block + ROWS;
    out->ones = block + ROWS + SUMS;
    out->half_ones = (char *)(block + 2 * ROWS + SUMS);
    if (!queue->scratch)
        failed = set_ones(out, (CUstream)queue->stream);
    if (failed) {
        (void)cudaFree(block);
        return cuda_fail_driver(CALL(cuMemsetD32Async), failed);
    }
    queue->scratch = block;
    return 0;
}

/* Provides the buffer for a piece converted to floats, which only asum needs. */
static int room_of(struct cuda_queue *queue, float **out)
{
    cudaError_t error = cudaSuccess;

    if (!queue->room)
        error = cudaMalloc((void **)&queue->room, PIECE * sizeof(float));
    if (error != cudaSuccess)
        return cuda_fail(CALL(cudaMalloc), error);
    *out = queue->room;
    return 0;
}

static int set_mode(const struct reduction *r, cublasPointerMode_t mode)
{
    cublasStatus_t status = cuda_blas.set_pointer_mode(r->blas, mode);

    return status == CUBLAS_STATUS_SUCCESS
               ? 0
               : cuda_fail_blas(CALL(cublasSetPointerMode), status, r->queue->stream);
}

/* ---- one piece, into one float or double on the device -- */

static int sum_plain(const struct reduction *r, const void *x, const void *y, int n, void *out)
{
    bool wide = r->dtype == FERRY_F64, absolute = r->op == FERRY_OP_ASUM;
    cublasStatus_t status;
    int err = set_mode(r, CUBLAS_POINTER_MODE_DEVICE);

    if (err)
        return err;
    if (absolute)
        status =
            wide ? cuda_blas.dasum(r->blas, n, x, 1, out) : cuda_blas.sasum(r->blas, n, x, 1, out);
    else
        status = wide ? cuda_blas.ddot(r->blas, n, x, 1, y, 1, out)
                      : cuda_blas.sdot(r->blas, n, x, 1, y, 1, out);
    if (status != CUBLAS_STATUS_SUCCESS)
        return cuda_fail_blas(absolute ? CALL(cublasAsum) : CALL(cublasDot), status,
                              r->queue->stream);
    return 0;
}

/* Sums `count` floats on the device. */
static int add_up(const struct reduction *r, const float *values, const float *ones, int count,
                  float *out)
{
    cublasStatus_t status;
    int err = set_mode(r, CUBLAS_POINTER_MODE_DEVICE);

    if (err)
        return err;
    status = cuda_blas.sdot(r->blas, count, values, 1, ones, 1, out);
    return status == CUBLAS_STATUS_SUCCESS
               ? 0
               : cuda_fail_blas(CALL(cublasSdot), status, r->queue->stream);
}

/* Computes `rows` dot products of `length` 16-bit elements each, in one batch. */
static int multiply_rows(const struct reduction *r, const char *x, const char *y, int length,
                         int rows, float *out)
{
    const float one = 1, zero = 0;
    cudaDataType type = r->dtype == FERRY_F16 ? CUDA_R_16F : CUDA_R_16BF;
    cublasStatus_t status =
        cuda_blas.gemm_strided(r->blas, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, length, &one, x, type,
                               length, length, y, type, length, length, &zero, out, CUDA_R_32F, 1,
                               1, rows, CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT);

    return status == CUBLAS_STATUS_SUCCESS
               ? 0
               : cuda_fail_blas(CUDA_CALL_BATCHED, status, r->queue->stream);
}

static int sum_halves(const struct reduction *r, const struct scratch *s, const char *x,
                      const char *y, int n, float *out)
{
    int rows = n / ROW, rest = n % ROW;
    int err = set_mode(r, CUBLAS_POINTER_MODE_HOST);

    if (!err && rows)
        err = multiply_rows(r, x, y, ROW, rows, s->rows);
    if (!err && rest)
        err = multiply_rows(r, x + (size_t)rows * ROW * 2, y + (size_t)rows * ROW * 2, rest, 1,
                            s->rows + rows);
    return err ? err : add_up(r, s->rows, s->ones, rows + (rest != 0), out);
}

/*
 * Sums absolute values of F16 or BF16, which a product cannot: they are converted to floats first.
 */
static int sum_absolute_halves(const struct reduction *r, const struct scratch *s, const char *x,
                               int n, float *out)
{
    const float one = 1, zero = 0;
    bool bf16 = r->dtype == FERRY_BF16;
    cudaDataType type = bf16 ? CUDA_R_16BF : CUDA_R_16F;
    cublasStatus_t status;
    float *floats = NULL;
    int err = room_of(r->queue, &floats);

    if (!err)
        err = set_mode(r, CUBLAS_POINTER_MODE_HOST);
    if (err)
        return err;
    status = cuda_blas.gemm_ex(r->blas, CUBLAS_OP_N, CUBLAS_OP_N, n, 1, 1, &one, x, type, n,
                               s->half_ones + 2 * bf16, type, 1, &zero, floats, CUDA_R_32F, n,
                               CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS)
        return cuda_fail_blas(CUDA_CALL_GEMM_EX, status, r->queue->stream);
    return sum_plain(r, floats, NULL, n, out);
}

/* ---- all pieces ---- */

static int sum_piece(const struct reduction *r, const struct scratch *s, const char *x,
                     const char *y, int n, float *out)
{
    if (r->dtype == FERRY_F32)
        return sum_plain(r, x, y, n, out);
    if (r->op == FERRY_OP_ASUM)
        return sum_absolute_halves(r, s, x, n, out);
    return sum_halves(r, s, x, y, n, out);
}

static int sum_pieces(const struct reduction *r, int64_t n)
{
    size_t size = r->dtype == FERRY_F32 ? 4 : 2;
    struct scratch s = { 0 };
    int count = 0, err = scratch_of(r->queue, &s);

    for (int64_t first = 0; first < n && !err; first += PIECE) {
        int part = (int)(n - first < PIECE ? n - first : PIECE);
        const char *x = r->x + (size_t)first * size, *y = r->y + (size_t)first * size;
        float *out = n <= PIECE ? (float *)r->result : s.pieces + count++;

        err = sum_piece(r, &s, x, y, part, out);
    }
    if (!err && count)
        err = add_up(r, s.pieces, s.ones, count, r->result);
    return err;
}

static int by_blas(struct reduction *r, int64_t n)
{
    int err = cuda_blas_handle(r->queue, CUBLAS_POINTER_MODE_HOST, &r->blas);

    if (!err && (r->dtype == FERRY_F64 || (r->dtype == FERRY_F32 && n <= PIECE)))
        err = sum_plain(r, r->x, r->y, (int)n, r->result);
    else if (!err)
        err = sum_pieces(r, n);
    if (r->blas) /* restores the mode that a program with the same handle expects */
        (void)cuda_blas.set_pointer_mode(r->blas, CUBLAS_POINTER_MODE_HOST);
    return err;
}

static int reduce(void *device, void *queue, uint32_t op, uint32_t dtype, int64_t n, ferry_cref x,
                  ferry_cref y, ferry_ref result)
{
    struct cuda_device *dev = device;
    struct reduction r = { .queue = cuda_queue_of(dev, queue),
                           .op = op,
                           .dtype = dtype,
                           .x = cuda_at_const(x),
                           .y = cuda_at_const(y),
                           .result = cuda_at(result) };
    struct cuda_scope scope;
    int err;

    if (!cuda_supports(dev, op, dtype))
        return FERRY_EUNSUPPORTED;
    err = cuda_enter_on(dev, queue, &scope);
    if (err)
        return err;
    err = dtype == FERRY_F64 ? FERRY_EUNSUPPORTED
                             : cuda_vector_sum(dev, r.queue, op, dtype, n, r.x, r.y, r.result);
    if (err == FERRY_EUNSUPPORTED)
        err = by_blas(&r, n);
    cuda_leave(&scope);
    if (!err)
        dev->counters.ops++;
    return err;
}

int cuda_dot(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
             ferry_ref result)
{
    return reduce(dev, queue, FERRY_OP_DOT, dtype, n, x, y, result);
}

int cuda_asum(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    return reduce(dev, queue, FERRY_OP_ASUM, dtype, n, x, x, result);
}

int cuda_sumsq(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    return reduce(dev, queue, FERRY_OP_SUMSQ, dtype, n, x, x, result);
}
