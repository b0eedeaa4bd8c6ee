/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ferry's own kernels (kernels.cl): their compilation and launches.
 */
#include "opencl.h"

#include <string.h>

/*
 * The number of groups of a reduction, each of which writes a partial sum: a double, or two floats.
 */
#define PARTIALS      1024u
#define PARTIAL_BYTES 8u

struct arg {
    size_t size;
    const void *value; /* NULL: an array in local memory */
};

#define ARG(x)          \
    {                   \
        sizeof(x), &(x) \
    }

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- compilation ---- */

static int create(const struct ocl_device *dev, cl_program program, const char *name,
                  struct ocl_runnable *out)
{
    size_t most = dev->max_group;
    int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);

    if (error)
        return ocl_fail("clCreateKernel", error);
    (void)clGetKernelWorkGroupInfo(kernel, dev->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof(most), &most,
                                   NULL);
    out->kernel = kernel;
    out->most = least(most, dev->max_group);
    return 0;
}

/* The variant: sums of other types than F64 do not use doubles on devices where they are slow. */
static unsigned variant_of(const struct ocl_device *dev, uint32_t dtype)
{
    return dtype == FERRY_F64 || !dev->float_sums ? dev->variant
                                                  : dev->variant & ~(unsigned)OCL_DOUBLES;
}

static int find(struct ocl_queue *queue, uint32_t dtype, enum ocl_kernel k,
                const struct ocl_runnable **out)
{
    static const char *const names[OCL_KERNELS] = { "axpy",          "scal",       "sum_product",
                                                    "sum_magnitude", "sum_square", "finish",
                                                    "gemv",          "gemv_along", "gemm" };
    struct ocl_runnable *slot = &queue->kernels[dtype][k];
    cl_program program;
    int err = 0;

    if (!slot->kernel) {
        err = ocl_program_arithmetic(queue->dev->context, variant_of(queue->dev, dtype), dtype,
                                     &program);
        if (!err)
            err = create(queue->dev, program, names[k], slot);
    }
    *out = slot;
    return err;
}

/* ---- launches ---- */

static int set_args(cl_kernel kernel, const struct arg *args, cl_uint count)
{
    for (cl_uint i = 0; i < count; i++) {
        int error = clSetKernelArg(kernel, i, args[i].size, args[i].value);

        if (error)
            return ocl_fail("clSetKernelArg", error);
    }
    return 0;
}

static int run(struct ocl_queue *queue, cl_kernel kernel, const char *what, const struct arg *args,
               cl_uint count, cl_uint shape, const size_t *global, const size_t *local)
{
    cl_event event;
    int err = set_args(kernel, args, count), error;

    if (err)
        return err;
    error = clEnqueueNDRangeKernel(queue->q, kernel, shape, NULL, global, local, 0, NULL, &event);
    return error ? ocl_fail("clEnqueueNDRangeKernel", error) : ocl_queue_note(queue, what, event);
}

/* The largest power of 2 that exceeds neither `most` nor the kernel's limit. */
static size_t group_size(const struct ocl_runnable *r, size_t most)
{
    size_t size = 1;

    while (2 * size <= most && 2 * size <= r->most)
        size *= 2;
    return size;
}

/*
 * Chooses the work-items for n elements. Each core of a CPU gets a few groups of one item with a
 * long range; other devices need enough items to hide their latency.
 */
static void shape(const struct ocl_device *dev, const struct ocl_runnable *r, int64_t n,
                  size_t *global, size_t *local)
{
    size_t want, pieces;

    if (dev->few) {
        pieces = ((size_t)n + 4095) / 4096;
        *local = 1;
        *global = least(pieces, least((size_t)dev->cores * 4, PARTIALS));
        return;
    }
    *local = group_size(r, 256);
    want = ((size_t)n + *local - 1) / *local;
    *global = *local * least(want, least((size_t)dev->cores * 16, PARTIALS));
}

/* A scalar argument in the type that the kernels of a dtype expect. */
union scalar {
    float f32;
    double f64;
};

