/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the drivers that the ICD loader was configured to load and could not; the loader does not
 * report them. This reads the same files as the loader, after it.
 */
#define _GNU_SOURCE
#include "opencl.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VENDORS "/etc/OpenCL/vendors"

struct report {
    char *first;
    size_t size;
    unsigned count;
};

static bool ends_in_icd(const char *name)
{
    size_t length = strlen(name);

    return length > 4 && !strcmp(name + length - 4, ".icd");
}

static void broken(struct report *r, const char *file, const char *why)
{
    ocl_host->log(FERRY_LOG_WARN, "%s: the driver is skipped: %s", file, why);
    if (r->count++ == 0)
        snprintf(r->first, r->size, "%s: %s", file, why);
}

/* Reads the library's name from the first line of a file. */
static bool read_name(const char *file, char *out, int size)
{
    FILE *f = fopen(file, "re");
    bool ok = f && fgets(out, size, f);

    if (f)
        fclose(f);
    if (ok)
        out[strcspn(out, " \t\r\n")] = '\0';
    return ok && *out;
}

static void check_library(struct report *r, const char *file, const char *library)
{
    void *loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    /* dlopen again, to get the reason why the loader could not load it */
    void *handle = loaded ? loaded : dlopen(library, RTLD_LAZY | RTLD_LOCAL);

    if (!handle)
        broken(r, file, dlerror());
    else if (!dlsym(handle, "clGetExtensionFunctionAddress"))
        broken(r, file, "the library is not an OpenCL driver");
    else if (!loaded)
        ocl_host->log(FERRY_LOG_INFO, "%s: the driver offers no platform", file);
    if (handle)
        dlclose(handle);
}

static void check_file(struct report *r, const char *file)
{
    char library[512];

    if (read_name(file, library, (int)sizeof(library)))
        check_library(r, file, library);
    else
        broken(r, file, "does not name a library");
}

static int is_icd(const struct dirent *entry)
{
    return ends_in_icd(entry->d_name);
}

unsigned ocl_icd_check(char *first, size_t size)
{
    struct report r = { first, size, 0 };
    const char *vendors = secure_getenv("OCL_ICD_VENDORS");
    struct dirent **entries = NULL;
    int n;

    if (!vendors || !*vendors)
        vendors = VENDORS;
    if (ends_in_icd(vendors)) {
        check_file(&r, vendors);
        return r.count;
    }
    n = scandir(vendors, &entries, is_icd, alphasort);
    for (int i = 0; i < n; i++) {
        char file[1024];

        snprintf(file, sizeof(file), "%s/%s", vendors, entries[i]->d_name);
        check_file(&r, file);
        free(entries[i]);
    }
    free(entries);
    return r.count;
}
