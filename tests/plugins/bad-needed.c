/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_needed"
#include "good.h"

/* It calls nothing of libferry, and is linked with it all the same: see build-bad.sh. */
static void spoil(ferry_plugin_ops *ops)
{
    (void)ops;
}
