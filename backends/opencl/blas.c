/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CLBlast's routines for F32 and F64. CLBlast indexes elements with ints; arith.c checks that the
 * indices fit.
 */
#include "opencl.h"

#include <clblast_c.h>
#include <inttypes.h>

/*
 * Whether the error is a limit of CLBlast itself: its kernels do not compile, or require
 * work-groups or local memory that the device lacks. ferry's own kernels require less.
 */
static bool is_its_own(int status)
{
    return status == CL_BUILD_PROGRAM_FAILURE ||
           (status <= CL_INVALID_BINARY && status >= CL_INVALID_WORK_ITEM_SIZE) ||
           status == (int)CLBlastNotImplemented ||
           (status >= (int)CLBlastInvalidLocalMemUsage && status <= (int)CLBlastUnexpectedError);
}

/*
 * Whether only this call fails: CLBlast needs a scratch buffer, which ferry's kernels do not, or
 * more of the device's resources than are free. If the same resources are short for ferry's
 * kernels, those report the error.
 */
static bool is_of_this_call(int status)
{
    return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
           status == CL_INVALID_GLOBAL_OFFSET || status == CL_INVALID_BUFFER_SIZE ||
           status == CL_INVALID_GLOBAL_WORK_SIZE;
}

/* Makes the device compute this operation without CLBlast from here on; logged once. */
static int do_without(struct ocl_queue *queue, uint32_t op, uint32_t dtype, const char *routine,
                      int status)
{
    unsigned bit = 1u << (op + (dtype == FERRY_F64 ? 16 : 0));

    if (!(atomic_fetch_or(&queue->dev->without_clblast, bit) & bit))
        ocl_host->log(FERRY_LOG_WARN, "opencl:%" PRIu32 ": %s: %s; ferry's own kernels replace it",
                      queue->dev->index, routine, ocl_error_name(status));
    return FERRY_EUNSUPPORTED;
}

/*
 * Ends a call. The event is passed as a pointer, because a routine sets it during the evaluation of
 * the arguments.
 */
static int done(struct ocl_queue *queue, uint32_t op, uint32_t dtype, const char *routine,
                CLBlastStatusCode status, const cl_event *event)
{
    if (status && is_its_own((int)status))
        return do_without(queue, op, dtype, routine, (int)status);
    if (status && is_of_this_call((int)status)) {
        ocl_host->log(FERRY_LOG_DEBUG,
                      "opencl:%" PRIu32 ": %s: %s; ferry's own kernels compute "
                      "this call",
                      queue->dev->index, routine, ocl_error_name((int)status));
        return FERRY_EUNSUPPORTED;
    }
    if (status)
        return ocl_fail(routine, (int)status);
    return *event ? ocl_queue_note(queue, routine, *event) : 0;
}

int ocl_blas_axpy(struct ocl_queue *queue, uint32_t dtype, int64_t n, double alpha,
                  struct ocl_vector x, struct ocl_vector y)
{
    cl_event e = NULL;

    if (dtype == FERRY_F64)
        return done(
            queue, FERRY_OP_AXPY, dtype, "CLBlastDaxpy",
            CLBlastDaxpy((size_t)n, alpha, x.mem, x.first, 1, y.mem, y.first, 1, &queue->q, &e),
            &e);
    return done(
        queue, FERRY_OP_AXPY, dtype, "CLBlastSaxpy",
        CLBlastSaxpy((size_t)n, (float)alpha, x.mem, x.first, 1, y.mem, y.first, 1, &queue->q, &e),
        &e);
}

int ocl_blas_scal(struct ocl_queue *queue, uint32_t dtype, int64_t n, double alpha,
                  struct ocl_vector x)
{
    cl_event e = NULL;

    if (dtype == FERRY_F64)
        return done(queue, FERRY_OP_SCAL, dtype, "CLBlastDscal",
                    CLBlastDscal((size_t)n, alpha, x.mem, x.first, 1, &queue->q, &e), &e);
    return done(queue, FERRY_OP_SCAL, dtype, "CLBlastSscal",
                CLBlastSscal((size_t)n, (float)alpha, x.mem, x.first, 1, &queue->q, &e), &e);
}

