/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/loader_posix.h"

#include <ferry/status.h>

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef RTLD_NODELETE
#define RTLD_NODELETE 0
#endif

#define PREFIX "ferry_"
#define SUFFIX ".so"

/* ---- what we are ---------------------------------------------------------------------------- */

/* Our own ELF header is mapped where we were loaded. */
static const ElfW(Ehdr) * own_header(Dl_info *out)
{
    /* Data, because ISO C keeps pointers to functions apart. */
    static const char anchor[] = "ferry";
    const unsigned char *base;

    if (!dladdr(anchor, out))
        return NULL;
    base = out->dli_fbase;
    return base && memcmp(base, ELFMAG, SELFMAG) == 0 ? out->dli_fbase : NULL;
}

/* Sanitizers are in the program, or in nobody: their runtimes cannot be loaded later. */
static uint32_t sanitizers(void)
{
    static const struct {
        const char *symbol;
        uint32_t bit;
    } table[] = {
        { "__asan_init", FERRY_SANITIZER_ADDRESS },
        { "__tsan_init", FERRY_SANITIZER_THREAD },
        { "__msan_init", FERRY_SANITIZER_MEMORY },
    };
    uint32_t found = FERRY_HAVE_SANITIZER_;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (dlsym(RTLD_DEFAULT, table[i].symbol))
            found |= table[i].bit;
    return found;
}

void ferry__os_self(struct ferry__self *out)
{
    Dl_info info;
    const ElfW(Ehdr) *header = own_header(&info);

    *out = (struct ferry__self){
        .sanitizer = sanitizers(),
        .abi_major = FERRY_ABI_MAJOR,
        .abi_minor = FERRY_ABI_MINOR,
    };
    if (header) {
        out->elf_class = header->e_ident[EI_CLASS];
        out->elf_data = header->e_ident[EI_DATA];
        out->machine = header->e_machine;
    }
}

uid_t ferry__os_library_owner(void)
{
    struct stat st;
    Dl_info info;

    if (own_header(&info) && info.dli_fname && info.dli_fname[0] == '/' &&
        stat(info.dli_fname, &st) == 0)
        return st.st_uid;
#ifdef __linux__
    if (stat("/proc/self/exe", &st) == 0) /* linked into a program, which goes by a relative name */
        return st.st_uid;
#endif
    return geteuid();
}

/* ---- folders -------------------------------------------------------------------------------- */

static int is_plugin_name(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    size_t prefix = strlen(PREFIX), suffix = strlen(SUFFIX);

    return length > prefix + suffix && memcmp(entry->d_name, PREFIX, prefix) == 0 &&
           memcmp(entry->d_name + length - suffix, SUFFIX, suffix) == 0;
}

static int bytewise(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int ferry__os_list(const char *folder, char ***out_names, size_t *out_count)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_plugin_name, bytewise);
    char **names;
    int err = 0;

    if (count < 0)
        return errno;
    names = calloc((size_t)count + 1, sizeof(*names));
    for (int i = 0; i < count; i++) {
        if (names)
            names[i] = strdup(entries[i]->d_name);
        if (!names || !names[i])
            err = ENOMEM;
        free(entries[i]);
    }
    free(entries);
    if (!err && !names)
        err = ENOMEM;
    if (err) {
        for (int i = 0; names && i < count; i++)
            free(names[i]);
        free(names);
        return err;
    }
    *out_names = names;
    *out_count = (size_t)count;
    return 0;
}

/* ---- shared objects ------------------------------------------------------------------------- */

void *ferry__os_dlopen(const char *path, char *why, size_t size)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (!library) {
        const char *text = dlerror();

        snprintf(why, size, "%s", text ? text : "dlopen failed");
    }
    return library;
}

bool ferry__os_symbol(void *library, const char *name, void *out)
{
    void *address = dlsym(library, name);

    if (address)
        memcpy(out, &address, sizeof(address));
    return address != NULL;
}
