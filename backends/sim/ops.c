/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arithmetic entries: they check every operand against its block and submit the computation to
 * the queue (math.c).
 */
#include "sim.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_ELEMENTS (INT64_C(1) << 30)

/* An operand: the elements that it spans, and where its address is stored. */
struct operand {
    ferry_cref ref;
    uint64_t elements; /* 0: the operand is not accessed */
    uint32_t dtype, access;
    bool strided; /* it has gaps between its elements */
    const unsigned char **at;
};

/* ---- supported operations ---- */

static bool is_floating(uint32_t dtype)
{
    return dtype <= FERRY_BF16;
}

static bool can(const struct sim_device *dev, uint32_t op, uint32_t dtype)
{
    if (op >= FERRY_OP_COUNT || !sim_element_size(dtype))
        return false;
    if (dev->set.ops == SIM_OPS_MINIMAL)
        return op == FERRY_OP_AXPY && dtype == FERRY_F32;
    if (op == FERRY_OP_COPY || op == FERRY_OP_FILL || op == FERRY_OP_CONVERT)
        return true;
    return is_floating(dtype);
}

int sim_supports(void *dev, uint32_t op, uint32_t dtype)
{
    return can(dev, op, dtype);
}

/* ---- operands ---- */

static int resolve(struct sim_device *dev, struct sim_command *c, size_t index,
                   const struct operand *operand, struct sim_why *why)
{
    uint64_t size = sim_element_size(operand->dtype);
    unsigned char *real;
    int err;

    if (!operand->elements)
        return 0;
    if (operand->ref.offset % size)
        return sim_why_set(why, FERRY_EINVAL,
                           "handle %p offset %" PRIu64 ": elements have %" PRIu64 " bytes",
                           (void *)(uintptr_t)operand->ref.handle, operand->ref.offset, size);
    err = sim_arena_bind(dev, operand->ref, operand->elements * size, why);
    if (err)
        return err;
    err = sim_arena_resolve(dev, operand->ref, operand->elements * size, operand->access,
                            &c->uses[index], &real, why);
    if (err)
        return err;
    if (operand->access & FERRY_WRITE) {
        c->op.y = real;
        c->dst = real;
        c->bytes = operand->elements * size;
    } else {
        *operand->at = real;
    }
    return 0;
}

/* Checks that the output does not overlap an input; for axpy it may be identical to one. */
static int check_overlap(uint32_t op, const struct operand *in, const struct operand *out,
                         struct sim_why *why)
{
    uint64_t in_end = in->ref.offset + in->elements * sim_element_size(in->dtype);
    uint64_t out_end = out->ref.offset + out->elements * sim_element_size(out->dtype);

    if (in->ref.handle != out->ref.handle || in->strided || out->strided || !in->elements ||
        !out->elements || in->ref.offset >= out_end || out->ref.offset >= in_end)
        return 0;
    if (op == FERRY_OP_AXPY && in->ref.offset == out->ref.offset)
        return 0;
    return sim_why_set(why, FERRY_EINVAL, "operands overlap in handle %p",
                       (void *)(uintptr_t)in->ref.handle);
}

/* Submits the computation; the last operand is the output. (locked) */
static int submit(struct sim_device *dev, void *queue_handle, struct sim_command *c,
                  const struct operand *operands, size_t n, struct sim_why *why)
{
    struct sim_queue *queue;
    int err = sim_queue_find(dev, queue_handle, &queue, why);

    if (!err)
        err = sim_fault(dev, SIM_CALL_OP, why);
    for (size_t i = 0; !err && i < n; i++)
        err = resolve(dev, c, i, &operands[i], why);
    for (size_t i = 0; !err && i + 1 < n; i++)
        err = check_overlap(c->op.op, &operands[i], &operands[n - 1], why);
    if (err)
        return err;
    c->fail = sim_fault_later(dev, SIM_CALL_OP);
    dev->counters.ops++;
    sim_queue_submit(queue, c);
    return 0;
}

/* Does what all operations need; `in` operands are read, `out` is written. */
static int enqueue(struct sim_device *dev, void *queue, const struct sim_op *op,
                   struct sim_command *c, const struct operand *operands, size_t n)
{
    struct sim_why why = { 0 };

