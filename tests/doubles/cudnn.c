/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The double of cuDNN 9, as far as convolutions forward go. What its documentation forbids ends the
 * program; what it merely allows, less exact arithmetic and other bits from run to run, it does, so that a test
 * sees who has let it. Its calls are declared here: the vendor's header need not be installed.
 */
#include "double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x646e6e21u
#define AXES  8

typedef enum {
    CUDNN_STATUS_SUCCESS = 0,
    CUDNN_STATUS_NOT_INITIALIZED = 1001,
    CUDNN_STATUS_BAD_PARAM = 2000,
    CUDNN_STATUS_NOT_SUPPORTED = 3000,
    CUDNN_STATUS_INTERNAL_ERROR = 4000,
    CUDNN_STATUS_DEVICE_ALLOCATION_FAILED = 4004,
    CUDNN_STATUS_EXECUTION_FAILED = 5000
} cudnnStatus_t;

enum { IMPLICIT_GEMM, PRECOMP_GEMM, GEMM, DIRECT, FFT, FFT_TILING, WINOGRAD, WINOGRAD_NONFUSED };
enum { DEFAULT_MATH = 0, TENSOR_OP_MATH = 1, FMA_MATH = 3 };

struct handle {
    unsigned magic;
    void *context;
    cudaStream_t stream;
};

enum { TENSOR = 1, FILTER, WINDOW, ACTIVATION };

struct shape {
    unsigned magic;
    int kind;
    int rank, size[AXES], stride[AXES];
    int pad[AXES], step[AXES], dilation[AXES], group, math; /* of a window */
    bool is_set;
};

typedef struct {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
} choice_t;

static cudnnStatus_t refuse(const char *call, const char *what)
{
    char text[160];

    snprintf(text, sizeof(text), "%s: %s", call, what);
    ferry_cuda_double_misuse(text);
    return CUDNN_STATUS_BAD_PARAM;
}

static cudnnStatus_t status_of(int error)
{
    return error == cudaSuccess                 ? CUDNN_STATUS_SUCCESS
           : error == cudaErrorMemoryAllocation ? CUDNN_STATUS_DEVICE_ALLOCATION_FAILED
           : error == cudaErrorInvalidValue     ? CUDNN_STATUS_BAD_PARAM
                                                : CUDNN_STATUS_EXECUTION_FAILED;
}

const char *cudnnGetErrorString(cudnnStatus_t status);
const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_SUCCESS                    ? "CUDNN_STATUS_SUCCESS"
           : status == CUDNN_STATUS_NOT_INITIALIZED          ? "CUDNN_STATUS_NOT_INITIALIZED"
           : status == CUDNN_STATUS_BAD_PARAM                ? "CUDNN_STATUS_BAD_PARAM"
           : status == CUDNN_STATUS_NOT_SUPPORTED            ? "CUDNN_STATUS_NOT_SUPPORTED"
           : status == CUDNN_STATUS_DEVICE_ALLOCATION_FAILED ? "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_"
                                                               "ALLOCATION_FAILED"
           : status == CUDNN_STATUS_EXECUTION_FAILED         ? "CUDNN_STATUS_EXECUTION_FAILED"
                                                             : "CUDNN_STATUS_INTERNAL_ERROR";
}

/* ---- handles -------------------------------------------------------------------------------- */

static cudnnStatus_t begin(const char *call, struct handle *h)
{
    if (!h || h->magic != MAGIC)
        return refuse(call, "no handle");
    return status_of(ferry_cuda_double_enter(call, &h->context));
}

cudnnStatus_t cudnnCreate(struct handle **out);
cudnnStatus_t cudnnCreate(struct handle **out)
{
    struct handle *h = calloc(1, sizeof(*h));
    cudnnStatus_t status;

    if (!h)
        return CUDNN_STATUS_NOT_INITIALIZED;
    h->magic = MAGIC;
    status = begin("cudnnCreate", h);
    if (status != CUDNN_STATUS_SUCCESS) {
        free(h);
        return status == CUDNN_STATUS_DEVICE_ALLOCATION_FAILED ? CUDNN_STATUS_NOT_INITIALIZED
                                                               : status;
    }
    ferry_cuda_double_handle(1);
    *out = h;
    return status;
}

