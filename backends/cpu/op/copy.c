/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <math.h>
#include <string.h>

/*
 * STRIDED_COPY. Rows that are contiguous in both operands are copied as bytes or converted by the
 * plugin's conversion; others are copied element by element, through a block if the dtypes differ.
 * In integer arithmetic, a scale and a shift of each channel, as of BatchNorm, and bounds may come
 * before the conversion.
 */

#define BLOCK 64
/* The number of elements below which finding a row takes longer than copying it. */
#define SHORT_ROW 16
/* The number of elements below which a longer axis becomes the row (walk_lengthen). */
#define FEW 8
/* The pixels whose planes are interleaved before they become bytes. */
#define PIXELS 256
/* The bytes that a conversion with scale and shift counts for an element; it is not just moved. */
#define BYTES_OF_AFFINE 5

struct copy {
    uint32_t x_dtype, y_dtype;
    int64_t x_size, y_size, x_step, y_step;
    const char *x;
    char *y;
    struct cpu_device *device;
    const struct cpu_loops *loops;
    int64_t planes, plane; /* the number of planes of x that are interleaved, and their distance */
    const struct cpu_integer_loops *integer; /* for integer arithmetic; NULL: a plain copy */
    struct cpu_integer_store store;
    const float *vector[2]; /* scale and shift */
    int64_t vector_step[2];
    int64_t channels, x_next, y_next; /* for pixels; the distances from one to the next, in bytes */
};

#define MOVE(type)                                        \
    do {                                                  \
        type *to = (type *)(void *)y;                     \
        const type *from = (const type *)(const void *)x; \
                                                          \
        for (int64_t i = 0; i < n; i++)                   \
            to[i * y_step] = from[i * x_step];            \
    } while (0)

/* Copies n elements of `size` bytes. */
static void move(int64_t size, int64_t n, const char *x, int64_t x_step, char *y, int64_t y_step)
{
    if (x_step == 1 && y_step == 1) {
        memcpy(y, x, (size_t)(n * size));
        return;
    }
    switch (size) {
    case 1:
        MOVE(uint8_t);
        break;
    case 2:
        MOVE(uint16_t);
        break;
    case 4:
        MOVE(uint32_t);
        break;
    default:
        MOVE(uint64_t);
    }
}

static void copy_row(void *arg, const int64_t *offset, int64_t n)
{
    const struct copy *c = arg;

    move(c->x_size, n, c->x + offset[1] * c->x_size, c->x_step, c->y + offset[0] * c->y_size,
         c->y_step);
}

/*
 * Converts contiguous elements, with the factor and term of integer arithmetic, if there are any.
 */
static void convert_some(const struct copy *c, int64_t n, const void *x, void *y)
{
    if (c->integer)
        c->integer->convert(&c->store, n, c->x_dtype, x, y);
    else
        cpu_convert_some(c->device, n, c->x_dtype, x, c->y_dtype, y);
}

static void convert_row(void *arg, const int64_t *offset, int64_t n)
{
    const struct copy *c = arg;
    const char *x = c->x + offset[1] * c->x_size;
    char *y = c->y + offset[0] * c->y_size;
    union {
        char bytes[8 * BLOCK];
        double aligned;
    } from, to;

    if (c->x_step == 1 && c->y_step == 1) {
        convert_some(c, n, x, y);
        return;
    }
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t count = n - first < BLOCK ? n - first : BLOCK;

        move(c->x_size, count, x + first * c->x_step * c->x_size, c->x_step, from.bytes, 1);
        convert_some(c, count, from.bytes, to.bytes);
        move(c->y_size, count, to.bytes, 1, y + first * c->y_step * c->y_size, c->y_step);
    }
}

/*
 * Orders the walk by y; or by x, if its rows are longer, for example when y's are the few channels
 * of an image.
 */
static void order(struct cpu_walk *w)
{
    struct cpu_walk by_x = *w;

    walk_end(w);
    if (w->shape[w->rank - 1] >= SHORT_ROW)
        return;
    walk_end_by(&by_x, 1);
    if (by_x.shape[by_x.rank - 1] > w->shape[w->rank - 1])
        *w = by_x;
    walk_lengthen(w, FEW);
}

