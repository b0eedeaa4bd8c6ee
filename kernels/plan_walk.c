/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels/parts.h"

#include <string.h>

void plan_walk_add(struct walk *w, const ferry_operand *o)
{
    for (uint32_t i = 0; i < o->rank; i++)
        w->stride[w->operands].axis[i] = o->shape[i] == 1 ? 0 : o->stride[i];
    w->operands++;
}

static void copy_axis(struct walk *w, int64_t to, int64_t from)
{
    w->shape[to] = w->shape[from];
    for (int64_t k = 0; k < w->operands; k++)
        w->stride[k].axis[to] = w->stride[k].axis[from];
}

static void swap_axes(struct walk *w, int64_t a, int64_t b)
{
    struct walk kept = *w;

    copy_axis(w, a, b);
    w->shape[b] = kept.shape[a];
    for (int64_t k = 0; k < w->operands; k++)
        w->stride[k].axis[b] = kept.stride[k].axis[a];
}

static bool is_one_axis(const struct walk *w, int64_t outer, int64_t inner)
{
    for (int64_t k = 0; k < w->operands; k++)
        if (w->stride[k].axis[outer] != w->stride[k].axis[inner] * w->shape[inner])
            return false;
    return true;
}

void plan_walk_begin(struct walk *w, const ferry_operand *o)
{
    memset(w, 0, sizeof(*w));
    w->rank = o->rank;
    w->count = plan_count(o);
    memcpy(w->shape, o->shape, sizeof(w->shape));
}

static void sort(struct walk *w)
{
    for (int64_t i = 1; i < w->rank; i++)
        for (int64_t j = i; j > 0 && w->stride[0].axis[j - 1] < w->stride[0].axis[j]; j--)
            swap_axes(w, j - 1, j);
}

void plan_walk_end(struct walk *w, bool as_given)
{
    int64_t rank = 0;

    if (!as_given)
        sort(w);
    for (int64_t i = 0; i < w->rank; i++) {
        if (w->shape[i] == 1)
            continue;
        if (rank > 0 && is_one_axis(w, rank - 1, i)) {
            int64_t length = w->shape[rank - 1] * w->shape[i];

            copy_axis(w, rank - 1, i);
            w->shape[rank - 1] = length;
        } else {
            copy_axis(w, rank++, i);
        }
    }
    if (rank == 0) {
        w->shape[0] = 1;
        for (int64_t k = 0; k < w->operands; k++)
            w->stride[k].axis[0] = 0;
        rank = 1;
    }
    w->rank = rank;
}
