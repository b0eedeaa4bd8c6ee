/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The permission check: which users may have written a file that is trusted, a plugin's or
 * plugins.conf. It is hygiene and not a security boundary: root, the user and the owner of libferry
 * are trusted.
 */
#ifndef FERRY_CORE_PERMIT_H
#define FERRY_CORE_PERMIT_H

#include "core/base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The trusted users. */
struct ferry__trust {
    uid_t user;  /* the user who runs the program */
    uid_t owner; /* the owner of the loaded libferry */
    bool strict; /* root, or AT_SECURE: a file that its group may write is refused too */
};

/* Sets *out to the trusted users of this process, as they are now. */
void ferry__trust_of_process(struct ferry__trust *out);

/*
 * The last folder that passed, together with all folders above it: plugins are in one folder, and a
 * search need not check the folders above it once for each. Zeroed at first.
 */
struct ferry__permitted {
    char folder[PATH_MAX];
    char loose[PATH_MAX]; /* a path that its group may write, as for ferry__permit_file */
};

/*
 * Checks an open file, of which `path` is the real path, and each folder above it, from the root
 * down: an untrusted user cannot replace a checked folder afterwards, and at the end the path still
 * leads to that file. 0, with the path that a group may write in out_loose ("" if there is none);
 * or refusal->code.
 */
int ferry__permit_file(const char *path, const struct stat *file, const struct ferry__trust *trust,
                       struct ferry__permitted *last, char out_loose[PATH_MAX],
                       struct ferry__refusal *refusal);

/*
 * Checks a folder in which a file will be searched, as ferry__permit_file checks a file. No
 * untrusted user may add a file to it, so a sticky bit does not suffice. For a folder that does not
 * exist, the nearest existing folder above it is checked.
 */
int ferry__permit_folder(const char *path, const struct ferry__trust *trust,
                         char out_loose[PATH_MAX], struct ferry__refusal *refusal);

#endif
