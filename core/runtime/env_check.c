/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/runtime/env_check.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/os_posix.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "FERRY_"

static void say_unknown(const char *entry)
{
    char name[64];
    const char *nearest;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(entry, "="), entry);
    nearest = ferry__env_nearest(name);
    if (nearest)
        ferry__log(FERRY_LOG_WARN, "%s is no variable of ferry; did you mean %s?", name, nearest);
    else
        ferry__log(FERRY_LOG_WARN, "%s is no variable of ferry", name);
}

static void say_ignored(const char *entry)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&said))
        ferry__log(FERRY_LOG_WARN,
                   "%.*s and all other variables are ignored: the program runs with more rights "
                   "than whoever started it",
                   (int)strcspn(entry, "="), entry);
}

void ferry__env_check(void)
{
    bool is_secure = ferry__os_is_secure();

    for (char **entry = environ; entry && *entry; entry++) {
        if (is_secure && strncmp(*entry, PREFIX, strlen(PREFIX)) == 0)
            say_ignored(*entry);
        else if (!is_secure && ferry__env_is_unknown(*entry))
            say_unknown(*entry);
    }
}
