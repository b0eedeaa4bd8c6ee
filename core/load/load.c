/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/loader.h"
#include "core/load/loader_posix.h"

#include <stdio.h>
#include <string.h>

/* Loading what a search has examined. */

/* dlopen, and whether what it brought is what was examined. NULL, with the refusal filled in. */
static void *load_examined(const struct ferry__candidate *candidate, struct ferry__refusal *refusal)
{
    const ferry_plugin_descriptor *loaded;
    char why[sizeof(refusal->reason)];
    char hint[sizeof(refusal->hint)];
    void *library = ferry__os_dlopen(candidate->real, why, sizeof(why));

    if (!library) {
        snprintf(hint, sizeof(hint), "ldd %s shows what is missing", candidate->real);
        ferry__refuse(refusal, FERRY_EPLUGIN, hint, "%s", why);
        return NULL;
    }
    if (!ferry__os_symbol(library, "ferry_plugin", &loaded)) {
        ferry__refuse(refusal, FERRY_EPLUGIN, "export what FERRY_PLUGIN defines",
                      "it does not export ferry_plugin");
        return NULL;
    }
    if (memcmp(&loaded->magic, &candidate->note.magic, FERRY_PLUGIN_DESCRIPTOR_SIZE) != 0) {
        ferry__refuse(refusal, FERRY_EPLUGIN, "start the program again",
                      "its file was replaced while it was being loaded");
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
