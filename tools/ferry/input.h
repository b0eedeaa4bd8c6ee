/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_INPUT_H
#define FERRY_TOOL_INPUT_H

#include <ferry/io.h>

/*
 * Opens the content of standard input, any number of times: a pipe is read once, to its end, into
 * an unnamed file in TMPDIR, which stays mapped until the program ends. Formats whose libraries
 * need a named file (HDF5, an index of safetensors) return FERRY_EUNSUPPORTED.
 */
int input_open(ferry_io **out);

#endif
