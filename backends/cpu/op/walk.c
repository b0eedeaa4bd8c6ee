/* SPDX-License-Identifier: BSD-2-Clause */
#include "walk.h"

#include <string.h>

/* The number of elements that stay in a cache while a walk passes over them several times. */
#define MOST_NEAR (64 * 1024)

void walk_begin(struct cpu_walk *w, uint32_t rank, const int64_t *shape)
{
    memset(w, 0, sizeof(*w));
    w->rank = rank;
    w->count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        w->shape[i] = shape[i];
        w->count *= shape[i];
    }
}

void walk_add(struct cpu_walk *w, const int64_t *stride)
{
    for (uint32_t i = 0; i < w->rank; i++)
        w->stride[w->operands][i] = w->shape[i] == 1 ? 0 : stride[i];
    w->operands++;
}

static void swap_axes(struct cpu_walk *w, uint32_t a, uint32_t b)
{
    int64_t kept = w->shape[a];

    w->shape[a] = w->shape[b];
    w->shape[b] = kept;
    for (uint32_t k = 0; k < w->operands; k++) {
        kept = w->stride[k][a];
        w->stride[k][a] = w->stride[k][b];
        w->stride[k][b] = kept;
    }
}

static void copy_axis(struct cpu_walk *w, uint32_t to, uint32_t from)
{
    w->shape[to] = w->shape[from];
    for (uint32_t k = 0; k < w->operands; k++)
        w->stride[k][to] = w->stride[k][from];
}

static void drop_ones(struct cpu_walk *w)
{
    uint32_t rank = 0;

    for (uint32_t i = 0; i < w->rank; i++)
        if (w->shape[i] != 1)
            copy_axis(w, rank++, i);
    w->rank = rank;
}

/* Whether axis `outer` continues where `inner` ends, in every operand. */
static bool is_one_axis(const struct cpu_walk *w, uint32_t outer, uint32_t inner)
{
    for (uint32_t k = 0; k < w->operands; k++)
        if (w->stride[k][outer] != w->stride[k][inner] * w->shape[inner])
            return false;
    return true;
}

static void merge(struct cpu_walk *w)
{
    uint32_t last = 0;

    for (uint32_t i = 1; i < w->rank; i++) {
        if (is_one_axis(w, last, i)) {
            int64_t length = w->shape[last] * w->shape[i];

            copy_axis(w, last, i);
            w->shape[last] = length;
        } else {
            copy_axis(w, ++last, i);
        }
    }
    w->rank = w->rank ? last + 1 : 0;
}

void walk_end_as_given(struct cpu_walk *w)
{
    drop_ones(w);
    merge(w);
    if (w->rank == 0) {
        w->rank = 1;
        w->shape[0] = 1;
        for (uint32_t k = 0; k < w->operands; k++)
            w->stride[k][0] = 0;
    }
}

void walk_end(struct cpu_walk *w)
{
    walk_end_by(w, 0);
}

void walk_end_by(struct cpu_walk *w, uint32_t operand)
{
    const int64_t *stride = w->stride[operand];

    for (uint32_t i = 1; i < w->rank; i++)
        for (uint32_t j = i; j > 0 && stride[j - 1] < stride[j]; j--)
            swap_axes(w, j - 1, j);
    walk_end_as_given(w);
}

void walk_lengthen(struct cpu_walk *w, int64_t few)
{
    uint32_t last = w->rank - 1, longest = last;

    if (w->shape[last] >= few || w->count > MOST_NEAR)
        return;
    for (uint32_t i = 0; i < last; i++)
        if (w->shape[i] > w->shape[longest])
            longest = i;
    swap_axes(w, last, longest);
}

