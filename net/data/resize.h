/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bilinear resizing of planes: pixel i is at (i + ½) steps, edges go on.
 */
#ifndef FERRY_NET_DATA_RESIZE_H
#define FERRY_NET_DATA_RESIZE_H

#include <ferry/status.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * `to` has room for channels × to_height × to_width; `steps` are how many rows and columns of the source
 * one of them is. FERRY_ENOMEM.
 */
int ferry__resize(const float *from, int64_t channels, int64_t height, int64_t width, float *to,
                  int64_t to_height, int64_t to_width, const double steps[2]);

#endif