static size_t set_scalar(union scalar *s, uint32_t dtype, double value)
{
    if (dtype == FERRY_F64) {
        s->f64 = value;
        return sizeof(s->f64);
    }
    s->f32 = (float)value;
    return sizeof(s->f32);
}

int ocl_own_vector(struct ocl_queue *queue, enum ocl_kernel k, uint32_t dtype, int64_t n,
                   double alpha, struct ocl_vector x, struct ocl_vector y)
{
    cl_ulong count = (cl_ulong)n, x_first = x.first, y_first = y.first;
    union scalar factor;
    size_t size = set_scalar(&factor, dtype, alpha), global, local;
    const struct arg args[] = { ARG(count),   { size, &factor }, ARG(x.mem),
                                ARG(x_first), ARG(y.mem),        ARG(y_first) };
    const struct ocl_runnable *r;
    int err = find(queue, dtype, k, &r);

    if (err)
        return err;
    shape(queue->dev, r, n, &global, &local);
    return run(queue, r->kernel, k == OCL_K_AXPY ? "axpy" : "scal", args, 6, 1, &global, &local);
}

/* ---- reductions ---- */

static int provide_partials(struct ocl_queue *queue)
{
    int error = 0;

    if (!queue->partials)
        queue->partials = clCreateBuffer(queue->dev->context->context, CL_MEM_READ_WRITE,
                                         (size_t)PARTIALS * PARTIAL_BYTES, NULL, &error);
    return error ? ocl_fail("clCreateBuffer", error) : 0;
}

static int finish(struct ocl_queue *queue, uint32_t dtype, size_t parts, struct ocl_vector result)
{
    const struct ocl_device *dev = queue->dev;
    cl_ulong count = parts, first = result.first;
    const struct ocl_runnable *r;
    size_t local;
    int err = find(queue, dtype, OCL_K_FINISH, &r);

    if (err)
        return err;
    local = dev->few ? 1 : group_size(r, 256);
    {
        const struct arg args[] = { ARG(count),
                                    ARG(queue->partials),
                                    ARG(result.mem),
                                    ARG(first),
                                    { local * PARTIAL_BYTES, NULL } };

        return run(queue, r->kernel, "reduction", args, dev->few ? 4 : 5, 1, &local, &local);
    }
}

int ocl_own_reduce(struct ocl_queue *queue, enum ocl_kernel k, uint32_t dtype, int64_t n,
                   struct ocl_vector x, struct ocl_vector y, struct ocl_vector result)
{
    const struct ocl_device *dev = queue->dev;
    cl_ulong count = (cl_ulong)n, x_first = x.first, y_first = y.first;
    size_t global, local;
    const struct ocl_runnable *r;
    int err = provide_partials(queue);

    if (!err)
        err = find(queue, dtype, k, &r);
    if (err)
        return err;
    shape(dev, r, n, &global, &local);
    {
        const struct arg args[] = { ARG(count),
                                    ARG(x.mem),
                                    ARG(x_first),
                                    ARG(y.mem),
                                    ARG(y_first),
                                    ARG(queue->partials),
                                    { local * PARTIAL_BYTES, NULL } };

        err = run(queue, r->kernel, "reduction", args, dev->few ? 6 : 7, 1, &global, &local);
    }
    return err ? err : finish(queue, dtype, dev->few ? global : global / local, result);
}

/* ---- products ---- */

