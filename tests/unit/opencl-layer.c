/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include "opencl-layer.h"

#include <CL/cl.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ocl_layer ocl_layer;

static atomic_bool ended;

/*
 * Finds the function `name` of the next library after this one; a driver that has ended must not be
 * called.
 */
#define FIND(next, name)      \
    __typeof__(&(name)) next; \
    *(void **)&(next) = found(#name)

static void *found(const char *name)
{
    if (atomic_load(&ended)) {
        fprintf(stderr, "%s: the driver has ended\n", name);
        _exit(1); /* PoCL handles signals */
    }
    return dlsym(RTLD_NEXT, name);
}

/* ---- the driver's end ----------------------------------------------------------------------- */

static void end(void)
{
    atomic_store(&ended, ocl_layer.ends);
}

cl_int clGetPlatformIDs(cl_uint size, cl_platform_id *out, cl_uint *out_count)
{
    static bool loaded;
    FIND(next, clGetPlatformIDs);
    cl_int error = next(size, out, out_count);

    if (!loaded)
        (void)atexit(end);
    loaded = true;
    return error;
}

cl_int clReleaseProgram(cl_program program)
{
    FIND(next, clReleaseProgram);
    return next(program);
}

cl_int clReleaseKernel(cl_kernel kernel)
{
    FIND(next, clReleaseKernel);
    return next(kernel);
}

cl_int clReleaseCommandQueue(cl_command_queue q)
{
    FIND(next, clReleaseCommandQueue);
    return next(q);
}

cl_int clReleaseEvent(cl_event event)
{
    FIND(next, clReleaseEvent);
    return next(event);
}

static bool is_behind; /* until a thread waits for an event */

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value, size_t *out)
{
    FIND(next, clGetEventInfo);
    cl_int error = next(event, what, size, value, out);

    if (!error && is_behind && what == CL_EVENT_COMMAND_EXECUTION_STATUS)
        *(cl_int *)value = CL_RUNNING;
    return error;
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *ids,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *data, cl_int *error)
{
    FIND(next, clCreateContext);
    return next(properties, count, ids, notify, data, error);
}

/* ---- properties ------------------------------------------------------------------------------ */

/* cl_khr_integer_dot_product: its name, and what a device with it reports. */
#define DOTS                " cl_khr_integer_dot_product"
#define DOT_CAPABILITIES    0x1073
#define DOT_ACCELERATION    0x1075

static cl_int dots_info(cl_device_info what, size_t size, void *value)
{
    const cl_bool fast[6] = { CL_TRUE, CL_FALSE, CL_TRUE, CL_FALSE, CL_FALSE, CL_FALSE };
    const cl_bitfield packed = 1;
    size_t own = what == DOT_CAPABILITIES ? sizeof(packed) : sizeof(fast);

    if (size < own)
        return CL_INVALID_VALUE;
    memcpy(value, what == DOT_CAPABILITIES ? (const void *)&packed : (const void *)fast, own);
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t size, void *value, size_t *out)
{
    FIND(next, clGetDeviceInfo);
    cl_int error;

    if (ocl_layer.dots && (what == DOT_CAPABILITIES || what == DOT_ACCELERATION))
        return dots_info(what, size, value);
    error = next(id, what, size, value, out);
    if (!error && ocl_layer.dots && what == CL_DEVICE_EXTENSIONS) {
        if (out)
            *out += sizeof(DOTS) - 1;
        if (value && strlen(value) + sizeof(DOTS) <= size)
            strcat(value, DOTS);
    }
    if (!error && ocl_layer.gpu && value && what == CL_DEVICE_TYPE)
        *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
    if (!error && ocl_layer.gpu && value && what == CL_DEVICE_HOST_UNIFIED_MEMORY)
        *(cl_bool *)value = CL_TRUE;
    return error;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *ids,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *data)
{
    FIND(next, clBuildProgram);
    snprintf(ocl_layer.built_with, sizeof(ocl_layer.built_with), "%s", options ? options : "");
    return next(program, count, ids, options, notify, data);
}

/* ---- copies at maps ------------------------------------------------------------------------- */

/* Host memory, and the buffer over it. */
static struct {
    cl_mem mem;
    void *ptr;
    size_t bytes;
} over[64];

/*
 * Memory that the driver allocates for the host, at a position that a test sets; one block at a
 * time.
 */
static _Alignas(4096) unsigned char shifted[1 << 14];

#define OVERS (sizeof(over) / sizeof(over[0]))

static size_t find_over(cl_mem mem)
{
    size_t i = 0;

    while (i < OVERS && over[i].mem != mem)
        i++;
    return i;
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *ptr, cl_int *error)
{
    size_t free_one = find_over(NULL);
    FIND(next, clCreateBuffer);
    cl_mem mem;

    if (flags & CL_MEM_ALLOC_HOST_PTR && ocl_layer.places &&
        ocl_layer.shift + size <= sizeof(shifted))
        return next(context, (flags & ~(cl_mem_flags)CL_MEM_ALLOC_HOST_PTR) | CL_MEM_USE_HOST_PTR,
                    size, shifted + ocl_layer.shift, error);
    if (!ocl_layer.copies_at_map || !(flags & CL_MEM_USE_HOST_PTR) || free_one == OVERS)
        return next(context, flags, size, ptr, error);
    flags = (flags & ~(cl_mem_flags)CL_MEM_USE_HOST_PTR) | CL_MEM_COPY_HOST_PTR;
    mem = next(context, flags, size, ptr, error);
    if (mem) {
        over[free_one].mem = mem;
        over[free_one].ptr = ptr;
        over[free_one].bytes = size;
    }
    return mem;
}

