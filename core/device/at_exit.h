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
 * Called after the plugin has counted its devices, one of which has its own memory: the plugin's
 * devices are marked as ended before exit() runs the handlers that were registered before this
 * call. Only a plugin's first call has an effect. Ignored if memory is short.
 */
void ferry__at_exit_watch(const struct ferry__plugin *plugin);

/*
 * 0, or FERRY_ELOST if the plugin's devices have ended and no entry of the device `name` may be
 * called.
 */
int ferry__at_exit_check(const struct ferry__plugin *plugin, const char *name);

#endif
