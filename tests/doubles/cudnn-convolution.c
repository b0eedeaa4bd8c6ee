/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The computations of the double of cuDNN: convolutions forward, backward to the data and to the
 * weights, and a bias. The double makes full use of the freedom that the documentation gives: less
 * exact arithmetic, and results that differ between runs. A test thereby detects a caller that
 * selects such an algorithm or mode.
 */
#include "cudnn.h"

#include <stdlib.h>
#include <string.h>

/* The tensor that a call computes: y, x or w. */
enum pass { FORWARD, DATA, WEIGHTS };

/* Kinds of algorithms, by the arithmetic that they are allowed to use. */
enum trait { PLAIN, LOOSE, TURNED, FOURIER };

typedef struct {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
} choice_t;

/* The window moves over x; y has one element for each of its positions. */
struct work {
    enum pass pass;
    struct shape x_shape, w_shape, v, y_shape;
    bool is_short, is_loose, is_turned; /* with is_turned: rounded like Winograd's algorithm */
    float beta;
    float *x, *w, *y; /* the computed one is written */
    unsigned char *room;
};

/* ---- arguments of an algorithm -------------------------------------------------------------- */

static bool are_set(const struct shape *x, const struct shape *w, const struct shape *v,
                    const struct shape *y)
{
    return x && w && v && y && x->is_set && w->is_set && v->is_set && y->is_set &&
           x->kind == TENSOR && w->kind == FILTER && v->kind == WINDOW && y->kind == TENSOR;
}

/*
 * Whether the shapes match, as cudnnGetConvolutionNdForwardOutputDim computes them, for two or
 * three spatial axes.
 */
static bool fits(const struct shape *x, const struct shape *w, const struct shape *v,
                 const struct shape *y)
{
    bool good = x->rank <= 5 && x->rank == w->rank && x->rank == y->rank &&
                x->rank == v->rank + 2 && x->size[0] == y->size[0] && w->size[0] == y->size[1] &&
                x->size[1] == w->size[1] * v->group && w->size[0] % v->group == 0;

    for (int i = 0; good && i < v->rank; i++) {
        int room = x->size[2 + i] + 2 * v->pad[i] - v->dilation[i] * (w->size[2 + i] - 1) - 1;

        good = room >= 0 && y->size[2 + i] == 1 + room / v->step[i];
    }
    return good;
}

/*
 * The kind of an algorithm, by the pass and by cuDNN's number; algorithms that cuDNN names and
 * lacks are FOURIER.
 */
static enum trait trait_of(enum pass pass, int algorithm)
{
    static const enum trait trait[][8] = {
        [FORWARD] = { PLAIN, PLAIN, PLAIN, PLAIN, FOURIER, FOURIER, TURNED, LOOSE },
        [DATA] = { LOOSE, PLAIN, FOURIER, FOURIER, TURNED, TURNED, FOURIER, FOURIER },
        [WEIGHTS] = { LOOSE, PLAIN, FOURIER, LOOSE, FOURIER, TURNED, FOURIER, FOURIER },
    };
    return trait[pass][algorithm & 7];
}

static size_t memory_of(enum pass pass, int algorithm, const struct shape *w, const struct shape *y)
{
    if (pass == FORWARD && algorithm == 2) /* GEMM: a workspace larger than any caller has */
        return (size_t)1 << 40;
    if (trait_of(pass, algorithm) == LOOSE && algorithm > 0)
        return 64 * (size_t)y->size[1] * (size_t)w->size[1];
    return algorithm == 1 ? 1024 + 4 * (size_t)w->size[1] : 0;
}

struct known {
    int algorithm, status, determinism, math;
};

