/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Convolutions by cuDNN: F32, planes in any order, forward and backward. cuDNN ranks algorithms by
 * its estimates, without trial runs. The first one is used that is deterministic, computes in the
 * arithmetic that the operation allows, and fits into the workspace limit.
 */
#include "dnn.h"

#include "kernels.h"

#include <ferry/op_types.h>
#include <stdlib.h>

#define AXES       (2 + FERRY_OP_SPATIAL)
#define MOST_ROOM  (UINT64_C(64) << 20) /* the limit of a workspace */
#define ALIGNMENT  256u
#define ALGORITHMS 8

/*
 * The three functions of cuDNN. A transposed convolution is another convolution's backward to the
 * data, and its own backward to the data is that convolution's forward.
 */
enum pass { FORWARD, DATA, WEIGHTS };

/*
 * The operands: `wide` is the image that the window moves over, `narrow` the image with one element
 * per window.
 */
struct sides {
    enum pass pass;
    const ferry_operand *wide, *narrow, *w;
};

struct cuda_convolution {
    enum pass pass;
    uint32_t wide_in;                        /* for WEIGHTS: the input that is the wide image */
    void *wide, *narrow, *w, *window, *bias; /* cuDNN's descriptors; the bias may be NULL */
    bool has_bias;
    int algorithm;
    size_t memory;
};

static struct sides sides_of(const ferry_op_desc *op)
{
    bool turned = op->params.window.transposed;

    if (op->pass == FERRY_PASS_BACKWARD_WEIGHTS)
        return (struct sides){ WEIGHTS, &op->in[!turned], &op->in[turned], &op->out[0] };
    if (turned != (op->pass == FERRY_PASS_BACKWARD_DATA))
        return (struct sides){ DATA, &op->out[0], &op->in[0], &op->in[1] };
    return (struct sides){ FORWARD, &op->in[0], &op->out[0], &op->in[1] };
}

/* ---- supported operations ------------------------------------------------------------------- */

static bool is_float(const ferry_operand *o)
{
    bool fits = o->dtype == FERRY_F32;

    for (uint32_t i = 0; i < o->rank; i++)
        fits = fits && o->shape[i] > 0 && o->shape[i] <= INT32_MAX && o->stride[i] >= 0 &&
               o->stride[i] <= INT32_MAX && (o->shape[i] == 1 || o->stride[i] > 0);
    return fits;
}

static bool is_dense(const ferry_operand *o)
{
    int64_t next = 1;

    for (uint32_t i = o->rank; i-- > 0; next *= o->shape[i])
        if (o->shape[i] != 1 && o->stride[i] != next)
            return false;
    return true;
}

/* Whether the operand may have gaps between its elements, as a part of a concatenation has. */
static bool has_gaps(const ferry_operand *o)
{
    int64_t elements = 1, reach = 1;

    for (uint32_t i = 0; i < o->rank; i++) {
        elements *= o->shape[i];
        reach += (o->shape[i] - 1) * o->stride[i];
    }
    return reach > elements;
}

/*
 * Whether one image may be between the elements of the other, as parts of one value; cuDNN's
 * documentation does not allow that.
 */
static bool may_interleave(const struct sides *of)
{
    return of->pass != WEIGHTS && has_gaps(of->wide) && has_gaps(of->narrow);
}

/*
 * Whether cuDNN computes the same number of windows as the operation, since it pads both sides
 * equally.
 */
static bool is_symmetric(const ferry_op_window *v, const struct sides *of)
{
    for (uint32_t i = 0; i < v->axes; i++) {
        int64_t reach =
            of->wide->shape[2 + i] + 2 * v->pad[i] - v->dilation[i] * (v->kernel[i] - 1);

        if (reach < 1 || (reach - 1) / v->stride[i] + 1 != of->narrow->shape[2 + i] ||
            v->pad[i] > INT32_MAX || v->stride[i] > INT32_MAX || v->dilation[i] > INT32_MAX)
            return false;
    }
    return true;
}

/* Whether each plane is convolved separately; by default the kernels compute such a convolution. */
static bool is_depthwise(const ferry_op_desc *op, const struct sides *of)
{
    return op->params.window.group > 1 && of->w->shape[1] == 1;
}

static bool is_taken(const struct cuda_device *dev, const ferry_op_desc *op)
{
    const ferry_op_window *v = &op->params.window;
    const struct sides of = sides_of(op);

    return op->kind == FERRY_OP_CONVOLUTION && op->pass != FERRY_PASS_BACKWARD_BIAS &&
           v->axes >= 2 && (dev->dnn_depthwise || !is_depthwise(op, &of)) && is_float(of.wide) &&
           is_float(of.narrow) && is_float(of.w) && is_dense(of.w) &&
           (ferry_op_own_inputs(op) < 3 || (is_float(&op->in[2]) && is_dense(&op->in[2]))) &&
           is_symmetric(v, &of) && !may_interleave(&of);
}

