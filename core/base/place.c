/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/place.h"
#include "core/base/os_posix.h"

#include <stdio.h>
#include <string.h>

#define ORIGIN "$ORIGIN/"

const char *ferry__place(const char *configured, char out[PATH_MAX])
{
    char library[PATH_MAX];
    int length, n;

    if (strncmp(configured, ORIGIN, strlen(ORIGIN)) != 0)
        return configured;
    if (!ferry__os_library_path(library, sizeof(library)))
        return "/nonexistent";
    length = (int)(strrchr(library, '/') - library);
    n = snprintf(out, PATH_MAX, "%.*s/%s", length, library, configured + strlen(ORIGIN));
    return n < PATH_MAX ? out : "/nonexistent";
}
