/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_GIVEN_H
#define FERRY_TOOL_GIVEN_H

#include "tool.h"

/*
 * Replaces data layers by given arrays: if --input names all tops of a layer without bottoms, an
 * Input layer of the arrays' shapes replaces it, so that the layer's data files are not needed.
 */

/*
 * Returns the net's text with those Input layers, which the caller frees. It is NULL if no layer is
 * replaced, or if the file cannot be read, which opening the net then reports. `inputs` are n
 * values of --input. Returns an exit status: an error if only some tops of a layer are given.
 */
int given_text(const char *prototxt, const char *const *inputs, size_t n, char **out_text);

#endif
