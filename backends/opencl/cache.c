/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiled programs on disk, one file each, in $XDG_CACHE_HOME/ferry, else ~/.cache/ferry. A file
 * that is damaged, belongs to another user or was made by another driver is ignored, and no failure
 * of the cache is an error.
 */
#define _GNU_SOURCE
#include "cache.h"

#include "common/hash.h"
#include "kernels/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST      (UINT64_C(128) << 20) /* the maximum size of a stored binary, in bytes */

/*
 * Whether binaries are stored. PoCL has a cache of its own that saves the whole compilation; its
 * binaries save little of it, and obtaining one costs a second compilation.
 */
bool ocl_cache_wanted(cl_device_id id, enum ocl_switch option)
{
    cl_platform_id platform = NULL;
    char name[64] = "";

    if (option != OCL_AUTO)
        return option == OCL_ON;
    if (!clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL))
        ocl_platform_string(platform, CL_PLATFORM_NAME, name, sizeof(name));
    return strcmp(name, "Portable Computing Language") != 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* The key of a binary: the device, its driver, the source, and the build options. */
static void make_key(cl_device_id id, const char *const *lines, size_t count, const char *options,
                     char *key, size_t size)
{
    static const cl_device_info device[] = { CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION,
                                             CL_DRIVER_VERSION };
    char text[4][192], platform[192] = "";
    cl_platform_id its = NULL;
    uint64_t source = FERRY__HASH;
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        source = ferry__hash(source, lines[i], strlen(lines[i]));
        bytes += strlen(lines[i]);
    }
    for (int i = 0; i < 4; i++)
        ocl_device_string(id, device[i], text[i], sizeof(text[i]));
    if (!clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof(its), &its, NULL))
        ocl_platform_string(its, CL_PLATFORM_VERSION, platform, sizeof(platform));
    snprintf(key, size, "%s|%s|%s|%s|%s|%s|%zu|%016" PRIx64, platform, text[0], text[1], text[2],
             text[3], options, bytes, source);
}

/* Whether the path is a folder that only this user can access; creates it if it does not exist. */
static bool make_folder(const char *path)
{
    struct stat s;

    if (mkdir(path, 0700) && errno != EEXIST)
        return false;
    return !lstat(path, &s) && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
           !(s.st_mode & (S_IWGRP | S_IWOTH));
}

/* Finds the cache folder; false if no folder can be trusted. */
static bool find_folder(char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;

    if (cache && cache[0] == '/') {
        n = snprintf(path, size, "%s", cache);
    } else if (home && home[0] == '/') {
        n = snprintf(path, size, "%s/.cache", home);
    } else {
        return false;
    }
    if (n < 0 || (size_t)n + sizeof("/ferry") > size)
        return false;
    (void)mkdir(path, 0700); /* the mode that the specification of XDG_CACHE_HOME requires */
    strcat(path, "/ferry");
    if (make_folder(path))
        return true;
    ocl_host->log(FERRY_LOG_DEBUG,
                  "compiled kernels are not kept: %s is not a folder that only "
                  "this user can access",
                  path);
    return false;
}

static bool find_file(const char *key, char *path, size_t size)
{
    char folder[STORE_PATH];
    int n;

    if (!find_folder(folder, sizeof(folder)))
        return false;
    n = snprintf(path, size, "%s/opencl-%016" PRIx64, folder,
                 ferry__hash(FERRY__HASH, key, strlen(key)));
    return n > 0 && (size_t)n < size;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int build(const struct ocl_context *c, const unsigned char *binary, size_t bytes,
                 const char *options, cl_program *out)
{
    cl_int status = 0, error;
    cl_program program =
        clCreateProgramWithBinary(c->context, 1, &c->id, &bytes, &binary, &status, &error);

    if (!error && !status)
        error = clBuildProgram(program, 1, &c->id, options, NULL, NULL);
    if (!error && !status) {
        *out = program;
        return 0;
    }
    if (program)
        clReleaseProgram(program);
    return error ? error : status;
}

bool ocl_cache_load(const struct ocl_context *c, const char *const *lines, size_t count,
                    const char *options, cl_program *out)
{
    char key[OCL_CACHE_KEY], path[STORE_PATH];
    struct stored stored;
    const char *why;

    make_key(c->id, lines, count, options, key, sizeof(key));
    if (!find_file(key, path, sizeof(path)))
        return false;
    why = store_read(path, key, &stored);
    if (!why && build(c, stored.binary, stored.bytes, options, out))
        why = "the driver does not accept it";
    free(stored.file);
    if (!why || *why)
        ocl_host->log(FERRY_LOG_DEBUG, "%s: %s", path, why ? why : "taken");
    return !why;
}

/* ---- writing -------------------------------------------------------------------------------- */

/*
 * The index of the context's device among those of the program; −1 if it is missing or there are
 * too many.
 */
static int place_of(cl_program program, cl_device_id id, cl_uint *out_count)
{
    cl_device_id ids[OCL_CACHE_DEVICES];
    size_t size = 0;

    if (clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(ids), ids, &size))
        return -1;
    *out_count = (cl_uint)(size / sizeof(ids[0]));
    for (cl_uint i = 0; i < *out_count; i++)
        if (ids[i] == id)
            return (int)i;
    return -1;
}

/* The program's binary for the device; NULL if the driver provides none. */
static unsigned char *binary_of(cl_program program, cl_device_id id, size_t *out_bytes)
{
    size_t bytes[OCL_CACHE_DEVICES] = { 0 };
    unsigned char *binary[OCL_CACHE_DEVICES] = { NULL };
    cl_uint count = 0;
    int place = place_of(program, id, &count);

    if (place < 0 ||
        clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(bytes[0]) * count, bytes, NULL))
        return NULL;
    if (!bytes[place] || bytes[place] > MOST)
        return NULL;
    binary[place] = malloc(bytes[place]);
    if (binary[place] &&
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary[0]) * count, binary, NULL)) {
        free(binary[place]);
        return NULL;
    }
    *out_bytes = bytes[place];
    return binary[place];
}

void ocl_cache_store(const struct ocl_context *c, const char *const *lines, size_t count,
                     const char *options, cl_program program)
{
    char key[OCL_CACHE_KEY], path[STORE_PATH];
    unsigned char *binary;
    size_t bytes = 0;

    make_key(c->id, lines, count, options, key, sizeof(key));
    if (!find_file(key, path, sizeof(path)))
        return;
    binary = binary_of(program, c->id, &bytes);
    if (!binary)
        return;
    if (!store_write(path, key, binary, bytes))
        ocl_host->log(FERRY_LOG_DEBUG, "%s: cannot be written: %s", path, strerror(errno));
    free(binary);
}
