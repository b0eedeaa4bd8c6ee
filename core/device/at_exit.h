/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of the process. A vendor's driver, loaded when its devices were counted, ends in its own
 * exit() handlers and destructors, and crashes callers that come later. Handlers and destructors
 * that were registered after ferry's devices were known run earlier and use the devices as before;
 * later ones get errors.
 */
#ifndef FERRY_CORE_AT_EXIT_H
#define FERRY_CORE_AT_EXIT_H

#include "core/plugin/plugin.h"

/*
 * The plugin has counted its devices, one of which has memory of its own: when exit() comes to what
 * was registered before this call, the plugin's devices have ended. Only a plugin's first call
 * counts. A process that has no memory for it goes without.
 */
void ferry__at_exit_watch(const struct ferry__plugin *plugin);

/*
 * 0, or FERRY_ELOST where they have ended: `name` is the device whose entries are not to be called
 * any more.
 */
int ferry__at_exit_check(const struct ferry__plugin *plugin, const char *name);

#endif
