/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The language of the kernels: one source for OpenCL C 1.2, CUDA C++, Slang and the host's C11.
 *
 *     KERNEL(name, name_args)        buffers are bytes, arguments are one structure (args.h)
 *     {
 *         ARGS(name_args);           a: the arguments
 *         GLOBAL const f32 *x = AT(const f32, 0);
 *         SHARED f32 cells[GROUP];
 *         ITEM_ARRAY(f32, sum, 1);
 *
 *         ITEMS                      each item of the group executes this block
 *         {
 *             sum(0) = x[group() * GROUP + item];
 *             cells[item] = sum(0);
 *         }
 *         PHASE                      the same, after all items have executed the previous one
 *         {
 *             …
 *         }
 *     }
 *
 * A launch is a number of groups of GROUP items, in one dimension. On a GPU an item is a thread,
 * PHASE is a barrier, and `SHARED` is the group's memory; on the host ITEMS and PHASE are loops
 * over the items, and a group runs on one thread. Declarations precede the first block, and
 * variables of ITEM_ARRAY belong to each item through all phases. `continue` ends an item's part of
 * a block. Blocks do not nest. There are no atomics: a sum is gathered by the item that stores it,
 * so that runs are deterministic.
 *
 * GROUP and VEC, the lanes of `vec`, are defined by the compilation. Arguments are i32, u32, i64,
 * u64 and f32, memory also u8, i8, u16; int, long and size_t are not used, because their sizes
 * differ between compilers. Functions are INLINE, pointers into a buffer are GLOBAL.
 *
 * Shading languages lack some of C, which the sources avoid. `struct` defines a structure, STRUCT
 * names one. There are pointers into buffers and arguments only, never to a local variable: a
 * function returns a structure, or writes an array whose parameter is OUT_ARRAY, or INOUT_ARRAY if
 * it also reads it. LANE(v, i) is element i of the array `v` of vectors, vec_load_shared(v, cells,
 * at) loads `v` from a SHARED array, and `p = p + n` moves a pointer. Slang takes the `<` of
 * `a->x < b ? (…) : c` for the beginning of type arguments: lesser(x, y) is the smaller number.
 *
 * Structures of arguments contain neither arrays of arrays nor padding at the end, and a function
 * modifies a structure passed by value only to return it, because some drivers miscompile other
 * uses (doc/design/opencl.md, "Workarounds for Mesa's llvmpipe"). A structure that must be in
 * memory is a copy of a function's result; Oclgrind does not run other forms.
 *
 * All but OpenCL also have, for sources that it does not compile: f64, and LAST_GROUP(flag,
 * counter, groups) between two blocks, which sets `flag` in the last group to reach it, which sees
 * all values that the other groups have stored. The counter is 0 before and after.
 */
#ifndef FERRY_KERNELS_DIALECT_H
#define FERRY_KERNELS_DIALECT_H

#include "kernels/types.h"

#ifndef GROUP
#define GROUP 1
#endif
#ifndef VEC
#define VEC 4
#endif

#define LOWEST (-3.402823466e+38f) /* the lowest finite f32 */

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

/* Arrays as parameters, and the lanes of an array of vectors, where there are pointers to both. */
#if !defined(__SLANG_COMPILER__)
#define OUT_ARRAY(type, name, n)   type *name
#define INOUT_ARRAY(type, name, n) type *name
#define LANE(v, i)                 ((f32 *)(v))[i]

#define vec_load_shared(v, cells, at) ((v) = vec_load((cells) + (at)))
#endif

#if defined(__OPENCL_VERSION__)

/* ---- OpenCL C -------------------------------------------------------------------------------- */

/* A product is rounded before it is added, except in vec_multiply_add: as in the host's C. */
#pragma OPENCL FP_CONTRACT OFF

#define INLINE                    inline
#define GLOBAL                    global
#define SHARED                    local
#define UNROLLED                  _Pragma("unroll")
#define ITEM_ARRAY(type, name, n) type name##_of_item[n]
#define OF_ITEM(name)             name##_of_item

#define KERNEL(name, args)                                                                        \
    kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void name(                          \
        GLOBAL u8 *b0, GLOBAL u8 *b1, GLOBAL u8 *b2, GLOBAL u8 *b3, GLOBAL u8 *b4, GLOBAL u8 *b5, \
        const struct args numbers)
