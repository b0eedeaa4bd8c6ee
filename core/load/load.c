/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/loader.h"
#include "core/base/env.h"
#include "core/load/loader_posix.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Loading a file that a search has examined. */

static int refuse_replaced(struct ferry__refusal *refusal)
{
    return ferry__refuse(refusal, FERRY_EPLUGIN, "start the program again",
                         "its file was replaced while it was being loaded");
}

/*
 * Opens and examines the file again, since its path may lead to another file than at the search.
 * Returns a descriptor of the file to be loaded, or a negative code.
 */
static int open_again(const struct ferry__candidate *candidate, struct ferry__examined *out,
                      struct ferry__refusal *refusal)
{
    struct ferry__permitted last = { 0 };
    struct ferry__trust trust;
    struct ferry__self self;
    struct stat st;
    int fd = ferry__examine_open(candidate->real, &st, refusal);
    int err;

    if (fd < 0)
        return fd;
    ferry__trust_of_process(&trust);
    ferry__os_self(&self);
    if (st.st_dev != candidate->dev || st.st_ino != candidate->ino)
        err = refuse_replaced(refusal);
    else
        err = ferry__examine(fd, &st, candidate->real, &self, &trust, &last, out, refusal);
    if (!err && memcmp(&out->note, &candidate->note, sizeof(out->note)) != 0)
        err = refuse_replaced(refusal);
    if (!err)
        return fd;
    close(fd);
    return err;
}

/*
 * Opens the file of a descriptor by dlopen. A file whose RUNPATH has $ORIGIN has to be loaded by
 * its path, which leads to that file only as long as no untrusted user can change it.
 */
static void *load_open(const struct ferry__candidate *candidate, int fd,
                       const struct ferry__examined *found, struct ferry__refusal *refusal)
{
    bool by_path = found->origin || !ferry__os_can_dlopen(fd);
    char why[sizeof(refusal->reason)];
    char hint[sizeof(refusal->hint)];
    void *library;

    if (by_path && found->loose[0]) {
        snprintf(hint, sizeof(hint), "chmod g-w %.1000s", found->loose);
        ferry__refuse(refusal, FERRY_EPERM, hint,
                      "%.500s can be written by its group, and must be loaded by its path: %s",
                      found->loose, found->origin ? "it uses $ORIGIN" : "there is no /proc");
        return NULL;
    }
    ferry__env_clean();
    library = ferry__os_dlopen(by_path ? -1 : fd, candidate->real, why, sizeof(why));
    if (!library) {
        snprintf(hint, sizeof(hint), "ldd %s shows what is missing", candidate->real);
        ferry__refuse(refusal, FERRY_EPLUGIN, hint, "%s", why);
    }
    return library;
}

/*
 * Calls dlopen, and compares the loaded note with the examined one. NULL, with the refusal filled
 * in, on failure.
 */
static void *load_examined(const struct ferry__candidate *candidate, struct ferry__refusal *refusal)
{
    const ferry_plugin_descriptor *loaded;
    struct ferry__examined found;
    int fd = open_again(candidate, &found, refusal);
    void *library;

    if (fd < 0)
        return NULL;
    library = load_open(candidate, fd, &found, refusal);
    close(fd);
    if (!library)
        return NULL;
    if (!ferry__os_symbol(library, "ferry_plugin", &loaded)) {
        ferry__refuse(refusal, FERRY_EPLUGIN, "export the symbol that FERRY_PLUGIN defines",
                      "it does not export ferry_plugin");
        return NULL;
    }
    if (memcmp(&loaded->magic, &candidate->note.magic, FERRY_PLUGIN_DESCRIPTOR_SIZE) != 0) {
        refuse_replaced(refusal);
        return NULL;
    }
    return library;
}

int ferry__loader_load(const struct ferry__candidate *candidate, ferry__open_fn **out,
                       struct ferry__refusal *refusal)
{
    void *library = load_examined(candidate, refusal);

    if (!library)
        return refusal->code;
    if (!ferry__os_symbol(library, "ferry_plugin_open", out))
        return ferry__refuse(refusal, FERRY_EPLUGIN, "export ferry_plugin and ferry_plugin_open",
                             "it does not export ferry_plugin_open");
    return 0;
}

int ferry__loader_symbol(const struct ferry__candidate *candidate, const char *name,
                         const void **out, struct ferry__refusal *refusal)
{
    void *library = load_examined(candidate, refusal);

    if (!library)
        return refusal->code;
    if (!ferry__os_symbol(library, name, out))
        return ferry__refuse(refusal, FERRY_EPLUGIN, "", "it does not export %s", name);
    return 0;
}
