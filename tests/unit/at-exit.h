/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_AT_EXIT_H
#define FERRY_TEST_AT_EXIT_H

#include <stdbool.h>

/*
 * Runs a program in a child. The program registers a handler of exit(), opens the backend's device,
 * registers another handler and ends by exit(), with a blob on the device, a queue and an event
 * left. exit() calls the later handler first, which uses all of them. The earlier handler finds the
 * device ended, or still usable if `lives`, and releases everything. The parent must not have
 * opened anything before.
 */
void ax_run(const char *backend, bool lives);

#endif
