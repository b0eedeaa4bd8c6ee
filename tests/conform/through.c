/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "through.h"

#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_conf(char *path)
{
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!file)
        kit_fail("the check itself cannot write %s", path);
    fprintf(file, "[plugin %s]\nlibrary = %s\n", kit.target->name, kit.target->path);
    if (fclose(file) != 0)
        kit_fail("the check itself cannot write %s", path);
}

ferry_runtime *through_open(void)
{
    ferry_runtime_options options = { .struct_size = sizeof(options) };
    char path[] = "/tmp/ferry-check-XXXXXX";
    const char *variable = getenv("FERRY_PLUGIN_PATH");
    char *folders = variable ? strdup(variable) : NULL;
    ferry_runtime *rt = NULL;
    int err;

    ferry_log_set_handler(kit_log, NULL); /* standard error is checked */
    write_conf(path);
    unsetenv("FERRY_PLUGIN_PATH"); /* the file, and no other with its name */
    options.conf = path;
    options.backend = kit.target->name;
    options.strict = FERRY_STRICT_OFF; /* optional entries may be missing */
    err = ferry_runtime_open(&options, &rt);
    unlink(path);
    if (folders)
        setenv("FERRY_PLUGIN_PATH", folders, 1);
    free(folders);
    if (err)
        kit_fail("ferry_runtime_open: %s", ferry_last_error());
    for (size_t i = 0; i < kit.target->option_count; i++)
        if (kit.target->options[i].key[0] &&
            ferry_runtime_set_option(rt, kit.target->name, kit.target->options[i].key,
                                     kit.target->options[i].value) != FERRY_OK)
            kit_fail("option %s: %s", kit.target->options[i].key, ferry_last_error());
    return rt;
}

const ferry_runtime_candidate_info *through_candidate(ferry_runtime *rt)
{
    const ferry_runtime_candidate_info *c;

    for (int i = 0; i < ferry_runtime_candidate_count(rt); i++)
        if (ferry_runtime_candidate_at(rt, i, &c) == FERRY_OK &&
            strcmp(c->path, kit.target->path) == 0)
            return c;
    kit_fail("ferry does not find the file");
}

ferry_device *through_device(ferry_runtime *rt)
{
    ferry_device *dev = NULL;
    char name[64];

    snprintf(name, sizeof(name), "%.40s:%u", kit.target->name, kit.target->device);
    if (ferry_runtime_get_device(rt, name, &dev) != FERRY_OK)
        kit_fail("ferry_runtime_get_device: %s", ferry_last_error());
    kit_manners_opened();
    return dev;
}
