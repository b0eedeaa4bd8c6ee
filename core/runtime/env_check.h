/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the user is told about the environment when a runtime is opened.
 */
#ifndef FERRY_CORE_ENV_CHECK_H
#define FERRY_CORE_ENV_CHECK_H

/*
 * Logs a warning for each FERRY_… variable that ferry does not know, with the name that was
 * probably meant; in a program that runs with more rights than its caller instead, once in the
 * process, that none of them counts, if there is one.
 */
void ferry__env_check(void);

#endif
