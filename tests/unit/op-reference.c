/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes --------------------------------------------------------------------------------- */

static int64_t count(const ferry_operand *o)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < o->rank; i++)
        n *= o->shape[i];
    return n;
}

/* The indices of element i of a shape. */
static void unravel(const ferry_operand *o, int64_t i, int64_t *index)
{
    for (uint32_t a = o->rank; a-- > 0; i /= o->shape[a])
        index[a] = i % o->shape[a];
}

static int64_t ravel(const ferry_operand *o, const int64_t *index)
{
    int64_t i = 0;

    for (uint32_t a = 0; a < o->rank; a++)
        i = i * o->shape[a] + (o->shape[a] == 1 ? 0 : index[a]);
    return i;
}

/* Taps of a window: the tap's indices, and where it sees the input; 0 if in the padding. */
static int64_t taps(const ferry_op_window *w)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < w->axes; i++)
        n *= w->kernel[i];
    return n;
}

static int sees(const ferry_op_window *w, const ferry_operand *x, const int64_t *y_index,
                int64_t tap, int64_t *k, int64_t *x_index)
{
    int inside = 1;

    for (uint32_t i = w->axes; i-- > 0; tap /= w->kernel[i]) {
        int64_t at;

        k[i] = tap % w->kernel[i];
        at = y_index[i] * w->stride[i] - w->pad[i] + k[i] * w->dilation[i];
        if (w->transposed) {
            at = y_index[i] + w->pad[i] - k[i] * w->dilation[i];
            inside &= at >= 0 && at % w->stride[i] == 0;
            at /= w->stride[i];
        }
        inside &= at >= 0 && at < x->shape[2 + i];
        x_index[i] = at;
    }
    return inside;
}

/* ---- windows -------------------------------------------------------------------------------- */

static void convolution(const ferry_op *op, uint32_t own, const double *const *in, double *y)
{
    const ferry_op_window *w = &op->params.window;
    int64_t c_group = op->in[0].shape[1] / w->group, o_group = op->out[0].shape[1] / w->group;
    int64_t at[8], x_at[8], w_at[8];

    for (int64_t i = 0; i < count(&op->out[0]); i++) {
        double sum = 0;

        unravel(&op->out[0], i, at);
        for (int64_t c = 0; c < c_group; c++)
            for (int64_t t = 0; t < taps(w); t++) {
                int64_t group = at[1] / o_group;

                x_at[0] = at[0];
                x_at[1] = group * c_group + c;
                w_at[0] = w->transposed ? x_at[1] : at[1];
                w_at[1] = w->transposed ? at[1] % o_group : c;
                if (sees(w, &op->in[0], at + 2, t, w_at + 2, x_at + 2))
                    sum += in[0][ravel(&op->in[0], x_at)] * in[1][ravel(&op->in[1], w_at)];
            }
        y[i] = sum + (own > 2 ? in[2][at[1]] : 0);
    }
}

/* With image and columns in the operation's in and out or the other way round. */
static void columns(const ferry_op *op, const ferry_operand *image, const ferry_operand *cols,
                    const double *from, double *to)
{
    const ferry_op_window *w = &op->params.window;
    int64_t at[8], x_at[8], k[3];

    if (op->kind == FERRY_OP_COL2IM)
        memset(to, 0, sizeof(double) * (size_t)count(image));
    for (int64_t i = 0; i < count(cols); i++) {
        int inside;

        unravel(cols, i, at);
        x_at[0] = at[0];
        x_at[1] = at[1] / taps(w);
        inside = sees(w, image, at + 2, at[1] % taps(w), k, x_at + 2);
        if (op->kind == FERRY_OP_IM2COL)
            to[i] = inside ? from[ravel(image, x_at)] : 0;
        else if (inside)
            to[ravel(image, x_at)] += from[i];
    }
}

static void pool(const ferry_op *op, const double *x, double *const *out)
{
    const ferry_op_window *w = &op->params.window;
    int64_t at[8], x_at[8], k[3];

    for (int64_t i = 0; i < count(&op->out[0]); i++) {
        double most = (double)-FLT_MAX, sum = 0, padded = 0, valid = 0, where = -1;

        unravel(&op->out[0], i, at);
        for (int64_t t = 0; t < taps(w); t++) {
            int inside, counts = 1;
            int64_t plane = 0;

            x_at[0] = at[0];
            x_at[1] = at[1];
            inside = sees(w, &op->in[0], at + 2, t, k, x_at + 2);
            for (uint32_t a = 0; a < w->axes; a++) {
                counts &= x_at[2 + a] < op->in[0].shape[2 + a] + w->pad_end[a];
                plane = plane * op->in[0].shape[2 + a] + x_at[2 + a];
            }
            padded += counts;
            if (!inside)
                continue;
            valid++;
            sum += x[ravel(&op->in[0], x_at)];
            if (x[ravel(&op->in[0], x_at)] > most) {
                most = x[ravel(&op->in[0], x_at)];
                where = (double)plane;
            }
        }
        if (op->params.pool.divisor == FERRY_POOL_DIVISOR_VALID)
            padded = valid;
        out[0][i] = op->params.pool.method == FERRY_POOL_MAX ? most : padded > 0 ? sum / padded : 0;
        if (op->n_out > 1)
            out[1][i] = where;
    }
}

