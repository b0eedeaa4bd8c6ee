/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer.h"
#include "integer_args.h"

#include "common/window.h"
#include "kernels/descriptor.h"

#include <ferry/op_types.h>

#include <math.h>
#include <string.h>

/* The source of the program, one string per line. */
static const char *const text[] = {
#include "integer.cl.h"
};

/* The longest sum of products of bytes in 32 bits. */
#define MOST_TERMS (INT32_MAX / (255 * 128))
#define TILE_WORK 32768 /* the minimum number of vector multiplications of a CPU's item */

_Static_assert(sizeof(struct integer_args) <= sizeof(union kernel_args) &&
                   sizeof(struct integer_pack_args) <= sizeof(union kernel_args),
               "a launch has room for the arguments");

bool ocl_is_integer(const ferry_op_desc *op)
{
    return (op->kind == FERRY_OP_CONVOLUTION || op->kind == FERRY_OP_INNER_PRODUCT) &&
           op->n_in >= 2 && op->in[1].dtype == FERRY_I8;
}

/* ---- the operands ---------------------------------------------------------------------------- */

static int64_t parts(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t count(const ferry_operand *o)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < o->rank; i++)
        n *= o->shape[i];
    return n;
}

static bool is_bytes(const ferry_operand *o)
{
    return o->dtype == FERRY_I8 || o->dtype == FERRY_U8;
}

/* Sets a vector with one element for all outputs, or one for each; false if it has gaps. */
static bool take_vector(const ferry_operand *o, int64_t *stride)
{
    *stride = o->shape[0] > 1;
    return o->dtype == FERRY_F32 && o->rank == 1 && (o->shape[0] == 1 || o->stride[0] == 1);
}

/* Sets the strides of y, or of an operand of its shape. */
static void strides_of(const ferry_operand *o, i64 *out)
{
    out[0] = o->stride[0];
    out[1] = o->stride[1];
    ferry__widen_strides(o, 2, &out[2]);
}

/* Adds a step, which has to come after the previous one's place *order. */
static bool take_step(struct kernel_plan *p, struct kernel_launch *l, struct integer_args *a,
                      const ferry_op_step *s, int *order)
{
    bool is_unary = s->step == FERRY_STEP_UNARY;
    bool is_power = is_unary && s->function == FERRY_UNARY_POWER && s->a == 1;
    int at = s->step == FERRY_STEP_SCALE ? 1 : s->step == FERRY_STEP_ADD ? 2 : is_power ? 4 : 3;

    if (at <= *order)
        return false;
    *order = at;
    if (at == 1) {
        a->has_scale = 1;
        l->from[4] = FROM_IN(s->operand);
        return take_vector(&p->op.in[s->operand], &a->scale);
    }
    if (at == 2) {
        const ferry_operand *o = &p->op.in[s->operand];

        a->has_add = 1;
        a->add_dtype = (i32)o->dtype;
        l->from[5] = FROM_IN(s->operand);
        strides_of(o, a->add);
        return is_bytes(o) || o->dtype == FERRY_F32;
    }
    if (is_power) {
        a->factor = (float)s->b;
        a->term = (float)s->c;
    } else if (is_unary && s->function == FERRY_UNARY_RELU && s->a == 0) {
        a->least = 0; /* not a slope: −∞ gives 0 */
    } else if (is_unary && s->function == FERRY_UNARY_RELU) {
        a->slope = (float)s->a;
    } else if (is_unary && s->function == FERRY_UNARY_CLIP) {
        a->least = (float)s->a;
        a->most = (float)s->b;
    } else {
        return false;
    }
    return true;
}

