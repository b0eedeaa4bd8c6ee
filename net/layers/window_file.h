/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * R-CNN's window file, the source of WindowData. For each picture:
 *
 *     # INDEX
 *     PATH
 *     CHANNELS HEIGHT WIDTH
 *     COUNT
 *     LABEL OVERLAP X1 Y1 X2 Y2        COUNT lines; X2, Y2 inclusive
 *
 * Spaces and newlines separate the words and have no other meaning. (Caffe: window_data_layer.cpp.)
 */
#ifndef FERRY_NET_LAYERS_WINDOW_FILE_H
#define FERRY_NET_LAYERS_WINDOW_FILE_H

#include "net/layers/layers.h"

struct ferry__picture_window {
    size_t image;  /* the index among the file's pictures */
    int32_t label; /* 0: the background */
    int32_t x1, y1, x2, y2;
};

/* The windows of one kind. */
struct ferry__picture_windows {
    struct ferry__picture_window *at;
    size_t count, room;
};

struct ferry__window_file {
    char *text;         /* the following members point into it */
    const char **paths; /* the paths of the pictures */
    size_t image_count, image_room;
    struct ferry__picture_windows background, objects;
};

/*
 * Reads `path`, the `source` of the parameters `p`. A window with an overlap of at least
 * fg_threshold is an object; another window with an overlap below bg_threshold is background, and
 * its label becomes 0; other windows are dropped. FERRY_EFORMAT, with the line: a word that is not
 * a number where one is required, an object's label below 1, an index without a picture, no windows
 * of a kind. `out` must be all zeros; ferry__window_file_free frees it, also after a failure.
 */
int ferry__window_file_read(const ferry_layer *layer, const ferry_proto *p, const char *path,
                            struct ferry__window_file *out);

/* A zeroed structure is accepted. */
void ferry__window_file_free(struct ferry__window_file *file);

#endif
