/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tier below all others: the kernels, compiled by the host's compiler.
 *
 * A table like a plugin's. Its device and queue are NULL, its references host pointers aligned to
 * their elements; a run is complete when run returns. It packs nothing. Any thread.
 */
#ifndef FERRY_OP_HOST_H
#define FERRY_OP_HOST_H

#include <ferry/op_table.h>

extern const ferry_op_table ferry__host_table;

#endif
