/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_INPUT_H
#define FERRY_TOOL_INPUT_H

#include <ferry/io.h>

/*
 * Opens what standard input has, as often as asked for: a pipe is read once, to its end, into a file
 * without a name in TMPDIR, which stays mapped until the program ends. What libraries read from files
 * alone (HDF5, an index of safetensors) is FERRY_EUNSUPPORTED.
 */
int input_open(ferry_io **out);

#endif
