/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_exit"
#include "good.h"

#include <stdio.h>

/* Prints a message when the program ends. */
static void __attribute__((destructor)) farewell(void)
{
    puts("good_sync: 1 device closed");
}

static void spoil(ferry_plugin_ops *ops)
{
    (void)ops;
}
