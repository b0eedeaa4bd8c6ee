/* SPDX-License-Identifier: BSD-2-Clause */
#include "gemm.h"
#include "turn.h"

#include <string.h>

/* Packs b for a product, in each of its forms. */

int64_t cpu_gemm_width(const struct cpu_gemm *g, int64_t p)
{
    return g->n - p * g->panel > g->panel / 2 ? g->panel : g->panel / 2;
}

int64_t cpu_gemm_floats(const struct cpu_gemm *g, int64_t k, int64_t width)
{
    return g->form == CPU_GEMM_FLOATS       ? k * width
           : g->form == CPU_GEMM_BF16_PAIRS ? (k + 1) / 2 * width
                                            : k * width / 2;
}

int64_t cpu_gemm_packed(const struct cpu_gemm *g)
{
    return g->panels * cpu_gemm_floats(g, g->k, g->panel);
}

int64_t cpu_gemm_packed_at(const struct cpu_gemm *g, int64_t k, int64_t column)
{
    int64_t panel = column / g->panel;

    return panel * g->panel * g->k + k * cpu_gemm_width(g, panel) + column % g->panel;
}

/* Packs four rows of four columns, whose elements are contiguous along k. */
static void pack_turned(const float *from, int64_t column, float *to, int64_t width)
{
    four rows[4];

    turn_four(from, column, rows);
    for (int i = 0; i < 4; i++)
        *(four *)(to + i * width) = rows[i];
}

/* Packs the columns of one panel that are contiguous along k. */
static void pack_columns(const float *from, int64_t column, int64_t depth, int64_t columns,
                         int64_t width, float *to)
{
    for (int64_t i = 0; i < depth; i += 4, to += 4 * width, from += 4) {
        int64_t rows = least(depth - i, 4), j = 0;

        for (; rows == 4 && j + 4 <= columns; j += 4)
            pack_turned(from + j * column, column, to + j, width);
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t c = j; c < columns; c++)
                to[r * width + c] = from[c * column + r];
            for (int64_t c = columns; c < width; c++)
                to[r * width + c] = 0;
        }
    }
}

/* Packs a panel's rows as floats. */
static void pack_panel(int64_t depth, int64_t columns, int64_t width, const float *from,
                       int64_t row, int64_t column, float *to)
{
    if (row == 1) {
        pack_columns(from, column, depth, columns, width, to);
        return;
    }
    for (int64_t i = 0; i < depth; i++, to += width, from += row) {
        for (int64_t j = 0; j < columns; j++)
            to[j] = from[j * column];
        for (int64_t j = columns; j < width; j++)
            to[j] = 0;
    }
}

/* The offset in a panel of element (k, j), in numbers of 16 bits. */
static int64_t half_at(const struct cpu_gemm *g, int64_t k, int64_t j, int64_t width)
{
    int64_t half = width / 2;

    if (g->form == CPU_GEMM_BF16_PAIRS)
        return (k / 2 * width + j) * 2 + k % 2;
    if (g->form == CPU_GEMM_F16 || width < g->panel)
        return k * width + j;
    return k * width + j % half * 2 + j / half;
}

/* Stores rows k … k + depth − 1 of a panel as BF16; `to` is the panel. */
static void round_panel(const struct cpu_gemm *g, int64_t k, int64_t depth, int64_t width,
                        const float *from, float *panel)
{
    bool is_pairs = g->form == CPU_GEMM_BF16_PAIRS;
    char *to = (char *)panel;

    for (int64_t i = 0; i < depth; i++, k++)
        for (int64_t j = 0; j < width; j++) {
            uint16_t value = cpu_bf16_of(*from++);

            memcpy(to + 2 * half_at(g, k, j, width), &value, sizeof(value));
        }
    for (int64_t j = 0; j < width && is_pairs && k == g->k && k % 2; j++)
        memset(to + 2 * ((k / 2 * width + j) * 2 + 1), 0, 2);
}

/* The number of rows of a panel that are rounded at a time. */
#define ROUNDED 32

/* Packs pairs of consecutive rows, from k on, which is even, whose columns are contiguous. */
static void pack_twos(const struct cpu_gemm *g, int64_t k, int64_t depth, const float *from,
                      int64_t row, float *packed)
{
    for (int64_t i = 0; i < depth; i += 2, from += 2 * row) {
        if (i + 1 < depth || k + depth == g->k)
            cpu_gemm_pack_two(g, k + i, from, i + 1 < depth ? from + row : NULL, packed);
        else
            cpu_gemm_pack_row(g, k + i, from, packed);
    }
}

