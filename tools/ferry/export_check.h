/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_EXPORT_CHECK_H
#define FERRY_TOOL_EXPORT_CHECK_H

#include "net.h"

/* Fills all inputs with numbers between −1 and 1. Returns an exit status. */
int export_check_fill(ferry_net *net);

/*
 * Runs the net on the values in its inputs, and the model at `path` in the first of onnxruntime,
 * OpenVINO and OpenCV that python3 can import. Prints a line for each output. Returns TOOL_FAILURE,
 * after reporting it, for a difference above 1e-4 of an output's largest value, and if there is no
 * such runtime.
 */
int export_check(ferry_net *net, const char *path);

#endif
