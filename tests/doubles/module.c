/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modules, their functions, and launches. The first bytes of an image determine its kind: a fatbin,
 * an ELF file, PTX, or a bundle of ELF files for AMD's architectures. The names of functions are
 * searched in all but fatbins, which are compressed.
 */
#define _GNU_SOURCE
#include "double.h"

#include "executor.h"
#include "module.h"

#include <stdlib.h>
#include <string.h>

#define FATBIN         0xba55ed50u
#define MOST_THREADS   1024u
#define MOST_GRID      2147483647u
#define MOST_NUMBERS   4096u /* bytes of a launch's parameters */
#define MOST_FUNCTIONS 64

struct function {
    const struct module_kernel *kernel; /* compiled by the host's compiler */
    const struct ptx_kernel *ptx;       /* executed; one of the two is NULL */
    struct module *module;
};

struct module {
    struct module *next;
    struct context *context;
    char *image; /* the text in which names are searched; NULL for a fatbin */
    size_t size;
    struct ptx_module *ptx; /* NULL: the image has no PTX of entries */
    struct function functions[MOST_FUNCTIONS];
    unsigned count;
};

static struct module *modules;

unsigned count_modules(const struct context *context);
unsigned count_modules(const struct context *context)
{
    unsigned count = 0;

    for (const struct module *m = modules; m; m = m->next)
        count += m->context == context;
    return count;
}

/* The start of the driver's calls, which leave no error for cudaGetLastError. (locked) */
static CUresult begin(const char *call, struct context **out)
{
    cudaError_t error;

    lock();
    error = enter(call);
    if (error == cudaSuccess)
        error = current(call, out);
    return (CUresult)error;
}

static CUresult end(CUresult failed)
{
    unlock();
    return failed;
}

/* ---- modules -------------------------------------------------------------------------------- */

/* The size of an ELF file, which ends with its table of sections. */
static size_t elf_size(const unsigned char *image)
{
    uint64_t sections;
    uint16_t size, count;

    memcpy(&sections, image + 40, sizeof(sections));
    memcpy(&size, image + 58, sizeof(size));
    memcpy(&count, image + 60, sizeof(count));
    return (size_t)sections + (size_t)size * count;
}

#define BUNDLE "__CLANG_OFFLOAD_BUNDLE__"

/*
 * The ELF file of a bundle for the device's architecture, whose name ends the entry's. A bundle is
 * its name, the number of entries, and of each entry place, size, length of the name, and name.
 */
static const unsigned char *take_from_bundle(struct module *m, const unsigned char *bundle)
{
    const unsigned char *at = bundle + sizeof(BUNDLE) - 1;
    size_t length = strlen(settings.arch);
    uint64_t count, entry[3];

    memcpy(&count, at, sizeof(count));
    at += sizeof(count);
    for (uint64_t i = 0; i < count; i++) {
        memcpy(entry, at, sizeof(entry));
        at += sizeof(entry) + entry[2];
        if (entry[2] > length && !memcmp(at - length, settings.arch, length)) {
            m->size = entry[1];
            return bundle + entry[0];
        }
    }
    return NULL;
}

static bool take_image(struct module *m, const void *image)
{
    uint32_t first;

    memcpy(&first, image, sizeof(first));
    if (first == FATBIN)
        return true;
    if (!strncmp(image, BUNDLE, sizeof(BUNDLE) - 1))
        image = take_from_bundle(m, image);
    else if (!memcmp(image, "\177ELF", 4))
        m->size = elf_size(image);
    else if (strchr("./", *(const char *)image) && strstr(image, ".version"))
        m->size = strlen(image);
    else
        image = NULL;
    m->image = image ? calloc(1, m->size + 1) : NULL;
    if (m->image)
        memcpy(m->image, image, m->size);
    return m->image != NULL;
}

/*
 * Whether code runs on a device: machine code on one major capability, from its minor number on;
 * PTX on any newer one. In code of the double of libnvrtc the flags of the ELF file are the
 * architecture.
 */
static bool is_for_device(const struct module *m)
{
    const char *target;
    uint32_t flags;

    if (!m->image || DOUBLE_IS_HIP)
        return true;
    if (*m->image != 0x7f) {
        target = strstr(m->image, ".target sm_");
        return !target || atoi(target + strlen(".target sm_")) <= settings.capability;
    }
    memcpy(&flags, m->image + 48, sizeof(flags));
    return (int)flags / 10 == settings.capability / 10 && (int)flags <= settings.capability;
}

