/* SPDX-License-Identifier: BSD-2-Clause */
#include "torch_archive.h"

#include <stdio.h>

int ferry__torch_malformed(const struct ferry__torch *a, const char *name, const char *what)
{
    return ferry_error_set(FERRY_EFORMAT, "%s: %.200s: %s", a->io->file.path, name, what);
}

const struct ferry__torch_storage *ferry__torch_member(const struct ferry__torch *a,
                                                       const char *folder, const char *key)
{
    char name[512];
    int64_t found;

    snprintf(name, sizeof(name), "%s%s%s", a->prefix, folder, key);
    found = ferry__names_find(&a->names, name);
    return found >= 0 ? &a->members[found] : NULL;
}