/*
 * Packs rows from k on, which is even, of columns that are contiguous along k: a float's place has
 * a pair of them.
 */
static void pack_pairs(const struct cpu_gemm *g, int64_t k, int64_t depth, const float *from,
                       int64_t column, float *packed)
{
    float room[ROUNDED * TILE_MOST_COLUMNS];
    int64_t step = cpu_gemm_floats(g, g->k, g->panel);

    for (int64_t p = 0; p < g->panels; p++, packed += step, from += g->panel * column) {
        int64_t width = cpu_gemm_width(g, p), columns = least(g->n - p * g->panel, width), n;

        for (int64_t i = 0; i < depth; i += n) {
            n = least(depth - i, 2 * ROUNDED);
            for (int64_t j = 0; j < columns; j++)
                cpu_pairs_bf16->round_row(from + j * column + i, n, room + j * ROUNDED);
            pack_columns(room, ROUNDED, cut(n, 2), columns, width, packed + (k + i) / 2 * width);
        }
    }
}

void cpu_gemm_pack(const struct cpu_gemm *g, int64_t k, int64_t depth, const float *from,
                   int64_t row, int64_t column, float *packed)
{
    float room[ROUNDED * TILE_MOST_COLUMNS];
    bool is_pairs = g->form == CPU_GEMM_BF16_PAIRS && k % 2 == 0;
    int64_t step = cpu_gemm_floats(g, g->k, g->panel),
            each = g->form == CPU_GEMM_FLOATS ? depth : ROUNDED;

    if (column == 1 && is_pairs) {
        pack_twos(g, k, depth, from, row, packed);
        return;
    }
    if (row == 1 && is_pairs && (depth % 2 == 0 || k + depth == g->k)) {
        pack_pairs(g, k, depth, from, column, packed);
        return;
    }
    if (column == 1 && g->form == CPU_GEMM_FLOATS) {
        for (int64_t i = 0; i < depth; i++)
            cpu_gemm_pack_row(g, k + i, from + i * row, packed);
        return;
    }
    for (int64_t p = 0; p < g->panels; p++, packed += step, from += g->panel * column) {
        int64_t width = cpu_gemm_width(g, p), columns = least(g->n - p * g->panel, width), rows;

        for (int64_t i = 0; i < depth; i += rows) {
            rows = least(depth - i, each);
            pack_panel(rows, columns, width, from + i * row, row, column,
                       g->form == CPU_GEMM_FLOATS ? packed + (k + i) * width : room);
            if (g->form != CPU_GEMM_FLOATS)
                round_panel(g, k + i, rows, width, room, packed);
        }
    }
}

/* The number of rows of a panel of halves that are copied at a time. */
#define COPIED 128

/* ---- halves ---------------------------------------------------------------------------------- */

/* Whether b's elements are packed as they are. */
static bool keeps_halves(const struct cpu_gemm *g, const struct cpu_halves *halves)
{
    return g->form == (halves->dtype == FERRY_F16 ? CPU_GEMM_F16 : CPU_GEMM_BF16);
}

/* Copies rows k … k + depth − 1 of a panel, without a conversion. */
static void copy_panel(const struct cpu_gemm *g, int64_t k, int64_t depth, int64_t columns,
                       int64_t width, const uint16_t *from, int64_t row, int64_t column,
                       float *panel)
{
    for (int64_t j = 0; j < width; j++) {
        char *to = (char *)panel + 2 * half_at(g, k, j, width);

        for (int64_t i = 0; i < depth; i++, to += 2 * width) {
            uint16_t value = j < columns ? from[i * row + j * column] : 0;

            memcpy(to, &value, sizeof(value));
        }
    }
}

/* Converts `depth` rows of a panel, at most ROUNDED. */
static void widen_panel(const struct cpu_halves *halves, int64_t depth, int64_t columns,
                        int64_t width, const uint16_t *from, int64_t row, int64_t column,
                        float *to)
{
    uint16_t line[ROUNDED];
    float wide[ROUNDED];

    for (int64_t j = 0; j < width; j++) {
        for (int64_t i = 0; i < depth; i++)
            line[i] = j < columns ? from[i * row + j * column] : 0;
        halves->widen(depth, line, wide);
        for (int64_t i = 0; i < depth; i++)
            to[i * width + j] = wide[i];
    }
}