/* The strides from one row and from one column of op(matrix) to the next. */
static void strides(const struct ocl_matrix *a, cl_ulong *row, cl_ulong *column)
{
    *row = a->trans ? 1 : (cl_ulong)a->ld;
    *column = a->trans ? (cl_ulong)a->ld : 1;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* The side of the square of items in a group. */
static size_t square_side(const struct ocl_runnable *r, size_t most)
{
    size_t side = 1;

    while (2 * side <= most && 4 * side * side <= r->most)
        side *= 2;
    return side;
}

int ocl_own_gemv(struct ocl_queue *queue, const struct ocl_product *p)
{
    bool trans = p->a.trans;
    cl_ulong rows = (cl_ulong)(trans ? p->n : p->m);
    /* the number of columns that are read */
    cl_ulong columns = p->alpha == 0 ? 0 : (cl_ulong)(trans ? p->m : p->n);
    cl_ulong a_first = p->a.first, a_row, a_column, x_first = p->x.first, y_first = p->y.first;
    cl_long x_step = p->x.inc, y_step = p->y.inc;
    bool along = !queue->dev->few && !trans && columns > 1;
    union scalar alpha, beta;
    size_t size = set_scalar(&alpha, p->dtype, p->alpha), local, global;
    const struct ocl_runnable *r;
    int err = find(queue, p->dtype, along ? OCL_K_GEMV_ALONG : OCL_K_GEMV, &r);

    if (err)
        return err;
    local = group_size(r, along ? least(128, (size_t)columns) : 64);
    global = along ? (size_t)rows * local : round_up((size_t)rows, local);
    (void)set_scalar(&beta, p->dtype, p->beta);
    strides(&p->a, &a_row, &a_column);
    {
        const struct arg args[] = { ARG(rows),     ARG(columns),    { size, &alpha },
                                    ARG(p->a.mem), ARG(a_first),    ARG(a_row),
                                    ARG(a_column), ARG(p->x.mem),   ARG(x_first),
                                    ARG(x_step),   { size, &beta }, ARG(p->y.mem),
                                    ARG(y_first),  ARG(y_step),     { local * size, NULL } };

        return run(queue, r->kernel, "gemv", args, along ? 15 : 14, 1, &global, &local);
    }
}

int ocl_own_gemm(struct ocl_queue *queue, const struct ocl_product *p)
{
    bool few = queue->dev->few;
    cl_ulong m = (cl_ulong)p->m, n = (cl_ulong)p->n, k = (cl_ulong)p->k;
    cl_ulong a_first = p->a.first, a_row, a_column, b_first = p->b.first, b_row, b_column;
    cl_ulong c_first = p->c.first, c_row = (cl_ulong)p->c.ld;
    union scalar alpha, beta;
    size_t size = set_scalar(&alpha, p->dtype, p->alpha), local[2], global[2];
    const struct ocl_runnable *r;
    int err = find(queue, p->dtype, OCL_K_GEMM, &r);

    if (err)
        return err;
    local[0] = few ? group_size(r, 64) : square_side(r, 16);
    local[1] = few ? 1 : local[0];
    global[0] = round_up((size_t)n, local[0]);
    global[1] = round_up((size_t)m, local[1]);
    (void)set_scalar(&beta, p->dtype, p->beta);
    strides(&p->a, &a_row, &a_column);
    strides(&p->b, &b_row, &b_column);
    {
        const struct arg args[] = { ARG(m),
                                    ARG(n),
                                    ARG(k),
                                    { size, &alpha },
                                    ARG(p->a.mem),
                                    ARG(a_first),
                                    ARG(a_row),
                                    ARG(a_column),
                                    ARG(p->b.mem),
                                    ARG(b_first),
                                    ARG(b_row),
                                    ARG(b_column),
                                    { size, &beta },
                                    ARG(p->c.mem),
                                    ARG(c_first),
                                    ARG(c_row),
                                    { 2 * local[0] * (local[0] + 1) * size, NULL } };

        return run(queue, r->kernel, "gemm", args, few ? 16 : 17, 2, global, local);
    }
}

/* ---- conversions ---- */

int ocl_own_convert(struct ocl_queue *queue, uint32_t from, uint32_t to, int64_t n,
                    struct ocl_vector x, struct ocl_vector y)
{
    cl_ulong count = (cl_ulong)n, x_first = x.first, y_first = y.first;
    const struct arg args[] = { ARG(count), ARG(x.mem), ARG(x_first), ARG(y.mem), ARG(y_first) };
    struct ocl_runnable *slot = &queue->convert[from][to];
    cl_program program;
    size_t global, local;
    int err = 0;

    if (!slot->kernel) {
        err = ocl_program_convert(queue->dev->context, queue->dev->variant, from, to, &program);
        if (!err)
            err = create(queue->dev, program, "convert_all", slot);
    }
    if (err)
        return err;
    shape(queue->dev, slot, n, &global, &local);
    return run(queue, slot->kernel, "convert", args, 5, 1, &global, &local);
}