static cudnnStatus_t choices(const char *call, struct handle *h, enum pass pass,
                             const struct shape *x, const struct shape *w, const struct shape *v,
                             const struct shape *y, const struct known *known, int all, int most,
                             int *count, choice_t *out)
{
    cudnnStatus_t status = begin(call, h);

    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (!are_set(x, w, v, y) || !fits(x, w, v, y) || most < 1)
        return refuse(call, "shapes that do not match");
    for (*count = 0; *count < all && *count < most; ++*count)
        out[*count] = (choice_t){ .algorithm = known[*count].algorithm,
                                  .status = known[*count].status,
                                  .memory = memory_of(pass, known[*count].algorithm, w, y),
                                  .determinism = known[*count].determinism,
                                  .math = known[*count].math };
    return status;
}

#define COUNT(known) ((int)(sizeof(known) / sizeof((known)[0])))

/* In each of the three lists the first algorithm is unsuitable. */
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(struct handle *h, struct shape *x,
                                                     struct shape *w, struct shape *v,
                                                     struct shape *y, int most, int *count,
                                                     choice_t *out);
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(struct handle *h, struct shape *x,
                                                     struct shape *w, struct shape *v,
                                                     struct shape *y, int most, int *count,
                                                     choice_t *out)
{
    static const struct known known[] = {
        { 3, CUDNN_STATUS_NOT_SUPPORTED, 1, FMA_MATH }, /* DIRECT */
        { 2, 0, 1, FMA_MATH },                          /* GEMM */
        { 1, 0, 1, DEFAULT_MATH },                      /* IMPLICIT_PRECOMP_GEMM */
        { 7, 0, 0, FMA_MATH },                          /* WINOGRAD_NONFUSED */
        { 6, 0, 1, FMA_MATH },                          /* WINOGRAD */
        { 4, 0, 1, FMA_MATH },                          /* FFT */
        { 1, 0, 1, FMA_MATH },
        { 0, 0, 1, FMA_MATH }, /* IMPLICIT_GEMM */
    };

    return choices("cudnnGetConvolutionForwardAlgorithm_v7", h, FORWARD, x, w, v, y, known,
                   COUNT(known), most, count, out);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(struct handle *h, struct shape *w,
                                                          struct shape *y, struct shape *v,
                                                          struct shape *x, int most, int *count,
                                                          choice_t *out);
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(struct handle *h, struct shape *w,
                                                          struct shape *y, struct shape *v,
                                                          struct shape *x, int most, int *count,
                                                          choice_t *out)
{
    static const struct known known[] = {
        { 0, 0, 0, FMA_MATH }, { 1, 0, 1, DEFAULT_MATH }, { 4, 0, 1, FMA_MATH }, /* WINOGRAD */
        { 2, 0, 1, FMA_MATH },                                                   /* FFT */
        { 1, 0, 1, FMA_MATH },
    };

    return choices("cudnnGetConvolutionBackwardDataAlgorithm_v7", h, DATA, x, w, v, y, known,
                   COUNT(known), most, count, out);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(struct handle *h, struct shape *x,
                                                            struct shape *y, struct shape *v,
                                                            struct shape *w, int most, int *count,
                                                            choice_t *out);
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(struct handle *h, struct shape *x,
                                                            struct shape *y, struct shape *v,
                                                            struct shape *w, int most, int *count,
                                                            choice_t *out)
{
    static const struct known known[] = {
        { 0, 0, 0, FMA_MATH },     { 3, 0, 0, FMA_MATH },
        { 1, 0, 1, DEFAULT_MATH }, { 5, 0, 1, FMA_MATH }, /* WINOGRAD_NONFUSED */
        { 6, 0, 1, FMA_MATH },                            /* FFT_TILING */
        { 1, 0, 1, FMA_MATH },
    };

    return choices("cudnnGetConvolutionBackwardFilterAlgorithm_v7", h, WEIGHTS, x, w, v, y, known,
                   COUNT(known), most, count, out);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* A float of TF32: ten fraction bits. */
static float cut(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof(bits));
    bits = (bits + 0x1000) & 0xffffe000;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static int64_t count_of(const struct shape *s, int from)
{
    int64_t count = 1;

    for (int i = from; i < s->rank; i++)
        count *= s->size[i];
    return count;
}

/* The next indices from axis `from` on; false after the last. */
static bool next_of(const struct shape *s, int from, int *at)
{
    for (int i = s->rank - 1; i >= from; at[i--] = 0)
        if (++at[i] < s->size[i])
            return true;
    return false;
}

/* The offset of the element at the indices from axis `from` on. */
static int64_t place_of(const struct shape *s, int from, const int *at)
{
    int64_t place = 0;

    for (int i = from; i < s->rank; i++)
        place += (int64_t)at[i] * s->stride[i];
    return place;
}

/* The offset of x under tap `k` at y's spatial position; -1: in the padding. */
static int64_t under(const struct work *t, const int *y_at, const int *k)
{
    int64_t place = 0;

    for (int i = 0; i < t->v.rank; i++) {
        int64_t x = (int64_t)y_at[2 + i] * t->v.step[i] - t->v.pad[i] +
                    (int64_t)k[2 + i] * t->v.dilation[i];

        if (x < 0 || x >= t->x_shape.size[2 + i])
            return -1;
        place += x * t->x_shape.stride[2 + i];
    }
    return place;
}

/*
 * The offset of the element of y whose tap `k` covers x's spatial position; -1 if no element does.
 */
static int64_t over(const struct work *t, const int *x_at, const int *k)
{
    int64_t place = 0;

    for (int i = 0; i < t->v.rank; i++) {
        int64_t y = (int64_t)x_at[2 + i] + t->v.pad[i] - (int64_t)k[2 + i] * t->v.dilation[i];

        if (y < 0 || y % t->v.step[i] || y / t->v.step[i] >= t->y_shape.size[2 + i])
            return -1;
        place += y / t->v.step[i] * t->y_shape.stride[2 + i];
    }
    return place;
}

/* into[i] += scale * row[i] */
static void add_row(double *into, float scale, const float *row, int n)
{
    for (int i = 0; i < n; i++)
        into[i] += (double)scale * (double)row[i];
}

/* The sums of all channels of y at one position; the outputs of w are innermost. */
static void sum_forward(const struct work *t, const int *at, double *sum)
{
    const struct shape *w = &t->w_shape;
    int outputs = w->size[0] / t->v.group, tap[AXES] = { 0 };

    do {
        int64_t from = under(t, at, tap);
        const float *row = t->w + place_of(w, 2, tap), *x;

        if (from < 0)
            continue;
        x = t->x + from + (int64_t)at[0] * t->x_shape.stride[0];
        for (int g = 0; g < t->v.group; g++)
            for (int c = 0; c < w->size[1]; c++)
                add_row(sum + g * outputs, *x++, row + c * w->stride[1] + g * outputs, outputs);
    } while (next_of(w, 2, tap));
}

/* The sums of all channels of x at one position; the inputs of w are innermost. */
static void sum_data(const struct work *t, const int *at, double *sum)
{
    const struct shape *w = &t->w_shape;
    int outputs = w->size[0] / t->v.group, tap[AXES] = { 0 };

    do {
        int64_t from = over(t, at, tap);
        const float *row = t->w + place_of(w, 2, tap), *y;

        if (from < 0)
            continue;
        y = t->y + from + (int64_t)at[0] * t->y_shape.stride[0];
        for (int o = 0; o < w->size[0]; o++)
            add_row(sum + o / outputs * w->size[1], *y++, row + o * w->stride[0], w->size[1]);
    } while (next_of(w, 2, tap));
}

/* The sums of one tap: for each input of a group those of all outputs. */
static void sum_weights(const struct work *t, const int *at, double *sum)
{
    const struct shape *y = &t->y_shape, *w = &t->w_shape;
    int outputs = w->size[0] / t->v.group, place[AXES] = { 0 };

    do {
        int64_t from = under(t, place, at), to = place_of(y, 2, place);

        for (int n = 0; from >= 0 && n < y->size[0]; n++) {
            const float *x = t->x + from + (int64_t)n * t->x_shape.stride[0];
            const float *row = t->y + to + (int64_t)n * y->stride[0];

            for (int g = 0; g < t->v.group; g++)
                for (int c = 0; c < w->size[1]; c++)
                    add_row(sum + c * w->size[0] + g * outputs, *x++, row + g * outputs, outputs);
        }
    } while (next_of(y, 2, place));
}

static const struct shape *shape_of_result(const struct work *t)
{
    return t->pass == FORWARD ? &t->y_shape : t->pass == DATA ? &t->x_shape : &t->w_shape;
}

/*
 * A copy of a tensor that is read, its values as the multipliers take them, without gaps and with
 * one axis innermost; the shape becomes the copy's.
 */
static float *copy_of(const struct work *t, const float *from, struct shape *shape, int innermost)
{
    struct shape own = *shape;
    int64_t count = count_of(shape, 0);
    float *to = malloc((size_t)count * sizeof(*to));
    int stride = own.size[innermost], at[AXES] = { 0 };

    own.stride[innermost] = 1;
    for (int i = own.rank - 1; i >= 0; i--)
        if (i != innermost) {
            own.stride[i] = stride;
            stride *= own.size[i];
        }
    if (to && count > 0)
        do {
            float value = from[place_of(shape, 0, at)];

            to[place_of(&own, 0, at)] = t->is_short ? cut(value) : value;
        } while (next_of(shape, 0, at));
    *shape = own;
    return to;
}

/* One element of the result. */
static void store(const struct work *t, unsigned run, double sum, float *to)
{
    float value = (float)sum;

    if (t->is_turned)
        value *= 1 + 1e-6f;
    if (t->is_loose) /* like an algorithm that adds in a different order each time */
        value *= 1 + (float)(run % 7) * 1e-6f;
    if (t->beta != 0)
        value += t->beta * *to;
    *to = value;
}

/* The elements at one position of the result: its channels, or the matrix of a tap. */
static void compute_at(const struct work *t, unsigned run, const int *at, double *sum)
{
    const struct shape *shape = shape_of_result(t);
    float *result = (t->pass == FORWARD ? t->y : t->pass == DATA ? t->x : t->w) +
                    place_of(shape, 2, at) + (int64_t)at[0] * shape->stride[0];
    int matrix = t->pass == WEIGHTS ? shape->size[0] : 1;

    memset(sum, 0, sizeof(*sum) * (size_t)matrix * (size_t)shape->size[1]);
    (t->pass == FORWARD ? sum_forward : t->pass == DATA ? sum_data : sum_weights)(t, at, sum);
    for (int c = 0; c < shape->size[1]; c++)
        for (int o = 0; o < matrix; o++)
            store(t, run, *sum++,
                  result + (int64_t)c * shape->stride[1] + (int64_t)o * shape->stride[0]);
}

static bool compute_all(const struct work *t)
{
    static unsigned runs;
    const struct shape *shape = shape_of_result(t);
    int matrix = t->pass == WEIGHTS ? shape->size[0] : 1, at[AXES] = { 0 };
    double *sum = malloc(sizeof(*sum) * (size_t)matrix * (size_t)shape->size[1]);

    runs++;
    if (count_of(shape, 0) == 0 || !sum) {
        free(sum);
        return count_of(shape, 0) == 0;
    }
    for (at[0] = 0; at[0] < (t->pass == WEIGHTS ? 1 : shape->size[0]); at[0]++)
        do
            compute_at(t, runs, at, sum);
        while (next_of(shape, 2, at));
    free(sum);
    return true;
}

/* The two tensors that are read get their channels innermost: of w, those of the result. */
static int run_convolution(void *argument)
{
    const struct work *work = argument;
    struct work t = *work;
    float *x = NULL, *w = NULL, *y = NULL;
    bool done;

    if (t.pass != DATA)
        t.x = x = copy_of(&t, t.x, &t.x_shape, 1);
    if (t.pass != WEIGHTS)
        t.w = w = copy_of(&t, t.w, &t.w_shape, t.pass == DATA);
    if (t.pass != FORWARD)
        t.y = y = copy_of(&t, t.y, &t.y_shape, 1);
    done = t.x && t.w && t.y && compute_all(&t);
    free(x);
    free(w);
    free(y);
    return done ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static size_t bytes_of(const struct shape *s)
{
    size_t last = 0;

    for (int i = 0; i < s->rank; i++)
        last += (size_t)(s->size[i] - 1) * (size_t)s->stride[i];
    return (last + 1) * sizeof(float);
}

static bool overlap(const struct ferry_cuda_double_operand *a,
                    const struct ferry_cuda_double_operand *b)
{
    return (const char *)a->address < (const char *)b->address + b->size &&
           (const char *)b->address < (const char *)a->address + a->size;
}

struct call {
    const char *name;
    struct handle *handle;
    const float *alpha, *beta;
    int algorithm;
    const void *x, *w, *y;
    void *room;
    size_t memory;
};

static cudnnStatus_t submit_convolution(const struct call *c, struct work *t)
{
    const size_t places[] = { offsetof(struct work, y), offsetof(struct work, x),
                              offsetof(struct work, w), offsetof(struct work, room) };
    struct ferry_cuda_double_operand operands[] = { { c->y, bytes_of(&t->y_shape), NULL },
                                                    { c->x, bytes_of(&t->x_shape), NULL },
                                                    { c->w, bytes_of(&t->w_shape), NULL },
                                                    { c->room, c->memory, NULL } };
    size_t needed = memory_of(t->pass, c->algorithm, &t->w_shape, &t->y_shape);

    if (*c->alpha != 1 || (*c->beta != 0 && (*c->beta != 1 || t->pass != WEIGHTS)))
        return refuse(c->name, "scalars other than 1 and 0 are not supported here");
    if (c->memory < needed || (needed && !c->room))
        return refuse(c->name, "a workspace smaller than the algorithm needs");
    if ((uintptr_t)c->room % 16)
        return refuse(c->name, "a workspace that is not aligned");
    for (int i = 0; i < 3; i++)
        if (i != (int)t->pass && overlap(&operands[i], &operands[t->pass]))
            return refuse(c->name, "an output over an input");
    t->beta = *c->beta;
    t->is_short = t->v.math != FMA_MATH;
    t->is_turned = trait_of(t->pass, c->algorithm) >= TURNED;
    t->is_loose = trait_of(t->pass, c->algorithm) == LOOSE;
    return status_of(ferry_cuda_double_submit(c->name, c->handle->context, c->handle->stream,
                                              run_convolution, t, sizeof(*t), operands, places, 4));
}

static cudnnStatus_t convolve(const struct call *c, enum pass pass, const struct shape *xs,
                              const struct shape *ws, const struct shape *v, const struct shape *ys)
{
    cudnnStatus_t status = begin(c->name, c->handle);
    struct work t;

    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (!are_set(xs, ws, v, ys) || !fits(xs, ws, v, ys))
        return refuse(c->name, "shapes that do not match");
    memset(&t, 0, sizeof(t));
    t.pass = pass;
    t.x_shape = *xs, t.w_shape = *ws, t.v = *v, t.y_shape = *ys;
    return submit_convolution(c, &t);
}

cudnnStatus_t cudnnConvolutionForward(struct handle *h, const void *alpha, struct shape *xs,
                                      const void *x, struct shape *ws, const void *w,
                                      struct shape *v, int algorithm, void *room, size_t memory,
                                      const void *beta, struct shape *ys, void *y);
cudnnStatus_t cudnnConvolutionForward(struct handle *h, const void *alpha, struct shape *xs,
                                      const void *x, struct shape *ws, const void *w,
                                      struct shape *v, int algorithm, void *room, size_t memory,
                                      const void *beta, struct shape *ys, void *y)
{
    const struct call c = {
        "cudnnConvolutionForward", h, alpha, beta, algorithm, x, w, y, room, memory
    };

    return convolve(&c, FORWARD, xs, ws, v, ys);
}

cudnnStatus_t cudnnConvolutionBackwardData(struct handle *h, const void *alpha, struct shape *ws,
                                           const void *w, struct shape *ys, const void *y,
                                           struct shape *v, int algorithm, void *room,
                                           size_t memory, const void *beta, struct shape *xs,
                                           void *x);
cudnnStatus_t cudnnConvolutionBackwardData(struct handle *h, const void *alpha, struct shape *ws,
                                           const void *w, struct shape *ys, const void *y,
                                           struct shape *v, int algorithm, void *room,
                                           size_t memory, const void *beta, struct shape *xs,
                                           void *x)
{
    const struct call c = {
        "cudnnConvolutionBackwardData", h, alpha, beta, algorithm, x, w, y, room, memory
    };

    return convolve(&c, DATA, xs, ws, v, ys);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(struct handle *h, const void *alpha, struct shape *xs,
                                             const void *x, struct shape *ys, const void *y,
                                             struct shape *v, int algorithm, void *room,
                                             size_t memory, const void *beta, struct shape *ws,
                                             void *w);
cudnnStatus_t cudnnConvolutionBackwardFilter(struct handle *h, const void *alpha, struct shape *xs,
                                             const void *x, struct shape *ys, const void *y,
                                             struct shape *v, int algorithm, void *room,
                                             size_t memory, const void *beta, struct shape *ws,
                                             void *w)
{
    const struct call c = {
        "cudnnConvolutionBackwardFilter", h, alpha, beta, algorithm, x, w, y, room, memory
    };

    return convolve(&c, WEIGHTS, xs, ws, v, ys);
}

/* ---- a bias by itself ----------------------------------------------------------------------- */

struct sum {
    struct shape shape;
    const float *bias;
    float *y;
};

static int run_sum(void *argument)
{
    const struct sum *s = argument;
    const struct shape *y = &s->shape;
    int64_t count = 1;

    for (int i = 0; i < y->rank; i++)
        count *= y->size[i];
    for (int64_t k = 0; k < count; k++) {
        int64_t to = 0, rest = k, channel = 0;

        for (int i = y->rank - 1; i >= 0; rest /= y->size[i--]) {
            channel = i == 1 ? rest % y->size[i] : channel;
            to += rest % y->size[i] * y->stride[i];
        }
        s->y[to] += s->bias[channel];
    }
    return cudaSuccess;
}

cudnnStatus_t cudnnAddTensor(struct handle *h, const void *alpha, struct shape *bs,
                             const void *bias, const void *beta, struct shape *ys, void *y);
cudnnStatus_t cudnnAddTensor(struct handle *h, const void *alpha, struct shape *bs,
                             const void *bias, const void *beta, struct shape *ys, void *y)
{
    const size_t places[] = { offsetof(struct sum, bias), offsetof(struct sum, y) };
    cudnnStatus_t status = begin("cudnnAddTensor", h);
    struct sum s;

    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (*(const float *)alpha != 1 || *(const float *)beta != 1 || bs->rank != ys->rank ||
        bs->size[1] != ys->size[1] || bs->size[0] != 1)
        return refuse("cudnnAddTensor", "scalars, or shapes, that are not a bias");
    memset(&s, 0, sizeof(s));
    s.shape = *ys;
    return status_of(
        ferry_cuda_double_submit("cudnnAddTensor", h->context, h->stream, run_sum, &s, sizeof(s),
                                 (struct ferry_cuda_double_operand[]){ { bias, bytes_of(bs), NULL },
                                                                       { y, bytes_of(ys), NULL } },
                                 places, 2));
}
