/* SPDX-License-Identifier: BSD-2-Clause */
#include "layer_types.h"

#include <stddef.h>
#include <string.h>

static const struct {
    unsigned v1;
    const char *v0; /* NULL for types that were added after V0 */
    const char *name;
} types[] = {
    { 1, "accuracy", "Accuracy" },
    { 2, "bnll", "BNLL" },
    { 3, "concat", "Concat" },
    { 4, "conv", "Convolution" },
    { 5, "data", "Data" },
    { 6, "dropout", "Dropout" },
    { 7, "euclidean_loss", "EuclideanLoss" },
    { 8, "flatten", "Flatten" },
    { 9, "hdf5_data", "HDF5Data" },
    { 10, "hdf5_output", "HDF5Output" },
    { 11, "im2col", "Im2col" },
    { 12, "images", "ImageData" },
    { 13, "infogain_loss", "InfogainLoss" },
    { 14, "innerproduct", "InnerProduct" },
    { 15, "lrn", "LRN" },
    { 16, "multinomial_logistic_loss", "MultinomialLogisticLoss" },
    { 17, "pool", "Pooling" },
    { 18, "relu", "ReLU" },
    { 19, "sigmoid", "Sigmoid" },
    { 20, "softmax", "Softmax" },
    { 21, "softmax_loss", "SoftmaxWithLoss" },
    { 22, "split", "Split" },
    { 23, "tanh", "TanH" },
    { 24, "window_data", "WindowData" },
    { 25, NULL, "Eltwise" },
    { 26, NULL, "Power" },
    { 27, NULL, "SigmoidCrossEntropyLoss" },
    { 28, "hinge_loss", "HingeLoss" },
    { 29, NULL, "MemoryData" },
    { 30, NULL, "ArgMax" },
    { 31, NULL, "Threshold" },
    { 32, NULL, "DummyData" },
    { 33, NULL, "Slice" },
    { 34, NULL, "MVN" },
    { 35, NULL, "AbsVal" },
    { 36, NULL, "Silence" },
    { 37, NULL, "ContrastiveLoss" },
    { 38, NULL, "Exp" },
    { 39, NULL, "Deconvolution" },
};

#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

const char *ferry__layer_type_v1(uint64_t value)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (types[i].v1 == value)
            return types[i].name;
    return "";
}

const char *ferry__layer_type_v0(const char *type)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (types[i].v0 && strcmp(types[i].v0, type) == 0)
            return types[i].name;
    return type;
}
