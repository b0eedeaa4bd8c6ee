/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations on F16, BF16, I8 and U8 in F32: copies widen the inputs into temporary memory, the
 * operation runs there, as one entry or composed, and copies round the outputs. If that does not
 * fit, it runs on a few images (indices of the first axis) at a time.
 */
#include "op/compose.h"

#include "op/kind.h"

#include <ferry/blob.h>

#include <stdlib.h>
#include <string.h>

#define PARTS (FERRY_OP_INPUTS + FERRY_OP_OUTPUTS)
/* Sets of operands are bits: inputs from bit 0 on, followed by outputs. */
#define OUT(i) (1u << (FERRY_OP_INPUTS + (i)))
#define ALL    ((1u << PARTS) - 1)

/* The limit of repetitions: each one processes up to 64 MiB. */
#define MOST_REPEAT 65536

/* An operand: its original location, and its location in F32. */
struct part {
    ferry_operand given; /* the operand of the narrow operation, with the images of one
                          * repetition */
    ferry_operand *wide; /* the operand of the F32 operation */
    struct ferry__binding from, to;
    bool is_narrow, is_split, is_read, is_written;
};

struct narrow {
    struct ferry__plan *plan;
    const ferry_op_desc *op;
    ferry_op_desc wide;
    struct part part[PARTS];
    uint64_t bytes; /* the size of the temporary memory for operands */
    int64_t repeat;
};

/* ---- operands -------------------------------------------------------------------------------- */

/* Whether the operand has one of the narrow dtypes; indices and masks have other dtypes. */
static bool is_narrow(const ferry_operand *o)
{
    return o->dtype == FERRY_F16 || o->dtype == FERRY_BF16 || ferry__is_integer(o->dtype);
}

static const ferry_operand *operand_at(const ferry_op_desc *op, uint32_t i)
{
    return i < FERRY_OP_INPUTS ? &op->in[i] : &op->out[i - FERRY_OP_INPUTS];
}

static bool is_there(const ferry_op_desc *op, uint32_t i)
{
    return i < FERRY_OP_INPUTS ? i < op->n_in : i - FERRY_OP_INPUTS < op->n_out;
}

/* The operands of length `n` on their first axis; the others are broadcast, or accumulated into. */
static uint32_t as_long_as(const ferry_op_desc *op, int64_t n)
{
    uint32_t found = 0, i;

    for (i = 0; i < PARTS; i++)
        if (is_there(op, i) && operand_at(op, i)->rank && operand_at(op, i)->shape[0] == n)
            found |= 1u << i;
    return found;
}

/*
 * The operands, without those of the epilogue, that can be processed image by image; 0: there are
 * none.
 */
static uint32_t own_images(const ferry_op_desc *op)
{
    switch (op->kind) {
    case FERRY_OP_CONVOLUTION:
    case FERRY_OP_INNER_PRODUCT:
        return op->pass <= FERRY_PASS_BACKWARD_DATA      ? 1 | OUT(0)
               : op->pass == FERRY_PASS_BACKWARD_WEIGHTS ? 1 | 2
                                                         : 1;
    case FERRY_OP_IM2COL:
    case FERRY_OP_COL2IM:
    case FERRY_OP_POOL:
    case FERRY_OP_LRN:
    case FERRY_OP_RESIZE:
    case FERRY_OP_UNARY:
    case FERRY_OP_UPDATE:
    case FERRY_OP_STRIDED_COPY:
        return ALL;
    case FERRY_OP_SOFTMAX:
        return op->params.softmax.axis ? ALL : 0;
    case FERRY_OP_REDUCE:
    case FERRY_OP_MOMENTS:
        return op->params.reduce.axes & 1 ? 0 : ALL;
    case FERRY_OP_BINARY:
    case FERRY_OP_BATCHED_GEMM:
        return as_long_as(op, op->pass ? op->in[0].shape[0] : op->out[0].shape[0]);
    case FERRY_OP_GATHER:
    case FERRY_OP_ROI_POOL:
        return 2 | OUT(0);
    case FERRY_OP_SCATTER_ADD:
        return 1 | 2;
    default:
        return 0;
    }
}

/* As own_images, including operands of the epilogue; *out_n is the number of images. */
static uint32_t images_of(const ferry_op_desc *op, int64_t *out_n)
{
    uint32_t own = ((1u << ferry_op_own_inputs(op)) - 1) | ~(OUT(0) - 1);
    uint32_t split = own_images(op) & own, i;

    *out_n = 1;
    if (op->n_epilogue && !(split & OUT(0))) /* epilogue steps run once, after the accumulation */
        return 0;
    for (i = 0; i < op->n_epilogue; i++)
        if (op->epilogue[i].step == FERRY_STEP_ADD)
            split |= 1u << op->epilogue[i].operand;
    for (i = 0; i < PARTS; i++) {
        if (!(split >> i & 1) || !is_there(op, i))
            continue;
        if (!operand_at(op, i)->rank)
            return 0;
        *out_n = operand_at(op, i)->shape[0];
    }
    return split;
}

