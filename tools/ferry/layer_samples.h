/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_LAYER_SAMPLES_H
#define FERRY_TOOL_LAYER_SAMPLES_H

#include <ferry/layer.h>
#include <stddef.h>

/*
 * A net of one layer of a type, as an example of it, into `out`; 0 where it does not fit.
 */
size_t layer_sample(const ferry_layer_type *type, char *out, size_t size);

#endif
