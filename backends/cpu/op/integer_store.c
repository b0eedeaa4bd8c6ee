/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer_run.h"

#include "common/window.h"

#include <math.h>
#include <string.h>

/* The steps that follow the sums of operations with bytes, and of products of BF16. */

/* ---- positions ------------------------------------------------------------------------------ */

struct cpu_integer_pixel cpu_integer_pixel_of(const struct cpu_window *w, int64_t row)
{
    struct cpu_integer_pixel p;

    p.at[2] = row % w->out[2];
    p.at[1] = row / w->out[2] % w->out[1];
    p.at[0] = row / w->out[2] / w->out[1] % w->out[0];
    p.image = row / w->out[2] / w->out[1] / w->out[0];
    return p;
}

void cpu_integer_next_pixel(const struct cpu_window *w, struct cpu_integer_pixel *p)
{
    for (int i = 2; i >= 0; i--) {
        if (++p->at[i] < w->out[i])
            return;
        p->at[i] = 0;
    }
    p->image++;
}

static int64_t offset_of(const struct cpu_integer_pixel *p, const int64_t *stride)
{
    return p->image * stride[0] + p->at[0] * stride[2] + p->at[1] * stride[3] +
           p->at[2] * stride[4];
}

int64_t cpu_integer_next_of(const struct cpu_window *w, const int64_t *stride)
{
    for (int i = 2; i >= 0; i--)
        if (w->out[i] > 1)
            return stride[2 + i];
    return stride[0];
}

bool cpu_integer_is_even(const struct cpu_window *w, const int64_t *stride)
{
    int64_t next = cpu_integer_next_of(w, stride);

    for (int i = 2; i >= 0; i--) {
        if (w->out[i] > 1 && stride[2 + i] != next)
            return false;
        next *= w->out[i];
    }
    return w->images == 1 || stride[0] == next;
}

/* ---- stores --------------------------------------------------------------------------------- */

int64_t cpu_integer_size(uint32_t dtype)
{
    return dtype == FERRY_F32 ? 4 : dtype == FERRY_BF16 ? 2 : 1;
}

static float value_at(uint32_t dtype, const char *p)
{
    return dtype == FERRY_F32    ? *(const float *)(const void *)p
           : dtype == FERRY_BF16 ? cpu_float_of_bf16(*(const uint16_t *)(const void *)p)
           : dtype == FERRY_U8   ? (float)*(const uint8_t *)p
                                 : (float)*(const int8_t *)p;
}

void cpu_integer_find_order(struct cpu_integer_store *s)
{
    const float low = s->dtype == FERRY_U8 ? 0 : -128, high = s->dtype == FERRY_U8 ? 255 : 127;

    s->is_ordered = (s->dtype == FERRY_I8 || s->dtype == FERRY_U8) && s->factor > 0 &&
                    isfinite(s->factor) && isfinite(s->term) && s->least <= s->most;
    s->low = fminf(fmaxf(fmaf(s->least, s->factor, s->term), low), high);
    s->high = fminf(fmaxf(fmaf(s->most, s->factor, s->term), low), high);
}

/* Applies the steps of the epilogue one by one to a row of sums. */
static void store_by_steps(const struct cpu_integer_run *r, int64_t column, int64_t columns,
                           const int32_t *sums, const struct cpu_integer_place *place)
{
    const struct cpu_op *p = r->op;
    const struct cpu_integer_loops *loops = p->integer.loops;
    int64_t step = p->op.out[0].rank > 1 ? p->op.out[0].stride[1] : 1;
    int64_t size = cpu_integer_size(p->op.out[0].dtype);
    struct cpu_integer_store plain = {
        .dtype = FERRY_F32, .least = -INFINITY, .most = INFINITY, .factor = 1
    };
    float v[INTEGER_MOST_COLUMNS];
    char out[4 * INTEGER_MOST_COLUMNS];

    plain.bias = r->op->own_in > 2 ? (const float *)r->args->in[2] + column : NULL;
    loops->store(&plain, 0, columns, 1, sums, &(struct cpu_integer_place){ .y = (char *)v });
    for (uint32_t i = 0; i < p->op.n_epilogue; i++) {
        const ferry_op_step *s = &p->op.epilogue[i];
        struct cpu_step one = {
            .step = s->step, .function = s->function, .a = s->a, .b = s->b, .c = s->c
        };

        if (s->step == FERRY_STEP_ADD) {
            for (int64_t j = 0; j < columns; j++)
                v[j] += value_at(r->add->dtype, place->add + (column + j) * r->add_strides[1] *
                                                                 cpu_integer_size(r->add->dtype));
            continue;
        }
        if (s->step != FERRY_STEP_UNARY) {
            one.stride = p->op.in[s->operand].shape[0] > 1;
            one.operand = (const float *)r->args->in[s->operand] + column * one.stride;
        }
        p->loops->step(&one, columns, v);
    }
    if (p->op.out[0].dtype == FERRY_F32 && (step == 1 || columns == 1)) {
        memcpy(place->y + column * step * size, v, (size_t)(columns * size));
        return;
    }
    plain.dtype = p->op.out[0].dtype;
    loops->convert(&plain, columns, FERRY_F32, v, out);
    for (int64_t j = 0; j < columns; j++)
        memcpy(place->y + (column + j) * step * size, out + j * size, (size_t)size);
}

