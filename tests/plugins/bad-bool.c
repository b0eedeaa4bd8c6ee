/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_bool"
#include "good.h"

/* A boolean option whose default is neither yes nor no. */
static const ferry_plugin_option options[] = {
    { .name = "fast",
      .default_value = "maybe",
      .description = "whether it is fast",
      .type = FERRY_OPTION_BOOL },
};

static void spoil(ferry_plugin_ops *ops)
{
    ops->options = options;
    ops->option_count = 1;
    ops->option_size = sizeof(options[0]);
}
