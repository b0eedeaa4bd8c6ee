/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a window comes from in its picture, and where it goes in a square of crop_size (WindowData). */
#ifndef FERRY_NET_LAYERS_WINDOW_PLACE_H
#define FERRY_NET_LAYERS_WINDOW_PLACE_H

#include "net/layers/window_file.h"

/* Pixels; the last row and column belong to the window. */
struct ferry__window_place {
    int64_t x1, y1, x2, y2;    /* of the picture */
    int64_t height, width;     /* that it is warped to */
    int64_t pad_top, pad_left; /* of the square, which stay 0 */
};

/*
 * The window as it is warped to crop × crop (`square` false, context_pad 0), or expanded: to a square, and so that
 * context_pad pixels of the crop are around it. A part outside of the picture of rows × columns becomes padding; with
 * `mirror` the padding is mirrored. crop is larger than 2 * context_pad. The arithmetic is Caffe's, in floats. False: no
 * pixel of the picture is left, or the window is not in it.
 */
bool ferry__window_place(const struct ferry__picture_window *window, int64_t rows, int64_t columns,
                         int64_t crop, int64_t context_pad, bool square, bool mirror,
                         struct ferry__window_place *out);

#endif
