/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_needed"
#include "good.h"

/* Links libferry without calling it: see build-bad.sh. */
static void spoil(ferry_plugin_ops *ops)
{
    (void)ops;
}
