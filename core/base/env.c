/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/env.h"
#include "core/base/os_posix.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX      "FERRY_"
#define TEST_PREFIX "FERRY_TEST_" /* the tests' own */

static const char *const known[] = {
    "FERRY_BACKEND", "FERRY_CONF",  "FERRY_PLUGIN_PATH", "FERRY_LOG",
    "FERRY_STRICT",  "FERRY_TRACE", "FERRY_TEST_DATA",
};

#define KNOWN_COUNT (sizeof(known) / sizeof(known[0]))

const char *ferry__env_get(const char *name)
{
    const char *value = getenv(name);

    return value && *value && !ferry__os_is_secure() ? value : NULL;
}

bool ferry__env_is_unknown(const char *entry)
{
    size_t length = strcspn(entry, "=");

    if (strncmp(entry, PREFIX, strlen(PREFIX)) != 0 ||
        strncmp(entry, TEST_PREFIX, strlen(TEST_PREFIX)) == 0)
        return false;
    for (size_t i = 0; i < KNOWN_COUNT; i++)
        if (strlen(known[i]) == length && strncmp(entry, known[i], length) == 0)
            return false;
    return true;
}

const char *ferry__env_nearest(const char *name)
{
    return ferry__text_nearest(name, known, KNOWN_COUNT);
}