/* Sets what follows the sums; false if the kernels lack one of the steps. */
static bool take_epilogue(struct kernel_plan *p, struct kernel_launch *l, struct integer_args *a)
{
    int order = 0;

    a->slope = 1;
    a->least = -INFINITY;
    a->most = INFINITY;
    a->factor = 1;
    a->y_dtype = (i32)p->op.out[0].dtype;
    strides_of(&p->op.out[0], a->y);
    if (p->own_in > 2) {
        a->has_bias = 1;
        l->from[3] = FROM_IN(2);
        if (!take_vector(&p->op.in[2], &a->bias))
            return false;
    }
    for (uint32_t i = 0; i < p->op.n_epilogue; i++)
        if (!take_step(p, l, a, &p->op.epilogue[i], &order))
            return false;
    p->answer.epilogue = p->op.n_epilogue;
    return is_bytes(&p->op.out[0]) || p->op.out[0].dtype == FERRY_F32;
}

/* ---- the shapes ------------------------------------------------------------------------------ */

/* The window of a convolution. */
static void take_window(const ferry_op_desc *op, struct integer_args *a,
                        struct integer_pack_args *pack)
{
    const ferry_op_window *window = &op->params.window;
    const ferry_operand *x = &op->in[0], *w = &op->in[1], *y = &op->out[0];
    struct {
        int64_t stride[3], dilation[3], pad[3], pad_end[3];
    } wide;

    FERRY__WIDEN_WINDOW(window, a->size, &wide);
    memcpy(a->stride, wide.stride, sizeof(a->stride));
    memcpy(a->dilation, wide.dilation, sizeof(a->dilation));
    memcpy(a->pad, wide.pad, sizeof(a->pad));
    ferry__widen(&x->shape[2], window->axes, 1, a->in);
    ferry__widen(&y->shape[2], window->axes, 1, a->out);
    ferry__widen_strides(w, 2, pack->tap);
    strides_of(x, a->x);
    a->groups = window->group;
    a->channels = w->shape[1];
    a->outputs = w->shape[0] / window->group;
    a->pixels = y->shape[0] * a->out[0] * a->out[1] * a->out[2];
    pack->output = w->stride[0];
    pack->channel = w->stride[1];
    pack->group = a->outputs * w->stride[0];
}

/* Whether the elements of a row of x follow one another in the order of the weights. */
static bool has_plain_rows(const ferry_operand *x)
{
    int64_t step = 1;

    for (uint32_t i = x->rank; i-- > 1; step *= x->shape[i])
        if (x->shape[i] > 1 && x->stride[i] != step)
            return false;
    return true;
}

/* An inner product; its kernel has one element, or is as large as the image. */
static void take_rows(const ferry_op_desc *op, struct integer_args *a,
                      struct integer_pack_args *pack)
{
    const ferry_operand *x = &op->in[0], *w = &op->in[1];
    int64_t stride = w->stride[1];

    for (int i = 0; i < 3; i++)
        a->in[i] = a->out[i] = a->size[i] = a->stride[i] = a->dilation[i] = 1;
    a->groups = 1;
    a->outputs = w->shape[0];
    a->pixels = x->shape[0];
    a->channels = w->shape[1];
    pack->output = w->stride[0];
    pack->channel = w->stride[1];
    a->x[0] = x->stride[0];
    a->x[1] = 1;
    if (has_plain_rows(x))
        return;
    for (uint32_t axis = x->rank; axis-- > 2; stride *= x->shape[axis]) {
        uint32_t i = FERRY_OP_SPATIAL + axis - x->rank;

        a->in[i] = a->size[i] = x->shape[axis];
        a->x[2 + i] = x->stride[axis];
        pack->tap[i] = stride;
    }
    a->channels = x->shape[1];
    a->x[1] = x->stride[1];
    pack->channel = stride;
}

/* Divides the kernel into lines that are contiguous in x, or at least at equal distances. */
static void find_lines(struct integer_args *a)
{
    bool is_dense = (a->channels == 1 || a->x[1] == 1) &&
                    (a->size[2] == 1 || (a->dilation[2] == 1 && a->x[4] == a->channels));

    a->taps = is_dense ? 1 : a->size[2];
    a->span = is_dense ? a->size[2] * a->channels : a->channels;
    a->element = is_dense ? 1 : a->x[1];
}

/* ---- the launches ---------------------------------------------------------------------------- */

