/* SPDX-License-Identifier: BSD-2-Clause */
/* Weights of one axis of Resize, by ONNX's definition. */
#ifndef FERRY_NET_LAYERS_RESAMPLE_H
#define FERRY_NET_LAYERS_RESAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* Values of the enums in ResizeParameter. */
enum ferry__resample_method {
    FERRY__RESAMPLE_NEAREST,
    FERRY__RESAMPLE_LINEAR,
    FERRY__RESAMPLE_CUBIC
};
enum ferry__resample_sampling {
    FERRY__RESAMPLE_HALF_PIXEL,
    FERRY__RESAMPLE_ALIGN_CORNERS,
    FERRY__RESAMPLE_ASYMMETRIC,
    FERRY__RESAMPLE_PYTORCH_HALF_PIXEL
};
enum ferry__resample_rounding {
    FERRY__RESAMPLE_ROUND_PREFER_FLOOR,
    FERRY__RESAMPLE_ROUND_PREFER_CEIL,
    FERRY__RESAMPLE_FLOOR,
    FERRY__RESAMPLE_CEIL
};

struct ferry__resample {
    enum ferry__resample_method method;
    enum ferry__resample_sampling sampling;
    enum ferry__resample_rounding rounding; /* for NEAREST */
    double cubic_coeff;                     /* for CUBIC */
    /* weights outside of the axis are 0, and the others are scaled to a sum of 1 */
    bool exclude_outside;
};

/*
 * Computes the out × in matrix whose row i has the weights of output i. `scale` is the ratio of the
 * coordinates: out / in, unless a model sets another one.
 */
void ferry__resample_weights(const struct ferry__resample *r, int64_t in, int64_t out, double scale,
                             float *matrix);

#endif