static void lrn(const ferry_op *op, const double *x, double *const *out)
{
    const ferry_operand *o = &op->in[0];
    int64_t half = (op->params.lrn.size - 1) / 2, at[8], by[8];
    int across = op->params.lrn.region == FERRY_LRN_ACROSS;
    uint32_t first = across ? 1 : 2, end = across ? 2 : o->rank;

    for (int64_t i = 0; i < count(o); i++) {
        double sum = 0, scale, elements = across ? (double)op->params.lrn.size : 1;

        unravel(o, i, at);
        for (uint32_t a = 2; a < o->rank && !across; a++) {
            int64_t last = at[a] + half + 1, most = o->shape[a] + half;

            elements *= (double)((last < most ? last : most) - (at[a] - half));
        }
        for (int64_t j = 0; j < count(o); j++) {
            int inside = 1;

            unravel(o, j, by);
            for (uint32_t a = 0; a < o->rank; a++)
                inside &= a >= first && a < end ? llabs(by[a] - at[a]) <= half : by[a] == at[a];
            sum += inside ? x[j] * x[j] : 0;
        }
        scale = (across ? op->params.lrn.k : 1) + op->params.lrn.alpha * sum / elements;
        out[0][i] = x[i] * pow(scale, -op->params.lrn.beta);
        if (op->n_out > 1)
            out[1][i] = scale;
    }
}

/* ---- matrices ------------------------------------------------------------------------------- */

static void inner_product(const ferry_op *op, uint32_t own, const double *const *in, double *y)
{
    int64_t n = op->in[1].shape[0], k = op->in[1].shape[1];

    for (int64_t i = 0; i < op->out[0].shape[0]; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = own > 2 ? in[2][j] : 0;

            for (int64_t l = 0; l < k; l++)
                sum += in[0][i * k + l] * in[1][j * k + l];
            y[i * n + j] = sum;
        }
}

static void batched_gemm(const ferry_op *op, uint32_t own, const double *const *in, double *y)
{
    int64_t at[8], k = op->in[0].shape[2];

    for (int64_t i = 0; i < count(&op->out[0]); i++) {
        double sum = 0;

        unravel(&op->out[0], i, at);
        for (int64_t l = 0; l < k; l++) {
            int64_t a_at[3] = { at[0], at[1], l }, b_at[3] = { at[0], l, at[2] };

            sum += in[0][ravel(&op->in[0], a_at)] * in[1][ravel(&op->in[1], b_at)];
        }
        y[i] = op->params.gemm.alpha * sum;
        if (own > 2)
            y[i] += op->params.gemm.beta * in[2][ravel(&op->in[2], at)];
    }
}

/* ---- elements ------------------------------------------------------------------------------- */

static double unary(uint32_t function, double x, double a, double b, double c)
{
    switch (function) {
    case FERRY_UNARY_RELU:
        return x > 0 ? x : a * x;
    case FERRY_UNARY_ELU:
        return x > 0 ? x : a * (exp(x) - 1);
    case FERRY_UNARY_SIGMOID:
        return 1 / (1 + exp(-x));
    case FERRY_UNARY_TANH:
        return tanh(x);
    case FERRY_UNARY_ABS:
        return fabs(x);
    case FERRY_UNARY_POWER:
        return a == 0 ? 1 : pow(b * x + c, a);
    case FERRY_UNARY_EXP:
        return exp(a * x + b);
    case FERRY_UNARY_LOG:
        return c * log(a * x + b);
    case FERRY_UNARY_BNLL:
        return x > 0 ? x + log(1 + exp(-x)) : log(1 + exp(x));
    case FERRY_UNARY_THRESHOLD:
        return x > a ? 1 : 0;
    case FERRY_UNARY_CLIP:
        return fmin(fmax(x, a), b);
    default:
        return x / (1 + exp(-a * x));
    }
}

