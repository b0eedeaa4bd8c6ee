/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include "arith.h"

#include <ferry/op_types.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operands of operations in blocks that are larger than the operands. */

#define FIRST 5 /* elements before an operand's first, which is not at the block's beginning */
#define TAIL  9

/* ---- layouts -------------------------------------------------------------------------------- */

/*
 * The axes from the innermost outwards; a matrix has its strides exchanged where channels would be
 * last. A slice leaves room for three more channels.
 */
void op_lay(ferry_operand *o, enum op_layout layout)
{
    bool last = layout == OP_LAST || layout == OP_LAST_SLICE;
    uint32_t order[FERRY_OP_AXES], n = 0, wider = FERRY_OP_AXES, channel = o->rank > 2;
    int64_t run = 1;

    if (last && o->rank > 1)
        order[n++] = channel;
    for (uint32_t axis = o->rank; axis-- > 0;)
        if (!(last && o->rank > 1 && axis == channel))
            order[n++] = axis;
    if ((layout == OP_SLICE || layout == OP_LAST_SLICE) && o->rank > 1)
        wider = 1;
    else if (layout == OP_WIDE && o->rank > 0)
        wider = o->rank - 1;
    for (uint32_t k = 0; k < n; k++) {
        int64_t room = o->shape[order[k]] + (order[k] == wider ? 3 : 0);

        /* the stride of an axis of one element is arbitrary */
        o->stride[order[k]] = layout == OP_WIDE && o->shape[order[k]] == 1 ? 10007 : run;
        run *= room > 1 ? room : 1;
    }
}

static int64_t first(const ferry_operand *o)
{
    return kit_first(FIRST, arith_size((ferry_dtype)o->dtype));
}

static int64_t place(const ferry_operand *o, const int64_t *i)
{
    return first(o) + op_place(o, i);
}

struct op_view op_block_view(const struct op_block *b)
{
    return (struct op_view){
        b->o, b->m->want + (size_t)first(&b->o) * arith_size((ferry_dtype)b->o.dtype)
    };
}

static long double get(const struct op_block *b, const int64_t *i)
{
    return arith_get((ferry_dtype)b->o.dtype, b->m->want, place(&b->o, i));
}

/* ---- blocks --------------------------------------------------------------------------------- */

static int64_t elements(const ferry_operand *o)
{
    int64_t last[FERRY_OP_AXES];

    if (op_count(o) == 0)
        return first(o) + TAIL;
    for (uint32_t axis = 0; axis < o->rank; axis++)
        last[axis] = o->shape[axis] - 1;
    return place(o, last) + 1 + TAIL;
}

static void open_block(struct op_block *b, const ferry_operand *o, unsigned seed)
{
    b->o = *o;
    b->m = &b->own;
    mirror_make(b->m, (uint64_t)elements(o) * arith_size((ferry_dtype)o->dtype), seed);
    b->m->begin = (uint64_t)first(o) * arith_size((ferry_dtype)o->dtype);
    b->m->end = b->m->bytes - TAIL * arith_size((ferry_dtype)o->dtype);
}

/* Sets every element of the operand, or of the block, to the value of `from`. */
static void put_all(struct op_block *b, const void *from)
{
    ferry_dtype t = (ferry_dtype)b->o.dtype;
    int64_t i[FERRY_OP_AXES] = { 0 };

    if (op_count(&b->o) == 0)
        return;
    do
        arith_put(t, b->m->want, place(&b->o, i),
                  from ? arith_get(t, from, place(&b->o, i)) : (long double)NAN);
    while (op_next(&b->o, i));
}

void op_block_refill(struct op_block *b, unsigned seed)
{
    ferry_dtype t = (ferry_dtype)b->o.dtype;
    void *numbers = kit_host(b->m->bytes);

    arith_random(t, numbers, elements(&b->o), arith_is_real(t) ? 1 : 9, seed);
    put_all(b, numbers);
    free(numbers);
    mirror_upload(b->m);
}

void op_block_create(struct op_block *b, const ferry_operand *o, unsigned seed)
{
    open_block(b, o, seed);
    for (int64_t k = 0; k < elements(o); k++)
        arith_put((ferry_dtype)o->dtype, b->m->want, k, NAN);
    op_block_refill(b, seed);
}

void op_block_output(struct op_block *b, const ferry_operand *o, unsigned seed)
{
    open_block(b, o, seed);
    put_all(b, NULL);
    mirror_upload(b->m);
}

/*
 * Element i of the regions of an image of 9 × 8, scaled by roi.spatial_scale: a part, a point, one
 * beyond the edge, and one with swapped corners.
 */
static long double region(const int64_t *i)
{
    static const int boxes[][5] = {
        { 0, 2, 3, 11, 9 }, { 1, 4, 4, 4, 4 }, { 1, 6, 0, 40, 30 }, { 0, 9, 8, 3, 2 }
    };

    return boxes[i[0] % 4][i[1]];
}