uint32_t walk_join(struct cpu_walk *w, int64_t most, int64_t *out_period)
{
    uint32_t last = w->rank - 1, repeated = 0;
    int64_t row = w->shape[last];

    if (w->rank < 2 || row < 2 || row > most || w->stride[0][last] != 1 ||
        w->stride[0][last - 1] != row)
        return 0;
    for (uint32_t i = 0; i + 1 < last; i++)
        if (w->stride[0][i] % row)
            return 0; /* the offset of the first operand would not tell the element of the row */
    for (uint32_t k = 1; k < w->operands; k++) {
        int64_t inner = w->stride[k][last], outer = w->stride[k][last - 1];

        if (inner == 1 && outer == 0)
            repeated |= 1u << k;
        else if ((inner != 0 && inner != 1) || outer != inner * row)
            return 0;
    }
    for (uint32_t k = 0; k < w->operands; k++)
        w->stride[k][last - 1] = repeated >> k & 1 ? 0 : w->stride[k][last];
    w->shape[last - 1] *= row;
    w->rank--;
    *out_period = row;
    return repeated;
}

/* ---- iteration ------------------------------------------------------------------------------ */

static void locate(const struct cpu_walk *w, int64_t element, int64_t *index, int64_t *offset)
{
    memset(offset, 0, WALK_OPERANDS * sizeof(*offset));
    for (uint32_t i = w->rank; i-- > 0;) {
        index[i] = element % w->shape[i];
        element /= w->shape[i];
        for (uint32_t k = 0; k < w->operands; k++)
            offset[k] += index[i] * w->stride[k][i];
    }
}

int64_t walk_at(const struct cpu_walk *w, uint32_t operand, int64_t element)
{
    int64_t at = 0;

    for (uint32_t i = w->rank; i-- > 0; element /= w->shape[i])
        at += element % w->shape[i] * w->stride[operand][i];
    return at;
}

/* Moves to the beginning of the next row. */
static void next_row(const struct cpu_walk *w, int64_t *index, int64_t *offset)
{
    uint32_t i = w->rank - 1;

    for (uint32_t k = 0; k < w->operands; k++)
        offset[k] -= index[i] * w->stride[k][i];
    index[i] = 0;
    while (i-- > 0) {
        for (uint32_t k = 0; k < w->operands; k++)
            offset[k] += w->stride[k][i];
        if (++index[i] < w->shape[i])
            return;
        for (uint32_t k = 0; k < w->operands; k++)
            offset[k] -= w->shape[i] * w->stride[k][i];
        index[i] = 0;
    }
}

void walk_some(const struct cpu_walk *w, int64_t first, int64_t count, walk_body body, void *arg)
{
    int64_t index[FERRY_OP_AXES], offset[WALK_OPERANDS];
    int64_t row = w->shape[w->rank - 1];

    if (count == 0) /* an axis may be empty, and the offsets of a remainder of 0 are not used */
        return;
    locate(w, first, index, offset);
    while (count > 0) {
        int64_t n = row - index[w->rank - 1];

        if (n > count)
            n = count;
        body(arg, offset, n);
        count -= n;
        next_row(w, index, offset);
    }
}

struct part {
    const struct cpu_walk *walk;
    walk_body body;
    void *arg;
};

static void walk_piece(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct part *part = arg;

    (void)piece;
    walk_some(part->walk, first, count, part->body, part->arg);
}

int64_t walk_piece_of(int64_t count, int64_t bytes)
{
    int64_t piece = WORKERS_PIECE_BYTES / bytes;

    if (count <= 2 * piece)
        return count;
    return piece < 64 ? piece + (piece == 0) : piece / 64 * 64;
}

/* The size of so many pieces, or of a few more that divide evenly among the threads. */
static int64_t even(int64_t count, int64_t pieces, int64_t threads)
{
    int64_t piece;

    pieces = (pieces + threads - 1) / threads * threads;
    piece = (count + pieces - 1) / pieces;
    return (piece + 63) / 64 * 64;
}

void walk_all(const struct cpu_walk *w, struct workers *workers, int64_t bytes, walk_body body,
              void *arg)
{
    struct part part = { w, body, arg };
    int64_t piece = walk_piece_of(w->count, bytes), threads = workers_threads(workers);

    if (w->count <= 0)
        return;
    if (piece < w->count) /* as many pieces for each thread */
        piece = even(w->count, (w->count + piece - 1) / piece, threads);
    workers_run(workers, w->count, piece, walk_piece, &part);
}
