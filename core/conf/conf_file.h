/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the bytes of plugins.conf and its keys: files, lines, and inih.
 */
#ifndef FERRY_CORE_CONF_FILE_H
#define FERRY_CORE_CONF_FILE_H

#include "core/conf/conf.h"

/*
 * Adds what that file says. One that is not there is an error only if it `must_exist`; anything
 * that is no plain text file is one always.
 */
int ferry__conf_read(struct ferry__conf *conf, const char *path, bool must_exist);

/* What conf.c makes of a section's first line and of a key; 0 or FERRY_E…. */
int ferry__conf_on_section(struct ferry__conf *conf, const char *words, const char *origin);
int ferry__conf_on_key(struct ferry__conf *conf, const char *words, const char *key,
                       const char *value, const char *origin);

#endif