    if (!c) {
        sim_why_set(&why, FERRY_ENOMEM, "out of host memory");
    } else if (!can(dev, op->op, op->dtype) || !sim_element_size(op->dtype2)) {
        sim_why_set(&why, FERRY_EUNSUPPORTED, "the operation does not support type %u", op->dtype);
    } else if (op->n < 0 || op->n > MOST_ELEMENTS || op->m < 0 || op->k < 0) {
        sim_why_set(&why, FERRY_EINVAL, "sizes %" PRId64 ", %" PRId64 ", %" PRId64, op->m, op->n,
                    op->k);
    } else {
        c->engine = SIM_COMPUTE;
        c->cost = dev->set.op_latency_ns;
        sim_lock();
        (void)submit(dev, queue, c, operands, n, &why);
        sim_unlock();
    }
    if (why.code)
        free(c);
    return sim_why_tell(&why);
}

static int refuse(struct sim_command *c, const char *what)
{
    struct sim_why why = { 0 };

    free(c);
    sim_why_set(&why, FERRY_EINVAL, "%s", what);
    return sim_why_tell(&why);
}

/* ---- vectors ---- */

/* Computes out (op)= in, of equal length; either input may be absent. */
static int vectors(struct sim_device *dev, void *queue, const struct sim_op *op,
                   const ferry_cref *x, const ferry_cref *x2, ferry_ref out, uint64_t out_elements,
                   uint32_t out_dtype)
{
    struct sim_command *c = sim_command_create(SIM_OP);
    struct operand operands[3];
    uint64_t n = (uint64_t)op->n;
    size_t count = 0;

    if (op->n < 1)
        return refuse(c, "a vector has no elements");

    if (c)
        c->op = *op;
    if (c && x)
        operands[count++] = (struct operand){ *x, n, op->dtype, FERRY_READ, false, &c->op.x };
    if (c && x2)
        operands[count++] = (struct operand){ *x2, n, op->dtype, FERRY_READ, false, &c->op.a };
    if (c)
        operands[count++] = (struct operand){ ferry_ref_const(out), out_elements, out_dtype,
                                              FERRY_WRITE,          false,        NULL };
    return enqueue(dev, queue, op, c, operands, count);
}

int sim_axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
             ferry_ref y)
{
    struct sim_op op = { .op = FERRY_OP_AXPY, .dtype = dtype, .n = n, .alpha = alpha };

    return vectors(dev, queue, &op, &x, NULL, y, (uint64_t)n, dtype);
}

int sim_scal(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x)
{
    struct sim_op op = { .op = FERRY_OP_SCAL, .dtype = dtype, .n = n, .alpha = alpha };

    return vectors(dev, queue, &op, NULL, NULL, x, (uint64_t)n, dtype);
}

int sim_copy(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y)
{
    struct sim_op op = { .op = FERRY_OP_COPY, .dtype = dtype, .dtype2 = dtype, .n = n };

    return vectors(dev, queue, &op, &x, NULL, y, (uint64_t)n, dtype);
}

int sim_fill(void *dev, void *queue, uint32_t dtype, int64_t n, double value, ferry_ref y)
{
    struct sim_op op = { .op = FERRY_OP_FILL, .dtype = dtype, .n = n, .alpha = value };

    return vectors(dev, queue, &op, NULL, NULL, y, (uint64_t)n, dtype);
}

int sim_convert(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x, uint32_t y_dtype,
                ferry_ref y)
{
    struct sim_op op = { .op = FERRY_OP_CONVERT, .dtype = x_dtype, .dtype2 = y_dtype, .n = n };

    return vectors(dev, queue, &op, &x, NULL, y, (uint64_t)n, y_dtype);
}

/* Reduces to one element: F64 for F64, F32 for every other type. */
static int reduce(void *dev, void *queue, uint32_t operation, uint32_t dtype, int64_t n,
                  ferry_cref x, const ferry_cref *y, ferry_ref result)
{
    uint32_t out = dtype == FERRY_F64 ? FERRY_F64 : FERRY_F32;
    struct sim_op op = { .op = operation, .dtype = dtype, .dtype2 = out, .n = n };

    return vectors(dev, queue, &op, &x, y, result, 1, out);
}

int sim_dot(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
            ferry_ref result)
{
    return reduce(dev, queue, FERRY_OP_DOT, dtype, n, x, &y, result);
}

int sim_asum(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    return reduce(dev, queue, FERRY_OP_ASUM, dtype, n, x, NULL, result);
}