static uint64_t room_of(const ferry_op_desc *op)
{
    uint64_t bytes = kernel_operand_bytes(&op->in[0]) + kernel_operand_bytes(&op->in[1]) +
                     kernel_operand_bytes(&op->out[0]);

    return bytes < MOST_ROOM ? bytes : MOST_ROOM;
}

/*
 * Whether cuDNN computes an operation. ferry's kernels compute the steps after the convolution,
 * including a ReLU, because the ReLU of cudnnConvolutionBiasActivationForward turns NaN into 0.
 */
bool cuda_convolution_query(const struct cuda_device *dev, const ferry_op_desc *op,
                            ferry_op_answer *out)
{
    if (!dev->dnn || !is_taken(dev, op))
        return false;
    *out = (ferry_op_answer){ .struct_size = sizeof(*out) };
    out->workspace_bytes = room_of(op) + ALIGNMENT;
    return true;
}

/* ---- descriptors ---------------------------------------------------------------------------- */

/*
 * Describes an operand as a tensor. The stride of an axis of one element is arbitrary in ferry;
 * cuDNN requires that of a dense tensor.
 */
static int describe(const ferry_operand *o, void **out)
{
    int shape[AXES], stride[AXES], status = cuda_dnn.tensor_create(out);

    for (uint32_t i = o->rank; i-- > 0;) {
        shape[i] = (int)o->shape[i];
        stride[i] = o->shape[i] > 1   ? (int)o->stride[i]
                    : i + 1 < o->rank ? stride[i + 1] * shape[i + 1]
                                      : 1;
    }
    return status ? status : cuda_dnn.tensor_set(*out, DNN_FLOAT, (int)o->rank, shape, stride);
}

static int describe_weights(const ferry_operand *o, void **out)
{
    int shape[AXES], status = cuda_dnn.filter_create(out);

    for (uint32_t i = 0; i < o->rank; i++)
        shape[i] = (int)o->shape[i];
    return status ? status : cuda_dnn.filter_set(*out, DNN_FLOAT, DNN_NCHW, (int)o->rank, shape);
}

/* Describes the bias as a tensor of the output's rank, with only the channels. */
static int describe_bias(const ferry_operand *y, void **out)
{
    ferry_operand bias = { .rank = y->rank };

    for (uint32_t i = 0; i < y->rank; i++)
        bias.shape[i] = i == 1 ? y->shape[1] : 1;
    bias.stride[1] = 1;
    return describe(&bias, out);
}

static int describe_window(const ferry_op_desc *op, void **out)
{
    const ferry_op_window *v = &op->params.window;
    int pad[FERRY_OP_SPATIAL], stride[FERRY_OP_SPATIAL], dilation[FERRY_OP_SPATIAL];
    int status = cuda_dnn.convolution_create(out);

    for (uint32_t i = 0; i < v->axes; i++) {
        pad[i] = (int)v->pad[i];
        stride[i] = (int)v->stride[i];
        dilation[i] = (int)v->dilation[i];
    }
    if (!status)
        status = cuda_dnn.convolution_set(*out, (int)v->axes, pad, stride, dilation,
                                          DNN_CROSS_CORRELATION, DNN_FLOAT);
    if (!status)
        status = cuda_dnn.convolution_group(*out, (int)v->group);
    if (!status)
        status = cuda_dnn.convolution_math(*out, op->math & FERRY_MATH_TF32 ? DNN_DEFAULT_MATH
                                                                            : DNN_FMA_MATH);
    return status;
}

static int describe_all(const ferry_op_desc *op, struct cuda_convolution *c)
{
    const struct sides of = sides_of(op);
    int status = describe(of.wide, &c->wide);

    if (!status)
        status = describe(of.narrow, &c->narrow);
    if (!status)
        status = describe_weights(of.w, &c->w);
    if (!status && c->has_bias)
        status = describe_bias(&op->out[0], &c->bias);
    if (!status)
        status = describe_window(op, &c->window);
    return status;
}

void cuda_convolution_destroy(struct cuda_convolution *c)
{
    if (c->wide)
        (void)cuda_dnn.tensor_destroy(c->wide);
    if (c->narrow)
        (void)cuda_dnn.tensor_destroy(c->narrow);
    if (c->w)
        (void)cuda_dnn.filter_destroy(c->w);
    if (c->bias)
        (void)cuda_dnn.tensor_destroy(c->bias);
    if (c->window)
        (void)cuda_dnn.convolution_destroy(c->window);
    free(c);
}

/* ---- the algorithm -------------------------------------------------------------------------- */

/*
 * For each function, the numbers of cuDNN's algorithms that are accepted, as bits: algorithms by
 * tiles, and by Fourier transforms.
 */
static const struct {
    unsigned turns, fourier;
} kinds[] = {
    [FORWARD] = { 1u << 6 | 1u << 7, 1u << 4 | 1u << 5 },
    [DATA] = { 1u << 4 | 1u << 5, 1u << 2 | 1u << 3 },
    [WEIGHTS] = { 1u << 4 | 1u << 5, 1u << 2 | 1u << 6 },
};

