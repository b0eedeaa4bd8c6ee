/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_EXPORT_CHECK_H
#define FERRY_TOOL_EXPORT_CHECK_H

#include "net.h"

/* Numbers between −1 and 1 in all inputs. An exit status. */
int export_check_fill(ferry_net *net);

/*
 * Runs the net on what is in its inputs, and the model at `path` beside it in the first of onnxruntime,
 * OpenVINO and OpenCV that python3 can import. Prints a line for each output. TOOL_FAILURE, which has been
 * said, for a difference above 1e-4 of an output's largest value, and where there is no such runtime.
 */
int export_check(ferry_net *net, const char *path);

#endif
