/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/import/fold.h"

#include <ferry/status.h>

struct ferry__import_view ferry__import_view_of(const struct ferry__import_tensor *t)
{
    struct ferry__import_view v = { .t = t, .shape = t->shape };
    int64_t step = 1;

    for (int i = t->shape.rank; i-- > 0; step *= t->shape.dim[i])
        v.step[i] = step;
    return v;
}

struct ferry__import_view ferry__import_view_as(struct ferry__import *im,
                                                const struct ferry__import_tensor *t,
                                                const struct ferry__import_shape *shape)
{
    struct ferry__import_view v = { .t = t, .shape = *shape };
    int more = shape->rank - t->shape.rank;
    int64_t step = 1;

    if (more < 0)
        ferry__import_fail(im, FERRY_EFORMAT, "%d axes do not broadcast to %d", t->shape.rank,
                           shape->rank);
    for (int i = t->shape.rank; !im->err && i-- > 0; step *= t->shape.dim[i]) {
        if (t->shape.dim[i] != 1 && t->shape.dim[i] != shape->dim[i + more])
            ferry__import_fail(im, FERRY_EFORMAT,
                               "%lld elements of an axis do not broadcast to %lld",
                               (long long)t->shape.dim[i], (long long)shape->dim[i + more]);
        v.step[i + more] = t->shape.dim[i] == 1 ? 0 : step;
    }
    return v;
}

int64_t ferry__import_view_at(const struct ferry__import_view *v, int64_t i)
{
    int64_t at = v->start;

    for (int k = v->shape.rank; k-- > 0; i /= v->shape.dim[k])
        at += i % v->shape.dim[k] * v->step[k];
    return at;
}

struct ferry__import_tensor ferry__import_make(struct ferry__import *im, int type,
                                               const struct ferry__import_shape *shape,
                                               void **out_elements)
{
    struct ferry__import_tensor t = { .type = type };

    *out_elements = NULL;
    if (!im->err && !ferry__import_tensor_make(&im->arena, type, shape, &t, out_elements))
        ferry__import_fail(im, FERRY_ENOMEM, "no memory, or its constant is larger than 64 MiB");
    if (im->err) {
        t.count = 0;
        *out_elements = NULL;
    }
    return t;
}

struct ferry__import_tensor ferry__import_view_copy(struct ferry__import *im,
                                                    const struct ferry__import_view *v)
{
    bool integer = ferry__import_type_is_integer(v->t->type);
    void *out;
    struct ferry__import_tensor t =
        ferry__import_make(im, integer ? FERRY__ONNX_INT64 : FERRY__ONNX_FLOAT, &v->shape, &out);

    for (int64_t i = 0; i < t.count; i++) {
        int64_t at = ferry__import_view_at(v, i);

        if (integer)
            ((int64_t *)out)[i] = ferry__import_tensor_integer(v->t, at);
        else
            ((float *)out)[i] = (float)ferry__import_tensor_real(v->t, at);
    }
    return t;
}

struct ferry__import_shape ferry__import_broadcast(struct ferry__import *im,
                                                   const struct ferry__import_shape *a,
                                                   const struct ferry__import_shape *b)
{
    const struct ferry__import_shape *longer = a->rank >= b->rank ? a : b,
                                     *other = longer == a ? b : a;
    struct ferry__import_shape out = *longer;
    int more = longer->rank - other->rank;

    for (int i = 0; i < other->rank; i++) {
        int64_t *dim = &out.dim[i + more];

        if (*dim != 1 && other->dim[i] != 1 && *dim != other->dim[i])
            ferry__import_fail(im, FERRY_EFORMAT, "axes of %lld and %lld elements do not broadcast",
                               (long long)*dim, (long long)other->dim[i]);
        if (*dim == 1)
            *dim = other->dim[i];
    }
    return out;
}
