/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_PICTURES_H
#define FERRY_TOOL_PICTURES_H

#include "tool.h"

#include <ferry/image.h>

/*
 * Pictures as inputs of a net, as --mean, --scale, --crop and --swap-rb say.
 */

struct net_pictures {
    const char *mean, *scale; /* as given; NULL: they were not */
    bool crop, swap_rb;
    ferry_blob *mean_blob, *decoded; /* made by pictures_begin */
    double factor;
};

/* Reads the mean and the scale; blobs are on `dev`. An exit status. */
int pictures_begin(const struct tool_command *self, struct net_pictures *p, ferry_device *dev);
void pictures_end(struct net_pictures *p);

/* Whether a file begins as a picture does. */
bool pictures_is_one(const char *path);

/*
 * What is done to pictures wants one among the inputs, as --input has them: TOOL_USAGE, which has been said,
 * for an option that would do nothing.
 */
int pictures_are_there(const struct tool_command *self, const struct net_pictures *p,
                       const char *const *inputs, size_t n);

/*
 * Reads a picture into item `item` of an input, N × C × H × W; −1: the input becomes one of one item.
 * A ferry error.
 */
int pictures_read(const struct net_pictures *p, const char *path, ferry_blob *input, int64_t item);

#endif
