/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "registry.h"

#include <string.h>

const char *ferry__plugin_option(const struct ferry__plugin *plugin, const char *key)
{
    for (const struct ferry__option *option = plugin->options; option; option = option->next)
        if (strcmp(option->key, key) == 0)
            return option->value;
    return NULL;
}
