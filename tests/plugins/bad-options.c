/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_options"
#include "good.h"

/* An enum option whose default is not among its values. */
static const ferry_plugin_option options[] = {
    { .name = "mode",
      .default_value = "middling",
      .description = "how it computes",
      .values = "slow|fast",
      .type = FERRY_OPTION_ENUM },
};

static void spoil(ferry_plugin_ops *ops)
{
    ops->options = options;
    ops->option_count = 1;
    ops->option_size = sizeof(options[0]);
}
