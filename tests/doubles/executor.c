/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FILES 16
#define OPEN_SIZE  ((size_t)1 << 28)

static struct {
    bool is_read, is_on;
    struct ptx_options options;
    struct ptx_module *modules[MOST_FILES];
    unsigned count;
} executor;

/* ---- executed kernels ---- */

struct ptx_module *executor_parse(const char *image)
{
    char error[256];
    struct ptx_module *module = ptx_module_new(image, error, sizeof(error));

    if (!module)
        (void)misuse("%s", error);
    return module;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    long size = -1;

    if (file && !fseek(file, 0, SEEK_END))
        size = ftell(file);
    if (size >= 0 && !fseek(file, 0, SEEK_SET))
        text = calloc(1, (size_t)size + 1);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

static void add_file(const char *path)
{
    char *text = read_file(path);

    if (!text)
        (void)misuse("CUDA_DOUBLE_PTX: %s cannot be read", path);
    else if (executor.count < MOST_FILES)
        executor.modules[executor.count++] = executor_parse(text);
    free(text);
    if (executor.count && !executor.modules[executor.count - 1])
        executor.count--;
}

static void read_settings(void)
{
    const char *files = getenv("CUDA_DOUBLE_PTX"), *run = getenv("CUDA_DOUBLE_PTX_RUN");
    char path[4096];

    if (executor.is_read)
        return;
    executor.is_read = true;
    executor.is_on = files && *files;
    if (!ptx_options_parse(run ? run : "", &executor.options))
        (void)misuse("CUDA_DOUBLE_PTX_RUN: \"%s\" contains an unknown word", run);
    for (; files && *files; files += strcspn(files, ":"), files += *files == ':') {
        snprintf(path, sizeof(path), "%.*s", (int)strcspn(files, ":"), files);
        add_file(path);
    }
}

bool executor_is_on(void)
{
    read_settings();
    return executor.is_on;
}

bool executor_tracks(void)
{
    read_settings();
    return executor.options.checks & PTX_CHECK_UNKNOWN;
}

const struct ptx_kernel *executor_kernel(const char *name)
{
    const struct ptx_kernel *kernel = NULL;

    read_settings();
    for (unsigned i = 0; i < executor.count && !kernel; i++)
        if (ptx_module_target(executor.modules[i]) <= settings.capability)
            kernel = ptx_kernel_find(executor.modules[i], name);
    return kernel;
}

/* ---- launches ---- */

struct executor_launch {
    struct ptx_launch launch;
    bool is_own;
    unsigned char params[];
};

size_t executor_launch_size(const struct ptx_kernel *kernel)
{
    return sizeof(struct executor_launch) + ptx_params_size(kernel);
}

/*
 * Unregistered host memory, on a device that reads page tables: its size is unknown and not
 * checked.
 */
static struct ptx_window open_window(unsigned char *bytes)
{
    struct ptx_window window = { (uintptr_t)bytes, OPEN_SIZE, bytes, NULL };

    while (is_device_address(bytes + window.size - 1) || block_within(bytes, window.size))
        window.size /= 2;
    return window;
}

static cudaError_t add_window(struct ptx_launch *l, struct command *command, struct device *device,
                              const void *address)
{
    unsigned char *bytes = resolve("cuLaunchKernel", command, device, address, 1);
    const struct block *block = block_at(address);
    struct ptx_window window;

    if (!bytes)
        return cudaErrorInvalidValue;
    window = block ? (struct ptx_window){ (uintptr_t)block->address, block->size, block->bytes,
                                          block->written }
                   : open_window(bytes);
    for (unsigned i = 0; i < l->window_count; i++)
        if (l->windows[i].address == window.address)
            return cudaSuccess;
    l->windows[l->window_count++] = window;
    return cudaSuccess;
}

cudaError_t executor_launch_take(struct executor_launch *l, const struct ptx_kernel *kernel,
                                 const uint32_t *grid, const uint32_t *block,
                                 struct command *command, struct device *device, void **params,
                                 unsigned pointers, bool is_own)
{
    l->launch = (struct ptx_launch){ .kernel = kernel,
                                     .grid = { grid[0], grid[1], grid[2] },
                                     .block = { block[0], block[1], block[2] },
                                     .options = executor.options };
    l->is_own = is_own;
    for (unsigned i = 0; i < ptx_kernel_params(kernel); i++) {
        cudaError_t error = cudaSuccess;
        void *address;

        if (!params[i])
            return misuse("cuLaunchKernel: parameter %u is missing", i);
        memcpy(l->params + ptx_param_offset(kernel, i), params[i], ptx_param_size(kernel, i));
        memcpy(&address, params[i], i < pointers ? sizeof(address) : 0);
        if (i < pointers && address)
            error = add_window(&l->launch, command, device, address);
        if (error != cudaSuccess)
            return error;
    }
    return cudaSuccess;
}

int executor_launch_run(void *argument)
{
    struct executor_launch *l = argument;

    l->launch.params = l->params;
    if (ptx_run(&l->launch))
        return cudaSuccess;
    if (l->is_own && l->launch.is_address)
        return cudaErrorIllegalAddress;
    lock();
    (void)misuse("%s", l->launch.report);
    unlock();
    return cudaErrorLaunchFailure;
}
