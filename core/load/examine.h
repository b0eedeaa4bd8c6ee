/* SPDX-License-Identifier: BSD-2-Clause */
/* Examines one file, from its permissions to its ABI: in the search, and again before loading. */
#ifndef FERRY_CORE_EXAMINE_H
#define FERRY_CORE_EXAMINE_H

#include "core/base/permit.h"
#include "core/load/note.h"

/* The stages, as the report names them. */
#define FERRY__STAGE_FOUND       "found"
#define FERRY__STAGE_PERMISSIONS "permissions"
#define FERRY__STAGE_ELF         "ELF"
#define FERRY__STAGE_ABI         "ABI"

/* The result of an examination. */
struct ferry__examined {
    const char *stage; /* the stage reached, FERRY__STAGE_… */
    ferry_plugin_descriptor note;
    struct ferry__dynamic dynamic;
    bool origin;          /* the file looks for libraries in its own folder: $ORIGIN */
    char loose[PATH_MAX]; /* a dependency's path that its group may write, or "" */
};

/*
 * Opens a regular file by its real path. Returns a descriptor, or refusal->code, which is negative.
 */
int ferry__examine_open(const char *real, struct stat *out, struct ferry__refusal *refusal);

/*
 * Examines an open file, of which `real` is the real path: its writers and its dependencies, its
 * ELF header and its note, and whether `self` can use it. self->cpu_features is determined when the
 * first note requires any. 0 or refusal->code; *out has the stage reached, and the note if it was
 * read.
 */
int ferry__examine(int fd, const struct stat *st, const char *real, struct ferry__self *self,
                   const struct ferry__trust *trust, struct ferry__permitted *last,
                   struct ferry__examined *out, struct ferry__refusal *refusal);

#endif
