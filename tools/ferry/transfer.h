/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_TRANSFER_H
#define FERRY_TOOL_TRANSFER_H

#include "files.h"

/*
 * Arrays of one file that go into another: all of them (convert), under other names (rename), or some
 * (split).
 */
struct transfer {
    ferry_io *in;
    struct files_item *items;
    size_t count;
    bool whole;   /* all arrays in their layers, so that a net's definition can go with them */
    bool renamed; /* names are not those of the file: layers have to be put together anew */
    bool without_diff;
    bool any_dtype; /* as each is; otherwise: */
    ferry_dtype dtype;
    ferry_device *device; /* that changes dtypes; NULL where none has to be */
    struct target target; /* what was asked for */
    struct progress progress;
    void *tile;
};

/* Fills `items` with all arrays of the file, which the caller frees. A ferry error. */
int transfer_take_all(struct transfer *t);

/* Writes the target. Says what is wrong: TOOL_OK or TOOL_FAILURE. After an interrupt it does not return. */
int transfer_run(struct transfer *t);

#endif
