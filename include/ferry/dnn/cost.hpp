/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dnn/cost.hpp
 * The operations that OpenCV counts for a layer, by its own rules. See ferry/dnn.hpp.
 */
#ifndef FERRY_DNN_COST_HPP
#define FERRY_DNN_COST_HPP

#include <ferry/dnn/types.hpp>

FERRY_DNN_BEGIN
namespace detail
{

inline int64_t elements(const std::vector<MatShape> &shapes)
{
    int64_t n = 0;

    for (const MatShape &shape : shapes)
        n += static_cast<int64_t>(count_of(shape));
    return n;
}

/** The number of elements of a window, or of the axes of a shape from the third on. */
inline int64_t area(const MatShape &shape)
{
    int64_t n = 1;

    for (size_t k = 2; k < shape.size(); k++)
        n *= shape[k];
    return n;
}

inline int64_t pooling_flops(const ferry_proto *message, int64_t outputs)
{
    const ferry_proto *of = ferry_proto_message(message, "pooling_param", 0);
    const int64_t side = std::max<int64_t>(1, ferry_proto_integer(of, "kernel_size", 0));
    const int64_t height = ferry_proto_integer(of, "kernel_h", 0),
                  width = ferry_proto_integer(of, "kernel_w", 0);

    return outputs * ((height ? height : side) * (width ? width : side) +
                      (ferry_proto_integer(of, "pool", 0) == 1));
}

/**
 * The operations of one layer; 0 for a type without a rule, such as one that only moves its input.
 */
inline int64_t flops(const std::string &type, const ferry_proto *message, const MatShape &weights,
                     const std::vector<MatShape> &ins, const std::vector<MatShape> &outs)
{
    const int64_t n = elements(outs);

    if (type == "Convolution") /* a grouped convolution counts as one without groups */
        return n * (2 * area(weights) * ins[0][1] + 1);
    if (type == "Deconvolution")
        return 2 * area(weights) * outs[0][1] * elements(ins);
    if (type == "InnerProduct")
        return 3 * weights.back() * n;
    if (type == "Pooling")
        return pooling_flops(message, n);
    if (type == "PriorBox")
        return (area(ins[0]) + area(ins[1])) * (outs[0][2] / area(ins[0]));
    if (type == "MVN")
        return 6 * n + 3 * int64_t(ins[0][0]) * ins[0][1];
    if (type == "Eltwise")
        return elements(ins);
    return n * (type == "BatchNorm"                 ? 3
                : type == "Scale"                   ? 2
                : type == "ReLU" || type == "PReLU" ? 1
                : type == "Softmax"                 ? 4
                                                    : 0);
}

} // namespace detail
FERRY_DNN_END

#endif
