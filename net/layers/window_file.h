/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * R-CNN's window file, as WindowData reads it. For each picture:
 *
 *     # INDEX
 *     PATH
 *     CHANNELS HEIGHT WIDTH
 *     COUNT
 *     LABEL OVERLAP X1 Y1 X2 Y2        COUNT lines; overlap with an object; the last row and column belong to the window
 *
 * Blanks and ends of lines separate the words, and are otherwise without meaning. (Caffe: window_data_layer.cpp.)
 */
#ifndef FERRY_NET_LAYERS_WINDOW_FILE_H
#define FERRY_NET_LAYERS_WINDOW_FILE_H

#include "net/layers/layers.h"

struct ferry__picture_window {
    size_t image;  /* of the file's pictures */
    int32_t label; /* 0: the background */
    int32_t x1, y1, x2, y2;
};

/* Windows of one kind. */
struct ferry__picture_windows {
    struct ferry__picture_window *at;
    size_t count, room;
};

struct ferry__window_file {
    char *text;         /* what follows points into it */
    const char **paths; /* of the pictures */
    size_t image_count, image_room;
    struct ferry__picture_windows background, objects;
};

/*
 * Reads `path`, which the parameters `p` name as their `source`. A window whose overlap is fg_threshold at least is an
 * object's; another one, below bg_threshold, is background, and its label becomes 0; the rest is left out. FERRY_EFORMAT
 * names the line: a word that is not a number where one is needed, an object's label below 1, an index without a picture,
 * no windows of a kind. `out` is zero before; ferry__window_file_free frees it, after a failure, too.
 */
int ferry__window_file_read(const ferry_layer *layer, const ferry_proto *p, const char *path,
                            struct ferry__window_file *out);

/* Accepts one that is zero. */
void ferry__window_file_free(struct ferry__window_file *file);

#endif