cudnnStatus_t cudnnDestroy(struct handle *h);
cudnnStatus_t cudnnDestroy(struct handle *h)
{
    cudnnStatus_t status = begin("cudnnDestroy", h);

    if (status == CUDNN_STATUS_BAD_PARAM)
        return status;
    h->magic = 0;
    ferry_cuda_double_handle(-1);
    free(h);
    return status;
}

cudnnStatus_t cudnnSetStream(struct handle *h, cudaStream_t stream);
cudnnStatus_t cudnnSetStream(struct handle *h, cudaStream_t stream)
{
    cudnnStatus_t status = begin("cudnnSetStream", h);

    if (status == CUDNN_STATUS_SUCCESS)
        h->stream = stream;
    return status;
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static cudnnStatus_t make(const char *call, int kind, struct shape **out)
{
    int failed = ferry_cuda_double_note(call);
    struct shape *s = failed ? NULL : calloc(1, sizeof(*s));

    if (!s)
        return CUDNN_STATUS_DEVICE_ALLOCATION_FAILED;
    s->magic = MAGIC;
    s->kind = kind;
    s->group = 1;
    ferry_cuda_double_handle(1);
    *out = s;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t end(const char *call, struct shape *s, int kind)
{
    if (!s || s->magic != MAGIC || s->kind != kind)
        return refuse(call, "no such descriptor");
    s->magic = 0;
    ferry_cuda_double_handle(-1);
    free(s);
    return CUDNN_STATUS_SUCCESS;
}

#define DESCRIPTOR(name, kind)                                       \
    cudnnStatus_t cudnnCreate##name##Descriptor(struct shape **out); \
    cudnnStatus_t cudnnCreate##name##Descriptor(struct shape **out)  \
    {                                                                \
        return make("cudnnCreate" #name "Descriptor", kind, out);    \
    }                                                                \
    cudnnStatus_t cudnnDestroy##name##Descriptor(struct shape *s);   \
    cudnnStatus_t cudnnDestroy##name##Descriptor(struct shape *s)    \
    {                                                                \
        return end("cudnnDestroy" #name "Descriptor", s, kind);      \
    }

DESCRIPTOR(Tensor, TENSOR)
DESCRIPTOR(Filter, FILTER)
DESCRIPTOR(Convolution, WINDOW)
DESCRIPTOR(Activation, ACTIVATION)

static cudnnStatus_t set_shape(const char *call, struct shape *s, int rank, const int *size,
                               const int *stride)
{
    if (rank < 4 || rank > AXES)
        return refuse(call, "fewer than four dimensions, or more than eight");
    s->rank = rank;
    for (int i = rank - 1; i >= 0; i--) {
        s->size[i] = size[i];
        s->stride[i] = stride ? stride[i] : i + 1 < rank ? s->stride[i + 1] * s->size[i + 1] : 1;
        if (size[i] < 1 || s->stride[i] < 1)
            return refuse(call, "a dimension or a stride below 1");
    }
    s->is_set = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(struct shape *s, int type, int rank, const int *size,
                                         const int *stride);
cudnnStatus_t cudnnSetTensorNdDescriptor(struct shape *s, int type, int rank, const int *size,
                                         const int *stride)
{
    if (type != 0 || !s || s->kind != TENSOR)
        return refuse("cudnnSetTensorNdDescriptor", "not floats, or no tensor");
    return set_shape("cudnnSetTensorNdDescriptor", s, rank, size, stride);
}

cudnnStatus_t cudnnSetFilterNdDescriptor(struct shape *s, int type, int format, int rank,
                                         const int *size);
cudnnStatus_t cudnnSetFilterNdDescriptor(struct shape *s, int type, int format, int rank,
                                         const int *size)
{
    if (type != 0 || format != 0 || !s || s->kind != FILTER)
        return refuse("cudnnSetFilterNdDescriptor", "not floats, not NCHW, or no filter");
    return set_shape("cudnnSetFilterNdDescriptor", s, rank, size, NULL);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(struct shape *s, int axes, const int *pad,
                                              const int *step, const int *dilation, int mode,
                                              int type);
cudnnStatus_t cudnnSetConvolutionNdDescriptor(struct shape *s, int axes, const int *pad,
                                              const int *step, const int *dilation, int mode,
                                              int type)
{
    if (axes < 2 || axes > AXES - 2 || mode != 1 || type != 0 || !s || s->kind != WINDOW)
        return refuse("cudnnSetConvolutionNdDescriptor", "axes, mode, type, or no window");
    s->rank = axes;
    s->math = DEFAULT_MATH;
    s->is_set = true;
    for (int i = 0; i < axes; i++) {
        s->pad[i] = pad[i];
        s->step[i] = step[i];
        s->dilation[i] = dilation[i];
        if (pad[i] < 0 || step[i] < 1 || dilation[i] < 1)
            return refuse("cudnnSetConvolutionNdDescriptor", "a pad below 0, or a stride below 1");
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(struct shape *s, int group);
cudnnStatus_t cudnnSetConvolutionGroupCount(struct shape *s, int group)
{
    s->group = group;
    return group > 0 ? CUDNN_STATUS_SUCCESS : refuse("cudnnSetConvolutionGroupCount", "below 1");
}

cudnnStatus_t cudnnSetConvolutionMathType(struct shape *s, int math);
cudnnStatus_t cudnnSetConvolutionMathType(struct shape *s, int math)
{
    s->math = math;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetActivationDescriptor(struct shape *s, int mode, int nan, double ceiling);
cudnnStatus_t cudnnSetActivationDescriptor(struct shape *s, int mode, int nan, double ceiling)
{
    (void)ceiling;
    if (mode != 1 || nan != 1)
        return refuse("cudnnSetActivationDescriptor",
                      "not a ReLU that lets through what is no number");
    s->is_set = true;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- what an algorithm takes ---------------------------------------------------------------- */

static bool are_set(const struct shape *x, const struct shape *w, const struct shape *v,
                    const struct shape *y)
{
    return x && w && v && y && x->is_set && w->is_set && v->is_set && y->is_set &&
           x->kind == TENSOR && w->kind == FILTER && v->kind == WINDOW && y->kind == TENSOR;
}

/* As cudnnGetConvolutionNdForwardOutputDim has it. */
static bool fits(const struct shape *x, const struct shape *w, const struct shape *v,
                 const struct shape *y)
{
    bool good = x->rank == w->rank && x->rank == y->rank && x->rank == v->rank + 2 &&
                x->size[0] == y->size[0] && w->size[0] == y->size[1] &&
                x->size[1] == w->size[1] * v->group && w->size[0] % v->group == 0;

    for (int i = 0; good && i < v->rank; i++) {
        int reach = v->dilation[i] * (w->size[2 + i] - 1) + 1;

        good = y->size[2 + i] == 1 + (x->size[2 + i] + 2 * v->pad[i] - reach) / v->step[i];
    }
    return good;
}

static size_t memory_of(int algorithm, const struct shape *w, const struct shape *y)
{
    return algorithm == PRECOMP_GEMM        ? 1024 + 4 * (size_t)w->size[1]
           : algorithm == GEMM              ? (size_t)1 << 40 /* more than anybody has */
           : algorithm == WINOGRAD_NONFUSED ? 64 * (size_t)y->size[1] * (size_t)w->size[1]
                                            : 0;
}

/* What a program might be tempted by comes first. */
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(struct handle *h, struct shape *x,
                                                     struct shape *w, struct shape *v,
                                                     struct shape *y, int most, int *count,
                                                     choice_t *out);
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(struct handle *h, struct shape *x,
                                                     struct shape *w, struct shape *v,
                                                     struct shape *y, int most, int *count,
                                                     choice_t *out)
{
    static const struct {
        int algorithm, status, determinism, math;
    } known[] = {
        { DIRECT, CUDNN_STATUS_NOT_SUPPORTED, 1, FMA_MATH },
        { GEMM, 0, 1, FMA_MATH },
        { PRECOMP_GEMM, 0, 1, DEFAULT_MATH },
        { WINOGRAD_NONFUSED, 0, 0, FMA_MATH },
        { WINOGRAD, 0, 1, FMA_MATH },
        { FFT, 0, 1, FMA_MATH },
        { PRECOMP_GEMM, 0, 1, FMA_MATH },
        { IMPLICIT_GEMM, 0, 1, FMA_MATH },
    };
    const int all = (int)(sizeof(known) / sizeof(known[0]));
    cudnnStatus_t status = begin("cudnnGetConvolutionForwardAlgorithm_v7", h);

    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (!are_set(x, w, v, y) || !fits(x, w, v, y) || most < 1)
        return refuse("cudnnGetConvolutionForwardAlgorithm_v7", "shapes that do not fit");
    for (*count = 0; *count < all && *count < most; ++*count)
        out[*count] = (choice_t){ .algorithm = known[*count].algorithm,
                                  .status = known[*count].status,
                                  .memory = memory_of(known[*count].algorithm, w, y),
                                  .determinism = known[*count].determinism,
                                  .math = known[*count].math };
    return status;
}

/* ---- convolutions --------------------------------------------------------------------------- */

struct work {
    struct shape x_shape, w_shape, v, y_shape;
    bool has_bias, has_relu, is_short, is_loose, is_turned; /* turned: Winograd's rounding */
    const float *x, *w, *bias;
    float *y;
    unsigned char *room;
};

/* Of TF32: ten bits behind the point. */
static float cut(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof(bits));
    bits = (bits + 0x1000) & 0xffffe000;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* One element of y; `at` is its place. */
static float convolve(const struct work *t, const int *at)
{
    const struct shape *x = &t->x_shape, *w = &t->w_shape, *v = &t->v;
    int outputs = w->size[0] / v->group, first = at[1] / outputs * w->size[1];
    int taps = 1;
    double sum = 0;

    for (int i = 0; i < v->rank; i++)
        taps *= w->size[2 + i];
    for (int tap = 0; tap < taps; tap++) {
        int64_t from = (int64_t)at[0] * x->stride[0] + (int64_t)first * x->stride[1];
        int64_t weight = (int64_t)at[1] * w->stride[0];
        bool inside = true;

        for (int i = v->rank - 1, rest = tap; i >= 0; rest /= w->size[2 + i--]) {
            int k = rest % w->size[2 + i];
            int place = at[2 + i] * v->step[i] - v->pad[i] + k * v->dilation[i];

            inside = inside && place >= 0 && place < x->size[2 + i];
            from += (int64_t)place * x->stride[2 + i];
            weight += (int64_t)k * w->stride[2 + i];
        }
        for (int c = 0; inside && c < w->size[1]; c++) {
            float a = t->x[from + (int64_t)c * x->stride[1]];
            float b = t->w[weight + (int64_t)c * w->stride[1]];

            sum += t->is_short ? (double)cut(a) * (double)cut(b) : (double)a * (double)b;
        }
    }
    return (float)sum;
}

static int run_convolution(void *argument)
{
    static unsigned runs;
    const struct work *t = argument;
    const struct shape *y = &t->y_shape;
    int64_t count = 1;

    runs++;
    for (int i = 0; i < y->rank; i++)
        count *= y->size[i];
    for (int64_t k = 0; k < count; k++) {
        int at[AXES];
        int64_t to = 0, rest = k;
        float value;

        for (int i = y->rank - 1; i >= 0; rest /= y->size[i--]) {
            at[i] = (int)(rest % y->size[i]);
            to += (int64_t)at[i] * y->stride[i];
        }
        value = convolve(t, at) + (t->has_bias ? t->bias[at[1]] : 0.0f);
        if (t->is_turned)
            value *= 1 + 1e-6f;
        if (t->is_loose) /* as whoever adds in another order each time */
            value *= 1 + (float)(runs % 7) * 1e-6f;
        t->y[to] = t->has_relu && value < 0 ? 0 : value;
    }
    return cudaSuccess;
}

static size_t bytes_of(const struct shape *s)
{
    size_t last = 0;

    for (int i = 0; i < s->rank; i++)
        last += (size_t)(s->size[i] - 1) * (size_t)s->stride[i];
    return (last + 1) * sizeof(float);
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return (const char *)a < (const char *)b + b_bytes &&
           (const char *)b < (const char *)a + a_bytes;
}

static cudnnStatus_t submit_convolution(const char *call, struct handle *h, const float *alpha,
                                        const float *beta, struct work *t, int algorithm,
                                        const void *x, const void *w, const void *bias, void *y,
                                        void *room, size_t memory)
{
    const size_t places[] = { offsetof(struct work, x), offsetof(struct work, w),
                              offsetof(struct work, bias), offsetof(struct work, y),
                              offsetof(struct work, room) };
    struct ferry_cuda_double_operand operands[] = {
        { x, bytes_of(&t->x_shape), NULL },
        { w, bytes_of(&t->w_shape), NULL },
        { bias, t->has_bias ? (size_t)t->w_shape.size[0] * sizeof(float) : 0, NULL },
        { y, bytes_of(&t->y_shape), NULL },
        { room, memory, NULL }
    };
    size_t needed = memory_of(algorithm, &t->w_shape, &t->y_shape);

    if (*alpha != 1 || *beta != 0)
        return refuse(call, "scalars that are not 1 and 0 are not computed here");
    if (memory < needed || (needed && !room))
        return refuse(call, "a workspace smaller than the algorithm needs");
    if ((uintptr_t)room % 16)
        return refuse(call, "a workspace that is not aligned");
    if (overlap(x, operands[0].size, y, operands[3].size) ||
        overlap(w, operands[1].size, y, operands[3].size))
        return refuse(call, "an output over an input");
    t->is_short = t->v.math != FMA_MATH;
    t->is_turned = algorithm >= FFT;
    t->is_loose = algorithm == WINOGRAD_NONFUSED;
    return status_of(ferry_cuda_double_submit(call, h->context, h->stream, run_convolution, t,
                                              sizeof(*t), operands, places, 5));
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
    static const char call[] = "cudnnConvolutionForward";
    cudnnStatus_t status = begin(call, h);
    struct work t;

    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (!are_set(xs, ws, v, ys) || !fits(xs, ws, v, ys))
        return refuse(call, "shapes that do not fit");
    memset(&t, 0, sizeof(t));
    t.x_shape = *xs, t.w_shape = *ws, t.v = *v, t.y_shape = *ys;
    return submit_convolution(call, h, alpha, beta, &t, algorithm, x, w, NULL, y, room, memory);
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    struct handle *h, const void *alpha, struct shape *xs, const void *x, struct shape *ws,
    const void *w, struct shape *v, int algorithm, void *room, size_t memory, const void *beta,
    struct shape *zs, const void *z, struct shape *bs, const void *bias, struct shape *activation,
    struct shape *ys, void *y);
cudnnStatus_t cudnnConvolutionBiasActivationForward(
    struct handle *h, const void *alpha, struct shape *xs, const void *x, struct shape *ws,
    const void *w, struct shape *v, int algorithm, void *room, size_t memory, const void *beta,
    struct shape *zs, const void *z, struct shape *bs, const void *bias, struct shape *activation,
    struct shape *ys, void *y)
{
    static const char call[] = "cudnnConvolutionBiasActivationForward";
    cudnnStatus_t status = begin(call, h);
    struct work t;

    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (!are_set(xs, ws, v, ys) || !fits(xs, ws, v, ys) || !zs || !z)
        return refuse(call, "shapes that do not fit");
    if (!activation || !activation->is_set || !bs || bs->size[1] != ys->size[1] || bs->size[0] != 1)
        return refuse(call, "no activation, or a bias of other channels");
    memset(&t, 0, sizeof(t));
    t.x_shape = *xs, t.w_shape = *ws, t.v = *v, t.y_shape = *ys;
    t.has_bias = t.has_relu = true;
    return submit_convolution(call, h, alpha, beta, &t, algorithm, x, w, bias, y, room, memory);
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
