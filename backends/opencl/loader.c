/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads libOpenCL.so.1 at run time, for a build that must not depend on it (configure
 * --enable-relocatable). This file defines the functions that the plugin and CLBlast call; each
 * calls the function of the ICD loader. The first clGetPlatformIDs opens the loader; without the
 * loader there are no platforms, and no object for which another function could be called.
 */
#include "opencl.h"

#include <dlfcn.h>
#include <string.h>

#define LOADER             "libOpenCL.so.1"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* for clCreateCommandQueue */

/* FORWARD(result, name, parameters, arguments) for each function of OpenCL 1.2. */
#define FUNCTIONS(FORWARD) \
    FORWARD(cl_int, clBuildProgram, (cl_program a, cl_uint b, const cl_device_id *c, const \
            char *d, void (CL_CALLBACK *e)(cl_program, void *), void *f), (a, b, c, d, e, \
            f)) \
    FORWARD(cl_mem, clCreateBuffer, (cl_context a, cl_mem_flags b, size_t c, void *d, \
            cl_int *e), (a, b, c, d, e)) \
    FORWARD(cl_command_queue, clCreateCommandQueue, (cl_context a, cl_device_id b, \
            cl_command_queue_properties c, cl_int *d), (a, b, c, d)) \
    FORWARD(cl_context, clCreateContext, (const cl_context_properties *a, cl_uint b, const \
            cl_device_id *c, void (CL_CALLBACK *d)(const char *, const void *, size_t, \
            void *), void *e, cl_int *f), (a, b, c, d, e, f)) \
    FORWARD(cl_kernel, clCreateKernel, (cl_program a, const char *b, cl_int *c), (a, b, \
            c)) \
    FORWARD(cl_program, clCreateProgramWithBinary, (cl_context a, cl_uint b, const \
            cl_device_id *c, const size_t *d, const unsigned char **e, cl_int *f, cl_int \
            *g), (a, b, c, d, e, f, g)) \
    FORWARD(cl_program, clCreateProgramWithSource, (cl_context a, cl_uint b, const char \
            **c, const size_t *d, cl_int *e), (a, b, c, d, e)) \
    FORWARD(cl_int, clEnqueueBarrierWithWaitList, (cl_command_queue a, cl_uint b, const \
            cl_event *c, cl_event *d), (a, b, c, d)) \
    FORWARD(cl_int, clEnqueueCopyBuffer, (cl_command_queue a, cl_mem b, cl_mem c, size_t \
            d, size_t e, size_t f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, \
            d, e, f, g, h, i)) \
    FORWARD(cl_int, clEnqueueFillBuffer, (cl_command_queue a, cl_mem b, const void *c, \
            size_t d, size_t e, size_t f, cl_uint g, const cl_event *h, cl_event *i), (a, \
            b, c, d, e, f, g, h, i)) \
    FORWARD(void *, clEnqueueMapBuffer, (cl_command_queue a, cl_mem b, cl_bool c, \
            cl_map_flags d, size_t e, size_t f, cl_uint g, const cl_event *h, cl_event *i, \
            cl_int *j), (a, b, c, d, e, f, g, h, i, j)) \
    FORWARD(cl_int, clEnqueueMarkerWithWaitList, (cl_command_queue a, cl_uint b, const \
            cl_event *c, cl_event *d), (a, b, c, d)) \
    FORWARD(cl_int, clEnqueueMigrateMemObjects, (cl_command_queue a, cl_uint b, const \
            cl_mem *c, cl_mem_migration_flags d, cl_uint e, const cl_event *f, cl_event \
            *g), (a, b, c, d, e, f, g)) \
    FORWARD(cl_int, clEnqueueNDRangeKernel, (cl_command_queue a, cl_kernel b, cl_uint c, \
            const size_t *d, const size_t *e, const size_t *f, cl_uint g, const cl_event \
            *h, cl_event *i), (a, b, c, d, e, f, g, h, i)) \
    FORWARD(cl_int, clEnqueueReadBuffer, (cl_command_queue a, cl_mem b, cl_bool c, size_t \
            d, size_t e, void *f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, \
            e, f, g, h, i)) \
    FORWARD(cl_int, clEnqueueUnmapMemObject, (cl_command_queue a, cl_mem b, void *c, \
            cl_uint d, const cl_event *e, cl_event *f), (a, b, c, d, e, f)) \
    FORWARD(cl_int, clEnqueueWriteBuffer, (cl_command_queue a, cl_mem b, cl_bool c, size_t \
            d, size_t e, const void *f, cl_uint g, const cl_event *h, cl_event *i), (a, b, \
            c, d, e, f, g, h, i)) \
    FORWARD(cl_int, clFinish, (cl_command_queue a), (a)) \
    FORWARD(cl_int, clFlush, (cl_command_queue a), (a)) \
    FORWARD(cl_int, clGetCommandQueueInfo, (cl_command_queue a, cl_command_queue_info b, \
            size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    FORWARD(cl_int, clGetContextInfo, (cl_context a, cl_context_info b, size_t c, void *d, \
            size_t *e), (a, b, c, d, e)) \
    FORWARD(cl_int, clGetDeviceIDs, (cl_platform_id a, cl_device_type b, cl_uint c, \
            cl_device_id *d, cl_uint *e), (a, b, c, d, e)) \
    FORWARD(cl_int, clGetDeviceInfo, (cl_device_id a, cl_device_info b, size_t c, void *d, \
            size_t *e), (a, b, c, d, e)) \
    FORWARD(cl_int, clGetEventInfo, (cl_event a, cl_event_info b, size_t c, void *d, \
            size_t *e), (a, b, c, d, e)) \
    FORWARD(cl_int, clGetEventProfilingInfo, (cl_event a, cl_profiling_info b, size_t c, \
            void *d, size_t *e), (a, b, c, d, e)) \
    FORWARD(void *, clGetExtensionFunctionAddressForPlatform, (cl_platform_id a, const \
            char *b), (a, b)) \
    FORWARD(cl_int, clGetKernelWorkGroupInfo, (cl_kernel a, cl_device_id b, \
            cl_kernel_work_group_info c, size_t d, void *e, size_t *f), (a, b, c, d, e, \
            f)) \
    FORWARD(cl_int, clGetMemObjectInfo, (cl_mem a, cl_mem_info b, size_t c, void *d, \
            size_t *e), (a, b, c, d, e)) \
    FORWARD(cl_int, clGetPlatformInfo, (cl_platform_id a, cl_platform_info b, size_t c, \
            void *d, size_t *e), (a, b, c, d, e)) \
    FORWARD(cl_int, clGetProgramBuildInfo, (cl_program a, cl_device_id b, \
            cl_program_build_info c, size_t d, void *e, size_t *f), (a, b, c, d, e, f)) \
    FORWARD(cl_int, clGetProgramInfo, (cl_program a, cl_program_info b, size_t c, void *d, \
            size_t *e), (a, b, c, d, e)) \
    FORWARD(cl_int, clReleaseCommandQueue, (cl_command_queue a), (a)) \
    FORWARD(cl_int, clReleaseContext, (cl_context a), (a)) \
    FORWARD(cl_int, clReleaseEvent, (cl_event a), (a)) \
    FORWARD(cl_int, clReleaseKernel, (cl_kernel a), (a)) \
    FORWARD(cl_int, clReleaseMemObject, (cl_mem a), (a)) \
    FORWARD(cl_int, clReleaseProgram, (cl_program a), (a)) \
    FORWARD(cl_int, clRetainCommandQueue, (cl_command_queue a), (a)) \
    FORWARD(cl_int, clRetainContext, (cl_context a), (a)) \
    FORWARD(cl_int, clRetainEvent, (cl_event a), (a)) \
    FORWARD(cl_int, clRetainMemObject, (cl_mem a), (a)) \
    FORWARD(cl_int, clSetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void *d), (a, \
            b, c, d)) \
    FORWARD(cl_int, clWaitForEvents, (cl_uint a, const cl_event *b), (a, b))

#define MEMBER(result, name, parameters, arguments) result(CL_API_CALL *name) parameters;
#define LOOK(result, name, parameters, arguments) look(library, #name, &loader.name);
#define CALL(result, name, parameters, arguments)    \
    CL_API_ENTRY result CL_API_CALL name parameters \
    {                                                \
        return loader.name arguments;                \
    }

typedef cl_int platforms_fn(cl_uint, cl_platform_id *, cl_uint *);

static struct {
    pthread_once_t once;
    platforms_fn *platforms; /* NULL: the loader cannot be used; the reason is logged */
    const char *missing;
    FUNCTIONS(MEMBER)
} loader = { .once = PTHREAD_ONCE_INIT };

/*
 * Looks a function up. `out` is the address of a pointer to a function, since ISO C distinguishes
 * these from pointers to data.
 */
static void look(void *library, const char *name, void *out)
{
    void *found = dlsym(library, name);

    if (!found && !loader.missing)
        loader.missing = name;
    memcpy(out, &found, sizeof(found));
}

static void load(void)
{
    void *library = dlopen(LOADER, RTLD_NOW | RTLD_LOCAL);
    platforms_fn *platforms = NULL;

    if (!library) {
        ocl_host->log(FERRY_LOG_INFO, "%s: no OpenCL on this machine", dlerror());
        return;
    }
    FUNCTIONS(LOOK)
    look(library, "clGetPlatformIDs", &platforms);
    if (loader.missing)
        ocl_host->log(FERRY_LOG_WARN, LOADER " has no %s", loader.missing);
    else
        loader.platforms = platforms;
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformIDs(cl_uint a, cl_platform_id *b, cl_uint *c)
{
    pthread_once(&loader.once, load);
    return loader.platforms ? loader.platforms(a, b, c) : OCL_PLATFORM_NOT_FOUND;
}

FUNCTIONS(CALL)
