/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_bool"
#include "good.h"

/* A yes or no whose default is neither. */
static const ferry_plugin_option options[] = {
    { .name = "fast",
      .default_value = "maybe",
      .description = "whether it hurries",
      .type = FERRY_OPTION_BOOL },
};

static void spoil(ferry_plugin_ops *ops)
{
    ops->options = options;
    ops->option_count = 1;
    ops->option_size = sizeof(options[0]);
}