/* A hash of all numbers that determine the packed layout (FNV-1a, by words). */
static uint64_t packed_key(const struct integer_pack_args *a)
{
    uint64_t word[sizeof(*a) / sizeof(uint64_t)], key = UINT64_C(14695981039346656037);

    memcpy(word, a, sizeof(word));
    for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
        key = (key ^ word[i]) * UINT64_C(1099511628211);
    return key ? key : 1;
}

/* Packs the weights: once if they are constant, else in the workspace before each run. */
static void add_packing(struct kernel_plan *p, const struct integer_args *a,
                        struct integer_pack_args *pack, struct kernel_launch *user)
{
    struct kernel_launch l = { .kernel = OCL_INTEGER_PACK, .size = sizeof(*pack) };
    uint64_t bytes;
    int64_t elements;

    pack->groups = a->groups;
    pack->blocks = a->blocks;
    pack->taps = a->taps;
    pack->lines = a->size[0] * a->size[1] * a->taps;
    pack->span = a->span;
    memcpy(pack->size, a->size, sizeof(pack->size));
    pack->channels = a->channels;
    pack->outputs = a->outputs;
    memcpy(&l.args, pack, sizeof(*pack));
    l.from[0] = FROM_IN(1);
    elements = pack->groups * pack->blocks * pack->lines * parts(a->span, pack->quad) * pack->quad;
    bytes = (uint64_t)(elements * pack->lanes);
    l.groups = parts(elements, p->target.group);
    if (l.groups > p->target.busy)
        l.groups = p->target.busy;
    if (p->op.constants >> 1 & 1u) {
        p->answer.packed_inputs = 2;
        p->answer.packed_bytes = bytes;
        p->answer.packed_key = packed_key(pack);
        l.from[1] = user->from[1] = FROM_PACKED;
        p->pack = l;
    } else {
        p->answer.workspace_bytes = bytes;
        l.from[1] = user->from[1] = FROM_WORKSPACE;
        p->launch[p->launches++] = l;
    }
}

/* Divides `all` tiles, each with `work` vector multiplications, among items. */
static int64_t divide(const struct kernel_plan *p, struct integer_args *a, int64_t work)
{
    int64_t items = (int64_t)p->target.busy * p->target.group;
    int64_t least = parts(TILE_WORK, work < TILE_WORK ? work : TILE_WORK);

    a->tiles = parts(a->all, items);
    if (p->target.group == 1 && a->tiles < least)
        a->tiles = least;
    return parts(parts(a->all, a->tiles), p->target.group);
}

static void plan_product(struct kernel_plan *p, bool dots, struct integer_args *a,
                         struct integer_pack_args *pack, struct kernel_launch *l)
{
    int64_t vec = p->target.vec, pixels = INTEGER_PIXELS(vec);
    int64_t terms = a->size[0] * a->size[1] * a->size[2];

    find_lines(a);
    pack->quad = dots ? 4 : 1;
    pack->lanes = INTEGER_VECTORS * vec;
    a->blocks = parts(a->outputs, pack->lanes);
    a->all = parts(a->pixels, pixels) * a->blocks * a->groups;
    l->kernel = OCL_INTEGER_CONVOLVE;
    l->groups = divide(p, a, terms * a->channels * pixels * INTEGER_VECTORS);
}

/* Whether it is a depthwise convolution whose channels are contiguous in x and y. */
static bool is_depthwise(const struct integer_args *a)
{
    return a->groups > 1 && a->channels == 1 && a->outputs == 1 && a->x[1] == 1 && a->y[1] == 1 &&
           a->size[0] * a->size[1] * a->size[2] <= INTEGER_EXACT_TERMS;
}

static void plan_depthwise(struct kernel_plan *p, struct integer_args *a,
                           struct integer_pack_args *pack, struct kernel_launch *l)
{
    int64_t channels = a->groups, taps = a->size[0] * a->size[1] * a->size[2];

    a->groups = 1;
    a->outputs = channels;
    a->taps = 1;
    a->span = a->size[2];
    a->blocks = 1;
    a->all = a->pixels * parts(channels, p->target.vec);
    pack->quad = 1;
    pack->lanes = channels;
    l->kernel = OCL_INTEGER_DEPTHWISE;
    l->groups = divide(p, a, taps * 4);
}