static double binary(const ferry_op *op, double x, double u, double v)
{
    switch (op->params.binary.function) {
    case FERRY_BINARY_SUM:
        return op->params.binary.a * x + op->params.binary.b * u;
    case FERRY_BINARY_PRODUCT:
        return x * u;
    case FERRY_BINARY_MAX:
        return x > u ? x : u;
    case FERRY_BINARY_SCALE:
        return x * u + v;
    case FERRY_BINARY_PRELU:
        return x > 0 ? x : u * x;
    case FERRY_BINARY_NORMALISE:
        return (x - u) * v;
    default:
        return x / u;
    }
}

static void elements(const ferry_op *op, uint32_t own, const double *const *in, double *y)
{
    int64_t at[8];

    for (int64_t i = 0; i < count(&op->out[0]); i++) {
        double value[3] = { 0, 0, 0 };

        unravel(&op->out[0], i, at);
        for (uint32_t k = 0; k < own; k++)
            value[k] = in[k][ravel(&op->in[k], at)];
        if (op->kind == FERRY_OP_UNARY)
            y[i] = unary(op->params.unary.function, value[0], op->params.unary.a,
                         op->params.unary.b, op->params.unary.c);
        else if (op->kind == FERRY_OP_BINARY)
            y[i] = binary(op, value[0], value[1], value[2]);
        else
            y[i] = value[0];
    }
}

/* ---- over axes ------------------------------------------------------------------------------ */

static void moments(const ferry_op *op, const double *x, double *const *out)
{
    int64_t at[8], n = count(&op->out[0]);
    double members = (double)count(&op->in[0]) / (double)n;

    memset(out[0], 0, sizeof(double) * (size_t)n);
    memset(out[1], 0, sizeof(double) * (size_t)n);
    for (int64_t i = 0; i < count(&op->in[0]); i++) {
        unravel(&op->in[0], i, at);
        out[0][ravel(&op->out[0], at)] += x[i] / members;
    }
    for (int64_t i = 0; i < count(&op->in[0]); i++) {
        double off;

        unravel(&op->in[0], i, at);
        off = x[i] - out[0][ravel(&op->out[0], at)];
        out[1][ravel(&op->out[0], at)] += off * off / members;
    }
}

static void reduce(const ferry_op *op, const double *x, double *y)
{
    uint32_t axis = 0;
    int64_t at[8];

    while (!(op->params.reduce.axes >> axis & 1u))
        axis++;
    for (int64_t j = 0; j < count(&op->out[0]); j++) {
        double sum = 0, most = -INFINITY, where = 0;

        for (int64_t i = 0; i < count(&op->in[0]); i++) {
            unravel(&op->in[0], i, at);
            if (ravel(&op->out[0], at) != j)
                continue;
            if (x[i] >= most) {
                most = x[i];
                where = (double)at[axis];
            }
            sum += op->params.reduce.function == FERRY_REDUCE_SUM     ? x[i]
                   : op->params.reduce.function == FERRY_REDUCE_SUMSQ ? x[i] * x[i]
                                                                      : fabs(x[i]);
        }
        y[j] = op->params.reduce.scale * sum;
        if (op->params.reduce.function == FERRY_REDUCE_MAX)
            y[j] = op->params.reduce.scale * most;
        if (op->params.reduce.function == FERRY_REDUCE_ARGMAX)
            y[j] = where;
    }
}

static void softmax(const ferry_op *op, const double *x, double *y)
{
    uint32_t axis = op->params.softmax.axis;
    int64_t at[8];

    for (int64_t i = 0; i < count(&op->in[0]); i++) {
        double most = -INFINITY, sum = 0;

        unravel(&op->in[0], i, at);
        for (at[axis] = 0; at[axis] < op->in[0].shape[axis]; at[axis]++)
            most = fmax(most, x[ravel(&op->in[0], at)]);
        for (at[axis] = 0; at[axis] < op->in[0].shape[axis]; at[axis]++)
            sum += exp(x[ravel(&op->in[0], at)] - most);
        y[i] = op->params.softmax.logarithm ? x[i] - most - log(sum) : exp(x[i] - most) / sum;
    }
}

/* ---- samples and rows ----------------------------------------------------------------------- */

static double place(const ferry_op *op, uint32_t axis, int64_t i)
{
    double in = (double)op->in[0].shape[axis], out = (double)op->out[0].shape[axis];

    if (op->params.resize.sampling == FERRY_RESIZE_HALF_PIXEL)
        return ((double)i + 0.5) * in / out - 0.5;
    if (op->params.resize.sampling == FERRY_RESIZE_ASYMMETRIC)
        return (double)i * in / out;
    return out > 1 ? (double)i * (in - 1) / (out - 1) : 0;
}

