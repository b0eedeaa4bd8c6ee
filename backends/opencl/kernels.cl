/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ferry's own kernels. Built with -DARITHMETIC for the floating dtype X, or with -DCONVERT from
 * dtype X to dtype Y; dtypes are ferry's numbers. FP64: the device supports double. FEW: each item
 * processes one contiguous range with vector loads, which suits CPUs; otherwise adjacent items read
 * adjacent elements.
 */

/*
 * A product is rounded before it is added, as on the host, so that every device computes the same
 * numbers.
 */
#pragma OPENCL FP_CONTRACT OFF

#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

/*
 * This item's elements run from `i` to `end` by STEP: a contiguous range, or every
 * get_global_size(0)th element.
 */
#ifdef FEW
#define STEP 1
#define PART(n)                                                                             \
    ulong part = ((n + get_global_size(0) - 1) / get_global_size(0) + 127) & ~(ulong)127;   \
    ulong i = min((ulong)get_global_id(0) * part, n), end = min(i + part, n)
#else
#define STEP get_global_size(0)
#define PART(n) \
    ulong i = get_global_id(0), end = n
#endif

/* ---- bfloat16: the upper half of a float ---- */

inline float bf16_load(ushort bits)
{
    return as_float((uint)bits << 16);
}

inline float16 bf16_load16(ushort16 bits)
{
    return as_float16(convert_uint16(bits) << 16);
}

