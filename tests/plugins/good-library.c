/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "good_library"
#include "good.h"

#include <stdio.h>
#include <sys/mman.h>

/* Counting devices maps and reads a large file, like a vendor's library. */
#define LIBRARY ((size_t)64 << 20)

static int map_library(void)
{
    static volatile char *library;
    FILE *file = library ? NULL : tmpfile();
    char last = 0;

    if (library)
        return 0;
    if (!file || ftruncate(fileno(file), (off_t)LIBRARY) != 0)
        return good_host->error(FERRY_EIO, "no file of %zu bytes", LIBRARY);
    library = mmap(NULL, LIBRARY, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    fclose(file);
    if (library == MAP_FAILED)
        return good_host->error(FERRY_ENOMEM, "mmap failed");
    for (size_t at = 0; at < LIBRARY; at += 4096)
        last = (char)(last + library[at]);
    return last;
}

static int count(void *plugin, uint32_t *out)
{
    int err = map_library();

    return err ? err : good_device_count(plugin, out);
}

/* A correct plugin: the pages of a library are not a context. */
static void spoil(ferry_plugin_ops *ops)
{
    ops->device_count = count;
}
