/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer.h"

#include <stddef.h>

/*
 * Products by AMX. A tile of a product has up to 32 rows and columns. Its sums are in registers 0
 * and 1 (rows 0 to 15) and 2 and 3 (the other rows). A step loads the groups of these rows into 4
 * and 5, and those of the columns into 6 and 7: four loads for four products. The sums are stored,
 * and cpu_integer_put applies the steps that follow.
 *
 * Intel's optimization manual gives a product of full registers 16 cycles of the unit and a latency
 * of 52, and a load 8. Four products are 64 cycles, longer than the latency, beside 32 cycles of
 * loads: 1024 multiply-adds of bytes in a cycle, where VPDPBUSD has 128, and 512 of BF16, where F32
 * has 32. With at most 16 rows or 16 columns a step has two products, each of which waits for that
 * of the step before: 52 cycles, 630 multiply-adds of bytes in a cycle; with one product, 315.
 *
 * If the tiles of a line differ in the number of rows, each of them configures the registers.
 */
#if CPU_INTEGER_HAS_AMX && defined(__x86_64__)
#include "amx.h"

#define HALF   16 /* the rows, or columns, of a register */
#define B_NEXT (INTEGER_MOST_COLUMNS * 4)

#define INLINE static inline __attribute__((always_inline))

/* The structure of LDTILECFG; registers without rows are not used. */
struct amx_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct amx_config) == 64, "the bytes that LDTILECFG reads");

static void set_shape(struct amx_config *c, int at, int64_t rows, int64_t row_bytes)
{
    c->rows[at] = (uint8_t)rows;
    c->row_bytes[at] = rows ? (uint16_t)row_bytes : 0;
}

static void amx_configure(struct cpu_integer_tile *t, int64_t rows)
{
    struct amx_config c = { .palette = 1 };
    const int64_t upper = rows < HALF ? rows : HALF, lower = rows - upper;

    for (int column = 0; column < 2; column++) {
        set_shape(&c, column, upper, 4 * HALF);
        set_shape(&c, 2 + column, lower, 4 * HALF);
        set_shape(&c, 6 + column, t->step, 4 * HALF);
    }
    set_shape(&c, 4, upper, 4 * t->step);
    set_shape(&c, 5, lower, 4 * t->step);
    AMX_CONFIGURE(&c);
    t->configured = rows;
}

enum form { U8, I8, BF16 };

#define DOT(form, c, a, b)         \
    do {                           \
        if (form == BF16)          \
            AMX_DOT_BF16(c, a, b); \
        else if (form == I8)       \
            AMX_DOT_I8(c, a, b);   \
        else                       \
            AMX_DOT_U8(c, a, b);   \
    } while (0)

/* `lower`: there are more than 16 rows; `right`: more than 16 columns. */
INLINE void multiply(const struct cpu_integer_tile *t, const enum form form, const bool lower,
                     const bool right)
{
    const int64_t a_row = t->a_row, a_half = HALF * a_row, a_step = 4 * t->step;
    const int64_t a_span = t->a_span, b_step = B_NEXT * t->step, length = 4 * t->groups;
    const char *span = t->a;
    const int8_t *b = t->b;
    int32_t *const sums = t->sums;

    AMX_ZERO(0);
    if (right)
        AMX_ZERO(1);
    if (lower)
        AMX_ZERO(2);
    if (lower && right)
        AMX_ZERO(3);
    for (int64_t i = t->spans; i > 0; i--, span += a_span)
        for (const char *a = span; a < span + length; a += a_step, b += b_step) {
            AMX_LOAD(6, b, B_NEXT);
            AMX_LOAD(4, a, a_row);
            DOT(form, 0, 4, 6);
            if (right) {
                AMX_LOAD(7, b + B_NEXT / 2, B_NEXT);
                DOT(form, 1, 4, 7);
            }
            if (lower) {
                AMX_LOAD(5, a + a_half, a_row);
                DOT(form, 2, 5, 6);
            }
            if (lower && right)
                DOT(form, 3, 5, 7);
        }
    AMX_STORE(0, sums, B_NEXT);
    if (right)
        AMX_STORE(1, sums + HALF, B_NEXT);
    if (lower)
        AMX_STORE(2, sums + HALF * INTEGER_MOST_COLUMNS, B_NEXT);
    if (lower && right)
        AMX_STORE(3, sums + HALF * INTEGER_MOST_COLUMNS + HALF, B_NEXT);
}

INLINE void choose(struct cpu_integer_tile *t, int64_t rows, int64_t columns, const enum form form)
{
    if (t->configured != rows)
        amx_configure(t, rows);
    if (rows > HALF && columns > HALF)
        multiply(t, form, true, true);
    else if (rows > HALF)
        multiply(t, form, true, false);
    else if (columns > HALF)
        multiply(t, form, false, true);
    else
        multiply(t, form, false, false);
}

static void amx_u8(struct cpu_integer_tile *t, int64_t rows, int64_t columns)
{
    choose(t, rows, columns, U8);
}

static void amx_i8(struct cpu_integer_tile *t, int64_t rows, int64_t columns)
{
    choose(t, rows, columns, I8);
}

static void amx_bf16(struct cpu_integer_tile *t, int64_t rows, int64_t columns)
{
    choose(t, rows, columns, BF16);
}

static void amx_release(void)
{
    AMX_RELEASE();
}

static const struct cpu_integer_amx products = {
    .u8 = amx_u8, .i8 = amx_i8, .bf16 = amx_bf16, .release = amx_release
};

const struct cpu_integer_amx *const cpu_integer_amx = &products;
#else
const struct cpu_integer_amx *const cpu_integer_amx = NULL;
#endif
