/* SPDX-License-Identifier: BSD-2-Clause */
/* Defaults for the entries that a plugin does not provide. */
#ifndef FERRY_CORE_PLUGIN_TABLE_H
#define FERRY_CORE_PLUGIN_TABLE_H

#include "core/plugin/plugin.h"

/*
 * Copies min(sizes) of `theirs` into `out`, rejects a missing mandatory entry by name (FERRY_EABI,
 * message recorded), rejects half a group (import_host without unimport_host), fills the rest with
 * typed defaults, and sets the bits of the entries provided in *out_given. *out is undefined after
 * a failure.
 */
int ferry__plugin_table_adopt(const ferry_plugin_ops *theirs, ferry_plugin_ops *out,
                              uint64_t *out_given);

#endif
