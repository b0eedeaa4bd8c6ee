/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folders that configure names. A relocatable build gives them relative to libferry:
 * "$ORIGIN/ferry" is the folder ferry beside the library.
 */
#ifndef FERRY_CORE_PLACE_H
#define FERRY_CORE_PLACE_H

#include <limits.h>

/*
 * The configured path: `configured` itself, or, where it begins with "$ORIGIN/", that path from
 * the folder of the loaded libferry (of the program, if it is linked statically), in `out`. A
 * path that is too long or cannot be determined is "/nonexistent".
 */
const char *ferry__place(const char *configured, char out[PATH_MAX]);

#endif