static void prefer_channels_last(struct kernel_plan *p)
{
    uint32_t rank = p->op.in[0].rank;

    for (uint32_t i = 1; i + 1 < rank; i++)
        p->answer.order[i] = (uint8_t)(i + 1);
    p->answer.order[rank - 1] = 1;
}

/* Whether the kinds and dtypes are those of the kernels, and the sums fit. */
static bool is_product(const struct kernel_plan *p)
{
    const ferry_op_desc *op = &p->op;

    if (op->pass != FERRY_PASS_FORWARD || !ocl_is_integer(op) || !is_bytes(&op->in[0]))
        return false;
    if (op->kind == FERRY_OP_CONVOLUTION && op->params.window.transposed)
        return false;
    return op->in[0].rank <= 2 + FERRY_OP_SPATIAL && count(&op->in[1]) > 0 &&
           count(&op->in[1]) / op->in[1].shape[0] <= MOST_TERMS;
}

/* Plans the launches of an operation with elements. */
static int plan_launches(struct kernel_plan *p, bool dots)
{
    bool is_row = p->op.kind == FERRY_OP_INNER_PRODUCT;
    struct integer_args a = { .x_is_signed = p->op.in[0].dtype == FERRY_I8 };
    struct integer_pack_args pack = { .groups = 0 };
    struct kernel_launch l = { .size = sizeof(a) };

    if (!take_epilogue(p, &l, &a))
        return FERRY_EUNSUPPORTED;
    if (is_row)
        take_rows(&p->op, &a, &pack);
    else
        take_window(&p->op, &a, &pack);
    if (is_depthwise(&a))
        plan_depthwise(p, &a, &pack, &l);
    else
        plan_product(p, dots, &a, &pack, &l);
    l.from[0] = FROM_IN(0);
    l.from[2] = FROM_OUT(0);
    add_packing(p, &a, &pack, &l);
    memcpy(&l.args, &a, sizeof(a));
    p->launch[p->launches++] = l;
    return 0;
}

int ocl_integer_plan(const struct kernel_target *target, bool dots, const ferry_op_desc *op,
                     struct kernel_plan *out)
{
    struct kernel_plan *p = out;

    memset(p, 0, sizeof(*p));
    p->own_in = descriptor_take(op, &p->op);
    p->target = *target;
    p->answer.struct_size = sizeof(p->answer);
    /* measured on processors; no GPU has been timed, and nets stay F32 there */
    p->answer.cost = target->group == 1 ? FERRY_OP_COST_HOST_FASTER : FERRY_OP_COST_F32_FASTER;
    if (!is_product(p))
        return FERRY_EUNSUPPORTED;
    if (p->op.kind == FERRY_OP_CONVOLUTION)
        prefer_channels_last(p);
    if (count(&p->op.out[0]) > 0)
        return count(&p->op.in[0]) > 0 ? plan_launches(p, dots) : FERRY_EUNSUPPORTED;
    p->answer.epilogue = p->op.n_epilogue;
    return 0;
}

/* ---- names and texts ------------------------------------------------------------------------- */

const char *ocl_kernel_function(uint32_t kernel)
{
    static const char *const names[] = { "integer_pack", "integer_convolve", "integer_depthwise" };

    return kernel < KERNEL_COUNT ? kernel_function(kernel) : names[kernel - KERNEL_COUNT];
}

uint32_t ocl_kernel_program(uint32_t kernel, bool dots)
{
    return kernel < KERNEL_COUNT ? (uint32_t)kernel_program_of(kernel)
           : dots                ? OCL_PROGRAM_DOTS
                                 : OCL_PROGRAM_INTEGERS;
}

size_t ocl_program_lines(uint32_t program, const char **out)
{
    if (program < PROGRAM_COUNT)
        return kernel_program_lines((enum kernel_program)program, out);
    if (out)
        memcpy(out, text, sizeof(text));
    return sizeof(text) / sizeof(text[0]);
}
