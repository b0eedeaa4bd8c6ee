/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "good_sync"
#include "good.h"

/* A correct plugin, with synchronous work. */
static void spoil(ferry_plugin_ops *ops)
{
    (void)ops;
}