static int dot(struct ocl_queue *queue, uint32_t dtype, int64_t n, struct ocl_vector x,
               struct ocl_vector y, struct ocl_vector result)
{
    cl_event e = NULL;

    if (dtype == FERRY_F64)
        return done(queue, FERRY_OP_DOT, dtype, "CLBlastDdot",
                    CLBlastDdot((size_t)n, result.mem, result.first, x.mem, x.first, 1, y.mem,
                                y.first, 1, &queue->q, &e),
                    &e);
    return done(queue, FERRY_OP_DOT, dtype, "CLBlastSdot",
                CLBlastSdot((size_t)n, result.mem, result.first, x.mem, x.first, 1, y.mem, y.first,
                            1, &queue->q, &e),
                &e);
}

int ocl_blas_reduce(struct ocl_queue *queue, enum ocl_kernel k, uint32_t dtype, int64_t n,
                    struct ocl_vector x, struct ocl_vector y, struct ocl_vector result)
{
    cl_event e = NULL;

    if (k != OCL_K_ASUM) /* computes a sum of squares as the dot product of the vector with
                          * itself */
        return dot(queue, dtype, n, x, y, result);
    if (dtype == FERRY_F64)
        return done(
            queue, FERRY_OP_ASUM, dtype, "CLBlastDasum",
            CLBlastDasum((size_t)n, result.mem, result.first, x.mem, x.first, 1, &queue->q, &e),
            &e);
    return done(queue, FERRY_OP_ASUM, dtype, "CLBlastSasum",
                CLBlastSasum((size_t)n, result.mem, result.first, x.mem, x.first, 1, &queue->q, &e),
                &e);
}

static CLBlastTranspose transpose(const struct ocl_matrix *a)
{
    return a->trans ? CLBlastTransposeYes : CLBlastTransposeNo;
}

int ocl_blas_gemv(struct ocl_queue *queue, const struct ocl_product *p)
{
    cl_event e = NULL;

    if (p->dtype == FERRY_F64)
        return done(queue, FERRY_OP_GEMV, p->dtype, "CLBlastDgemv",
                    CLBlastDgemv(CLBlastLayoutRowMajor, transpose(&p->a), (size_t)p->m,
                                 (size_t)p->n, p->alpha, p->a.mem, p->a.first, (size_t)p->a.ld,
                                 p->x.mem, p->x.first, (size_t)p->x.inc, p->beta, p->y.mem,
                                 p->y.first, (size_t)p->y.inc, &queue->q, &e),
                    &e);
    return done(queue, FERRY_OP_GEMV, p->dtype, "CLBlastSgemv",
                CLBlastSgemv(CLBlastLayoutRowMajor, transpose(&p->a), (size_t)p->m, (size_t)p->n,
                             (float)p->alpha, p->a.mem, p->a.first, (size_t)p->a.ld, p->x.mem,
                             p->x.first, (size_t)p->x.inc, (float)p->beta, p->y.mem, p->y.first,
                             (size_t)p->y.inc, &queue->q, &e),
                &e);
}

int ocl_blas_gemm(struct ocl_queue *queue, const struct ocl_product *p)
{
    cl_event e = NULL;

    if (p->dtype == FERRY_F64)
        return done(queue, FERRY_OP_GEMM, p->dtype, "CLBlastDgemm",
                    CLBlastDgemm(CLBlastLayoutRowMajor, transpose(&p->a), transpose(&p->b),
                                 (size_t)p->m, (size_t)p->n, (size_t)p->k, p->alpha, p->a.mem,
                                 p->a.first, (size_t)p->a.ld, p->b.mem, p->b.first, (size_t)p->b.ld,
                                 p->beta, p->c.mem, p->c.first, (size_t)p->c.ld, &queue->q, &e),
                    &e);
    return done(queue, FERRY_OP_GEMM, p->dtype, "CLBlastSgemm",
                CLBlastSgemm(CLBlastLayoutRowMajor, transpose(&p->a), transpose(&p->b),
                             (size_t)p->m, (size_t)p->n, (size_t)p->k, (float)p->alpha, p->a.mem,
                             p->a.first, (size_t)p->a.ld, p->b.mem, p->b.first, (size_t)p->b.ld,
                             (float)p->beta, p->c.mem, p->c.first, (size_t)p->c.ld, &queue->q, &e),
                &e);
}
