/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_AT_EXIT_H
#define FERRY_TEST_AT_EXIT_H

#include <stdbool.h>

/*
 * Runs a program in a child: it registers a handler of exit(), opens the backend's device,
 * registers another one and ends with exit(), with a blob on the device, a queue and an event left.
 * The later handler, which exit() calls first, uses all of them. The other one finds the device
 * ended, or still in use if `lives`; it releases everything. The parent must not have opened
 * anything before.
 */
void ax_run(const char *backend, bool lives);

#endif