static double clamp(double at, int64_t size)
{
    return fmin(fmax(at, 0), (double)(size - 1));
}

static void resize(const ferry_op *op, const double *x, double *y)
{
    int64_t at[8];

    for (int64_t i = 0; i < count(&op->out[0]); i++) {
        double value = 0, p[2];

        unravel(&op->out[0], i, at);
        for (uint32_t a = 0; a < 2; a++)
            p[a] = place(op, 2 + a, at[2 + a]);
        for (int corner = 0; corner < 4; corner++) {
            double weight = 1;

            for (int a = 0; a < 2; a++) {
                int64_t size = op->in[0].shape[2 + a];
                double base = floor(clamp(p[a], size)), rest = clamp(p[a], size) - base;

                if (op->params.resize.method == FERRY_RESIZE_NEAREST) {
                    rest = 0;
                    base = floor(
                        op->params.resize.sampling == FERRY_RESIZE_ASYMMETRIC ? p[a] : p[a] + 0.5);
                }
                at[2 + a] = (int64_t)clamp(base + (corner >> a & 1), size);
                weight *= corner >> a & 1 ? rest : 1 - rest;
            }
            value += weight * x[ravel(&op->in[0], at)];
        }
        y[i] = value;
    }
}

static double bin(const ferry_op *op, const double *x, const double *roi, const int64_t *at)
{
    int64_t group = op->params.roi.group, low[2], high[2], x_at[4] = { (int64_t)roi[0], at[1] };
    float scale = (float)op->params.roi.spatial_scale;
    double most = (double)-FLT_MAX, sum = 0;

    for (int a = 0; a < 2; a++) {
        float first = (float)roi[2 - a], last = (float)roi[4 - a], start, size,
              i = (float)at[2 + a];
        int64_t limit = op->in[0].shape[2 + a];

        start = group ? roundf(first) * scale : roundf(first * scale);
        size = group ? fmaxf((roundf(last) + 1) * scale - start, 0.1f)
                     : fmaxf(roundf(last * scale) - start + 1, 1);
        size /= (float)op->out[0].shape[2 + a];
        low[a] = (int64_t)(group ? floorf(i * size + start) : floorf(i * size) + start);
        high[a] = (int64_t)(group ? ceilf((i + 1) * size + start) : ceilf((i + 1) * size) + start);
        low[a] = low[a] < 0 ? 0 : low[a] > limit ? limit : low[a];
        high[a] = high[a] < 0 ? 0 : high[a] > limit ? limit : high[a];
    }
    if (group)
        x_at[1] = (at[1] * group + at[2] * group / op->out[0].shape[2]) * group +
                  at[3] * group / op->out[0].shape[3];
    if (roi[0] < 0 || roi[0] >= (double)op->in[0].shape[0] || high[0] <= low[0] ||
        high[1] <= low[1])
        return 0;
    for (x_at[2] = low[0]; x_at[2] < high[0]; x_at[2]++)
        for (x_at[3] = low[1]; x_at[3] < high[1]; x_at[3]++) {
            most = fmax(most, x[ravel(&op->in[0], x_at)]);
            sum += x[ravel(&op->in[0], x_at)];
        }
    return group ? sum / (double)((high[0] - low[0]) * (high[1] - low[1])) : most;
}

static void roi_pool(const ferry_op *op, const double *const *in, double *y)
{
    int64_t at[8];

    for (int64_t i = 0; i < count(&op->out[0]); i++) {
        unravel(&op->out[0], i, at);
        y[i] = bin(op, in[0], in[1] + 5 * at[0], at);
    }
}

static void rows(const ferry_op *op, const double *const *in, double *y)
{
    int is_gather = op->kind == FERRY_OP_GATHER;
    const ferry_operand *table = is_gather ? &op->in[0] : &op->out[0];
    int64_t row = count(table) / (table->shape[0] ? table->shape[0] : 1);

    for (int64_t i = 0; i < count(&op->in[1]); i++) {
        int64_t at = (int64_t)in[1][i];
        int is_known = at >= 0 && at < table->shape[0];

        for (int64_t j = 0; j < row; j++) {
            if (is_gather)
                y[i * row + j] = is_known ? in[0][at * row + j] : 0;
            else if (is_known)
                y[at * row + j] += in[0][i * row + j];
        }
    }
}

/* ---- random --------------------------------------------------------------------------------- */