/*
 * Random numbers alternate with special ones in long stretches, so that whole vectors of one kind
 * occur.
 */
static long double suited(const struct op_block *b, const int64_t *i, int64_t k)
{
    return k / kit_special_count % 2 ? get(b, i) : kit_special[k % kit_special_count];
}

void op_block_suit(struct op_block *b, const ferry_op_desc *op, bool is_output, uint32_t n)
{
    bool is_region = op->kind == FERRY_OP_ROI_POOL && !is_output && n == 1;
    bool is_positive =
        (op->kind == FERRY_OP_UPDATE && is_output && n > 0) ||
        (op->kind == FERRY_OP_LRN && op->pass == FERRY_PASS_BACKWARD_DATA && !is_output && n == 3);
    bool is_converted = op->kind == FERRY_OP_STRIDED_COPY && op->in[0].dtype != op->out[0].dtype;
    int64_t i[FERRY_OP_AXES] = { 0 }, k = 0;

    if (op_count(&b->o) == 0 || !(is_region || is_positive || (is_converted && !is_output)))
        return;
    do
        arith_put((ferry_dtype)b->o.dtype, b->m->want, place(&b->o, i),
                  is_region      ? region(i)
                  : is_converted ? suited(b, i, k++)
                                 : fabsl(get(b, i)) + 0.5L);
    while (op_next(&b->o, i));
    mirror_upload(b->m);
}

void op_block_destroy(struct op_block *b)
{
    if (b->m == &b->own)
        mirror_destroy(b->m);
}

ferry_ref op_block_ref(const struct op_block *b)
{
    return mirror_ref(b->m, (uint64_t)first(&b->o) * arith_size((ferry_dtype)b->o.dtype));
}

/* ---- results -------------------------------------------------------------------------------- */

/*
 * The number of roundings of a sum of n products. For a large n the errors have random signs and
 * add up to a multiple of √n, as in a sequential sum.
 */
static long double roundings(double n)
{
    return n <= 64 ? (long double)n : 64 + 4 * sqrtl((long double)n - 64);
}

static long double tolerance(ferry_dtype t, const struct op_number *want)
{
    ferry_dtype inner = t == FERRY_F64 ? FERRY_F64 : FERRY_F32;

    if (want->roundings == 0 || !arith_is_real(t))
        return 0;
    return 2 * kit_tolerance(t, want->value) +
           roundings(want->roundings) * kit_tolerance(inner, want->magnitude);
}

static long double rounded(ferry_dtype t, long double value)
{
    unsigned char as[8];

    arith_put(t, as, 0, value);
    return arith_get(t, as, 0);
}

bool op_near(ferry_dtype t, long double got, const struct op_number *want)
{
    long double error = tolerance(t, want);

    if (isnan(error)) /* the sensitivity of a limit is 0 · ∞ */
        error = 4 * kit_tolerance(t, want->value);
    if (want->roundings == 0)
        return arith_near(got, rounded(t, want->value), 0);
    if (isinf(got) && isfinite(want->value))
        return (got > 0) == (want->value > 0) && isinf(rounded(t, fabsl(want->value) + error));
    return arith_near(got, want->value, error);
}

/* "2, 0, 1" */
static const char *index_text(const ferry_operand *o, const int64_t *i)
{
    static char text[FERRY_OP_AXES * 8];
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t axis = 0; axis < o->rank; axis++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d", axis ? ", " : "", (int)i[axis]);
    return text;
}

static void check_element(struct op_block *b, const char *what, const int64_t *i,
                          const struct op_number *want)
{
    ferry_dtype t = (ferry_dtype)b->o.dtype;
    int64_t at = place(&b->o, i);
    long double got = arith_get(t, b->m->got, at);

    if (!op_near(t, got, want))
        kit_fail("%s(%s) is %.9Lg, should be %.9Lg", what, index_text(&b->o, i), got, want->value);
    memcpy(b->m->want + (size_t)at * arith_size(t), b->m->got + (size_t)at * arith_size(t),
           arith_size(t));
}

void op_block_check(struct op_block *b, const char *what, const struct op_number *want)
{
    int64_t i[FERRY_OP_AXES] = { 0 }, k = 0;
    struct mirror *m = b->m;

    mirror_download(m);
    do
        check_element(b, what, i, &want[k++]);
    while (op_next(&b->o, i));
    for (uint64_t at = m->begin; at < m->end; at++)
        if (m->got[at] != m->want[at])
            kit_fail("%s: wrote into a gap between its elements: %" PRIu64
                     " elements from its first, it has changed",
                     what, (at - m->begin) / arith_size((ferry_dtype)b->o.dtype));
    mirror_check(m);
}
