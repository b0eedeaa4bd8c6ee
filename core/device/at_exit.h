/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of the process: a vendor's driver, loaded when its devices were counted, ends by handlers of
 * exit() and destructors of its own, and crashes who calls it later. What came to be with ferry's devices
 * known, and is called by exit() earlier, uses them as ever; what is called later gets errors.
 */
#ifndef FERRY_CORE_AT_EXIT_H
#define FERRY_CORE_AT_EXIT_H

#include "core/plugin/plugin.h"

/*
 * The plugin has counted its devices, one of which has memory of its own: when exit() comes to what was
 * registered before this call, the plugin's devices have ended. Only a plugin's first call counts. A
 * process that has no memory for it goes without.
 */
void ferry__at_exit_watch(const struct ferry__plugin *plugin);

/*
 * 0, or FERRY_ELOST where they have ended: `name` is the device whose entries are not to be called any
 * more.
 */
int ferry__at_exit_check(const struct ferry__plugin *plugin, const char *name);

#endif
