/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/loader_posix.h"

#include <ferry/status.h>

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
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

/* ---- this process --------------------------------------------------------------------------- */

/* The ELF header of the library that contains this function is mapped at its load address. */
static const ElfW(Ehdr) * own_header(Dl_info *out)
{
    /* An object instead of a function, because ISO C cannot convert a function pointer to void
     * *. */
    static const char anchor[] = "ferry";
    const unsigned char *base;

    if (!dladdr(anchor, out))
        return NULL;
    base = out->dli_fbase;
    return base && memcmp(base, ELFMAG, SELFMAG) == 0 ? out->dli_fbase : NULL;
}

/*
 * The sanitizers whose runtime is in the process. A runtime is part of the program; it cannot be
 * loaded later.
 */
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

/*
 * The folder with names of this process's descriptors. /proc/self is not used: a debugger opens the
 * path that the dynamic linker was given, and /proc/self would be the debugger's own descriptors.
 */
static size_t descriptors(char *out, size_t size)
{
    return (size_t)snprintf(out, size, "/proc/%ld/fd", (long)getpid());
}

bool ferry__os_can_dlopen(int fd)
{
    char name[64];
    size_t used = descriptors(name, sizeof(name));
    struct stat named, meant;

    snprintf(name + used, sizeof(name) - used, "/%d", fd);
    /* in the /proc of another PID namespace, the number belongs to another process */
    return access(name, R_OK) == 0 && stat(name, &named) == 0 && fstat(fd, &meant) == 0 &&
           named.st_dev == meant.st_dev && named.st_ino == meant.st_ino;
}

/*
 * Makes a name of that descriptor that no earlier descriptor had, since the dynamic linker takes an
 * equal name for the same file, and descriptor numbers are reused. Additional "//" and "/./" do not
 * change the file.
 */
static void name_descriptor(int fd, char *out, size_t size)
{
    static atomic_uint turns;
    unsigned turn = atomic_fetch_add(&turns, 1);
    size_t used = descriptors(out, size);

    for (; turn; turn >>= 1)
        used += (size_t)snprintf(out + used, size - used, "%s", turn & 1 ? "/." : "/");
    snprintf(out + used, size - used, "/%d", fd);
}

/* A name that the linker allocated. It is never freed, because other users of it are unknown. */
struct old_name {
    struct old_name *next;
    char *name;
};

/*
 * The linker records the descriptor's path as the library's name, which is meaningless once the
 * descriptor is closed.
 */
static void rename_library(void *library, const char *given, const char *path)
{
    static _Atomic(struct old_name *) olds;
    struct old_name *old;
    struct link_map *map = NULL;
    char *name;

    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map->l_name ||
        strcmp(map->l_name, given) != 0)
        return;
    old = malloc(sizeof(*old));
    name = strdup(path);
    if (!old || !name) {
        free(old);
        free(name);
        return;
    }
    old->name = map->l_name;
    old->next = atomic_load(&olds);
    while (!atomic_compare_exchange_weak(&olds, &old->next, old))
        ;
    map->l_name = name;
}

void *ferry__os_dlopen(int fd, const char *path, char *why, size_t size)
{
    char name[128];
    void *library;

    if (fd >= 0)
        name_descriptor(fd, name, sizeof(name));
    library = dlopen(fd >= 0 ? name : path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *text = dlerror();

        snprintf(why, size, "%s", text ? text : "dlopen failed");
    } else if (fd >= 0) {
        rename_library(library, name, path);
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
