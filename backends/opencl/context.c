/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts, and the programs built in them. */
#include "cache.h"

#include <clblast_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const source[] = {
#include "kernels.cl.h"
};

#define SOURCE_LINES (sizeof(source) / sizeof(source[0]))

static struct {
    pthread_mutex_t lock;
    struct ocl_context *first;
} ours = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct ocl_context *context_new(cl_context context, cl_device_id id)
{
    struct ocl_context *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->context = context;
    c->id = id;
    pthread_mutex_init(&c->build_lock, NULL);
    return c;
}

static int create(const struct ocl_unit *unit, struct ocl_context **out)
{
    const cl_context_properties properties[] = { CL_CONTEXT_PLATFORM,
                                                 (cl_context_properties)unit->platform, 0 };
    int error;
    cl_context context = clCreateContext(properties, 1, &unit->id, NULL, NULL, &error);
    struct ocl_context *c;

    if (error)
        return error == CL_DEVICE_NOT_AVAILABLE
                   ? ocl_host->error(FERRY_ENODEV, "clCreateContext: %s", ocl_error_name(error))
                   : ocl_fail("clCreateContext", error);
    c = context_new(context, unit->id);
    if (!c) {
        clReleaseContext(context);
        return ocl_host->error(FERRY_ENOMEM, "out of memory for the context");
    }
    c->next = ours.first;
    ours.first = c;
    *out = c;
    return 0;
}

int ocl_context_of(const struct ocl_unit *unit, struct ocl_context **out)
{
    struct ocl_context *c;
    int err = 0;

    pthread_mutex_lock(&ours.lock);
    for (c = ours.first; c && c->id != unit->id; c = c->next)
        ;
    if (c)
        *out = c;
    else
        err = create(unit, out);
    pthread_mutex_unlock(&ours.lock);
    return err;
}

int ocl_context_adopt(cl_context context, cl_device_id id, struct ocl_context **out)
{
    struct ocl_context *c = context_new(context, id);

    if (!c)
        return ocl_host->error(FERRY_ENOMEM, "out of memory for the context");
    clRetainContext(context);
    c->adopted = true;
    *out = c;
    return 0;
}

static void release_programs(const cl_program *programs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (programs[i])
            clReleaseProgram(programs[i]);
}

void ocl_context_release(struct ocl_context *c)
{
    if (!c || !c->adopted)
        return;
    for (unsigned v = 0; v < OCL_VARIANTS; v++) {
        release_programs(c->arithmetic[v], OCL_FLOATS);
        for (unsigned from = 0; from < FERRY_DTYPE_COUNT; from++)
            release_programs(c->convert[v][from], FERRY_DTYPE_COUNT);
    }
    for (unsigned few = 0; few < 2; few++)
        release_programs(c->operations[few], OCL_PROGRAM_COUNT);
    /* CLBlast's cache would keep the program's context alive permanently */
    (void)CLBlastClearCache();
    clReleaseContext(c->context);
    pthread_mutex_destroy(&c->build_lock);
    free(c);
}

/* ---- programs ---- */

/* Logs the compiler's output; its first error becomes the error message. */
static int build_failed(const struct ocl_context *c, cl_program program, int error)
{
    size_t size = 0;
    char *text = NULL;
    int err;

    if (!clGetProgramBuildInfo(program, c->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) && size)
        text = calloc(1, size + 1);
    if (text)
        (void)clGetProgramBuildInfo(program, c->id, CL_PROGRAM_BUILD_LOG, size, text, NULL);
    ocl_host->log(FERRY_LOG_DEBUG, "clBuildProgram: %s", text ? text : "no log");
    err = ocl_host->error(FERRY_EDEVICE, "clBuildProgram: %s: %.200s", ocl_error_name(error),
                          text ? text : "");
    free(text);
    return err;
}

static double seconds(void)
{
    struct timespec now;

    (void)timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int ocl_program_build(const struct ocl_context *c, const char *const *lines, size_t count,
                      const char *options, cl_program *out)
{
    double start = seconds();
    cl_program program;
    int error, err;

    if (c->cache && ocl_cache_load(c, lines, count, options, out))
        return 0;
    program = clCreateProgramWithSource(c->context, (cl_uint)count, (const char **)(uintptr_t)lines,
                                        NULL, &error);

    if (error)
        return ocl_fail("clCreateProgramWithSource", error);
    error = clBuildProgram(program, 1, &c->id, options, NULL, NULL);
    if (error) {
        err = build_failed(c, program, error);
        clReleaseProgram(program);
        return err;
    }
    ocl_host->log(FERRY_LOG_DEBUG, "kernels built with%s: %.0f ms", options,
                  (seconds() - start) * 1e3);
    if (c->cache)
        ocl_cache_store(c, lines, count, options, program);
    *out = program;
    return 0;
}

static int find(struct ocl_context *c, cl_program *slot, const char *options, cl_program *out)
{
    int err;

    pthread_mutex_lock(&c->build_lock);
    err = *slot ? 0 : ocl_program_build(c, source, SOURCE_LINES, options, slot);
    if (!err)
        *out = *slot;
    pthread_mutex_unlock(&c->build_lock);
    return err;
}

/*
 * The compiler's options. Warnings are off: some drivers print them, or their number, to the
 * program's standard error.
 */
static void options_of(unsigned variant, const char *what, uint32_t x, uint32_t y, char *out,
                       size_t size)
{
    snprintf(out, size, " -cl-std=CL1.2 -w -D%s -DX=%u -DY=%u%s%s", what, (unsigned)x, (unsigned)y,
             variant & OCL_DOUBLES ? " -DFP64" : "", variant & OCL_FEW_ITEMS ? " -DFEW" : "");
}

int ocl_program_arithmetic(struct ocl_context *c, unsigned variant, uint32_t dtype, cl_program *out)
{
    char options[96];

    options_of(variant, "ARITHMETIC", dtype, dtype, options, sizeof(options));
    return find(c, &c->arithmetic[variant][dtype], options, out);
}

int ocl_program_convert(struct ocl_context *c, unsigned variant, uint32_t from, uint32_t to,
                        cl_program *out)
{
    char options[96];

    options_of(variant, "CONVERT", from, to, options, sizeof(options));
    return find(c, &c->convert[variant][from][to], options, out);
}
