/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of a window in its picture, and its destination in a square of crop_size (WindowData).
 */
#ifndef FERRY_NET_LAYERS_WINDOW_PLACE_H
#define FERRY_NET_LAYERS_WINDOW_PLACE_H

#include "net/layers/window_file.h"

/* Positions and sizes in pixels; the last row and column belong to the window. */
struct ferry__window_place {
    int64_t x1, y1, x2, y2;    /* the part of the picture */
    int64_t height, width;     /* the size after warping */
    int64_t pad_top, pad_left; /* the padding in the square, which stays 0 */
};

/*
 * A window that is warped to crop × crop: unchanged (`square` false, context_pad 0), or extended to
 * a square, and by context_pad pixels of the crop on each side. The part outside of the picture of
 * rows × columns becomes padding; with `mirror` the padding is mirrored. context_pad must be less
 * than half of crop. The arithmetic is Caffe's, in floats. False: the window is not in the picture,
 * or no pixel remains.
 */
bool ferry__window_place(const struct ferry__picture_window *window, int64_t rows, int64_t columns,
                         int64_t crop, int64_t context_pad, bool square, bool mirror,
                         struct ferry__window_place *out);

#endif
