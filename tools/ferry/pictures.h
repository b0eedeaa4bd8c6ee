/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_PICTURES_H
#define FERRY_TOOL_PICTURES_H

#include "tool.h"

#include <ferry/image.h>

/*
 * Loads pictures into inputs of a net according to --mean, --scale, --crop and --swap-rb.
 */

struct net_pictures {
    const char *mean, *scale; /* as given; NULL if not given */
    bool crop, swap_rb;
    ferry_blob *mean_blob, *decoded; /* created by pictures_begin */
    double factor;
};

/* Reads the mean and the scale; the blobs are on `dev`. Returns an exit status. */
int pictures_begin(const struct tool_command *self, struct net_pictures *p, ferry_device *dev);
void pictures_end(struct net_pictures *p);

/* Whether a file begins like a picture. */
bool pictures_is_one(const char *path);

/*
 * Options for pictures require a picture among the inputs of --input: otherwise TOOL_USAGE, after
 * reporting the option that would have no effect.
 */
int pictures_are_there(const struct tool_command *self, const struct net_pictures *p,
                       const char *const *inputs, size_t n);

/*
 * Reads a picture into item `item` of an input, N × C × H × W; −1: the input is reshaped to one
 * item. Returns a ferry error.
 */
int pictures_read(const struct net_pictures *p, const char *path, ferry_blob *input, int64_t item);

#endif
