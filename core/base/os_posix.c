/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/os_posix.h"

#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

bool ferry__os_is_secure(void)
{
#ifdef __linux__
    if (getauxval(AT_SECURE))
        return true;
#endif
    return getuid() != geteuid() || getgid() != getegid();
}