/*
 * ---- layout of temporary memory ----------------------------------------------------------------
 */

/* Takes the whole operands, or `n` images of those in `split`. */
static void take_parts(struct narrow *h, uint32_t split, int64_t all, int64_t n)
{
    uint32_t i;

    h->repeat = n ? all / n : 1;
    h->wide = *h->op;
    for (i = 0; i < PARTS; i++) {
        struct part *p = &h->part[i];
        bool is_in = i < FERRY_OP_INPUTS;
        uint32_t index = is_in ? i : i - FERRY_OP_INPUTS;

        memset(p, 0, sizeof *p);
        if (!is_there(h->op, i))
            continue;
        p->given = *operand_at(h->op, i);
        p->wide = is_in ? &h->wide.in[index] : &h->wide.out[index];
        p->from = ferry__bind(is_in ? FERRY__FROM_IN : FERRY__FROM_OUT, index);
        p->to = ferry__bind(FERRY__FROM_TEMP, 0);
        p->is_narrow = is_narrow(&p->given);
        p->is_split = n < all && split >> i & 1;
        p->is_read = is_in || ferry__op_reads_outputs(h->op);
        p->is_written = !is_in;
        if (p->is_split) {
            p->given.shape[0] = n;
            p->from.stride =
                n * p->given.stride[0] * (int64_t)ferry_dtype_size((ferry_dtype)p->given.dtype);
        }
        *p->wide = p->given;
        if (is_in && (p->is_narrow || n < all))
            h->wide.constants &= ~(1u << index);
    }
}

/* The axes of an operand in the order of their strides, outermost first. */
static void own_order(const ferry_operand *o, uint8_t *order)
{
    uint32_t i, k;

    for (i = 0; i < o->rank; i++) {
        for (k = i; k > 0 && o->stride[order[k - 1]] < o->stride[i]; k--)
            order[k] = order[k - 1];
        order[k] = (uint8_t)i;
    }
}

/* The order of the F32 copies' axes. */
enum lie { AS_GIVEN, AS_PREFERRED, ROW_MAJOR };

