/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that an attacker would run, as a vendor's driver or as the plugin "alpha" itself. It creates
 * a file named after its role.
 */
#include <stdio.h>
#include <unistd.h>

#ifdef EVIL_PLUGIN
#include <ferry/plugin.h>

FERRY_PLUGIN(.name = "alpha", .version = "1.0", .vendor = "ferry's tests");

int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out)
{
    (void)out;
    return host->error(FERRY_EPLUGIN, "taken in");
}
#endif

__attribute__((constructor)) static void on_load(void)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s.%lu.%ld", EVIL_TRACE, (unsigned long)geteuid(),
             (long)getpid());
    file = fopen(path, "w");
    if (file)
        fclose(file);
}
