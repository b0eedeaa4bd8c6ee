/* SPDX-License-Identifier: BSD-2-Clause */
/* The operators that become layers. Operators on constants only are in fold.c. */
#include "net/import/ops.h"

#include <string.h>

/* clang-format off: an operator a line */
static const struct ferry__import_op table[] = {
    { "Abs", ferry__import_unary },
    { "Add", ferry__import_binary },
    { "ArgMax", ferry__import_arg_max },
    { "ArgMin", ferry__import_arg_max },
    { "AveragePool", ferry__import_pool },
    { "BatchNormalization", ferry__import_batch_norm },
    { "Cast", ferry__import_identity },
    { "Clip", ferry__import_clip },
    { "Concat", ferry__import_concat },
    { "Conv", ferry__import_conv },
    { "ConvTranspose", ferry__import_conv_transpose },
    { "DepthToSpace", ferry__import_depth_to_space },
    { "Div", ferry__import_binary },
    { "Dropout", ferry__import_identity },
    { "Elu", ferry__import_unary },
    { "Erf", ferry__import_erf },
    { "Exp", ferry__import_unary },
    { "Expand", ferry__import_tile },
    { "Flatten", ferry__import_reshape_op },
    { "Gather", ferry__import_gather },
    { "Gelu", ferry__import_gelu },
    { "Gemm", ferry__import_gemm },
    { "GlobalAveragePool", ferry__import_global_pool },
    { "GlobalMaxPool", ferry__import_global_pool },
    { "GroupNormalization", ferry__import_group_norm },
    { "HardSigmoid", ferry__import_hard_sigmoid },
    { "HardSwish", ferry__import_unary },
    { "Identity", ferry__import_identity },
    { "InstanceNormalization", ferry__import_instance_norm },
    { "LRN", ferry__import_lrn },
    { "LayerNormalization", ferry__import_layer_norm },
    { "LeakyRelu", ferry__import_unary },
    { "Log", ferry__import_unary },
    { "LogSoftmax", ferry__import_softmax },
    { "LpNormalization", ferry__import_lp_norm },
    { "MatMul", ferry__import_mat_mul },
    { "Max", ferry__import_extreme },
    { "MaxPool", ferry__import_pool },
    { "Mean", ferry__import_sum },
    { "Min", ferry__import_extreme },
    { "Mish", ferry__import_unary },
    { "Mul", ferry__import_binary },
    { "Neg", ferry__import_unary },
    { "PRelu", ferry__import_prelu },
    { "Pad", ferry__import_pad },
    { "Pow", ferry__import_pow },
    { "Reciprocal", ferry__import_unary },
    { "ReduceL1", ferry__import_reduce },
    { "ReduceL2", ferry__import_reduce },
    { "ReduceLogSum", ferry__import_reduce },
    { "ReduceMax", ferry__import_reduce },
    { "ReduceMean", ferry__import_reduce },
    { "ReduceMin", ferry__import_reduce },
    { "ReduceSum", ferry__import_reduce },
    { "ReduceSumSquare", ferry__import_reduce },
    { "Relu", ferry__import_unary },
    { "Reshape", ferry__import_reshape_op },
    { "Resize", ferry__import_resize },
    { "Selu", ferry__import_selu },
    { "Sigmoid", ferry__import_sigmoid },
    { "Slice", ferry__import_slice },
    { "Softmax", ferry__import_softmax },
    { "Softplus", ferry__import_unary },
    { "Softsign", ferry__import_unary },
    { "SpaceToDepth", ferry__import_depth_to_space },
    { "Split", ferry__import_split },
    { "Sqrt", ferry__import_unary },
    { "Squeeze", ferry__import_reshape_op },
    { "Sub", ferry__import_binary },
    { "Sum", ferry__import_sum },
    { "Swish", ferry__import_unary },
    { "Tanh", ferry__import_unary },
    { "Tile", ferry__import_tile },
    { "Transpose", ferry__import_transpose },
    { "Unsqueeze", ferry__import_reshape_op },
    { "Upsample", ferry__import_resize },
};
/* clang-format on */

const struct ferry__import_op *ferry__import_op_of(const char *type)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!strcmp(table[i].type, type))
            return &table[i];
    return NULL;
}
