/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Weights that stay in memory as their file stores them: F16, BF16, or rows of integers of 8 bits
 * (common/rows.h). The parameter is F32 for every reader: its memory has an origin (op/origin.h)
 * that converts the narrow values when they are needed. Products whose device accepts half weights
 * are packed from the halves (net/passes/halves.c), and products with integers from the integers
 * (net/passes/integers.c).
 */
#ifndef FERRY_NET_MODEL_NARROW_H
#define FERRY_NET_MODEL_NARROW_H

#include "net/model/state.h"

#include <ferry/io.h>

/* Whether the first parameter of a layer is the weights of a product. */
bool ferry__is_product(const ferry_layer *layer);

/*
 * Whether a parameter can stay as an entry, which fits it, has it: the weights of a product of a
 * TEST net that never runs backward, on a device that works in the program's memory, of
 * FERRY__ORIGIN_BYTES in F32 and more, and for rows of integers with the blob's number of axes.
 */
bool ferry__narrow_fit(const ferry_net *net, const ferry_io_entry *entry, const ferry_layer *layer,
                       int index);

/*
 * Creates the blobs for an entry that fits, on a device: the magnitudes are read; the values have
 * the entry's shape, and are read too if `now`. On failure *out is empty. The caller calls
 * ferry__narrow_destroy.
 */
int ferry__narrow_open(ferry_io *io, const ferry_io_entry *entry, ferry_device *device, bool now,
                       struct ferry__narrow *out);
void ferry__narrow_destroy(struct ferry__narrow *s);

/*
 * Gives a parameter of F32 these values, which have its shape and whose memory it shares.
 * FERRY_ENOMEM, the errors of ferry__origin_create; the parameter is then as before.
 */
int ferry__narrow_bind(ferry_net *net, struct ferry__net_param *p, const struct ferry__narrow *s);

/*
 * Gives `to`, of `net`, which shares the values of `from`, the narrow form of `from`, unless the
 * values stay in F32 (ferry__origin_keep). FERRY_ENOMEM.
 */
int ferry__narrow_share(ferry_net *net, struct ferry__net_param *to,
                        const struct ferry__net_param *from);

/* Removes a parameter's narrow form; its values stay. */
void ferry__narrow_end(struct ferry__net_param *p);

/* Removes the narrow forms of parameters that were written or replaced. Whether there were any. */
bool ferry__narrow_drop(ferry_net *net);

/* The narrow form of the parameter of a layer that is `blob`; its `values` are NULL without one. */
struct ferry__narrow ferry__narrow_of(const ferry_layer *layer, const ferry_blob *blob);

#endif
