/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_CONVERT_MODEL_H
#define FERRY_TOOL_CONVERT_MODEL_H

#include "tool.h"

/*
 * Opens the net at `model`, of any form, and writes its definition as a prototxt and its parameters
 * as a caffemodel. Reports the types of layers that are ferry's own. Returns an exit status.
 */
int convert_model(const struct tool_command *self, const char *model, const char *prototxt,
                  const char *weights);

#endif
