/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "env.h"
#include "loader_posix.h"

#include <stdlib.h>

const char *ferry__env_get(const char *name)
{
    return ferry__os_is_secure() ? NULL : getenv(name);
}