static void delete_module(struct module *m)
{
    ptx_module_delete(m->ptx);
    free(m->image);
    free(m);
}

/*
 * Whether the executor can run PTX that libnvrtc compiled; the double of libnvrtc makes names
 * without entries.
 */
static bool has_entries(const struct module *m)
{
    return m->image && *m->image != 0x7f && strstr(m->image, ".entry");
}

CUresult module_load(CUmodule *out, const void *image)
{
    struct context *context = NULL;
    CUresult failed = begin("cuModuleLoadData", &context);
    struct module *m;

    if (failed)
        return end(failed);
    m = calloc(1, sizeof(*m));
    if (!m || !take_image(m, image)) {
        free(m);
        return end(m ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (!is_for_device(m)) {
        delete_module(m);
        return end(CUDA_ERROR_NO_BINARY_FOR_GPU);
    }
    if (has_entries(m)) {
        m->ptx = executor_parse(m->image);
        if (!m->ptx) {
            delete_module(m);
            return end(CUDA_ERROR_INVALID_PTX);
        }
    }
    m->context = context;
    m->next = modules;
    modules = m;
    *out = (CUmodule)(void *)m;
    return end(CUDA_SUCCESS);
}

static struct module **find_module(const void *handle)
{
    struct module **link = &modules;

    while (*link && *link != handle)
        link = &(*link)->next;
    return link;
}

CUresult module_unload(CUmodule handle)
{
    struct context *context = NULL;
    CUresult failed = begin("cuModuleUnload", &context);
    struct module **link = find_module(handle), *m = *link;

    if (!context)
        return end(failed);
    if (!m || m->context != context)
        return end(
            (CUresult)misuse("cuModuleUnload: %p is not a module of this context", (void *)handle));
    drain_context(context); /* the real driver waits, too */
    *link = m->next;
    delete_module(m);
    return end(failed);
}

static struct function function_in(struct module *m, const char *name)
{
    struct function f = { .module = m };

    if (m->image && !memmem(m->image, m->size, name, strlen(name)))
        return f;
    if (m->ptx)
        f.ptx = ptx_kernel_find(m->ptx, name);
    else if (executor_is_on())
        f.ptx = executor_kernel(name);
    else
        f.kernel = module_kernel(name);
    return f;
}

CUresult module_function(CUfunction *out, CUmodule handle, const char *name)
{
    struct context *context = NULL;
    CUresult failed = begin("cuModuleGetFunction", &context);
    struct module *m = *find_module(handle);
    struct function f;
    unsigned i = 0;

    if (failed)
        return end(failed);
    if (!m || m->context != context)
        return end((CUresult)misuse("cuModuleGetFunction: %p is not a module of this context",
                                    (void *)handle));
    f = function_in(m, name);
    while (i < m->count && (m->functions[i].kernel != f.kernel || m->functions[i].ptx != f.ptx))
        i++;
    if ((!f.kernel && !f.ptx) || i == MOST_FUNCTIONS)
        return end(CUDA_ERROR_NOT_FOUND);
    if (i == m->count)
        m->functions[m->count++] = f;
    *out = (CUfunction)(void *)&m->functions[i];
    return end(CUDA_SUCCESS);
}

/* ---- a launch ------------------------------------------------------------------------------- */

struct launch {
    const struct module_kernel *kernel;
    int64_t groups;
    unsigned char *buffers[MODULE_BUFFERS];
    unsigned char numbers[MOST_NUMBERS];
};

static int run_launch(void *argument)
{
    const struct launch *l = argument;

    for (int64_t group = 0; group < l->groups; group++)
        l->kernel->run(group, l->buffers, l->numbers);
    return cudaSuccess;
}

static struct function *function_of(CUfunction handle, const struct context *context)
{
    for (struct module *m = modules; m; m = m->next)
        for (unsigned i = 0; i < m->count; i++)
            if ((void *)&m->functions[i] == (void *)handle && m->context == context)
                return &m->functions[i];
    return NULL;
}

/*
 * The reason why the device rejects a block size; NULL if it accepts it. Kernels compiled by the
 * host's compiler have one size; PTX declares the largest.
 */
static const char *wrong_block(const struct function *f, const uint32_t *block)
{
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

    if (threads == 0 || threads > MOST_THREADS)
        return "a block beyond the device's limit";
    if (f->ptx)
        return threads > ptx_kernel_threads(f->ptx) ? "the kernel was compiled for smaller blocks"
                                                    : NULL;
    return block[0] != module_block || threads != module_block
               ? "the kernel was compiled for another block size"
               : NULL;
}

static const char *wrong(const struct function *f, const uint32_t *grid, const uint32_t *block,
                         unsigned shared, void **params, void **extra)
{
    const char *what = wrong_block(f, block);

    if (!grid[0] || !grid[1] || !grid[2] || grid[0] > MOST_GRID || grid[1] > 65535 ||
        grid[2] > 65535)
        return "a grid beyond the device's limit";
    if (what)
        return what;
    if (f->kernel && (grid[1] != 1 || grid[2] != 1))
        return "the kernel was compiled for one-dimensional grids";
    if (shared > 49152)
        return "more shared memory than the limit of a block";
    if (extra || (!params && (f->kernel || ptx_kernel_params(f->ptx))))
        return "parameters in the packed form";
    return NULL;
}

/*
 * Pointers in the device's form; an access past a block's bytes is detected when the kernel makes
 * it.
 */
static cudaError_t take_params(struct launch *l, struct command *command, struct device *device,
                               void **params)
{
    for (int i = 0; i < MODULE_BUFFERS; i++) {
        void *address;

        if (!params[i])
            return misuse("cuLaunchKernel: parameter %d is missing", i);
        memcpy(&address, params[i], sizeof(address));
        if (!address)
            continue;
        l->buffers[i] = resolve("cuLaunchKernel", command, device, address, 1);
        if (!l->buffers[i])
            return cudaErrorInvalidValue;
    }
    if (!params[MODULE_BUFFERS])
        return misuse("cuLaunchKernel: the numbers are missing");
    memcpy(l->numbers, params[MODULE_BUFFERS], l->kernel->size);
    return cudaSuccess;
}

/*
 * The command's argument, for a kernel of the host's compiler or an executed one. A kernel that is
 * not ferry's belongs to the program.
 */
static cudaError_t take_launch(const struct function *f, struct command *command,
                               struct device *device, const uint32_t *grid, const uint32_t *block,
                               void **params)
{
    struct launch *l = command->argument;

    if (f->ptx) {
        command->run = executor_launch_run;
        return executor_launch_take(command->argument, f->ptx, grid, block, command, device, params,
                                    MODULE_BUFFERS, !module_kernel(ptx_kernel_name(f->ptx)));
    }
    command->run = run_launch;
    l->kernel = f->kernel;
    l->groups = grid[0];
    return take_params(l, command, device, params);
}

static cudaError_t submit_launch(const struct function *f, struct context *context,
                                 const uint32_t *grid, const uint32_t *block, cudaStream_t handle,
                                 void **params)
{
    struct command *command;
    struct stream *stream;
    cudaError_t error = stream_of("cuLaunchKernel", context, handle, &stream);

    if (error != cudaSuccess)
        return error;
    command = command_new("cuLaunchKernel",
                          f->ptx ? executor_launch_size(f->ptx) : sizeof(struct launch));
    if (!command || !command->argument)
        return cudaErrorMemoryAllocation;
    error = take_launch(f, command, context->device, grid, block, params);
    if (error != cudaSuccess) {
        command_delete(command);
        return error;
    }
    submit(stream, command);
    return cudaSuccess;
}

CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       CUstream stream, void **params, void **extra)
{
    const uint32_t grid[] = { grid_x, grid_y, grid_z }, block[] = { block_x, block_y, block_z };
    struct context *context = NULL;
    CUresult failed = begin("cuLaunchKernel", &context);
    const struct function *f = function_of(function, context);
    const char *what = f ? wrong(f, grid, block, shared, params, extra) : NULL;

    if (failed)
        return end(failed);
    if (!f)
        return end((CUresult)misuse("cuLaunchKernel: %p is not a function of this context",
                                    (void *)function));
    if (what)
        return end((CUresult)misuse("cuLaunchKernel of %s: %s",
                                    f->kernel ? f->kernel->name : ptx_kernel_name(f->ptx), what));
    return end((CUresult)submit_launch(f, context, grid, block, (cudaStream_t)stream, params));
}
