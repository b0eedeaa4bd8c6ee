/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file plugin_names.h
 * Names of plugin ABI 1.0 and 1.1 that the headers of ferry 1.0 have renamed. The binary layout is
 * the same. A plugin written against the older headers includes this one after <ferry/plugin.h> and
 * <ferry/op_plugin.h>, and compiles unchanged.
 */
#ifndef FERRY_PLUGIN_NAMES_H
#define FERRY_PLUGIN_NAMES_H

#include <ferry/types.h>

/** The descriptor of an operation. */
#define ferry_op ferry_op_desc
/** A reference further on in the same memory. */
#define ferry_ref_at  ferry_ref_advance
#define ferry_cref_at ferry_cref_advance

#endif
