/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/reference/reference.h"

int64_t op_count(const ferry_operand *o)
{
    int64_t n = 1;

    for (uint32_t axis = 0; axis < o->rank; axis++)
        n *= o->shape[axis];
    return n;
}

bool op_next(const ferry_operand *o, int64_t *i)
{
    for (uint32_t axis = o->rank; axis-- > 0; i[axis] = 0)
        if (++i[axis] < o->shape[axis])
            return true;
    return false;
}

bool op_next_along(const ferry_operand *o, uint32_t mask, int64_t *i)
{
    for (uint32_t axis = o->rank; axis-- > 0;) {
        if (!(mask >> axis & 1))
            continue;
        if (++i[axis] < o->shape[axis])
            return true;
        i[axis] = 0;
    }
    return false;
}

int64_t op_place(const ferry_operand *o, const int64_t *i)
{
    int64_t at = 0;

    for (uint32_t axis = 0; axis < o->rank; axis++)
        at += o->shape[axis] > 1 ? i[axis] * o->stride[axis] : 0;
    return at;
}

long double op_get(const struct op_view *v, const int64_t *i)
{
    return op_at(v, op_place(&v->o, i));
}

long double op_get_repeated(const struct op_view *v, const int64_t *i)
{
    int64_t at[FERRY_OP_AXES] = { 0 };

    for (uint32_t axis = 0; axis < v->o.rank; axis++)
        at[axis] = v->o.shape[axis] > 1 ? i[axis] : 0;
    return op_get(v, at);
}

uint32_t op_own_inputs(const ferry_op_desc *op)
{
    uint32_t own = op->n_in;

    for (uint32_t k = 0; k < op->n_epilogue; k++)
        own -= op->epilogue[k].step != FERRY_STEP_UNARY;
    return own;
}
