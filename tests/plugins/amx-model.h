/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A model of AMX's instructions in C, by their pseudo-code in Intel's Software Developer's Manual,
 * volume 2, in the place of those of backends/cpu/op/amx.h. Each thread has its registers. An
 * instruction that faults on a processor ends the program with a line on standard error: without
 * permission, with a wrong configuration, registers without a shape, or shapes that do not match.
 *
 * A program that ends, or closes the plugin, while a thread's registers are in use is a fault, too.
 */
#ifndef FERRY_TESTS_AMX_MODEL_H
#define FERRY_TESTS_AMX_MODEL_H

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_TILES 8
#define MODEL_ROWS  16
#define MODEL_BYTES 64

struct model {
    bool is_configured;
    unsigned rows[MODEL_TILES], bytes[MODEL_TILES]; /* 0: the register has no shape */
    unsigned char tile[MODEL_TILES][MODEL_ROWS][MODEL_BYTES];
};

static _Thread_local struct model model;
static _Atomic int model_in_use; /* the threads that have not released their registers */

/* Whether the process has the kernel's permission, and the number of products (amx.c). */
extern _Atomic bool model_is_permitted;
extern _Atomic uint64_t ferry_amx_model_products;

static inline void model_fault(const char *instruction, const char *what)
{
    fprintf(stderr, "AMX model: %s: %s\n", instruction, what);
    abort();
}

static inline void model_check(bool is_right, const char *instruction, const char *what)
{
    if (!is_right)
        model_fault(instruction, what);
}

static inline void model_release(void)
{
    if (model.is_configured)
        atomic_fetch_sub(&model_in_use, 1);
    memset(&model, 0, sizeof(model));
}

/* Bytes 16 to 47 have the bytes of a row of 16 registers, 48 to 63 the rows. */
static inline void model_configure(const void *config)
{
    const unsigned char *c = config;

    model_check(model_is_permitted, "ldtilecfg", "the process has no permission");
    model_check(c[0] <= 1, "ldtilecfg", "an unknown palette");
    model_release();
    if (c[0] == 0)
        return;
    model_check(c[1] == 0, "ldtilecfg", "the kernels begin at row 0");
    for (int i = 2; i < 16; i++)
        model_check(c[i] == 0, "ldtilecfg", "a reserved byte");
    for (int i = 0; i < 16; i++) {
        const unsigned bytes = c[16 + 2 * i] + 256u * c[17 + 2 * i], rows = c[48 + i];

        model_check(i < MODEL_TILES || (rows == 0 && bytes == 0), "ldtilecfg", "9 registers");
        model_check(rows <= MODEL_ROWS && bytes <= MODEL_BYTES, "ldtilecfg", "too large a shape");
        model_check((rows == 0) == (bytes == 0), "ldtilecfg", "rows without bytes");
        if (i < MODEL_TILES) {
            model.rows[i] = rows;
            model.bytes[i] = bytes;
        }
    }
    model.is_configured = true;
    atomic_fetch_add(&model_in_use, 1);
}

static inline void model_check_tile(int t, const char *instruction)
{
    model_check(model.is_configured, instruction, "no configuration");
    model_check(t >= 0 && t < MODEL_TILES && model.rows[t] > 0, instruction, "no shape");
}

static inline void model_zero(int t)
{
    model_check_tile(t, "tilezero");
    memset(model.tile[t], 0, sizeof(model.tile[t]));
}

/* The rest of the register becomes 0. */
static inline void model_load(int t, const void *p, int64_t next)
{
    model_check_tile(t, "tileloadd");
    memset(model.tile[t], 0, sizeof(model.tile[t]));
    for (unsigned i = 0; i < model.rows[t]; i++)
        memcpy(model.tile[t][i], (const char *)p + (int64_t)i * next, model.bytes[t]);
}

static inline void model_store(int t, void *p, int64_t next)
{
    model_check_tile(t, "tilestored");
    for (unsigned i = 0; i < model.rows[t]; i++)
        memcpy((char *)p + (int64_t)i * next, model.tile[t][i], model.bytes[t]);
}

