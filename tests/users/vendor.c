/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library of a vendor's, which loads what a variable of its own names: to be linked to a plugin, or
 * preloaded.
 */
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((constructor)) static void on_load(void)
{
    const char *driver = getenv("VENDOR_DRIVER");

    if (driver)
        dlopen(driver, RTLD_NOW);
}
