/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/env.h"
#include "core/load/loader_posix.h"
#include "core/base/log.h"
#include "core/base/text.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX      "FERRY_"
#define TEST_PREFIX "FERRY_TEST_" /* the tests' own */

static const char *const known[] = {
    "FERRY_BACKEND", "FERRY_CONF",  "FERRY_PLUGIN_PATH", "FERRY_LOG",
    "FERRY_STRICT",  "FERRY_TRACE", "FERRY_TEST_DATA",
};

#define KNOWN_COUNT (sizeof(known) / sizeof(known[0]))

const char *ferry__env_get(const char *name)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    const char *value = getenv(name);

    if (!value || !*value)
        return NULL;
    if (!ferry__os_is_secure())
        return value;
    if (strncmp(name, PREFIX, strlen(PREFIX)) == 0 && !atomic_flag_test_and_set(&said))
        ferry__log(FERRY_LOG_WARN,
                   "%s and all other variables are ignored: the program runs with more rights than "
                   "whoever started it",
                   name);
    return NULL;
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

static void warn_unknown(const char *entry)
{
    char name[64];
    const char *nearest;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(entry, "="), entry);
    nearest = ferry__text_nearest(name, known, KNOWN_COUNT);
    if (nearest)
        ferry__log(FERRY_LOG_WARN, "%s is no variable of ferry; did you mean %s?", name, nearest);
    else
        ferry__log(FERRY_LOG_WARN, "%s is no variable of ferry", name);
}

void ferry__env_check(void)
{
    if (ferry__os_is_secure())
        return; /* none of them counts */
    for (char **entry = environ; entry && *entry; entry++)
        if (ferry__env_is_unknown(*entry))
            warn_unknown(*entry);
}