int sim_sumsq(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    return reduce(dev, queue, FERRY_OP_SUMSQ, dtype, n, x, NULL, result);
}

/* ---- matrices ---- */

static uint64_t matrix_span(int64_t rows, int64_t columns, int64_t ld)
{
    return rows > 0 && columns > 0 ? (uint64_t)((rows - 1) * ld + columns) : 0;
}

static uint64_t vector_span(int64_t n, int64_t inc)
{
    return n > 0 ? (uint64_t)(n - 1) * (uint64_t)(inc < 0 ? -inc : inc) + 1 : 0;
}

static bool fits(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX;
}

static bool is_trans(uint32_t trans)
{
    return trans == FERRY_TRANS || trans == FERRY_NO_TRANS;
}

int sim_gemv(void *dev, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
             double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
             ferry_ref y, int64_t incy)
{
    struct sim_command *c = sim_command_create(SIM_OP);
    struct sim_op op = { .op = FERRY_OP_GEMV,
                         .dtype = dtype,
                         .trans_a = trans == FERRY_TRANS,
                         .n = n,
                         .m = m,
                         .lda = lda,
                         .incx = incx,
                         .incy = incy,
                         .alpha = alpha,
                         .beta = beta };
    struct operand operands[3] = { 0 };

    if (!is_trans(trans) || !fits(m) || !fits(n) || !fits(lda) || !fits(incx) || !fits(incy) ||
        m < 0 || n < 0 || !incx || !incy || lda < (n > 1 ? n : 1))
        return refuse(c, "gemv: sizes or strides do not describe a matrix");
    if (c) {
        c->op = op;
        operands[0] =
            (struct operand){ a, matrix_span(m, n, lda), dtype, FERRY_READ, lda != n, &c->op.a };
        operands[1] = (struct operand){ x,         vector_span(op.trans_a ? m : n, incx),
                                        dtype,     FERRY_READ,
                                        incx != 1, &c->op.x };
        operands[2] = (struct operand){ ferry_ref_const(y),
                                        vector_span(op.trans_a ? n : m, incy),
                                        dtype,
                                        FERRY_WRITE,
                                        incy != 1,
                                        NULL };
    }
    return enqueue(dev, queue, &op, c, operands, 3);
}

int sim_gemm(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b, int64_t m,
             int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda, ferry_cref b,
             int64_t ldb, double beta, ferry_ref c, int64_t ldc)
{
    struct sim_command *command = sim_command_create(SIM_OP);
    struct sim_op op = { .op = FERRY_OP_GEMM,
                         .dtype = dtype,
                         .trans_a = trans_a == FERRY_TRANS,
                         .trans_b = trans_b == FERRY_TRANS,
                         .n = n,
                         .m = m,
                         .k = k,
                         .lda = lda,
                         .ldb = ldb,
                         .ldc = ldc,
                         .alpha = alpha,
                         .beta = beta };
    int64_t a_rows = op.trans_a ? k : m, a_columns = op.trans_a ? m : k;
    int64_t b_rows = op.trans_b ? n : k, b_columns = op.trans_b ? k : n;
    struct operand operands[3] = { 0 };

    if (!is_trans(trans_a) || !is_trans(trans_b) || !fits(m) || !fits(n) || !fits(k) ||
        !fits(lda) || !fits(ldb) || !fits(ldc) || m < 0 || n < 0 || k < 0 || lda < 1 || ldb < 1 ||
        ldc < 1 || lda < a_columns || ldb < b_columns || ldc < n)
        return refuse(command, "gemm: sizes or strides do not describe a matrix");
    if (command) {
        command->op = op;
        operands[0] = (struct operand){ a,
                                        matrix_span(a_rows, a_columns, lda),
                                        dtype,
                                        FERRY_READ,
                                        lda != a_columns,
                                        &command->op.a };
        operands[1] = (struct operand){ b,
                                        matrix_span(b_rows, b_columns, ldb),
                                        dtype,
                                        FERRY_READ,
                                        ldb != b_columns,
                                        &command->op.x };
        operands[2] = (struct operand){
            ferry_ref_const(c), matrix_span(m, n, ldc), dtype, FERRY_WRITE, ldc != n, NULL
        };
    }
    return enqueue(dev, queue, &op, command, operands, 3);
}