static void philox(uint64_t seed, uint64_t block, uint32_t *word)
{
    uint64_t k0 = seed & 0xffffffff, k1 = seed >> 32;

    word[0] = (uint32_t)block;
    word[1] = (uint32_t)(block >> 32);
    word[2] = word[3] = 0;
    for (int i = 0; i < 10; i++) {
        uint64_t p = word[0] * UINT64_C(0xD2511F53), q = word[2] * UINT64_C(0xCD9E8D57);

        word[0] = (uint32_t)((q >> 32) ^ word[1] ^ k0);
        word[1] = (uint32_t)q;
        word[2] = (uint32_t)((p >> 32) ^ word[3] ^ k1);
        word[3] = (uint32_t)p;
        k0 = (k0 + 0x9E3779B9) & 0xffffffff;
        k1 = (k1 + 0xBB67AE85) & 0xffffffff;
    }
}

static void randoms(const ferry_op *op, double *y, uint64_t seed, uint64_t offset)
{
    double a = op->params.random.a, b = op->params.random.b;

    for (int64_t i = 0; i < count(&op->out[0]); i++) {
        uint32_t word[4];
        double u[4], radius;

        philox(seed, offset + (uint64_t)i / 4, word);
        for (int k = 0; k < 4; k++)
            u[k] = (double)(word[k] >> 8) / 0x1p24;
        radius = sqrt(-2 * log(u[i & 2] + 0x1p-24));
        if (op->params.random.distribution == FERRY_RANDOM_UNIFORM)
            y[i] = a + (b - a) * u[i & 3];
        else if (op->params.random.distribution == FERRY_RANDOM_BERNOULLI)
            y[i] = u[i & 3] < a ? b : 0;
        else
            y[i] = a + b * radius * (i & 1 ? sin : cos)(2 * acos(-1) * u[(i & 2) + 1]);
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

static void epilogue(const ferry_op *op, uint32_t steps, const double *const *in, double *y)
{
    int64_t at[8];

    for (int64_t i = 0; i < count(&op->out[0]); i++) {
        unravel(&op->out[0], i, at);
        for (uint32_t s = 0; s < steps; s++) {
            const ferry_op_step *step = &op->epilogue[s];
            const double *operand = in[step->operand];
            int64_t channel = count(&op->in[step->operand]) == 1 ? 0 : at[1];

            if (step->step == FERRY_STEP_UNARY)
                y[i] = unary(step->function, y[i], step->a, step->b, step->c);
            else if (step->step == FERRY_STEP_ADD)
                y[i] += operand[i];
            else if (step->step == FERRY_STEP_SCALE)
                y[i] *= operand[channel];
            else if (step->step == FERRY_STEP_SHIFT)
                y[i] += operand[channel];
            else
                y[i] = y[i] > 0 ? y[i] : operand[channel] * y[i];
        }
    }
}

void reference_run(const ferry_op *op, uint32_t own, uint32_t steps, const double *const *in,
                   double *const *out, uint64_t seed, uint64_t offset)
{
    switch (op->kind) {
    case FERRY_OP_CONVOLUTION:
        convolution(op, own, in, out[0]);
        break;
    case FERRY_OP_INNER_PRODUCT:
        inner_product(op, own, in, out[0]);
        break;
    case FERRY_OP_BATCHED_GEMM:
        batched_gemm(op, own, in, out[0]);
        break;
    case FERRY_OP_IM2COL:
        columns(op, &op->in[0], &op->out[0], in[0], out[0]);
        break;
    case FERRY_OP_COL2IM:
        columns(op, &op->out[0], &op->in[0], in[0], out[0]);
        break;
    case FERRY_OP_POOL:
        pool(op, in[0], out);
        break;
    case FERRY_OP_REDUCE:
        reduce(op, in[0], out[0]);
        break;
    case FERRY_OP_MOMENTS:
        moments(op, in[0], out);
        break;
    case FERRY_OP_SOFTMAX:
        softmax(op, in[0], out[0]);
        break;
    case FERRY_OP_LRN:
        lrn(op, in[0], out);
        break;
    case FERRY_OP_RESIZE:
        resize(op, in[0], out[0]);
        break;
    case FERRY_OP_ROI_POOL:
        roi_pool(op, in, out[0]);
        break;
    case FERRY_OP_GATHER:
    case FERRY_OP_SCATTER_ADD:
        rows(op, in, out[0]);
        break;
    case FERRY_OP_RANDOM:
        randoms(op, out[0], seed, offset);
        break;
    default: /* UNARY, BINARY, STRIDED_COPY */
        elements(op, own, in, out[0]);
    }
    epilogue(op, steps, in, out[0]);
}
