/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Distinguishes the plugin's own code, and threads that run it, from those of the libraries that it
 * uses.
 */

enum { MOMENTS = 20 }; /* number of waits for a thread */

/* ---- code ----------------------------------------------------------------------------------- */

static uintptr_t base, code_begin, code_end;

/* Records the range from the first to the last executable segment; linkers create only one. */
static int look_at_file(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    if (info->dlpi_addr != base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];

        if (h->p_type != PT_LOAD || !(h->p_flags & PF_X))
            continue;
        code_begin = code_begin ? code_begin : base + h->p_vaddr;
        code_end = base + h->p_vaddr + h->p_memsz;
    }
    return 1;
}

bool kit_is_code(uintptr_t address)
{
    Dl_info info;

    if (!code_end && kit.note && dladdr(kit.note, &info)) {
        base = (uintptr_t)info.dli_fbase;
        dl_iterate_phdr(look_at_file, NULL);
    }
    return address >= code_begin && address < code_end;
}

/* ---- libraries ------------------------------------------------------------------------------ */

/* Libraries that every program has, or every one in C++: those of glibc and of compilers. */
static bool is_plain(const char *path)
{
    static const char *const plain[] = { "ld-",         "libc.",      "libm.",     "libdl.",
                                         "libpthread.", "librt.",     "libgcc_s.", "libstdc++.",
                                         "libc++.",     "libatomic.", "libferry.", "linux-vdso",
                                         "linux-gate" };
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (strncmp(name, plain[i], strlen(plain[i])) == 0)
            return true;
    return false;
}

static int add_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(int *)arg += info->dlpi_name[0] && !is_plain(info->dlpi_name);
    return 0;
}

int kit_libraries(void)
{
    int n = 0;

    dl_iterate_phdr(add_library, &n);
    return n;
}

/* ---- threads -------------------------------------------------------------------------------- */

/* The used part of a thread's stack: from its stack pointer to the end of the mapping. */
static bool stack_of(const char *thread, uintptr_t *out_from, uintptr_t *out_to)
{
    char path[64], line[512], *last[2] = { NULL, NULL }, *rest = NULL;
    uintptr_t from = 0, to = 0, at = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%.16s/syscall", thread);
    file = fopen(path, "re");
    if (file && fgets(line, sizeof(line), file)) /* number, arguments, stack, code; or "running" */
        for (char *word = strtok_r(line, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest))
            last[0] = last[1], last[1] = word;
    if (last[0])
        at = (uintptr_t)strtoumax(last[0], NULL, 16);
    if (file)
        fclose(file);
    file = at ? fopen("/proc/self/maps", "re") : NULL;
    while (file && !(at >= from && at < to) && fgets(line, sizeof(line), file))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2)
            from = to = 0;
    if (file)
        fclose(file);
    *out_from = at & ~(uintptr_t)(sizeof(at) - 1);
    *out_to = to;
    return at && at >= from && at < to;
}

/* A thread has the function that it started with, and all return addresses, on its stack. */
static bool runs_the_plugin(const char *thread)
{
    const struct timespec moment = { 0, 1000000 };
    uintptr_t at, to;

    for (int i = 0; i < MOMENTS; i++) {
        if (stack_of(thread, &at, &to)) {
            for (; at < to; at += sizeof(at))
                if (kit_is_code(*(const uintptr_t *)at))
                    return true;
            return false;
        }
        nanosleep(&moment, NULL); /* it is running: wait until it sleeps */
    }
    return false;
}

int kit_threads_of_the_plugin(void)
{
    DIR *dir = opendir("/proc/self/task");
    const struct dirent *entry;
    int n = 0;

    while (dir && (entry = readdir(dir)))
        n += entry->d_name[0] != '.' && atoi(entry->d_name) != gettid() &&
             runs_the_plugin(entry->d_name);
    if (dir)
        closedir(dir);
    return n;
}
