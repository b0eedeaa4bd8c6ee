/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/os_posix.h"

#include <ferry/descriptor.h>

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

uint32_t ferry__os_isa_features(void)
{
#if defined(__linux__) && defined(__aarch64__)
    return getauxval(AT_HWCAP) & (1ul << 22) ? FERRY_CPU_SVE : 0; /* HWCAP_SVE */
#else
    return 0;
#endif
}
