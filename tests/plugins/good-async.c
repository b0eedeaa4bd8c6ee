/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "good_async"
#define GOOD_ASYNC
#include "good.h"

/* A correct plugin, with asynchronous work. */
static void spoil(ferry_plugin_ops *ops)
{
    (void)ops;
}
