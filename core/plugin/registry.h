/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process-wide set of opened plugins. A plugin, once open, stays for the life of the process;
 * its devices come and go.
 */
#ifndef FERRY_CORE_REGISTRY_H
#define FERRY_CORE_REGISTRY_H

#include "core/plugin/plugin.h"

#include <stdbool.h>
#include <stdint.h>

struct ferry__candidate;
struct ferry__refusal;
struct ferry__settings;

/*
 * Opens a candidate's plugin, unless it is open already, and counts its devices; the caller holds
 * no lock. The registry takes over `settings`, and keeps them permanently, or frees them if the
 * plugin is open already. 0, or refusal->code with the stage at which opening stopped.
 */
int ferry__registry_open(const struct ferry__candidate *candidate, struct ferry__settings *settings,
                         const struct ferry__plugin **out, const char **out_stage,
                         struct ferry__refusal *refusal);

/* Whether the plugin of that file is open, or being opened. */
bool ferry__registry_is_open(const struct ferry__candidate *candidate);

/* The number of devices that the plugin reported when it was opened. */
uint32_t ferry__registry_count(const struct ferry__plugin *plugin);

#endif