#ifdef ARGS_COPIED /* for Mesa's llvmpipe: doc/design/opencl.md, "Workarounds" */
/*
 * Functions have lookup tables. Their addresses are computed here, not first in a branch; no offset
 * is negative.
 */
constant i64 no_offset[2] = { 0, 1 };
#define ARGS(args)                  \
    struct args copied = numbers;   \
    const struct args *a = &copied; \
                                    \
    copied.at[0] += no_offset[numbers.at[0] < 0]
#else
#define ARGS(args) const struct args *a = &numbers
#endif
#define AT(type, i) ((GLOBAL type *)(b##i + a->at[i]))
#define group()     ((i64)get_group_id(0))
#define ONE_ITEM    for (u32 item = (u32)get_local_id(0), todo = 1; todo; todo = 0)
#define ITEMS       ONE_ITEM
#if GROUP == 1
#define PHASE ONE_ITEM
#else
#define PHASE                     \
    barrier(CLK_LOCAL_MEM_FENCE); \
    ONE_ITEM
#endif

#define exp1(x)             exp(x)
#define log1(x)             log(x)
#define tanh1(x)            tanh(x)
#define expm11(x)           expm1(x)
#define log1p1(x)           log1p(x)
#define pow1(x, y)          pow(x, y)
#define sqrt1(x)            sqrt(x)
#define sin1(x)             sin(x)
#define cos1(x)             cos(x)
#define abs1(x)             fabs(x)
#define erfc1(x)            erfc(x)
#define floor1(x)           floor(x)
#define rint1(x)            rint(x)
#define ceil1(x)            ceil(x)
#define round1(x)           round(x)
#define multiply_high(x, y) mul_hi(x, y)
#define bits_of_f32(x)      as_uint(x)
#define f32_of_bits(x)      as_float(x)

#if VEC == 1
typedef float vec;
#define vec_load(p)     (*(p))
#define vec_store(p, v) (*(p) = (v))
#else
typedef PASTE(float, VEC) vec;
#define vec_load(p) PASTE(vload, VEC)(0, p)
#if GROUP == 1 /* a CPU, for which some drivers compile vstore to several narrower stores */
typedef struct __attribute__((packed, aligned(4))) {
    vec v;
} vec_anywhere;
#define vec_store(p, x) (((GLOBAL vec_anywhere *)(p))->v = (x))
#else
#define vec_store(p, v) PASTE(vstore, VEC)(v, 0, p)
#endif
#endif
#define vec_set(x)                ((vec)(x))
#define vec_add(x, y)             ((x) + (y))
#define vec_multiply(x, y)        ((x) * (y))
#ifdef FUSED /* the device's fused multiply-add is as fast as separate operations */
#define vec_multiply_add(x, y, z) fma(x, y, z)
#else
#define vec_multiply_add(x, y, z) ((x) * (y) + (z))
#endif
#define vec_max(x, y)             ((y) > (x) ? (y) : (x))
#define vec_min(x, y)             ((y) < (x) ? (y) : (x))
#define vec_slope(x, y)           ((x) > 0.0f ? (x) : (x) * (y))

#else

#if defined(__SLANG_COMPILER__)

/* ---- Slang, for Vulkan --------------------------------------------------------------------- */

/*
 * Buffers and arguments are addresses, in push constants: b0 to b5 and that of the structure, whose
 * layout is C's. Programs are compiled with -fp-mode precise and -unscoped-enum.
 */
#define const
#define INLINE
#define GLOBAL
#define SHARED                      static groupshared
#define UNROLLED                    [unroll]
#define ITEM_ARRAY(type, name, n)   type name##_of_item[n]
#define OF_ITEM(name)               name##_of_item
#define OUT_ARRAY(type, name, n)    out type name[n]
#define INOUT_ARRAY(type, name, n)  inout type name[n]
#define LANE(v, i)                  (v)[(i) / VEC].lane[(i) % VEC]
#define vec_load_shared(v, cells, at) \
    for (i32 lane_at = 0; lane_at < VEC; lane_at++) (v).lane[lane_at] = (cells)[(at) + lane_at]

#define KERNEL(name, args)                                                                    \
    [shader("compute")][numthreads(GROUP, 1, 1)] void name(                                   \
        uniform u8 *b0, uniform u8 *b1, uniform u8 *b2, uniform u8 *b3, uniform u8 *b4,       \
        uniform u8 *b5, uniform args *numbers, uint3 local_id : SV_GroupThreadID,             \
        uint3 group_id : SV_GroupID)
