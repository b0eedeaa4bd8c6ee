/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every kind of operation once more: plain loops over strides, in double, to be compared with and to
 * fall back on where nobody else computes. Slow by intention.
 *
 * A table like a plugin's. Its device and queue are NULL, its references host pointers; what it runs
 * is done when run returns. Any thread.
 */
#ifndef FERRY_OP_ORACLE_H
#define FERRY_OP_ORACLE_H

#include <ferry/op_plugin.h>

extern const ferry_op_table ferry__oracle;

#endif