static bool is_wanted(const struct dnn_choice *choice, const ferry_op_desc *op, enum pass pass)
{
    unsigned kind = 1u << (choice->algorithm & 31);

    return choice->status == DNN_SUCCESS && choice->determinism == DNN_DETERMINISTIC &&
           (choice->math == DNN_FMA_MATH || op->math & FERRY_MATH_TF32) &&
           !(kinds[pass].fourier & kind) &&
           (!(kinds[pass].turns & kind) || op->math & FERRY_MATH_WINOGRAD) &&
           choice->memory <= room_of(op);
}

static int ask(void *handle, const struct cuda_convolution *c, int *count,
               struct dnn_choice *choice)
{
    switch (c->pass) {
    case FORWARD:
        return cuda_dnn.choices(handle, c->wide, c->w, c->window, c->narrow, ALGORITHMS, count,
                                choice);
    case DATA:
        return cuda_dnn.data_choices(handle, c->w, c->narrow, c->window, c->wide, ALGORITHMS, count,
                                     choice);
    default:
        return cuda_dnn.weights_choices(handle, c->wide, c->narrow, c->window, c->w, ALGORITHMS,
                                        count, choice);
    }
}

/*
 * Selects an algorithm. The device has a separate handle for this, since a handle is used by one
 * thread at a time.
 */
static int choose(struct cuda_device *dev, const ferry_op_desc *op, struct cuda_convolution *c)
{
    struct dnn_choice choice[ALGORITHMS];
    void *handle;
    int count = 0, status, err;

    pthread_mutex_lock(&dev->modules->lock);
    err = cuda_dnn_handle(&dev->chooser, &handle);
    if (!err) {
        status = ask(handle, c, &count, choice);
        if (status)
            err = cuda_fail_dnn("cuDNN's choice of an algorithm", status, dev->main.stream);
    }
    pthread_mutex_unlock(&dev->modules->lock);
    for (int i = 0; i < count && !err; i++)
        if (is_wanted(&choice[i], op, c->pass)) {
            c->algorithm = choice[i].algorithm;
            c->memory = choice[i].memory;
            return 0;
        }
    return err ? err : FERRY_EUNSUPPORTED;
}

int cuda_convolution_create(struct cuda_device *dev, const ferry_op_desc *op,
                            struct cuda_convolution **out)
{
    struct cuda_convolution *c = calloc(1, sizeof(*c));
    int status, err;

    if (!c)
        return cuda_host->error(FERRY_ENOMEM, "out of host memory for a convolution");
    c->pass = sides_of(op).pass;
    c->wide_in = !op->params.window.transposed;
    c->has_bias = ferry_op_own_inputs(op) > 2;
    status = describe_all(op, c);
    if (status)
        err = cuda_fail_dnn("a descriptor of cuDNN", status, dev->main.stream);
    else
        err = choose(dev, op, c);
    if (err) {
        cuda_convolution_destroy(c);
        return err;
    }
    *out = c;
    return 0;
}

/* ---- running -------------------------------------------------------------------------------- */

static void *align(void *address)
{
    return (void *)(((uintptr_t)address + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
}

struct run {
    void *handle, *y, *room;
    const void *in[3];
};

/* Runs one convolution. The gradient of weights is added to the previous values. */
static int run_one(const struct cuda_convolution *c, const struct run *r, const char **call)
{
    const float one = 1, zero = 0;

    switch (c->pass) {
    case FORWARD:
        *call = "cudnnConvolutionForward";
        return cuda_dnn.forward(r->handle, &one, c->wide, r->in[0], c->w, r->in[1], c->window,
                                c->algorithm, r->room, c->memory, &zero, c->narrow, r->y);
    case DATA:
        *call = "cudnnConvolutionBackwardData";
        return cuda_dnn.data(r->handle, &one, c->w, r->in[1], c->narrow, r->in[0], c->window,
                             c->algorithm, r->room, c->memory, &zero, c->wide, r->y);
    default:
        *call = "cudnnConvolutionBackwardFilter";
        return cuda_dnn.weights(r->handle, &one, c->wide, r->in[c->wide_in], c->narrow,
                                r->in[1 - c->wide_in], c->window, c->algorithm, r->room, c->memory,
                                &one, c->w, r->y);
    }
}

int cuda_convolution_run(struct cuda_queue *queue, const struct cuda_convolution *c,
                         const ferry_op_run_args *args)
{
    const float one = 1;
    struct run r = { .in = { cuda_at_const(args->in[0]), cuda_at_const(args->in[1]),
                             c->has_bias ? cuda_at_const(args->in[2]) : NULL },
                     .y = cuda_at(args->out[0]),
                     .room = c->memory ? align(cuda_at(args->workspace)) : NULL };
    const char *call = NULL;
    int status, err = cuda_dnn_handle(queue, &r.handle);

    if (err)
        return err;
    status = run_one(c, &r, &call);
    if (!status && r.in[2]) {
        call = "cudnnAddTensor";
        status = cuda_dnn.add(r.handle, &one, c->bias, r.in[2], &one,
                              c->pass == DATA ? c->wide : c->narrow, r.y);
    }
    return status ? cuda_fail_dnn(call, status, queue->stream) : 0;
}
