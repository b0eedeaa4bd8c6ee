/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/os_posix.h"

#include <ferry/descriptor.h>

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

bool ferry__os_is_secure(void)
{
#ifdef __linux__
    if (getauxval(AT_SECURE))
        return true;
#endif
    return getuid() != geteuid() || getgid() != getegid();
}

bool ferry__os_library_path(char *out, size_t size)
{
    /* An object instead of a function, because ISO C cannot convert a function pointer to void
     * *. */
    static const char anchor[] = "ferry";
    ssize_t length = -1;
    Dl_info info;

    if (dladdr(anchor, &info) && info.dli_fname && info.dli_fname[0] == '/')
        return snprintf(out, size, "%s", info.dli_fname) < (int)size;
#ifdef __linux__
    /* the library is linked statically, and the program was started by a relative name */
    length = readlink("/proc/self/exe", out, size);
    if (length > 0 && (size_t)length < size)
        out[length] = '\0';
#endif
    return length > 0 && (size_t)length < size && out[0] == '/';
}

uid_t ferry__os_library_owner(void)
{
    char path[PATH_MAX];
    struct stat st;

    return ferry__os_library_path(path, sizeof(path)) && stat(path, &st) == 0 ? st.st_uid
                                                                              : geteuid();
}

void ferry__os_home(char *out, size_t size)
{
    struct passwd entry, *found = NULL;
    char text[4096];

    snprintf(out, size, "/");
    if (geteuid() != getuid() && getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) == 0 &&
        found && entry.pw_dir[0] == '/')
        snprintf(out, size, "%s", entry.pw_dir);
}

void ferry__os_adopt_orphans(void)
{
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
#endif
}

/* The parent of a process, from /proc; 0 if the process has ended. */
static long parent_of(const char *pid)
{
    char path[64], text[512] = "", *end;
    long parent = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%.32s/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    end = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL; /* the text is "12 (name) S 1
                                                                        * …" */
    if (!end || sscanf(end, ") %*c %ld", &parent) != 1)
        parent = 0;
    fclose(file);
    return parent;
}

void ferry__os_kill_children(void)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            parent_of(entry->d_name) == (long)getpid())
            kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
    if (folder)
        closedir(folder);
}

uint32_t ferry__os_isa_features(void)
{
#if defined(__linux__) && defined(__aarch64__)
    return getauxval(AT_HWCAP) & (1ul << 22) ? FERRY_CPU_SVE : 0; /* HWCAP_SVE */
#else
    return 0;
#endif
}
