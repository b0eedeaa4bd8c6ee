/* SPDX-License-Identifier: BSD-2-Clause */
/* ONNX's operators as ferry's layers: a function each, for the present node. */
#ifndef FERRY_NET_IMPORT_OPS_H
#define FERRY_NET_IMPORT_OPS_H

#include "net/import/build.h"

struct ferry__import_op {
    const char *type;
    void (*convert)(struct ferry__import *im);
};

/* The operator's row; NULL: it has none. (table.c) */
const struct ferry__import_op *ferry__import_op_of(const char *type);

/* ops_conv.c */
void ferry__import_conv(struct ferry__import *im);
void ferry__import_conv_transpose(struct ferry__import *im);
void ferry__import_gemm(struct ferry__import *im);
void ferry__import_mat_mul(struct ferry__import *im);

/* ops_pool.c */
void ferry__import_pool(struct ferry__import *im);
void ferry__import_global_pool(struct ferry__import *im);

/* ops_element.c */
void ferry__import_unary(struct ferry__import *im);
void ferry__import_clip(struct ferry__import *im);
void ferry__import_identity(struct ferry__import *im);
void ferry__import_pow(struct ferry__import *im);
void ferry__import_prelu(struct ferry__import *im);
void ferry__import_sigmoid(struct ferry__import *im);
void ferry__import_hard_sigmoid(struct ferry__import *im);
void ferry__import_gelu(struct ferry__import *im);
void ferry__import_selu(struct ferry__import *im);

/* ops_binary.c */
void ferry__import_binary(struct ferry__import *im);
void ferry__import_extreme(struct ferry__import *im);
void ferry__import_sum(struct ferry__import *im);

/* ops_norm.c */
void ferry__import_batch_norm(struct ferry__import *im);
void ferry__import_instance_norm(struct ferry__import *im);
void ferry__import_layer_norm(struct ferry__import *im);
void ferry__import_group_norm(struct ferry__import *im);
void ferry__import_lp_norm(struct ferry__import *im);
void ferry__import_lrn(struct ferry__import *im);
void ferry__import_softmax(struct ferry__import *im);
void ferry__import_reduce(struct ferry__import *im);
void ferry__import_arg_max(struct ferry__import *im);

/* ops_shape.c */
void ferry__import_reshape_op(struct ferry__import *im);
void ferry__import_transpose(struct ferry__import *im);
void ferry__import_concat(struct ferry__import *im);
void ferry__import_split(struct ferry__import *im);
void ferry__import_slice(struct ferry__import *im);
void ferry__import_gather(struct ferry__import *im);
void ferry__import_tile(struct ferry__import *im);
void ferry__import_depth_to_space(struct ferry__import *im);
void ferry__import_pad(struct ferry__import *im);
void ferry__import_resize(struct ferry__import *im);

/* ---- shared --------------------------------------------------------------------------------- */

/*
 * x with `begin` and `end` more elements of `value` along each axis; negative: fewer. (ops_shape.c)
 */
struct ferry__import_value *ferry__import_padded(struct ferry__import *im,
                                                 struct ferry__import_value *x,
                                                 const int64_t *begin, const int64_t *end,
                                                 double value);
/*
 * x times a constant, or plus one, or both (`factor` or `term` may be NULL), each with x's axes
 * from `axis` on. (ops_binary.c)
 */
struct ferry__import_value *ferry__import_scaled(struct ferry__import *im,
                                                 struct ferry__import_value *x, int axis,
                                                 int n_axes,
                                                 const struct ferry__import_tensor *factor,
                                                 const struct ferry__import_tensor *term);
/* a · t + b of each element, as FLOAT; or with `invert` a / t. (ops_binary.c) */
struct ferry__import_tensor ferry__import_constant_affine(struct ferry__import *im,
                                                          const struct ferry__import_tensor *t,
                                                          double a, double b);
/* x by a Reduce layer over the axes whose bits are set. (ops_norm.c) */
struct ferry__import_value *ferry__import_reduced(struct ferry__import *im,
                                                  struct ferry__import_value *x, const char *what,
                                                  unsigned axes, bool keep);
/* Of two values by a Binary layer. (ops_binary.c) */
struct ferry__import_value *ferry__import_binary_of(struct ferry__import *im, const char *what,
                                                    struct ferry__import_value *x,
                                                    struct ferry__import_value *u);

/* ---- windows (window.c) --------------------------------------------------------------------- */

#define FERRY__IMPORT_SPATIAL (FERRY_OP_AXES - 2)

/* Of Conv, ConvTranspose and pooling. */
struct ferry__import_window {
    int n; /* spatial axes */
    int64_t kernel[FERRY__IMPORT_SPATIAL], stride[FERRY__IMPORT_SPATIAL],
        dilation[FERRY__IMPORT_SPATIAL], begin[FERRY__IMPORT_SPATIAL], end[FERRY__IMPORT_SPATIAL];
};

/*
 * kernel_shape (or `kernel`, if that is not NULL), strides, dilations, pads or auto_pad for an
 * input of shape `x`. Fails for values out of range.
 */
struct ferry__import_window ferry__import_window_of(struct ferry__import *im,
                                                    const struct ferry__import_shape *x,
                                                    const int64_t *kernel);
/* Elements of spatial axis i of the result, rounded up with `ceil`. */
int64_t ferry__import_window_slid(const struct ferry__import_window *w, int i, int64_t in,
                                  bool ceil);
/* Whether each axis has equal pads at both ends. */
bool ferry__import_window_is_even(const struct ferry__import_window *w);

#endif
