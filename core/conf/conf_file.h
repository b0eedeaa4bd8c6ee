/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads plugins.conf: finds the files, splits them into lines, and parses the lines by inih. */
#ifndef FERRY_CORE_CONF_FILE_H
#define FERRY_CORE_CONF_FILE_H

#include "core/conf/conf.h"

/*
 * Adds the settings of that file. A missing file is an error only if it `must_exist`; a file that
 * is not a plain text file is always an error.
 */
int ferry__conf_read(struct ferry__conf *conf, const char *path, bool must_exist);

/* Adds the settings of a file of that name with these bytes. */
int ferry__conf_parse(struct ferry__conf *conf, const char *path, const char *bytes, size_t size);

/*
 * Reads the one file `path` (from the API; else of FERRY_CONF), or else the system's and the
 * user's. FERRY_ECONF with file and line in the message, FERRY_ENOMEM. Given back with
 * ferry__conf_destroy.
 */
int ferry__conf_load(const char *path, struct ferry__conf **out);

#endif
