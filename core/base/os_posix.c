/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/os_posix.h"

#include <ferry/descriptor.h>

#include <dlfcn.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
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

uid_t ferry__os_library_owner(void)
{
    /* Data, because ISO C keeps pointers to functions apart. */
    static const char anchor[] = "ferry";
    struct stat st;
    Dl_info info;

    if (dladdr(anchor, &info) && info.dli_fname && info.dli_fname[0] == '/' &&
        stat(info.dli_fname, &st) == 0)
        return st.st_uid;
#ifdef __linux__
    if (stat("/proc/self/exe", &st) == 0) /* linked into a program, which goes by a relative name */
        return st.st_uid;
#endif
    return geteuid();
}

void ferry__os_home(char *out, size_t size)
{
    struct passwd entry, *found = NULL;
    char text[4096];

    snprintf(out, size, "/");
    if (geteuid() != getuid() &&
        getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) == 0 && found &&
        entry.pw_dir[0] == '/')
        snprintf(out, size, "%s", entry.pw_dir);
}

uint32_t ferry__os_isa_features(void)
{
#if defined(__linux__) && defined(__aarch64__)
    return getauxval(AT_HWCAP) & (1ul << 22) ? FERRY_CPU_SVE : 0; /* HWCAP_SVE */
#else
    return 0;
#endif
}