static bool is_arithmetic(const struct cpu_op *p)
{
    return p->op.n_epilogue && (cpu_is_integer(&p->op.in[0]) || cpu_is_integer(&p->op.out[0]));
}

/* ---- steps of integer arithmetic ------------------------------------------------------------ */

enum { SCALE, SHIFT, BOUNDS, AFFINE, STEPS }; /* in the order in which they can be computed */

static bool is_affine(const ferry_op_step *s)
{
    return s->step == FERRY_STEP_UNARY && s->function == FERRY_UNARY_POWER && s->a == 1;
}

/* Whether an operand has a number for each channel of y, without gaps. */
static bool is_vector(const struct cpu_op *p, const ferry_operand *o)
{
    return o->rank == 1 && o->shape[0] == p->op.out[0].shape[1] &&
           (o->stride[0] == 1 || o->shape[0] == 1);
}

/* The step that a step of an epilogue is, whose bounds or factor are set; STEPS: another. */
static int step_of(const struct cpu_op *p, const ferry_op_step *s, struct cpu_integer_store *out)
{
    if (s->step == FERRY_STEP_SCALE || s->step == FERRY_STEP_SHIFT) {
        if (!is_vector(p, &p->op.in[s->operand]))
            return STEPS;
        return s->step == FERRY_STEP_SCALE ? SCALE : SHIFT;
    }
    if (s->step != FERRY_STEP_UNARY)
        return STEPS;
    if (is_affine(s)) {
        out->factor = (float)s->b;
        out->term = (float)s->c;
        return AFFINE;
    }
    if (s->function == FERRY_UNARY_RELU && s->a == 0) {
        out->least = 0;
        return BOUNDS;
    }
    if (s->function != FERRY_UNARY_CLIP)
        return STEPS;
    out->least = (float)s->a;
    out->most = (float)s->b;
    return BOUNDS;
}

/*
 * Sets the store, and the inputs with scale and shift, −1 without; returns whether the steps are
 * supported. A factor and a term before the scale are those of the integers of x.
 */
static bool find_steps(const struct cpu_op *p, struct cpu_integer_store *out, int *vector)
{
    const ferry_op_step *first = &p->op.epilogue[0];
    bool is_before = p->op.n_in > 1 && is_affine(first);
    int last = -1;

    *out = (struct cpu_integer_store){ .dtype = p->op.out[0].dtype,
                                       .least = -INFINITY,
                                       .most = INFINITY,
                                       .factor = 1,
                                       .x_factor = is_before ? (float)first->b : 1,
                                       .x_term = is_before ? (float)first->c : 0 };
    vector[SCALE] = vector[SHIFT] = -1;
    for (uint32_t i = is_before; i < p->op.n_epilogue; i++) {
        int step = step_of(p, &p->op.epilogue[i], out);

        if (step <= last || step == STEPS)
            return false;
        if (step <= SHIFT)
            vector[step] = (int)p->op.epilogue[i].operand;
        last = step;
    }
    return true;
}

static bool has_vectors(const struct cpu_op *p)
{
    return is_arithmetic(p) && p->op.n_in > 1;
}

/*
 * Copies `count` elements of a vector from element `first` of a row on, unless they are contiguous.
 */
static const float *bring_vector(const struct copy *c, int number, const int64_t *offset,
                                 int64_t first, int64_t count, float *room)
{
    const float *from = c->vector[number] + offset[2 + number];
    int64_t step = c->vector_step[number];

    if (step == 1)
        return from + first;
    for (int64_t i = 0; i < count; i++)
        room[i] = from[(first + i) * step];
    return room;
}

