/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

/* CONVOLUTION plane by plane, for shapes that no faster implementation supports. */

struct direct {
    const struct cpu_op *op;
    const void *x, *w, *bias;
    void *y;
    int64_t bias_step;
    bool is_transposed;
};

/*
 * Whether tap `k` of position `at` of y's axis is inside the image. *out is the element's position.
 */
static bool see(const struct direct *c, int axis, int64_t at, int64_t k, int64_t *out)
{
    const struct cpu_window *w = &c->op->plan.convolution.window;
    int64_t i = at * w->stride[axis] - w->pad[axis] + k * w->dilation[axis];

    if (c->is_transposed) {
        i = at + w->pad[axis] - k * w->dilation[axis];
        if (i < 0 || i % w->stride[axis] != 0)
            return false;
        i /= w->stride[axis];
    }
    *out = i;
    return i >= 0 && i < w->in[axis];
}

#define IMPL "direct_impl.h"
#include "reals_impl.h"

void cpu_direct_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct direct c = { .op = p,
                        .x = args->in[0],
                        .w = args->in[1],
                        .bias = p->own_in > 2 ? args->in[2] : NULL,
                        .y = args->out[0],
                        .bias_step = p->op.in[2].stride[0],
                        .is_transposed = p->op.params.window.transposed != 0 };
    int64_t planes = w->images * w->outputs;
    int64_t cost = w->out[0] * w->out[1] * w->out[2] * w->taps * w->channels;

    workers_run(d->workers, planes, walk_piece_of(planes, cost + 1),
                p->op.out[0].dtype == FERRY_F32 ? convolve_planes_f32 : convolve_planes_f64, &c);
}