/* Allocates temporary memory for each narrow operand; false: the memory does not suffice. */
static bool lay(struct narrow *h, enum lie lie, const uint8_t *preferred)
{
    const struct ferry__target *t = &h->plan->target;
    uint64_t unit = t->alignment > 64 ? t->alignment : 64, bytes;
    uint32_t i;

    h->bytes = 0;
    for (i = 0; i < PARTS; i++) {
        struct part *p = &h->part[i];
        uint8_t own[FERRY_OP_AXES];
        bool prefers = lie == AS_PREFERRED && (i == 0 || i == FERRY_OP_INPUTS);

        if (!p->is_narrow)
            continue;
        own_order(&p->given, own);
        *p->wide = ferry_operand_make(FERRY_F32, p->given.shape, (int)p->given.rank,
                                      lie == ROW_MAJOR                                ? NULL
                                      : prefers && p->given.rank == h->op->in[0].rank ? preferred
                                                                                      : own);
        p->to.offset = (int64_t)h->bytes;
        bytes = ferry__compose_bytes(p->wide);
        if (bytes > t->temporary)
            return false;
        h->bytes = (h->bytes + bytes + unit - 1) / unit * unit;
        if (h->bytes > t->temporary)
            return false;
    }
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int add_copy(struct narrow *h, const struct part *p, bool widens)
{
    ferry_op_desc copy;

    ferry_op_desc_init(&copy, FERRY_OP_STRIDED_COPY);
    copy.n_in = copy.n_out = 1;
    copy.in[0] = widens ? p->given : *p->wide;
    copy.out[0] = widens ? *p->wide : p->given;
    return ferry__plan_add(h->plan, &copy, widens ? &p->from : &p->to, widens ? &p->to : &p->from);
}

/*
 * Adds the copies of the operands that are processed image by image, or of those that all images
 * share.
 */
static int add_copies(struct narrow *h, bool widens, bool by_image)
{
    int can = 1;
    uint32_t i;

    for (i = 0; can > 0 && i < PARTS; i++) {
        const struct part *p = &h->part[i];

        if (p->is_narrow && p->is_split == by_image && (widens ? p->is_read : p->is_written))
            can = add_copy(h, p, widens);
    }
    return can;
}

/* The binding, in the narrow operation's plan, of an operand of a step of the F32 operation. */
static struct ferry__binding rebound(const struct narrow *h, const struct ferry__binding *b)
{
    struct ferry__binding to = *b;
    const struct part *p;

    if (b->source == FERRY__FROM_TEMP) {
        to.offset += (int64_t)h->bytes;
        return to;
    }
    p = &h->part[b->index + (b->source == FERRY__FROM_IN ? 0 : FERRY_OP_INPUTS)];
    if (h->repeat > 1)
        to.stride = p->is_narrow ? 0 : p->from.stride;
    if (p->is_narrow) {
        to.source = FERRY__FROM_TEMP;
        to.index = 0;
        to.offset += p->to.offset;
    }
    return to;
}

static int add_operation(struct narrow *h, const struct ferry__plan *inner)
{
    int can = 1;
    uint32_t i, k;

    for (i = 0; can > 0 && i < inner->n_steps; i++) {
        struct ferry__step step = inner->steps[i];

        for (k = 0; k < step.op.n_in; k++)
            step.in[k] = rebound(h, &step.in[k]);
        for (k = 0; k < step.op.n_out; k++)
            step.out[k] = rebound(h, &step.out[k]);
        can = ferry__plan_take(h->plan, &step);
    }
    return can;
}

/*
 * Adds all steps. Shared operands are copied once; the copies of other operands run before and
 * after the operation, in each repetition if there are several.
 */
static int add_steps(struct narrow *h, const struct ferry__plan *inner)
{
    struct ferry__plan *plan = h->plan;
    int can = add_copies(h, true, false);

    plan->before = plan->n_steps;
    plan->repeat = h->repeat > 1 ? h->repeat : inner->repeat;
    if (can > 0)
        can = add_copies(h, true, true);
    if (can > 0)
        can = add_operation(h, inner);
    if (can > 0)
        can = add_copies(h, false, true);
    plan->repeated = h->repeat > 1 ? plan->n_steps - plan->before : inner->repeated;
    if (can > 0)
        can = add_copies(h, false, false);
    memcpy(plan->order, inner->order, sizeof plan->order);
    plan->temporary_bytes = h->bytes + inner->temporary_bytes;
    return can;
}

/* ---- the operation in F32 -------------------------------------------------------------------- */

static int plan_laid(struct narrow *h, enum lie lie, const uint8_t *preferred,
                     struct ferry__plan *inner)
{
    ferry_operation_tier tier;
    int can = 0;

    memset(inner, 0, sizeof *inner);
    inner->target = h->plan->target;
    if (lay(h, lie, preferred)) {
        inner->target.temporary -= h->bytes;
        if (inner->target.largest)
            inner->target.largest -= h->bytes;
        can = ferry__plan_by(inner, &h->wide, &tier);
    }
    if (can > 0 && h->repeat > 1 && inner->repeat > 1)
        can = 0; /* repetitions do not nest */
    if (can <= 0)
        free(inner->steps);
    return can;
}

/* Whether the entry prefers another order of axes for x and y than the given order. */
static bool prefers_another(const struct narrow *h, const uint8_t *order)
{
    uint8_t own[FERRY_OP_AXES] = { 0 }, none[FERRY_OP_AXES] = { 0 };

    own_order(&h->part[0].given, own);
    return h->part[0].is_narrow && memcmp(order, none, sizeof none) &&
           memcmp(order, own, h->part[0].given.rank);
}

static int plan_wide(struct narrow *h, struct ferry__plan *inner)
{
    int can = plan_laid(h, AS_GIVEN, NULL, inner);

    if (can > 0 && prefers_another(h, inner->order)) {
        uint8_t order[FERRY_OP_AXES];

        memcpy(order, inner->order, sizeof order);
        free(inner->steps);
        can = plan_laid(h, AS_PREFERRED, order, inner);
        if (!can)
            can = plan_laid(h, AS_GIVEN, NULL, inner);
    }
    return can ? can : plan_laid(h, ROW_MAJOR, NULL, inner);
}

static int plan_images(struct narrow *h)
{
    struct ferry__plan inner;
    int can = plan_wide(h, &inner);

    if (can <= 0)
        return can;
    can = add_steps(h, &inner);
    free(inner.steps);
    if (can > 0)
        return can;
    ferry__plan_cut(h->plan, 0);
    h->plan->temporary_bytes = 0;
    h->plan->before = 0;
    h->plan->repeat = 1;
    return can;
}

static bool has_narrow(const ferry_op_desc *op)
{
    uint32_t i;

    for (i = 0; i < PARTS; i++)
        if (is_there(op, i) && is_narrow(operand_at(op, i)))
            return true;
    return false;
}

int ferry__compose_narrow(struct ferry__plan *plan, const ferry_op_desc *op)
{
    struct narrow h = { .plan = plan, .op = op };
    int64_t all, parts, most;
    uint32_t split;
    int can = 0;

    if ((op->kind == FERRY_OP_STRIDED_COPY && !op->n_epilogue) || op->kind == FERRY_OP_NAMED ||
        !has_narrow(op))
        return 0;
    split = images_of(op, &all);
    most = !split ? 1 : all < MOST_REPEAT ? all : MOST_REPEAT;
    for (parts = 1; !can && (parts == 1 || parts <= most); parts++) {
        if (parts > 1 && all % parts)
            continue;
        take_parts(&h, split, all, parts > 1 ? all / parts : all);
        can = plan_images(&h);
    }
    return can;
}