/* The packing of some rows of all panels. */
struct packing {
    const struct cpu_gemm *gemm;
    const struct cpu_halves *halves;
    const uint16_t *from;
    int64_t k, depth, row, column;
    float *packed;
};

static void pack_panel_of_halves(const struct packing *a, int64_t p)
{
    const struct cpu_gemm *g = a->gemm;
    float room[ROUNDED * TILE_MOST_COLUMNS];
    float *panel = a->packed + p * cpu_gemm_floats(g, g->k, g->panel);
    int64_t width = cpu_gemm_width(g, p), columns = least(g->n - p * g->panel, width), rows;
    bool keeps = keeps_halves(g, a->halves), is_float = g->form == CPU_GEMM_FLOATS;

    for (int64_t i = 0; i < a->depth; i += rows) {
        const uint16_t *from = a->from + p * g->panel * a->column + i * a->row;
        float *to = is_float ? panel + (a->k + i) * width : room;

        rows = least(a->depth - i, keeps ? COPIED : ROUNDED);
        if (keeps) {
            copy_panel(g, a->k + i, rows, columns, width, from, a->row, a->column, panel);
            continue;
        }
        widen_panel(a->halves, rows, columns, width, from, a->row, a->column, to);
        if (!is_float)
            round_panel(g, a->k + i, rows, width, room, panel);
    }
}

static void pack_panels(void *arg, int64_t first, int64_t count, int64_t piece)
{
    (void)piece;
    for (int64_t p = first; p < first + count; p++)
        pack_panel_of_halves(arg, p);
}

void cpu_gemm_pack_halves(struct workers *w, const struct cpu_gemm *g,
                          const struct cpu_halves *halves, int64_t k, int64_t depth,
                          const uint16_t *from, int64_t row, int64_t column, float *packed)
{
    struct packing a = { .gemm = g, .halves = halves, .from = from, .k = k, .depth = depth,
                         .row = row, .column = column, .packed = packed };

    workers_run(w, g->panels, 1 + WORKERS_PIECE_BYTES / (4 * g->panel * depth), pack_panels, &a);
}

/* ---- rows of floats and of pairs ------------------------------------------------------------- */

void cpu_gemm_pack_two(const struct cpu_gemm *g, int64_t k, const float *even, const float *odd,
                       float *packed)
{
    int64_t step = cpu_gemm_floats(g, g->k, g->panel);

    for (int64_t p = 0; p < g->panels; p++, packed += step) {
        int64_t at = p * g->panel, width = cpu_gemm_width(g, p);

        cpu_pairs_bf16->pack_two(even + at, odd ? odd + at : NULL, least(g->n - at, width), width,
                                 packed + k / 2 * width);
    }
}

static void pack_half(const struct cpu_gemm *g, int64_t k, const float *from, float *packed)
{
    int64_t step = cpu_gemm_floats(g, g->k, g->panel);

    if (k + 1 == g->k && k % 2 == 0) {
        cpu_gemm_pack_two(g, k, from, NULL, packed);
        return;
    }
    for (int64_t p = 0; p < g->panels; p++, packed += step) {
        int64_t at = p * g->panel, width = cpu_gemm_width(g, p);

        cpu_pairs_bf16->pack_half(from + at, k % 2, least(g->n - at, width), width,
                                  packed + k / 2 * width);
    }
}

void cpu_gemm_pack_row(const struct cpu_gemm *g, int64_t k, const float *from, float *packed)
{
    if (g->form == CPU_GEMM_BF16_PAIRS) {
        pack_half(g, k, from, packed);
        return;
    }
    for (int64_t p = 0; p < g->panels; p++) {
        int64_t width = cpu_gemm_width(g, p), columns = least(g->n - p * g->panel, width), j = 0;
        float *to = packed + p * g->panel * g->k + k * width;

        for (; j + 4 <= columns; j += 4)
            *(four *)(to + j) = *(const four *)(from + p * g->panel + j);
        for (; j < columns; j++)
            to[j] = from[p * g->panel + j];
        for (; j < width; j++)
            to[j] = 0;
    }
}
