/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Convolutions by cuDNN: forward, of F32, in whatever order their planes lie. It is asked for algorithms by
 * what it expects of them, without a trial; taken is the first that gives the same bits every time, computes
 * in the arithmetic that the operation allows, and needs no more memory than ferry has set aside.
 */
#include "dnn.h"

#include "kernels.h"

#include <stdlib.h>

#define AXES       (2 + FERRY_OP_SPATIAL)
#define MOST_ROOM  (UINT64_C(64) << 20) /* of a workspace */
#define ALIGNMENT  256u
#define ALGORITHMS 8

struct cuda_convolution {
    void *x, *y, *w, *bias, *relu,
        *window; /* cuDNN's descriptors; those that are not needed are NULL */
    bool has_bias;
    int algorithm;
    size_t memory;
};

/* ---- what it is asked for ------------------------------------------------------------------- */

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

/* It pads both sides alike: what it then has of windows is what there is. */
static bool is_symmetric(const ferry_op *op)
{
    const ferry_op_window *v = &op->params.window;

    for (uint32_t i = 0; i < v->axes; i++) {
        int64_t reach =
            op->in[0].shape[2 + i] + 2 * v->pad[i] - v->dilation[i] * (v->kernel[i] - 1);

        if (reach < 1 || (reach - 1) / v->stride[i] + 1 != op->out[0].shape[2 + i] ||
            v->pad[i] > INT32_MAX || v->stride[i] > INT32_MAX || v->dilation[i] > INT32_MAX)
            return false;
    }
    return true;
}

static bool has_bias(const ferry_op *op)
{
    uint32_t own = op->n_in;

    for (uint32_t i = 0; i < op->n_epilogue; i++)
        if (op->epilogue[i].step != FERRY_STEP_UNARY && op->epilogue[i].operand < own)
            own = op->epilogue[i].operand;
    return own > 2;
}

/* Where there is a bias, that and a ReLU are one call. */
static bool has_relu(const ferry_op *op)
{
    return op->n_epilogue > 0 && has_bias(op) && op->epilogue[0].step == FERRY_STEP_UNARY &&
           op->epilogue[0].function == FERRY_UNARY_RELU && op->epilogue[0].a == 0;
}

/* Of planes that are convolved each for itself the kernels are faster, and so they keep those. */
static bool is_taken(const ferry_op *op)
{
    const ferry_op_window *v = &op->params.window;

    return op->kind == FERRY_OP_CONVOLUTION && op->pass == FERRY_PASS_FORWARD && v->axes >= 2 &&
           !v->transposed && !(v->group > 1 && op->in[1].shape[1] == 1) && is_float(&op->in[0]) &&
           is_float(&op->in[1]) && is_float(&op->out[0]) && is_dense(&op->in[1]) &&
           (!has_bias(op) || (is_float(&op->in[2]) && is_dense(&op->in[2]))) && is_symmetric(op);
}

static uint64_t room_of(const ferry_op *op)
{
    uint64_t bytes = kernel_operand_bytes(&op->in[0]) + kernel_operand_bytes(&op->in[1]) +
                     kernel_operand_bytes(&op->out[0]);

    return bytes < MOST_ROOM ? bytes : MOST_ROOM;
}

bool cuda_convolution_query(const struct cuda_device *dev, const ferry_op *op, ferry_op_answer *out)
{
    if (!dev->dnn || !is_taken(op))
        return false;
    *out = (ferry_op_answer){ .struct_size = sizeof(*out) };
    out->epilogue = has_relu(op);
    out->workspace_bytes = room_of(op) + ALIGNMENT;
    return true;
}

/* ---- descriptors ---------------------------------------------------------------------------- */

/* Along an axis of one element a stride means nothing to ferry; cuDNN wants one as of a dense tensor. */
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

/* As a tensor of the output's rank, with its channels alone. */
static int describe_bias(const ferry_operand *y, void **out)
{
    ferry_operand bias = { .rank = y->rank };

    for (uint32_t i = 0; i < y->rank; i++)
        bias.shape[i] = i == 1 ? y->shape[1] : 1;
    bias.stride[1] = 1;
    return describe(&bias, out);
}

static int describe_window(const ferry_op *op, void **out)
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

