/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_TRANSFER_H
#define FERRY_TOOL_TRANSFER_H

#include "files.h"

/*
 * Copies arrays of one file to another: all (convert), under other names (rename), or some (split).
 */
struct transfer {
    ferry_io *in;
    struct files_item *items;
    size_t count;
    bool whole;   /* all arrays are copied, grouped by layer, so that a net's definition can be
                   * copied */
    bool renamed; /* names differ from those of the file, so that arrays must be grouped by layer
                   * again */
    bool without_diff;
    bool any_dtype; /* false: each array keeps its dtype; true: all get the same one: */
    ferry_dtype dtype;
    ferry_device *device; /* the device that converts dtypes; NULL without conversion */
    struct target target; /* the requested output */
    struct progress progress;
    void *tile;
};

/* Fills `items` with all arrays of the file, which the caller frees. Returns a ferry error. */
int transfer_take_all(struct transfer *t);

/*
 * Writes the target. Reports errors: TOOL_OK or TOOL_FAILURE. After an interrupt it does not
 * return.
 */
int transfer_run(struct transfer *t);

#endif
