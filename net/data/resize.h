/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bilinear resizing of planes: output pixel i is centred at source position (i + ½) steps; edge
 * pixels are repeated.
 */
#ifndef FERRY_NET_DATA_RESIZE_H
#define FERRY_NET_DATA_RESIZE_H

#include <ferry/status.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Resizes the planes at `from`. `to` has room for channels × to_height × to_width; `steps` are the
 * source rows and columns of one output pixel. FERRY_ENOMEM.
 */
int ferry__resize(const float *from, int64_t channels, int64_t height, int64_t width, float *to,
                  int64_t to_height, int64_t to_width, const double steps[2]);

#endif
