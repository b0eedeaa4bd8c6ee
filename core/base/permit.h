/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may have written a file that is believed: a plugin's, or plugins.conf. Hygiene, no boundary:
 * root, the user and the owner of libferry can do what they like.
 */
#ifndef FERRY_CORE_PERMIT_H
#define FERRY_CORE_PERMIT_H

#include "core/base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Whose word counts. */
struct ferry__trust {
    uid_t user;  /* who runs the program */
    uid_t owner; /* of the loaded libferry */
    bool strict; /* root, or AT_SECURE: what a group may write is refused too */
};

/* Of this process, as it is now. */
void ferry__trust_of_process(struct ferry__trust *out);

/*
 * The last folder that passed, with all above it: plugins lie side by side, and a search need not
 * look at what is above them once for each. Zeroed, before there was one.
 */
struct ferry__permitted {
    char folder[PATH_MAX];
    char loose[PATH_MAX]; /* as below */
};

/*
 * Checks an open file, of which `path` is the real path, and each folder above it, from the root
 * down: what passed cannot be exchanged behind our back by whom nobody trusts, and at the end the
 * path still leads to that file. 0, with what a group may write in out_loose ("": nothing; else the
 * path); or refusal->code.
 */
int ferry__permit_file(const char *path, const struct stat *file, const struct ferry__trust *trust,
                       struct ferry__permitted *last, char out_loose[PATH_MAX],
                       struct ferry__refusal *refusal);

/*
 * The same for a folder in which a file is yet to be looked for: nobody else may add one, so a sticky
 * bit does not help. One that is not there stands for the nearest above it that is.
 */
int ferry__permit_folder(const char *path, const struct ferry__trust *trust,
                         char out_loose[PATH_MAX], struct ferry__refusal *refusal);

#endif
