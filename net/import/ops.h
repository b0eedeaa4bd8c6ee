/* SPDX-License-Identifier: BSD-2-Clause */
/* The conversion of ONNX's operators: a function for each adds the layers of the current node. */
#ifndef FERRY_NET_IMPORT_OPS_H
#define FERRY_NET_IMPORT_OPS_H

#include "net/import/build.h"

struct ferry__import_op {
    const char *type;
    void (*convert)(struct ferry__import *im);
};

/* The row of the operator in table.c; NULL: the operator is not supported. */
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

/* ops_erf.c */
void ferry__import_erf(struct ferry__import *im);
/*
 * Converts the node if it is x ∘ u with a part of GELU, or begins one; false: it is neither.
 */
bool ferry__import_erf_step(struct ferry__import *im, struct ferry__import_value *x,
                            struct ferry__import_value *u);

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
 * Adds `begin` and `end` elements of `value` around x along each axis; negative numbers remove
 * elements. (ops_shape.c)
 */
struct ferry__import_value *ferry__import_padded(struct ferry__import *im,
                                                 struct ferry__import_value *x,
                                                 const int64_t *begin, const int64_t *end,
                                                 double value);
/*
 * Computes x · factor + term with constants, one of which may be NULL. A constant has the axes of x
 * from `axis` on. (ops_binary.c)
 */
struct ferry__import_value *ferry__import_scaled(struct ferry__import *im,
                                                 struct ferry__import_value *x, int axis,
                                                 int n_axes,
                                                 const struct ferry__import_tensor *factor,
                                                 const struct ferry__import_tensor *term);
/*
 * Computes a · t + b for each element of a constant, as FLOAT; the variant with `invert` computes a
 * / t. (ops_binary.c)
 */
struct ferry__import_tensor ferry__import_constant_affine(struct ferry__import *im,
                                                          const struct ferry__import_tensor *t,
                                                          double a, double b);
/* Adds a Reduce layer on x over the axes whose bits are set. (ops_norm.c) */
struct ferry__import_value *ferry__import_reduced(struct ferry__import *im,
                                                  struct ferry__import_value *x, const char *what,
                                                  unsigned axes, bool keep);
/* Adds a Binary layer on two values. (ops_binary.c) */
struct ferry__import_value *ferry__import_binary_of(struct ferry__import *im, const char *what,
                                                    struct ferry__import_value *x,
                                                    struct ferry__import_value *u);

/* ---- windows (window.c) --------------------------------------------------------------------- */

#define FERRY__IMPORT_SPATIAL (FERRY_OP_AXES - 2)

/* The window of Conv, ConvTranspose and pooling. */
struct ferry__import_window {
    int n; /* the number of spatial axes */
    int64_t kernel[FERRY__IMPORT_SPATIAL], stride[FERRY__IMPORT_SPATIAL],
        dilation[FERRY__IMPORT_SPATIAL], begin[FERRY__IMPORT_SPATIAL], end[FERRY__IMPORT_SPATIAL];
};

/*
 * Reads kernel_shape (or takes `kernel`, if that is not NULL), strides, dilations, and pads or
 * auto_pad for an input of shape `x`. Fails for values out of range.
 */
struct ferry__import_window ferry__import_window_of(struct ferry__import *im,
                                                    const struct ferry__import_shape *x,
                                                    const int64_t *kernel);
/* The size of spatial axis i of the result, rounded up with `ceil`. */
int64_t ferry__import_window_slid(const struct ferry__import_window *w, int i, int64_t in,
                                  bool ceil);
/* Whether each axis has equal pads at both ends. */
bool ferry__import_window_is_even(const struct ferry__import_window *w);

#endif
