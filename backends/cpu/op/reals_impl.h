/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiles the code of the file IMPL twice, for float and for double. The file uses T, the type,
 * NAME, which adds the suffix of the type to a name, and MATH, which names a function of <math.h>
 * for the type. No guard.
 */
#define T          float
#define NAME(name) name##_f32
#define MATH(name) name##f
#include IMPL
#undef T
#undef NAME
#undef MATH
#define T          double
#define NAME(name) name##_f64
#define MATH(name) name
#include IMPL
#undef T
#undef NAME
#undef MATH
#undef IMPL
