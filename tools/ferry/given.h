/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_GIVEN_H
#define FERRY_TOOL_GIVEN_H

#include "tool.h"

/*
 * Arrays in place of layers that read data: where --input names all tops of a layer without bottoms, an
 * Input layer of their shapes takes its place, so that what it would have read need not be there.
 */

/*
 * The net's text with those Input layers, to be freed; NULL where no layer is replaced, or the file cannot
 * be read, which opening it then says. `inputs` are n values of --input. An exit status: not all tops of a
 * layer are given.
 */
int given_text(const char *prototxt, const char *const *inputs, size_t n, char **out_text);

#endif
