/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the oracle share: operands of a run that can be walked, and the kinds by file.
 */
#ifndef FERRY_OP_ORACLE_PARTS_H
#define FERRY_OP_ORACLE_PARTS_H

#include "op/element.h"
#include "op/operand.h"

#include "kernels/kinds.h"

#include <string.h>

/* An operand of a run: where its first element is, and how it lies. */
struct view {
    ferry_operand o;
    void *at;
};

/* A run: everything that a kind's function reads and writes. */
struct scene {
    const ferry_op_desc *op;
    struct view in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    const double *scalars;
    uint32_t scalar_count;
    uint64_t seed, offset;
};

/* An index that walks over a shape, the last axis fastest. */
struct walk {
    int64_t i[FERRY_OP_AXES];
    int64_t left; /* elements that are still to come, this one among them */
};

static inline struct walk walk_over(const ferry_operand *shape)
{
    struct walk w;

    memset(&w, 0, sizeof w);
    w.left = ferry__operand_count(shape);
    return w;
}

static inline void walk_on(struct walk *w, const ferry_operand *shape)
{
    uint32_t axis = shape->rank;

    w->left--;
    while (axis-- > 0) {
        if (++w->i[axis] < shape->shape[axis])
            return;
        w->i[axis] = 0;
    }
}

/* Elements from the first to the one at the walk's index; axes of one element are repeated. */
static inline int64_t view_place(const struct view *v, const int64_t *index)
{
    int64_t place = 0;
    uint32_t axis;

    for (axis = 0; axis < v->o.rank; axis++)
        if (v->o.shape[axis] > 1)
            place += index[axis] * v->o.stride[axis];
    return place;
}

static inline double view_get(const struct view *v, const int64_t *index)
{
    return ferry__element_get(v->o.dtype, v->at, view_place(v, index));
}

static inline void view_set(const struct view *v, const int64_t *index, double value)
{
    ferry__element_set(v->o.dtype, v->at, view_place(v, index), value);
}

/* The next element of a kernel; 0 behind the last. */
int oracle_kernel_on(const ferry_op_window *w, int64_t *k);
/* Where element k of the window at place p is: `image` gets spatial indices; 0 in the padding. */
int oracle_inside(const ferry_op_window *w, const ferry_operand *wide, const int64_t *p,
                  const int64_t *k, int64_t *image);
/* The reverse: the place p whose window has `image` as its element k; 0 where there is none. */
int oracle_reached(const ferry_op_window *w, const ferry_operand *narrow, const int64_t *image,
                   const int64_t *k, int64_t *p);
/* Elements of the pooling window at y that count for an average's divisor. */
double oracle_divisor(const ferry_op_desc *op, const ferry_operand *x, const int64_t *y);
/* The offset of an element in its plane. */
int64_t oracle_in_plane(const ferry_operand *x, const int64_t *at);

/* The two elements of an axis that element i of its resized form is made of. */
struct oracle_sample {
    int64_t at[2];
    double second; /* how much the second one counts */
};

struct oracle_sample oracle_sample_of(const ferry_op_desc *op, int64_t i, int64_t in, int64_t out);

/*
 * The function of each row of kernels/kinds.h: oracle_window.c, oracle_kinds.c, oracle_image.c,
 * oracle_update.c, oracle_backward.c, oracle_backward_window.c.
 */
typedef void oracle_function(const struct scene *s);
#define ORACLE(kind, pass, id, ...) oracle_function oracle_##id;
KIND_LIST(ORACLE)
#undef ORACLE

#endif