/* The shapes of c (m × n), a (m × k) and b (k × n), in elements of four bytes. */
static inline void model_check_shapes(int c, int a, int b, const char *instruction)
{
    model_check_tile(c, instruction);
    model_check_tile(a, instruction);
    model_check_tile(b, instruction);
    model_check(c != a && c != b && a != b, instruction, "a register occurs twice");
    model_check(model.bytes[c] % 4 == 0 && model.bytes[a] % 4 == 0 && model.bytes[b] % 4 == 0,
                instruction, "a row that is not a multiple of 4 bytes");
    model_check(model.rows[c] == model.rows[a], instruction, "rows of the sums and of a");
    model_check(model.bytes[c] == model.bytes[b], instruction, "columns of the sums and of b");
    model_check(model.bytes[a] / 4 == model.rows[b], instruction, "columns of a and rows of b");
    atomic_fetch_add(&ferry_amx_model_products, 1);
}

/* Bytes of b have signs, and those of a with `is_signed`; sums wrap. */
static inline void model_dot_bytes(int c, int a, int b, bool is_signed)
{
    const unsigned groups = model.bytes[a] / 4, columns = model.bytes[c] / 4;

    model_check_shapes(c, a, b, is_signed ? "tdpbssd" : "tdpbusd");
    for (unsigned m = 0; m < model.rows[c]; m++) {
        const unsigned char *const x = model.tile[a][m];
        uint32_t sum[MODEL_BYTES / 4];

        memcpy(sum, model.tile[c][m], sizeof(sum));
        for (unsigned k = 0; k < groups; k++) {
            const unsigned char *const w = model.tile[b][k];

            for (unsigned i = 0; i < 4; i++) {
                const int factor = is_signed ? (signed char)x[4 * k + i] : (int)x[4 * k + i];

                for (unsigned n = 0; n < columns; n++)
                    sum[n] += (uint32_t)(factor * (signed char)w[4 * n + i]);
            }
        }
        memcpy(model.tile[c][m], sum, 4 * columns);
    }
}

/* Denormal numbers are 0. */
static inline float model_flush(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, 4);
    if ((bits & 0x7f800000u) == 0)
        bits &= 0x80000000u;
    memcpy(&value, &bits, 4);
    return value;
}

static inline float model_bf16(const unsigned char *p)
{
    uint16_t upper;
    uint32_t bits;
    float value;

    memcpy(&upper, p, 2);
    bits = (uint32_t)upper << 16;
    memcpy(&value, &bits, 4);
    return model_flush(value);
}

/*
 * The first and the second numbers of all groups have sums of their own, which begin at 0 and are
 * then added to each other and to c; a product and its addition are rounded once.
 */
static inline void model_dot_bf16(int c, int a, int b)
{
    float w[MODEL_ROWS][2][MODEL_BYTES / 4];

    model_check_shapes(c, a, b, "tdpbf16ps");
    for (unsigned k = 0; k < MODEL_ROWS; k++)
        for (unsigned n = 0; n < MODEL_BYTES / 2; n++)
            w[k][n % 2][n / 2] = model_bf16(&model.tile[b][k][2 * n]);
    for (unsigned m = 0; m < model.rows[c]; m++) {
        float sum[2][MODEL_BYTES / 4] = { { 0 } };

        for (unsigned k = 0; k < model.bytes[a] / 2; k++) {
            const float x = model_bf16(&model.tile[a][m][2 * k]);

            for (unsigned n = 0; n < model.bytes[c] / 4; n++)
                sum[k % 2][n] = model_flush(fmaf(x, w[k / 2][k % 2][n], sum[k % 2][n]));
        }
        for (unsigned n = 0; n < model.bytes[c] / 4; n++) {
            const float both = model_flush(sum[0][n] + sum[1][n]);
            float old;

            memcpy(&old, &model.tile[c][m][4 * n], 4);
            old = model_flush(model_flush(old) + both);
            memcpy(&model.tile[c][m][4 * n], &old, 4);
        }
    }
}

#define AMX_CONFIGURE(config) model_configure(config)
#define AMX_RELEASE()         model_release()
#define AMX_ZERO(t)           model_zero(t)
#define AMX_LOAD(t, p, next)  model_load(t, p, next)
#define AMX_STORE(t, p, next) model_store(t, p, next)
#define AMX_DOT_U8(c, a, b)   model_dot_bytes(c, a, b, false)
#define AMX_DOT_I8(c, a, b)   model_dot_bytes(c, a, b, true)
#define AMX_DOT_BF16(c, a, b) model_dot_bf16(c, a, b)

/* In the plugin, when it is closed, and at the end of the program. */
__attribute__((destructor)) static void model_end(void)
{
    if (atomic_load(&model_in_use) != 0)
        model_fault("tilerelease", "a thread has not released its registers");
}

#endif