inline ushort bf16_round(float value)
{
    uint bits = as_uint(value);

    if (isnan(value))
        return (ushort)(bits >> 16 | 0x40u);
    return (ushort)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline ushort16 bf16_round16(float16 value)
{
    uint16 bits = as_uint16(value);
    uint16 rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;

    return convert_ushort16(select(rounded, bits >> 16 | 0x40u, as_uint16(isnan(value))));
}

#ifdef ARITHMETIC

/* stored: the type in memory; real: the type of the computation; wide: the type of sums. */
#if X == 0
typedef float stored;
typedef float real;
typedef float16 real16;
typedef float8 real8;
typedef float4 real4;
typedef float2 real2;
#define LOAD(p)       (*(p))
#define STORE(v, p)   (*(p) = (v))
#define LOAD16(p)     vload16(0, p)
#define STORE16(v, p) vstore16(v, 0, p)
#elif X == 1
typedef double stored;
typedef double real;
typedef double16 real16;
typedef double8 real8;
typedef double4 real4;
typedef double2 real2;
#define LOAD(p)       (*(p))
#define STORE(v, p)   (*(p) = (v))
#define LOAD16(p)     vload16(0, p)
#define STORE16(v, p) vstore16(v, 0, p)
#elif X == 2
typedef half stored;
typedef float real;
typedef float16 real16;
typedef float8 real8;
typedef float4 real4;
typedef float2 real2;
#define LOAD(p)       vload_half(0, p)
#define STORE(v, p)   vstore_half_rte(v, 0, p)
#define LOAD16(p)     vload_half16(0, p)
#define STORE16(v, p) vstore_half16_rte(v, 0, p)
#else
typedef ushort stored;
typedef float real;
typedef float16 real16;
typedef float8 real8;
typedef float4 real4;
typedef float2 real2;
#define LOAD(p)       bf16_load(*(p))
#define STORE(v, p)   (*(p) = bf16_round(v))
#define LOAD16(p)     bf16_load16(vload16(0, p))
#define STORE16(v, p) vstore16(bf16_round16(v), 0, p)
#endif

kernel void axpy(ulong n, real alpha, global const stored *x, ulong x_first, global stored *y,
                 ulong y_first)
{
    PART(n);

    x += x_first;
    y += y_first;
#ifdef FEW
    for (; i + 16 <= end; i += 16)
        STORE16(LOAD16(y + i) + alpha * LOAD16(x + i), y + i);
#endif
    for (; i < end; i += STEP)
        STORE(LOAD(y + i) + alpha * LOAD(x + i), y + i);
}

kernel void scal(ulong n, real alpha, global const stored *unused, ulong unused_first,
                 global stored *x, ulong x_first)
{
    PART(n);

    x += x_first;
#ifdef FEW
    for (; i + 16 <= end; i += 16)
        STORE16(alpha * LOAD16(x + i), x + i);
#endif
    for (; i < end; i += STEP)
        STORE(alpha * LOAD(x + i), x + i);
}

/* ---- reductions ---- */

/*
 * Terms are added in pairs, then in eights, and then to a sum that keeps their low bits: a double,
 * or a float with a second float for the rounding error. This error is added to the sum each time,
 * as far as the sum has bits for it, so that the error does not grow and lose low bits itself. With
 * doubles, products are doubles too.
 */
#ifdef FP64
typedef double wide;
#define LOAD_WIDE(p)   ((double)LOAD(p))
#define LOAD16_WIDE(p) convert_double16(LOAD16(p))
#define ZERO       0.0
#define VALUE(sum) (sum)

inline wide add(wide sum, double term)
{
    return sum + term;
}

inline wide join(wide a, wide b)
{
    return a + b;
}
#else
typedef float2 wide;
#define LOAD_WIDE(p)   LOAD(p)
#define LOAD16_WIDE(p) LOAD16(p)
#define ZERO       ((float2)(0.0f, 0.0f))
#define VALUE(sum) ((sum).x + (sum).y)

inline wide add(wide sum, float term)
{
    float total = sum.x + term, rest, settled;

    if (!isfinite(total))
        return (float2)(total, 0.0f);
    rest = sum.y + (fabs(sum.x) >= fabs(term) ? (sum.x - total) + term : (term - total) + sum.x);
    settled = total + rest;
    return (float2)(settled, rest - (settled - total));
}

inline wide join(wide a, wide b)
{
    wide sum = add(a, b.x);

    sum.y += b.y;
    return sum;
}
#endif

#ifdef FEW

#ifdef FP64
#define LANES             double16 lanes = (double16)(0.0)
#define ADD_LANES(sum, v) (lanes += convert_double16(v))
#define JOIN_LANES(sum)                    \
    {                                      \
        double8 a = lanes.lo + lanes.hi;   \
        double4 b = a.lo + a.hi;           \
        double2 c = b.lo + b.hi;           \
        (sum) = join(sum, c.lo + c.hi);    \
    }
#else
#define LANES
#define ADD_LANES(sum, v)                  \
    {                                      \
        real16 t = (v);                    \
        real8 a = t.lo + t.hi;             \
        real4 b = a.lo + a.hi;             \
        real2 c = b.lo + b.hi;             \
        (sum) = add(sum, c.lo + c.hi);     \
    }
#define JOIN_LANES(sum)
#endif

/* Computes one partial sum per item. */
#define REDUCTION(name, TERM)                                                                    \
    kernel void name(ulong n, global const stored *x, ulong x_first, global const stored *y,     \
                     ulong y_first, global wide *partials)                                       \
    {                                                                                            \
        wide sum = ZERO;                                                                         \
        LANES;                                                                                   \
        PART(n);                                                                                 \
                                                                                                 \
        x += x_first;                                                                            \
        y += y_first;                                                                            \
        for (; i + 128 <= end; i += 128)                                                         \
            ADD_LANES(sum, ((TERM(LOAD16, i) + TERM(LOAD16, i + 16)) +                           \
                            (TERM(LOAD16, i + 32) + TERM(LOAD16, i + 48))) +                     \
                               ((TERM(LOAD16, i + 64) + TERM(LOAD16, i + 80)) +                  \
                                (TERM(LOAD16, i + 96) + TERM(LOAD16, i + 112))));                \
        for (; i < end; i++)                                                                     \
            sum = add(sum, TERM(LOAD, i));                                                       \
        JOIN_LANES(sum)                                                                          \
        partials[get_global_id(0)] = sum;                                                        \
    }

kernel void finish(ulong parts, global const wide *partials, global real *result, ulong first)
{
    wide sum = ZERO;

    for (ulong i = 0; i < parts; i++)
        sum = join(sum, partials[i]);
    result[first] = (real)VALUE(sum);
}

#else

/* Adds the items' sums of a group, whose size is a power of 2, into cell 0. */
inline void join_group(local wide *cells, wide sum)
{
    uint item = (uint)get_local_id(0);

    cells[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = (uint)get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (item < half_size)
            cells[item] = join(cells[item], cells[item + half_size]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* Computes one partial sum per group. */
#define REDUCTION(name, TERM)                                                                \
    kernel void name(ulong n, global const stored *x, ulong x_first, global const stored *y, \
                     ulong y_first, global wide *partials, local wide *cells)                \
    {                                                                                        \
        wide sum = ZERO;                                                                     \
        ulong step = get_global_size(0);                                                     \
        PART(n);                                                                             \
                                                                                             \
        x += x_first;                                                                        \
        y += y_first;                                                                        \
        for (; i + 7 * step < end; i += 8 * step)                                            \
            sum = add(sum, ((TERM(LOAD, i) + TERM(LOAD, i + step)) +                         \
                            (TERM(LOAD, i + 2 * step) + TERM(LOAD, i + 3 * step))) +         \
                               ((TERM(LOAD, i + 4 * step) + TERM(LOAD, i + 5 * step)) +      \
                                (TERM(LOAD, i + 6 * step) + TERM(LOAD, i + 7 * step))));     \
        for (; i < end; i += step)                                                           \
            sum = add(sum, TERM(LOAD, i));                                                   \
        join_group(cells, sum);                                                              \
        if (get_local_id(0) == 0)                                                            \
            partials[get_group_id(0)] = cells[0];                                            \
    }

kernel void finish(ulong parts, global const wide *partials, global real *result, ulong first,
                   local wide *cells)
{
    wide sum = ZERO;

    for (ulong i = get_local_id(0); i < parts; i += get_local_size(0))
        sum = join(sum, partials[i]);
    join_group(cells, sum);
    if (get_local_id(0) == 0)
        result[first] = (real)VALUE(cells[0]);
}

#endif

#define PRODUCT(load, i)   (load##_WIDE(x + (i)) * load##_WIDE(y + (i)))
#define MAGNITUDE(load, i) fabs(load(x + (i)))
#define SQUARE(load, i)    (load##_WIDE(x + (i)) * load##_WIDE(x + (i)))

REDUCTION(sum_product, PRODUCT)
REDUCTION(sum_magnitude, MAGNITUDE)
REDUCTION(sum_square, SQUARE)

/* ---- products ---- */

/* One item computes one element of y; the rows and columns of a are those of op(A). */
kernel void gemv(ulong rows, ulong columns, real alpha, global const stored *a, ulong a_first,
                 ulong a_row, ulong a_column, global const stored *x, ulong x_first, long x_step,
                 real beta, global stored *y, ulong y_first, long y_step)
{
    ulong row = get_global_id(0);
    real sum = 0;

    if (row >= rows)
        return;
    a += a_first + row * a_row;
    x += x_first;
    y += (long)y_first + (long)row * y_step;
    for (ulong j = 0; j < columns; j++)
        sum += LOAD(a + j * a_column) * LOAD(x + (long)j * x_step);
    sum *= alpha;
    if (beta != 0)
        sum += beta * LOAD(y);
    STORE(sum, y);
}

#ifdef FEW

/* One item computes one element of C; strides are those of op(A) and op(B). */
kernel void gemm(ulong m, ulong n, ulong k, real alpha, global const stored *a, ulong a_first,
                 ulong a_row, ulong a_column, global const stored *b, ulong b_first, ulong b_row,
                 ulong b_column, real beta, global stored *c, ulong c_first, ulong c_row)
{
    ulong column = get_global_id(0), row = get_global_id(1);
    real sum = 0;

    if (row >= m || column >= n)
        return;
    a += a_first + row * a_row;
    b += b_first + column * b_column;
    c += c_first + row * c_row + column;
    for (ulong i = 0; i < k; i++)
        sum += LOAD(a + i * a_column) * LOAD(b + i * b_row);
    sum *= alpha;
    if (beta != 0)
        sum += beta * LOAD(c);
    STORE(sum, c);
}

#else

/*
 * gemv for rows of op(A) that are contiguous in memory, which single items would read with a
 * stride: a group processes each row, and adjacent items read adjacent elements.
 */
kernel void gemv_along(ulong rows, ulong columns, real alpha, global const stored *a, ulong a_first,
                       ulong a_row, ulong a_column, global const stored *x, ulong x_first,
                       long x_step, real beta, global stored *y, ulong y_first, long y_step,
                       local real *cells)
{
    uint item = (uint)get_local_id(0), items = (uint)get_local_size(0);
    ulong row = get_group_id(0);
    real sum = 0;

    a += a_first + row * a_row;
    x += x_first;
    y += (long)y_first + (long)row * y_step;
    for (ulong j = item; j < columns; j += items)
        sum += LOAD(a + j * a_column) * LOAD(x + (long)j * x_step);
    cells[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = items / 2; half_size > 0; half_size /= 2) {
        if (item < half_size)
            cells[item] += cells[item + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item > 0)
        return;
    sum = alpha * cells[0];
    if (beta != 0)
        sum += beta * LOAD(y);
    STORE(sum, y);
}

/*
 * One item computes one element of C, and one group a square of them. The items copy squares of
 * op(A) and op(B) to local memory with coalesced reads in either orientation; terms are added in
 * order, so that the size of a square does not change the sum.
 */
kernel void gemm(ulong m, ulong n, ulong k, real alpha, global const stored *a, ulong a_first,
                 ulong a_row, ulong a_column, global const stored *b, ulong b_first, ulong b_row,
                 ulong b_column, real beta, global stored *c, ulong c_first, ulong c_row,
                 local real *cells)
{
    uint side = (uint)get_local_size(0), pitch = side + 1;
    uint fast = (uint)get_local_id(0), slow = (uint)get_local_id(1);
    uint a_i = a_column == 1 ? slow : fast, a_j = a_column == 1 ? fast : slow;
    uint b_i = b_column == 1 ? slow : fast, b_j = b_column == 1 ? fast : slow;
    ulong top = get_group_id(1) * side, left = get_group_id(0) * side;
    ulong row = top + slow, column = left + fast;
    local real *a_cells = cells, *b_cells = cells + side * pitch;
    real sum = 0;

    a += a_first;
    b += b_first;
    for (ulong first = 0; first < k; first += side) {
        uint terms = (uint)min((ulong)side, k - first);

        if (top + a_i < m && a_j < terms)
            a_cells[a_i * pitch + a_j] = LOAD(a + (top + a_i) * a_row + (first + a_j) * a_column);
        if (b_i < terms && left + b_j < n)
            b_cells[b_i * pitch + b_j] = LOAD(b + (first + b_i) * b_row + (left + b_j) * b_column);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (row < m && column < n)
            for (uint i = 0; i < terms; i++)
                sum += a_cells[slow * pitch + i] * b_cells[i * pitch + fast];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row >= m || column >= n)
        return;
    c += c_first + row * c_row + column;
    sum *= alpha;
    if (beta != 0)
        sum += beta * LOAD(c);
    STORE(sum, c);
}

#endif

#endif /* ARITHMETIC */

#ifdef CONVERT

/* Integers are converted in 32 bits if they have no more, other types as float or double. */
#if X == 0
typedef float from_stored;
typedef float from;
#define LOAD(p) (*(p))
#elif X == 1
typedef double from_stored;
typedef double from;
#define LOAD(p) (*(p))
#elif X == 2
typedef half from_stored;
typedef float from;
#define LOAD(p) vload_half(0, p)
#elif X == 3
typedef ushort from_stored;
typedef float from;
#define LOAD(p) bf16_load(*(p))
#elif X == 4
typedef char from_stored;
typedef int from;
#define LOAD(p) ((int)*(p))
#elif X == 5
typedef uchar from_stored;
typedef int from;
#define LOAD(p) ((int)*(p))
#elif X == 6
typedef int from_stored;
typedef int from;
#define LOAD(p) (*(p))
#elif X == 7
typedef long from_stored;
typedef long from;
#define LOAD(p) (*(p))
#else
typedef uint from_stored;
typedef uint from;
#define LOAD(p) (*(p))
#endif

/*
 * Converts to a float with a sticky last bit, so that a second rounding to fewer bits gives the
 * same result as a single one.
 */
#if X == 0 || X == 2 || X == 3
#define TO_ODD(v) (v)
#else
inline float to_odd(from v)
{
    float near = convert_float(v);
#if X == 1
    double back = near;
    bool inexact = !isnan(v) && back != v, beyond = fabs(back) > fabs(v);
#else
    long back = convert_long_sat(near);
    long exact = v;
    bool inexact = back != exact, beyond = exact < 0 ? back < exact : back > exact;
#endif

    if (!inexact)
        return near;
    return as_float((as_uint(near) - (beyond ? 1u : 0u)) | 1u);
}
#define TO_ODD(v) to_odd(v)
#endif

#if X <= 3
/* selects between floats, because llvmpipe cannot select between bytes */
#define WHOLE(v, type) convert_##type##_sat_rte(isnan(v) ? (from)0 : (v))
#else
#define WHOLE(v, type) convert_##type##_sat(v)
#endif

#if Y == 0
typedef float to_stored;
#define STORE(v, p) (*(p) = convert_float_rte(v))
#elif Y == 1
typedef double to_stored;
#define STORE(v, p) (*(p) = convert_double_rte(v))
#elif Y == 2
typedef half to_stored;
#define STORE(v, p) vstore_half_rte(TO_ODD(v), 0, p)
#elif Y == 3
typedef ushort to_stored;
#define STORE(v, p) (*(p) = bf16_round(TO_ODD(v)))
#elif Y == 4
typedef char to_stored;
#define STORE(v, p) (*(p) = WHOLE(v, char))
#elif Y == 5
typedef uchar to_stored;
#define STORE(v, p) (*(p) = WHOLE(v, uchar))
#elif Y == 6
typedef int to_stored;
#define STORE(v, p) (*(p) = WHOLE(v, int))
#elif Y == 7
typedef long to_stored;
#define STORE(v, p) (*(p) = WHOLE(v, long))
#else
typedef uint to_stored;
#define STORE(v, p) (*(p) = WHOLE(v, uint))
#endif

kernel void convert_all(ulong n, global const from_stored *x, ulong x_first, global to_stored *y,
                        ulong y_first)
{
    PART(n);

    x += x_first;
    y += y_first;
    for (; i < end; i += STEP)
        STORE(LOAD(x + i), y + i);
}

#endif /* CONVERT */
