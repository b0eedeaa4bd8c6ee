/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of MOMENTS and SOFTMAX backward, of type T: normalise_backward.c includes this twice. No
 * include guard.
 */

static void NAME(sum_row)(void *arg, const int64_t *offset, int64_t n)
{
    struct part *part = arg;
    const struct cpu_walk *w = &part->n->op->plan.reduce.inner;
    const T *dy = (const T *)part->n->dy + part->dy + offset[0];
    const T *y = part->n->y ? (const T *)part->n->y + part->y + offset[2] : NULL;

    for (int64_t i = 0; i < n; i++) {
        double value = (double)dy[i * walk_step(w, 0)];

        part->sum += value;
        part->product += y ? value * (double)y[i * walk_step(w, 2)] : 0;
    }
}

static void NAME(center_row)(void *arg, const int64_t *offset, int64_t n)
{
    const struct part *part = arg;
    const struct cpu_walk *w = &part->n->op->plan.reduce.inner;
    const T *dy = (const T *)part->n->dy + part->dy + offset[0];
    const T *y = part->n->y ? (const T *)part->n->y + part->y + offset[2] : dy;
    T *dx = (T *)part->n->dx + part->dx + offset[1];
    const T mean = (T)part->sum, product = (T)part->product, scale = (T)part->scale;
    int64_t dy_step = walk_step(w, 0), dx_step = walk_step(w, 1), y_step = walk_step(w, 2);

    for (int64_t i = 0; i < n; i++) /* dx may be dy */
        dx[i * dx_step] = scale * (dy[i * dy_step] - mean - y[i * y_step] * product);
}

static void NAME(softmax_line)(const struct normal *n, const T *dy, const T *y, T *dx)
{
    const ferry_op_desc *op = &n->op->op;
    uint32_t axis = op->params.softmax.axis;
    int64_t dy_step = op->in[0].stride[axis], y_step = op->in[1].stride[axis];
    bool is_logarithm = op->params.softmax.logarithm != 0;
    double sum = 0;

    for (int64_t i = 0; i < op->in[0].shape[axis]; i++)
        sum += is_logarithm ? (double)dy[i * dy_step]
                            : (double)dy[i * dy_step] * (double)y[i * y_step];
    for (int64_t i = 0; i < op->in[0].shape[axis]; i++) {
        T from = dy[i * dy_step], p = y[i * y_step];

        dx[i * op->out[0].stride[axis]] =
            is_logarithm ? from - MATH(exp)(p) * (T)sum : p * (from - (T)sum);
    }
}

static void NAME(softmax_row)(void *arg, const int64_t *offset, int64_t count)
{
    const struct normal *n = arg;
    const struct cpu_walk *w = &n->op->plan.walk;

    for (int64_t i = 0; i < count; i++)
        NAME(softmax_line)
    (n, (const T *)n->dy + offset[1] + i * walk_step(w, 1),
     (const T *)n->y + offset[2] + i * walk_step(w, 2),
     (T *)n->dx + offset[0] + i * walk_step(w, 0));
}
