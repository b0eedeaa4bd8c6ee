/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_LAYER_SAMPLES_H
#define FERRY_TOOL_LAYER_SAMPLES_H

#include <ferry/layer.h>
#include <stddef.h>

/*
 * Writes a net with one layer of a type as an example into `out`; returns 0 if it does not fit.
 */
size_t layer_sample(const ferry_layer_type *type, char *out, size_t size);

#endif
