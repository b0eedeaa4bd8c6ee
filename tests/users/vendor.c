/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A vendor's library that loads the file named by its own environment variable: linked to a plugin,
 * or preloaded.
 */
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((constructor)) static void on_load(void)
{
    const char *driver = getenv("VENDOR_DRIVER");

    if (driver)
        dlopen(driver, RTLD_NOW);
}