void cpu_integer_put(const struct cpu_integer_run *r, int64_t column, int64_t columns, int64_t rows,
                     const int32_t *sums, const struct cpu_integer_place *place)
{
    if (r->is_simple)
        r->op->integer.loops->store(&r->store, column, columns, rows, sums, place);
    else
        for (int64_t i = 0; i < rows; i++) {
            const struct cpu_integer_place at = { .y = place->y + i * place->y_next,
                                                  .add = place->add + i * place->add_next };

            store_by_steps(r, column, columns, sums + i * INTEGER_MOST_COLUMNS, &at);
        }
}

/* Adds a step to the store; false if the store does not support it after its present steps. */
static bool take_step(struct cpu_integer_run *r, const ferry_op_step *s, int *order)
{
    struct cpu_integer_store *to = &r->store;
    bool is_unary = s->step == FERRY_STEP_UNARY;
    int at = s->step == FERRY_STEP_SCALE ? 1 : s->step == FERRY_STEP_ADD ? 2 : is_unary ? 3 : 9;

    if (is_unary && s->function == FERRY_UNARY_POWER && s->a == 1)
        at = 4;
    if (at <= *order || at == 9)
        return false;
    *order = at;
    if (at == 1) {
        to->scale = r->args->in[s->operand];
        return r->op->op.in[s->operand].shape[0] > 1 || r->op->integer.n == 1;
    }
    if (at == 2) {
        to->adds = true;
        to->add_dtype = r->add->dtype;
        return r->add_strides[1] == 1 || r->op->integer.n * r->op->integer.groups == 1;
    }
    if (at == 4) {
        to->factor = (float)s->b;
        to->term = (float)s->c;
        return true;
    }
    if (s->function == FERRY_UNARY_RELU && s->a == 0)
        to->least = 0;
    else if (s->function == FERRY_UNARY_CLIP) {
        to->least = (float)s->a;
        to->most = (float)s->b;
    } else
        return false;
    return true;
}

void cpu_integer_strides_of(const struct cpu_op *p, const ferry_operand *o, int64_t *out)
{
    memset(out, 0, 5 * sizeof(*out));
    out[0] = o->stride[0];
    out[1] = o->stride[1];
    if (!p->integer.is_row)
        ferry__widen(&o->stride[2], p->plan.convolution.window.axes, 0, &out[2]);
}

void cpu_integer_find_store(struct cpu_integer_run *r)
{
    const struct cpu_op *p = r->op;
    int order = 0;

    r->store = (struct cpu_integer_store){
        .dtype = p->op.out[0].dtype, .least = -INFINITY, .most = INFINITY, .factor = 1
    };
    r->store.bias = p->own_in > 2 ? r->args->in[2] : NULL;
    for (uint32_t i = 0; i < p->op.n_epilogue; i++) {
        const ferry_op_step *s = &p->op.epilogue[i];

        if (s->step != FERRY_STEP_ADD)
            continue;
        r->add = &p->op.in[s->operand];
        r->added = r->args->in[s->operand];
        cpu_integer_strides_of(p, r->add, r->add_strides);
    }
    r->is_simple = p->op.out[0].stride[1] == 1 || p->op.out[0].shape[1] == 1;
    for (uint32_t i = 0; i < p->op.n_epilogue && r->is_simple; i++)
        r->is_simple = take_step(r, &p->op.epilogue[i], &order);
    cpu_integer_find_order(&r->store);
}

bool cpu_integer_takes_store(const struct cpu_integer_run *r, int64_t columns)
{
    const struct cpu_integer_loops *loops = r->op->integer.loops;

    return loops->stores && !r->op->integer.amx && r->is_simple && columns >= loops->columns &&
           (r->store.is_ordered || r->store.dtype == FERRY_F32 || r->store.dtype == FERRY_BF16);
}

struct cpu_integer_place cpu_integer_place_at(const struct cpu_integer_run *r, int64_t group,
                                              const struct cpu_integer_pixel *at)
{
    const struct cpu_op *p = r->op;
    const struct cpu_window *w = &p->plan.convolution.window;
    const ferry_operand *o = &p->op.out[0];
    int64_t column = group * p->integer.n, size = cpu_integer_size(o->dtype);
    struct cpu_integer_place place = { .y = (char *)r->args->out[0] +
                                            (offset_of(at, w->y) + column * o->stride[1]) * size,
                                       .y_next = cpu_integer_next_of(w, w->y) * size };

    if (!r->add)
        return place;
    size = cpu_integer_size(r->add->dtype);
    place.add = r->added + (offset_of(at, r->add_strides) + column * r->add_strides[1]) * size;
    place.add_next = cpu_integer_next_of(w, r->add_strides) * size;
    return place;
}

struct cpu_integer_place cpu_integer_place_of(const struct cpu_integer_run *r, int64_t group,
                                              int64_t row)
{
    const struct cpu_op *p = r->op;
    const ferry_operand *o = &p->op.out[0];
    struct cpu_integer_pixel at;
    struct cpu_integer_place place;
    int64_t size = cpu_integer_size(o->dtype);

    if (!p->integer.is_row) {
        at = cpu_integer_pixel_of(&p->plan.convolution.window, row);
        return cpu_integer_place_at(r, group, &at);
    }
    place = (struct cpu_integer_place){ .y = (char *)r->args->out[0] + row * o->stride[0] * size,
                                        .y_next = o->stride[0] * size };
    if (!r->add)
        return place;
    size = cpu_integer_size(r->add->dtype);
    place.add = r->added + row * r->add_strides[0] * size;
    place.add_next = r->add_strides[0] * size;
    return place;
}
