/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/window.h"
#include "op.h"

#include <string.h>

void cpu_window_make(const ferry_op_window *window, const ferry_operand *x, const ferry_operand *y,
                     struct cpu_window *out)
{
    memset(out, 0, sizeof(*out));
    out->images = x->shape[0];
    out->channels = x->shape[1];
    out->outputs = y->shape[1];
    for (int i = 0; i < 2; i++) {
        out->x[i] = x->stride[i];
        out->y[i] = y->stride[i];
    }
    out->axes = window->axes;
    ferry__widen(&x->stride[2], window->axes, 0, &out->x[2]);
    ferry__widen(&y->stride[2], window->axes, 0, &out->y[2]);
    ferry__widen(&x->shape[2], window->axes, 1, out->in);
    ferry__widen(&y->shape[2], window->axes, 1, out->out);
    FERRY__WIDEN_WINDOW(window, out->kernel, out);
    out->taps = out->kernel[0] * out->kernel[1] * out->kernel[2];
}

struct cpu_span cpu_window_whole(const struct cpu_window *w, int axis)
{
    int64_t stride = w->stride[axis], reach = w->dilation[axis] * (w->kernel[axis] - 1) + 1;
    int64_t room = w->in[axis] + w->pad[axis] - reach;
    int64_t whole = room < 0 ? 0 : room / stride + 1, first = (w->pad[axis] + stride - 1) / stride;
    int64_t end = whole < w->out[axis] ? whole : w->out[axis];

    return first < end ? (struct cpu_span){ first, end }
                       : (struct cpu_span){ w->out[axis], w->out[axis] };
}

int64_t cpu_window_clip(const struct cpu_window *w, uint32_t divisor, const int64_t *at,
                        int64_t *out_first, int64_t *out_end)
{
    int64_t padded = 1, valid = 1;

    for (int i = 0; i < 3; i++) {
        int64_t first = at[i] * w->stride[i] - w->pad[i], end = first + w->kernel[i];

        if (end > w->in[i] + w->pad_end[i])
            end = w->in[i] + w->pad_end[i];
        padded *= end - first;
        out_first[i] = first > 0 ? first : 0;
        out_end[i] = end < w->in[i] ? end : w->in[i];
        valid *= out_end[i] > out_first[i] ? out_end[i] - out_first[i] : 0;
    }
    return divisor == FERRY_POOL_DIVISOR_VALID ? valid : padded;
}

/* ---- pixels --------------------------------------------------------------------------------- */

void cpu_pixels_begin(const struct cpu_window *w, int64_t most, struct cpu_pixels *out)
{
    *out = (struct cpu_pixels){ w, w->in[0] * w->in[1] * w->in[2], most };
}

void cpu_pixels_add(struct cpu_pixels *p, const int64_t *stride)
{
    const int64_t *in = p->window->in;
    int64_t run = 1;

    for (int i = 2; i >= 0 && (in[i] == 1 || stride[2 + i] == run); i--)
        run *= in[i];
    p->run = run < p->run ? run : p->run; /* the shorter run, since one is a multiple of the
                                           * other */
}

static int64_t blocks_of_run(const struct cpu_pixels *p)
{
    return (p->run + p->most - 1) / p->most;
}

void cpu_pixels_all(const struct cpu_pixels *p, struct workers *workers, int64_t bytes,
                    workers_body body, void *arg)
{
    const struct cpu_window *w = p->window;
    int64_t runs = w->images * (w->in[0] * w->in[1] * w->in[2] / p->run);
    int64_t blocks = runs * blocks_of_run(p), pixels = p->run < p->most ? p->run : p->most;

    workers_run(workers, blocks, walk_piece_of(blocks, pixels * bytes), body, arg);
}

struct cpu_pixel_block cpu_pixels_block(const struct cpu_pixels *p, int64_t i)
{
    const int64_t *in = p->window->in;
    int64_t blocks = blocks_of_run(p), runs = in[0] * in[1] * in[2] / p->run;
    int64_t done = i % blocks * p->most, pixel = i / blocks % runs * p->run + done;
    struct cpu_pixel_block b = { .image = i / blocks / runs };

    b.at[0] = pixel / in[2] / in[1];
    b.at[1] = pixel / in[2] % in[1];
    b.at[2] = pixel % in[2];
    b.pixels = p->run - done < p->most ? p->run - done : p->most;
    return b;
}