#define ARGS(args)  args *a = numbers
#define AT(type, i) ((type *)(b##i + a->at[i]))
#define group()     ((i64)group_id.x)
#define ONE_ITEM    for (u32 item = local_id.x, todo = 1; todo != 0; todo = 0)
#define ITEMS       ONE_ITEM
#define PHASE                          \
    GroupMemoryBarrierWithGroupSync(); \
    ONE_ITEM
#define LAST_GROUP(flag, counter, groups)                  \
    AllMemoryBarrierWithGroupSync();                       \
    if (local_id.x == 0) {                                 \
        u32 before;                                        \
                                                           \
        InterlockedAdd(*(counter), 1u, before);            \
        (flag) = before == (groups) - 1;                   \
        if (before == (groups) - 1)                        \
            *(counter) = 0;                                \
    }                                                      \
    AllMemoryBarrierWithGroupSync()

#define INFINITY            asfloat(0x7f800000u)
#define NAN                 asfloat(0x7fc00000u)
#define multiply_high(x, y) ((u32)((u64)(x) * (y) >> 32))
#define product1(x, y)      ((x) * (y))
#define bits_of_f32(x)      asuint(x)
#define f32_of_bits(x)      asfloat(x)
#define exp1(x)             exp(x)
#define log1(x)             log(x)
#define tanh1(x)            tanh(x)
#define pow1(x, y)          pow(x, y)
#define sqrt1(x)            sqrt(x)
#define sin1(x)             sin(x)
#define cos1(x)             cos(x)
#define abs1(x)             abs(x)
#define floor1(x)           floor(x)
#define rint1(x)            rint(x)
#define ceil1(x)            ceil(x)
#define round1(x)           (sign(x) * floor(abs(x) + 0.5f))
#define fma1(x, y, z)       fma(x, y, z)
#define even_f64(x)         rint(x)

/* Vulkan lacks three functions. */
INLINE f32 expm11(f32 x)
{
    f32 e = exp(x);

    return abs(x) > 0.5f ? e - 1.0f : e == 1.0f ? x : (e - 1.0f) * x / log(e);
}

INLINE f32 log1p1(f32 x)
{
    f32 u = 1.0f + x;

    return abs(x) > 0.5f ? log(u) : u == 1.0f ? x : log(u) * x / (u - 1.0f);
}

/* The series of erf near 0, and the continued fraction. */
INLINE f32 erfc1(f32 x)
{
    f32 y = abs(x), term = x, sum = x, rest = 0.0f, tail;

    for (i32 k = 1; k < 12 && y < 1.0f; k++) {
        term *= -x * x / (f32)k;
        sum += term / (f32)(2 * k + 1);
    }
    for (i32 k = 60; k > 0; k--)
        rest = 0.5f * (f32)k / (y + rest);
    tail = exp(-x * x) / (1.7724538509f * (y + rest));
    return y < 1.0f ? 1.0f - 1.1283791671f * sum : x > 0.0f ? tail : 2.0f - tail;
}

#else

/* ---- CUDA C++ and the host's C --------------------------------------------------------------- */

#if defined(__CUDACC__) || defined(__HIP__)

/* ---- CUDA C++, which HIP is too -------------------------------------------------------------- */

#define INLINE static __device__ __forceinline__
#define GLOBAL
#define SHARED                    __shared__
#define UNROLLED                  _Pragma("unroll")
#define ITEM_ARRAY(type, name, n) type name##_of_item[n]
#define OF_ITEM(name)             name##_of_item

#define KERNEL(name, args)                              \
    extern "C" __global__ void __launch_bounds__(GROUP) \
        name(u8 *b0, u8 *b1, u8 *b2, u8 *b3, u8 *b4, u8 *b5, const struct args numbers)
#define ARGS(args)  const struct args *a = &numbers
#define AT(type, i) ((type *)(b##i + a->at[i]))
#define group()     ((i64)blockIdx.x)
#define ONE_ITEM    for (u32 item = threadIdx.x, todo = 1; todo; todo = 0)
#define ITEMS       ONE_ITEM
#define PHASE        \
    __syncthreads(); \
    ONE_ITEM
#define LAST_GROUP(flag, counter, groups)                     \
    __threadfence();                                          \
    __syncthreads();                                          \
    if (threadIdx.x == 0) {                                   \
        (flag) = atomicAdd((counter), 1u) == (groups) - 1;    \
        if (flag)                                             \
            *(counter) = 0;                                   \
    }                                                         \
    __syncthreads();                                          \
    __threadfence()
