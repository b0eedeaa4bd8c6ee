/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Weights that stay F16 or BF16 in memory, as their file has them. The parameter is F32 for every
 * reader: its memory has an origin (op/origin.h) that converts the halves when they are needed.
 * Products whose device accepts half weights are packed from the halves (net/passes/halves.c).
 */
#ifndef FERRY_NET_MODEL_HALVES_H
#define FERRY_NET_MODEL_HALVES_H

#include "net/model/state.h"

#include <ferry/io.h>

/* Whether the first parameter of a layer is the weights of a product. */
bool ferry__is_product(const ferry_layer *layer);

/*
 * Whether a parameter can stay as an entry has it: the weights of a product of a TEST net that
 * never runs backward, on a device that works in the program's memory.
 */
bool ferry__halves_fit(const ferry_net *net, const ferry_io_entry *entry, const ferry_layer *layer,
                       int index);

/*
 * Gives a parameter of F32 the values of `halves`, of F16 or BF16 and its shape, whose memory it
 * shares. FERRY_ENOMEM, FERRY_EINVAL for another dtype; the parameter is then as before.
 */
int ferry__halves_bind(ferry_net *net, struct ferry__net_param *p, const ferry_blob *halves);

/*
 * Gives `to`, of `net`, which shares the values of `from`, the halves of `from`, unless the values
 * stay in F32 (ferry__origin_keep). FERRY_ENOMEM.
 */
int ferry__halves_share(ferry_net *net, struct ferry__net_param *to,
                        const struct ferry__net_param *from);

/* Removes a parameter's halves; its values stay. */
void ferry__halves_end(struct ferry__net_param *p);

/* Removes the halves of parameters that were written or replaced. Whether there were any. */
bool ferry__halves_drop(ferry_net *net);

/* The halves of the parameter of a layer that is `blob`; NULL: it has none. */
ferry_blob *ferry__halves_of(const ferry_layer *layer, const ferry_blob *blob);

#endif