static void affine_row(void *arg, const int64_t *offset, int64_t n)
{
    const struct copy *c = arg;
    const char *x = c->x + offset[1] * c->x_size;
    char *y = c->y + offset[0] * c->y_size;
    bool is_row = c->x_step == 1 && c->y_step == 1;
    float from[BLOCK], to[BLOCK], room[2][BLOCK];
    int64_t most = is_row && c->vector_step[0] == 1 && c->vector_step[1] == 1 ? n : BLOCK;

    for (int64_t first = 0; first < n; first += most) {
        int64_t count = n - first < most ? n - first : most;
        const float *scale = bring_vector(c, SCALE, offset, first, count, room[0]);
        const float *shift = bring_vector(c, SHIFT, offset, first, count, room[1]);
        const char *part = x + first * c->x_step * c->x_size;

        if (is_row) {
            c->integer->affine(&c->store, count, c->x_dtype, part, scale, shift,
                               y + first * c->y_size);
            continue;
        }
        move(c->x_size, count, part, c->x_step, (char *)from, 1);
        c->integer->affine(&c->store, count, c->x_dtype, from, scale, shift, to);
        move(c->y_size, count, (char *)to, 1, y + first * c->y_step * c->y_size, c->y_step);
    }
}

/*
 * Whether channels are contiguous in all operands, and the steps are ordered; then makes *out the
 * walk over the pixels.
 */
static bool has_pixels(const struct copy *c, const struct cpu_walk *w, struct cpu_walk *out)
{
    uint32_t last = w->rank - 1;

    if (!c->store.is_ordered || w->rank < 2 || w->count <= 0)
        return false;
    for (uint32_t k = 0; k < 4; k++)
        if (w->stride[k][last] != 1)
            return false;
    for (uint32_t i = 0; i < last; i++)
        if (w->stride[2][i] != 0 || w->stride[3][i] != 0)
            return false;
    *out = *w;
    out->rank--;
    out->count /= w->shape[last];
    return true;
}

static void affine_pixels(void *arg, const int64_t *offset, int64_t n)
{
    const struct copy *c = arg;
    const struct cpu_integer_pixels pixels = { .store = &c->store,
                                               .count = n,
                                               .channels = c->channels,
                                               .x_next = c->x_next,
                                               .y_next = c->y_next,
                                               .x_dtype = c->x_dtype,
                                               .x = c->x + offset[1] * c->x_size,
                                               .y = c->y + offset[0] * c->y_size,
                                               .scale = c->vector[SCALE],
                                               .shift = c->vector[SHIFT] };

    c->integer->pixels(&pixels);
}

/* ---- planes --------------------------------------------------------------------------------- */

/*
 * Whether a few planes of an image become the contiguous channels of its pixels; then makes *out
 * the walk over the pixels.
 */
static bool is_interleaved(const struct cpu_op *p, struct cpu_walk *out)
{
    const struct cpu_walk *w = &p->plan.walk;
    uint32_t last = w->rank - 1, from = p->op.in[0].dtype;
    int64_t planes = last ? w->shape[last - 1] : 0;

    if (has_vectors(p) || !(is_arithmetic(p) ? from == FERRY_F32 : from == p->op.out[0].dtype) ||
        cpu_dtype_size(from) != 4 || planes < 2 || planes > FEW || w->stride[0][last] != planes ||
        w->stride[0][last - 1] != 1 || w->stride[1][last] != 1)
        return false;
    *out = *w;
    out->rank--;
    out->count /= planes;
    out->shape[last - 1] = w->shape[last];
    for (uint32_t k = 0; k < 2; k++)
        out->stride[k][last - 1] = w->stride[k][last];
    return true;
}

static void interleave_row(void *arg, const int64_t *offset, int64_t n)
{
    const struct copy *c = arg;

    c->loops->interleave(c->planes, n, (const float *)(const void *)c->x + offset[1], c->plane,
                         (float *)(void *)c->y + offset[0]);
}

/* The same with bytes: some pixels at a time are interleaved as floats. */
static void interleave_bytes(void *arg, const int64_t *offset, int64_t n)
{
    const struct copy *c = arg;
    const float *x = (const float *)(const void *)c->x + offset[1];
    char *y = c->y + offset[0];
    float some[FEW * PIXELS] __attribute__((aligned(64)));

    for (int64_t i = 0; i < n; i += PIXELS) {
        int64_t count = n - i < PIXELS ? n - i : PIXELS;

        c->loops->interleave(c->planes, count, x + i, c->plane, some);
        c->integer->convert(&c->store, count * c->planes, FERRY_F32, some, y + i * c->planes);
    }
}

