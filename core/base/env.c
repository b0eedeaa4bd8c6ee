/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/env.h"
#include "core/base/os_posix.h"
#include "core/base/text.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX      "FERRY_"
#define TEST_PREFIX "FERRY_TEST_" /* used by the tests */

static const char *const known[] = {
    "FERRY_BACKEND",          "FERRY_CONF",     "FERRY_PLUGIN_PATH", "FERRY_LOG",
    "FERRY_STRICT",           "FERRY_TRACE",    "FERRY_TEST_DATA",   "FERRY_LIBRARY_PATH",
    "FERRY_PLUGIN_PATH_LAST", "FERRY_VALIDATE", "FERRY_PRECISION",
};

#define KNOWN_COUNT (sizeof(known) / sizeof(known[0]))

const char *ferry__env_get(const char *name)
{
    const char *value = getenv(name);

    return value && *value && !ferry__os_is_secure() ? value : NULL;
}

/* Whether "NAME=value" is a variable from which no library takes the path of a file. */
static bool is_harmless(const char *entry)
{
    static const char *const names[] = { "LANG=", "LC_", "TERM=", "TZ=", "USER=", "LOGNAME=" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void clean(void)
{
    char home[PATH_MAX];
    char **to = environ;

    ferry__os_home(home, sizeof(home));
    for (char **from = environ; from && *from; from++)
        if (is_harmless(*from))
            *to++ = *from;
    if (to)
        *to = NULL;
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("HOME", home, 1);
}

void ferry__env_clean(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (ferry__os_is_secure())
        pthread_once(&once, clean);
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
