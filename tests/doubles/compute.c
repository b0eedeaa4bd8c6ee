/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arithmetic of the double of cuBLAS: plain loops over elements as doubles, rounded once.
 */
#include "cublas.h"

#include "common/half.h"

static double load(cudaDataType type, const unsigned char *at, int64_t i)
{
    switch ((int)type) {
    case CUDA_R_32F:
        return (double)((const float *)(const void *)at)[i];
    case CUDA_R_64F:
        return ((const double *)(const void *)at)[i];
    case CUDA_R_16F:
        return (double)ferry__f16_to_float(((const uint16_t *)(const void *)at)[i]);
    default:
        return (double)ferry__bf16_to_float(((const uint16_t *)(const void *)at)[i]);
    }
}

static void store(cudaDataType type, unsigned char *at, int64_t i, double value)
{
    switch ((int)type) {
    case CUDA_R_32F:
        ((float *)(void *)at)[i] = (float)value;
        break;
    case CUDA_R_64F:
        ((double *)(void *)at)[i] = value;
        break;
    case CUDA_R_16F:
        ((uint16_t *)(void *)at)[i] = ferry__f16_from_double(value);
        break;
    default:
        ((uint16_t *)(void *)at)[i] = ferry__bf16_from_double(value);
        break;
    }
}

static double rounded(cudaDataType type, double value)
{
    uint64_t bits;

    store(type, (unsigned char *)&bits, 0, value);
    return load(type, (const unsigned char *)&bits, 0);
}

static void run_vector(const struct work *w)
{
    for (int64_t i = 0; i < w->n; i++) {
        double old = load(w->type, w->c, i);

        store(w->type, w->c, i,
              w->operation == SCAL ? w->alpha * old : old + w->alpha * load(w->type, w->a, i));
    }
}

/*
 * Floats are accumulated as floats, in this many parallel sums. The errors of long vectors are then
 * those of a real device: a caller that needs 1e-6 must split them.
 */
#define LANES 16384

static void run_reduction(const struct work *w)
{
    float lanes[LANES] = { 0 };
    double sum = 0;

    for (int64_t i = 0; i < w->n; i++) {
        double x = load(w->type, w->a, i);
        double term = w->operation == DOT ? x * load(w->type, w->b, i) : x < 0 ? -x : x;

        if (w->type == CUDA_R_32F)
            lanes[i % LANES] += (float)term;
        else
            sum += term;
    }
    for (int i = 0; i < LANES; i++)
        sum += (double)lanes[i];
    store(w->result, w->c, 0, sum);
}

/* With beta 0 the previous value is not read. */
static void finish(const struct work *w, unsigned char *c, int64_t at, double sum)
{
    double old = w->beta == 0 ? 0 : w->beta * load(w->result, c, at);

    store(w->result, c, at, w->alpha * sum + old);
}

static void run_gemm(const struct work *w, int64_t batch)
{
    size_t size = w->type == CUDA_R_64F ? 8 : w->type == CUDA_R_32F ? 4 : 2;
    size_t result = w->result == CUDA_R_64F ? 8 : w->result == CUDA_R_32F ? 4 : 2;
    const unsigned char *a = w->a + (size_t)(batch * w->stride_a) * size;
    const unsigned char *b = w->b + (size_t)(batch * w->stride_b) * size;
    unsigned char *c = w->c + (size_t)(batch * w->stride_c) * result;

    for (int64_t j = 0; j < w->n; j++)
        for (int64_t i = 0; i < w->m; i++) {
            double sum = 0, part = 0;

            for (int64_t l = 0; l < w->k; l++) {
                if (w->in_parts && l == w->k / 2) {
                    part = rounded(w->result, sum);
                    sum = 0;
                }
                sum += load(w->type, a, w->trans_a ? i * w->lda + l : l * w->lda + i) *
                       load(w->type, b, w->trans_b ? l * w->ldb + j : j * w->ldb + l);
            }
            if (w->in_parts)
                sum = part + rounded(w->result, sum);
            finish(w, c, j * w->ldc + i, sum);
        }
}

/* The position of element i of a vector of n with an increment, which may be negative. */
static int64_t element(int64_t i, int64_t n, int64_t increment)
{
    return increment < 0 ? (i - n + 1) * increment : i * increment;
}

static void run_gemv(const struct work *w)
{
    int64_t in = w->trans_a ? w->m : w->n, out = w->trans_a ? w->n : w->m;

    for (int64_t i = 0; i < out; i++) {
        double sum = 0;

        for (int64_t l = 0; l < in; l++)
            sum += load(w->type, w->a, w->trans_a ? i * w->lda + l : l * w->lda + i) *
                   load(w->type, w->b, element(l, in, w->ldb));
        finish(w, w->c, element(i, out, w->ldc), sum);
    }
}

int work_run(void *argument)
{
    const struct work *w = argument;

    if (w->operation == GEMV_)
        run_gemv(w);
    else if (w->operation == GEMM_)
        for (int64_t i = 0; i < w->batch; i++)
            run_gemm(w, i);
    else if (w->operation == DOT || w->operation == ASUM)
        run_reduction(w);
    else
        run_vector(w);
    return cudaSuccess;
}
