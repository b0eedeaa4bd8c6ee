/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last tier, which computes with the kernels compiled by the host's compiler.
 *
 * It is a table like a plugin's. Its device and queue are NULL, and its references are host
 * pointers aligned to their elements; a run is complete when run returns. It does not pack
 * constants. Callable from any thread.
 */
#ifndef FERRY_OP_HOST_H
#define FERRY_OP_HOST_H

#include <ferry/op_table.h>

extern const ferry_op_table ferry__host_table;

#endif
