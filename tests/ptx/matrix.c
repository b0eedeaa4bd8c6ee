/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mma.sync: d = a · b + c of a warp, with halves or bfloats in a and b and floats in c and d. The
 * PTX ISA documents the places of the elements ("Matrix Fragments for mma.m16n8k8", "… m16n8k16"
 * with floating-point types) and requires sums of at least single precision, in any order and with
 * any rounding: here one rounding to nearest, or with PTX_LOW and PTX_HIGH one downwards or
 * upwards after each addition.
 */
#include "tests/ptx/real.h"
#include "tests/ptx/run.h"

#include <string.h>

#define ROWS    16
#define COLUMNS 8
#define MOST_K  16

struct matrices {
    double a[ROWS][MOST_K], b[MOST_K][COLUMNS];
    float c[ROWS][COLUMNS];
};

typedef double element_of(uint16_t bits);

/* Half `n` of the word of a lane. */
static double half_at(const struct warp *w, const struct instruction *i, unsigned slot,
                      unsigned lane, unsigned n, element_of *of)
{
    return of((uint16_t)(SLOT(w, i, slot, const uint32_t)[lane] >> (16 * n)));
}

/*
 * A lane's group is its number / 4. Word 2q + h of a has row group + 8h and columns 8q + 2(lane %
 * 4) on; word q of b has column group, and these rows; element 2h + n of c has row group + 8h and
 * column 2(lane % 4) + n.
 */
static void read_lane(const struct warp *w, const struct instruction *i, unsigned lane, unsigned k,
                      element_of *of, struct matrices *out)
{
    unsigned group = lane / 4, pair = lane % 4 * 2, words_a = k / 4, words_b = k / 8;

    for (unsigned n = 0; n < 2; n++) {
        for (unsigned word = 0; word < words_a; word++)
            out->a[group + 8 * (word % 2)][8 * (word / 2) + pair + n] =
                half_at(w, i, 4 + word, lane, n, of);
        for (unsigned word = 0; word < words_b; word++)
            out->b[8 * word + pair + n][group] = half_at(w, i, 4 + words_a + word, lane, n, of);
        for (unsigned h = 0; h < 2; h++)
            out->c[group + 8 * h][pair + n] =
                SLOT(w, i, 4 + words_a + words_b + 2 * h + n, const float)[lane];
    }
}

/* The float at or below (way < 0) or above v. */
static float rounded(double v, int way)
{
    float near = (float)v;

    if (way < 0 && (double)near > v)
        return nextafterf(near, -INFINITY);
    return way > 0 && (double)near < v ? nextafterf(near, INFINITY) : near;
}

static float sum_of(const struct matrices *m, unsigned row, unsigned column, unsigned k, int way)
{
    double sum = (double)m->c[row][column];

    for (unsigned l = 0; l < k; l++) {
        sum += m->a[row][l] * m->b[l][column];
        if (way)
            sum = (double)rounded(sum, way);
    }
    return made((float)sum);
}

static void multiply(struct warp *w, const struct instruction *i, unsigned k, element_of *of)
{
    enum ptx_approximation set = w->block->run->launch->options.approximation;
    int way = set == PTX_LOW ? -1 : set == PTX_HIGH ? 1 : 0;
    struct matrices m;

    if (!w->all) {
        run_fail(w->block, i, "not all lanes of warp %u of block %u take part", w->first / LANES,
                 w->block->index);
        return;
    }
    for (unsigned lane = 0; lane < LANES; lane++)
        read_lane(w, i, lane, k, of, &m);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned n = 0; n < 4; n++)
            SLOT(w, i, n, float)
    [lane] = sum_of(&m, lane / 4 + n / 2 * 8, lane % 4 * 2 + n % 2, k, way);
}

#define MULTIPLY(name, k, of)                                     \
    static void name(struct warp *w, const struct instruction *i) \
    {                                                             \
        multiply(w, i, k, of);                                    \
    }
MULTIPLY(mma_f16_8, 8, of_half)
MULTIPLY(mma_f16_16, 16, of_half)
MULTIPLY(mma_bf16_8, 8, of_bfloat)
MULTIPLY(mma_bf16_16, 16, of_bfloat)

/* The registers of d, a, b, c. */
static const struct opcode opcodes[] = {
    { "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "wwww=wwwwwww", mma_f16_8 },
    { "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "wwww=wwwwwwwwww", mma_f16_16 },
    { "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "wwww=wwwwwww", mma_bf16_8 },
    { "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "wwww=wwwwwwwwww", mma_bf16_16 },
};

const struct opcode_group matrix_opcodes = { opcodes, sizeof(opcodes) / sizeof(opcodes[0]) };
