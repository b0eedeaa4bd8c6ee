/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One file, from its permissions to its ABI: what the search looks at, and loading looks at again.
 */
#ifndef FERRY_CORE_EXAMINE_H
#define FERRY_CORE_EXAMINE_H

#include "core/base/permit.h"
#include "core/load/note.h"

/* The stages, as the report names them. */
#define FERRY__STAGE_FOUND       "found"
#define FERRY__STAGE_PERMISSIONS "permissions"
#define FERRY__STAGE_ELF         "ELF"
#define FERRY__STAGE_ABI         "ABI"

/* What a file was found to be. */
struct ferry__examined {
    const char *stage; /* how far it came, FERRY__STAGE_… */
    ferry_plugin_descriptor note;
    struct ferry__dynamic dynamic;
    bool origin;          /* it looks for libraries beside itself: $ORIGIN */
    char loose[PATH_MAX]; /* what a group may write of what it goes by; "": nothing */
};

/* Opens a regular file by its real path. A descriptor, or refusal->code, which is negative. */
int ferry__examine_open(const char *real, struct stat *out, struct ferry__refusal *refusal);

/*
 * Looks at an open file, of which `real` is the real path: who may write it and what it needs, its
 * ELF tables and its note, and whether `self` can use it, whose cpu_features are found out where the
 * first note asks for any. 0 or refusal->code; *out says how far it came, and has the note if that
 * was read.
 */
int ferry__examine(int fd, const struct stat *st, const char *real, struct ferry__self *self,
                   const struct ferry__trust *trust, struct ferry__permitted *last,
                   struct ferry__examined *out, struct ferry__refusal *refusal);

#endif