/* ---- the kind ------------------------------------------------------------------------------- */

/* Adds scale and shift to the walk: their elements are those of axis 1. */
static void add_vectors(struct cpu_walk *w, const int *vector)
{
    int64_t stride[FERRY_OP_AXES] = { 0 };

    for (int i = 0; i < 2; i++) {
        stride[1] = vector[i] >= 0;
        walk_add(w, stride);
    }
}

static int copy_plan(struct cpu_op *p)
{
    struct cpu_walk *w = &p->plan.walk;
    struct cpu_integer_store store;
    int vector[2];

    if (is_arithmetic(p)) {
        if (!p->integer.loops || !find_steps(p, &store, vector))
            return FERRY_EUNSUPPORTED;
        p->answer.epilogue = p->op.n_epilogue;
    }
    if (!cpu_dtype_size(p->op.in[0].dtype) || !cpu_dtype_size(p->op.out[0].dtype))
        return FERRY_EUNSUPPORTED;
    walk_begin(w, p->op.out[0].rank, p->op.out[0].shape);
    walk_add(w, p->op.out[0].stride);
    walk_add(w, p->op.in[0].stride);
    if (has_vectors(p))
        add_vectors(w, vector);
    order(w);
    return 0;
}

/* Sets the members for integer arithmetic. */
static void begin_arithmetic(struct copy *c, const struct cpu_op *p, const struct cpu_op_args *args)
{
    static const float otherwise[2] = { 1, 0 };
    int vector[2];

    c->integer = p->integer.loops;
    find_steps(p, &c->store, vector);
    for (uint32_t i = 0; i < 2 && has_vectors(p); i++) {
        c->vector[i] = vector[i] < 0 ? &otherwise[i] : args->in[vector[i]];
        c->vector_step[i] = walk_step(&p->plan.walk, 2 + i);
    }
}

/* Scales and shifts channels, of whole pixels if possible. */
static void affine_run(struct cpu_device *d, const struct cpu_walk *w, struct copy *c)
{
    struct cpu_walk pixels;

    cpu_integer_find_order(&c->store);
    if (!has_pixels(c, w, &pixels)) {
        walk_all(w, d->workers, c->x_size + c->y_size, affine_row, c);
        return;
    }
    c->channels = w->shape[w->rank - 1];
    c->x_next = walk_step(&pixels, 1) * c->x_size;
    c->y_next = walk_step(&pixels, 0) * c->y_size;
    walk_all(&pixels, d->workers, c->channels * BYTES_OF_AFFINE, affine_pixels, c);
}

static void copy_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_walk *w = &p->plan.walk;
    struct copy c = { .x_dtype = p->op.in[0].dtype,
                      .y_dtype = p->op.out[0].dtype,
                      .x_size = cpu_dtype_size(p->op.in[0].dtype),
                      .y_size = cpu_dtype_size(p->op.out[0].dtype),
                      .x_step = walk_step(w, 1),
                      .y_step = walk_step(w, 0),
                      .x = args->in[0],
                      .y = args->out[0],
                      .device = d,
                      .loops = p->loops };
    struct cpu_walk pixels;

    if (is_arithmetic(p))
        begin_arithmetic(&c, p, args);
    if (has_vectors(p)) {
        affine_run(d, w, &c);
        return;
    }
    if (is_interleaved(p, &pixels)) {
        c.planes = w->shape[w->rank - 2];
        c.plane = w->stride[1][w->rank - 2];
        walk_all(&pixels, d->workers, 4 * c.planes * c.x_size,
                 c.integer ? interleave_bytes : interleave_row, &c);
        return;
    }
    walk_all(w, d->workers, c.x_size + c.y_size,
             c.x_dtype == c.y_dtype && !c.integer ? copy_row : convert_row, &c);
}

const struct cpu_op_kind cpu_op_strided_copy = {
    .kind = FERRY_OP_STRIDED_COPY,
    .plan = copy_plan,
    .run = copy_run,
};