#define multiply_high(x, y) __umulhi(x, y)
#define product1(x, y)      __fmul_rn(x, y) /* never fused with a sum */
#define bits_of_f32(x)      __float_as_uint(x)
#define f32_of_bits(x)      __uint_as_float(x)
#ifndef INFINITY /* libnvrtc lacks the host's headers */
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif

#else

/* ---- the host's C ---------------------------------------------------------------------------- */

#include <math.h>
#include <stdbool.h>

#define INLINE static inline
#define GLOBAL
#define SHARED
#define UNROLLED
#define ITEM_ARRAY(type, name, n) type name##_of_items[GROUP][n]
#define OF_ITEM(name)             name##_of_items[item]

/* `group_number`: index of the group; `buffer`: BUFFERS of them; `numbers`: the structure. */
#define KERNEL(name, args)                                                                   \
    void PASTE(HOST_PREFIX, name)(i64 group_number, u8 *const *buffer, const void *numbers); \
    void PASTE(HOST_PREFIX, name)(i64 group_number, u8 *const *buffer, const void *numbers)
#define ARGS(args)          const struct args *a = (const struct args *)numbers
#define AT(type, i)         ((type *)(void *)(buffer[i] + a->at[i]))
#define group()             group_number
#define ITEMS               for (u32 item = 0; item < GROUP; item++)
#define PHASE               ITEMS
#define multiply_high(x, y) ((u32)((u64)(x) * (y) >> 32))
#define product1(x, y)      ((x) * (y))

#define LAST_GROUP(flag, counter, groups)         \
    (flag) = (*(counter))++ == (groups) - 1;      \
    if (flag)                                     \
    *(counter) = 0

INLINE u32 bits_of_f32(f32 x)
{
    union {
        f32 x;
        u32 bits;
    } both = { x };

    return both.bits;
}

INLINE f32 f32_of_bits(u32 bits)
{
    union {
        u32 bits;
        f32 x;
    } both = { bits };

    return both.x;
}

#endif

#define exp1(x)    expf(x)
#define log1(x)    logf(x)
#define tanh1(x)   tanhf(x)
#define expm11(x)  expm1f(x)
#define log1p1(x)  log1pf(x)
#define pow1(x, y) powf(x, y)
#define sqrt1(x)   sqrtf(x)
#define sin1(x)    sinf(x)
#define cos1(x)    cosf(x)
#define abs1(x)    fabsf(x)
#define erfc1(x)   erfcf(x)
#define floor1(x)  floorf(x)
#define rint1(x)   rintf(x)
#define ceil1(x)   ceilf(x)
#define round1(x)  roundf(x)

#define fma1(x, y, z) fmaf(x, y, z)
#define even_f64(x)   rint(x)

#endif

struct vec {
    f32 lane[VEC];
};
#if !defined(__SLANG_COMPILER__)
typedef struct vec vec;
#endif

/* v: lane i of the result. */
#define VEC_FUNCTION(name, parameters, value)                     \
    INLINE vec name parameters                                    \
    {                                                             \
        vec v;                                                    \
                                                                  \
        UNROLLED for (i32 i = 0; i < VEC; i++) v.lane[i] = value; \
        return v;                                                 \
    }

VEC_FUNCTION(vec_load, (const f32 *p), p[i])
VEC_FUNCTION(vec_set, (f32 x), x)
VEC_FUNCTION(vec_add, (vec x, vec y), x.lane[i] + y.lane[i])
VEC_FUNCTION(vec_multiply, (vec x, vec y), x.lane[i] * y.lane[i])
VEC_FUNCTION(vec_multiply_add, (vec x, vec y, vec z), x.lane[i] * y.lane[i] + z.lane[i])
VEC_FUNCTION(vec_max, (vec x, vec y), y.lane[i] > x.lane[i] ? y.lane[i] : x.lane[i])
VEC_FUNCTION(vec_min, (vec x, vec y), y.lane[i] < x.lane[i] ? y.lane[i] : x.lane[i])
VEC_FUNCTION(vec_slope, (vec x, vec y), x.lane[i] > 0 ? x.lane[i] : x.lane[i] * y.lane[i])

INLINE void vec_store(f32 *p, vec v)
{
    UNROLLED for (i32 i = 0; i < VEC; i++) p[i] = v.lane[i];
}

#endif

INLINE i64 lesser(i64 x, i64 y)
{
    return x < y ? x : y;
}

#endif