static int describe_all(const ferry_op *op, struct cuda_convolution *c)
{
    int status = describe(&op->in[0], &c->x);

    if (!status)
        status = describe(&op->out[0], &c->y);
    if (!status)
        status = describe_weights(&op->in[1], &c->w);
    if (!status && c->has_bias)
        status = describe_bias(&op->out[0], &c->bias);
    if (!status)
        status = describe_window(op, &c->window);
    if (!status && has_relu(op)) {
        status = cuda_dnn.activation_create(&c->relu);
        if (!status)
            status = cuda_dnn.activation_set(c->relu, DNN_RELU, DNN_PROPAGATE_NAN, 0);
    }
    return status;
}

void cuda_convolution_destroy(struct cuda_convolution *c)
{
    if (c->x)
        (void)cuda_dnn.tensor_destroy(c->x);
    if (c->y)
        (void)cuda_dnn.tensor_destroy(c->y);
    if (c->w)
        (void)cuda_dnn.filter_destroy(c->w);
    if (c->bias)
        (void)cuda_dnn.tensor_destroy(c->bias);
    if (c->relu)
        (void)cuda_dnn.activation_destroy(c->relu);
    if (c->window)
        (void)cuda_dnn.convolution_destroy(c->window);
    free(c);
}

/* ---- the algorithm -------------------------------------------------------------------------- */

static bool is_wanted(const struct dnn_choice *choice, const ferry_op *op)
{
    bool turns = choice->algorithm == DNN_WINOGRAD || choice->algorithm == DNN_WINOGRAD_NONFUSED;
    bool fourier = choice->algorithm == DNN_FFT || choice->algorithm == DNN_FFT_TILING;

    return choice->status == DNN_SUCCESS && choice->determinism == DNN_DETERMINISTIC &&
           (choice->math == DNN_FMA_MATH || op->math & FERRY_MATH_TF32) && !fourier &&
           (!turns || op->math & FERRY_MATH_WINOGRAD) && choice->memory <= room_of(op);
}

/* A handle is for one thread at a time; the choosing one is the device's. */
static int choose(struct cuda_device *dev, const ferry_op *op, struct cuda_convolution *c)
{
    struct dnn_choice choice[ALGORITHMS];
    void *handle;
    int count = 0, status, err;

    pthread_mutex_lock(&dev->modules->lock);
    err = cuda_dnn_handle(&dev->chooser, &handle);
    if (!err) {
        status = cuda_dnn.choices(handle, c->x, c->w, c->window, c->y, ALGORITHMS, &count, choice);
        if (status)
            err = cuda_fail_dnn("cudnnGetConvolutionForwardAlgorithm", status, dev->main.stream);
    }
    pthread_mutex_unlock(&dev->modules->lock);
    for (int i = 0; i < count && !err; i++)
        if (is_wanted(&choice[i], op)) {
            c->algorithm = choice[i].algorithm;
            c->memory = choice[i].memory;
            return 0;
        }
    return err ? err : FERRY_EUNSUPPORTED;
}

int cuda_convolution_create(struct cuda_device *dev, const ferry_op *op,
                            struct cuda_convolution **out)
{
    struct cuda_convolution *c = calloc(1, sizeof(*c));
    int status, err;

    if (!c)
        return cuda_host->error(FERRY_ENOMEM, "no host memory for a convolution");
    c->has_bias = has_bias(op);
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

int cuda_convolution_run(struct cuda_queue *queue, const struct cuda_convolution *c,
                         const ferry_op_run_args *args)
{
    const float one = 1, zero = 0;
    const void *x = cuda_at_const(args->in[0]), *w = cuda_at_const(args->in[1]);
    const void *bias = c->has_bias ? cuda_at_const(args->in[2]) : NULL;
    void *y = cuda_at(args->out[0]), *room = c->memory ? align(cuda_at(args->workspace)) : NULL;
    const char *call = "cudnnConvolutionForward";
    void *handle;
    int status, err = cuda_dnn_handle(queue, &handle);

    if (err)
        return err;
    if (c->relu) {
        call = "cudnnConvolutionBiasActivationForward";
        status =
            cuda_dnn.forward_relu(handle, &one, c->x, x, c->w, w, c->window, c->algorithm, room,
                                  c->memory, &zero, c->y, y, c->bias, bias, c->relu, c->y, y);
    } else {
        status = cuda_dnn.forward(handle, &one, c->x, x, c->w, w, c->window, c->algorithm, room,
                                  c->memory, &zero, c->y, y);
        if (!status && bias) {
            call = "cudnnAddTensor";
            status = cuda_dnn.add(handle, &one, c->bias, bias, &one, c->y, y);
        }
    }
    return status ? cuda_fail_dnn(call, status, queue->stream) : 0;
}
