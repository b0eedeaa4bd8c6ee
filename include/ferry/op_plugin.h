/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file op_plugin.h
 * The header for plugins with operations. It includes op_table.h, the table "ferry.op/1", and
 * op_types.h, the kinds.
 */
#ifndef FERRY_OP_PLUGIN_H
#define FERRY_OP_PLUGIN_H

#include <ferry/op_table.h>
#include <ferry/op_types.h>

#endif