cl_int clReleaseMemObject(cl_mem mem)
{
    FIND(next, clReleaseMemObject);
    size_t i = find_over(mem);

    if (mem && i < OVERS) /* no test retains those */
        over[i].mem = NULL;
    return next(mem);
}

cl_int clGetMemObjectInfo(cl_mem mem, cl_mem_info what, size_t size, void *value, size_t *out)
{
    FIND(next, clGetMemObjectInfo);
    size_t i = find_over(mem);
    cl_int error = next(mem, what, size, value, out);

    if (!error && mem && i < OVERS && what == CL_MEM_HOST_PTR && value)
        *(void **)value = over[i].ptr;
    return error;
}

/* Memory that is mapped for reading only, and its contents then; one at a time. */
static struct {
    cl_mem mem;
    void *ptr;
    size_t bytes;
    unsigned char was[1 << 14];
} looked;

static void look(cl_mem mem, cl_map_flags flags, void *ptr, size_t bytes)
{
    if (!ocl_layer.forgets || !ptr || flags & CL_MAP_WRITE || bytes > sizeof(looked.was))
        return;
    looked.mem = mem;
    looked.ptr = ptr;
    looked.bytes = bytes;
    memcpy(looked.was, ptr, bytes);
}

static void forget(cl_mem mem)
{
    if (looked.mem != mem || !mem)
        return;
    memcpy(looked.ptr, looked.was, looked.bytes);
    looked.mem = NULL;
}

/* Acts like a driver that must copy: it copies all of the buffer, even if only a part is mapped. */
void *clEnqueueMapBuffer(cl_command_queue q, cl_mem mem, cl_bool blocking, cl_map_flags flags,
                         size_t offset, size_t size, cl_uint waits, const cl_event *wait,
                         cl_event *event, cl_int *error)
{
    FIND(next, clEnqueueMapBuffer);
    size_t i = find_over(mem);
    void *ptr;

    if (i == OVERS) {
        ptr = next(q, mem, blocking, flags, offset, size, waits, wait, event, error);
        look(mem, flags, ptr, size);
        return ptr;
    }
    ocl_layer.copies++;
    *error =
        clEnqueueReadBuffer(q, mem, CL_TRUE, 0, over[i].bytes, over[i].ptr, waits, wait, event);
    return *error ? NULL : (char *)over[i].ptr + offset;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue q, cl_mem mem, void *ptr, cl_uint waits,
                               const cl_event *wait, cl_event *event)
{
    FIND(next, clEnqueueUnmapMemObject);
    size_t i = find_over(mem);

    ocl_layer.unmapping++;
    forget(mem);
    if (i == OVERS)
        return next(q, mem, ptr, waits, wait, event);
    ocl_layer.copies++;
    return clEnqueueWriteBuffer(q, mem, CL_TRUE, 0, over[i].bytes, over[i].ptr, waits, wait, event);
}

/* ---- commands that are gathered ------------------------------------------------------------- */

/*
 * The event that the queue's commands wait for since the latest flush: a gate, submitted before the
 * first of them. It supports one queue at a time, which is enough for a test.
 */
static struct {
    cl_command_queue q;
    cl_event gate;
} gathered;

static void let_go(cl_command_queue q)
{
    if (!gathered.gate || gathered.q != q)
        return;
    clSetUserEventStatus(gathered.gate, CL_COMPLETE);
    clReleaseEvent(gathered.gate);
    gathered.gate = NULL;
}

cl_int clEnqueueFillBuffer(cl_command_queue q, cl_mem mem, const void *pattern, size_t pattern_size,
                           size_t offset, size_t size, cl_uint waits, const cl_event *wait,
                           cl_event *event)
{
    FIND(next, clEnqueueFillBuffer);
    cl_context context = NULL;

    if (ocl_layer.gathers && !gathered.gate &&
        !clGetCommandQueueInfo(q, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL)) {
        gathered.q = q;
        gathered.gate = clCreateUserEvent(context, NULL);
        (void)clEnqueueBarrierWithWaitList(q, 1, &gathered.gate, NULL);
    }
    return next(q, mem, pattern, pattern_size, offset, size, waits, wait, event);
}

cl_int clFlush(cl_command_queue q)
{
    FIND(next, clFlush);
    let_go(q);
    return next(q);
}

cl_int clFinish(cl_command_queue q)
{
    FIND(next, clFinish);
    let_go(q);
    ocl_layer.unmapping = 0;
    is_behind = ocl_layer.lags;
    return next(q);
}

cl_int clWaitForEvents(cl_uint count, const cl_event *events)
{
    FIND(next, clWaitForEvents);
    let_go(gathered.q);
    is_behind = false;
    return next(count, events);
}
