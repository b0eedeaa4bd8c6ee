/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The types of the kernels, with the same widths in OpenCL C, CUDA C++, Slang and on the host.
 */
#ifndef FERRY_KERNELS_TYPES_H
#define FERRY_KERNELS_TYPES_H

/* `struct` defines a structure, STRUCT names a defined one: shading languages use the bare name. */
#if defined(__SLANG_COMPILER__)
#define STRUCT
#else
#define STRUCT struct
#endif

#if defined(__OPENCL_VERSION__)

typedef char i8;
typedef uchar u8;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;

#else

#if defined(__SLANG_COMPILER__)

typedef int8_t i8;
typedef uint8_t u8;
typedef uint16_t u16;
typedef int i32;
typedef uint u32;
typedef int64_t i64;
typedef uint64_t u64;

#elif defined(__CUDACC_RTC__)

typedef signed char i8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#else

#include <stdint.h>

typedef int8_t i8;
typedef uint8_t u8;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;

#endif

typedef double f64;

#endif

typedef float f32;

/* The maximum number of buffers of a kernel. */
#define BUFFERS 6

#endif
