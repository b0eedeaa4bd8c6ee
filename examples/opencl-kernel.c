/* SPDX-License-Identifier: BSD-2-Clause */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <ferry/ferry.h>
#include <stdio.h>

/*
 * An OpenCL kernel of the program on a blob's data: FERRY_BACKEND=opencl. It is launched on the
 * queue on which the data was accessed, so that it runs after the work that ferry has already
 * submitted there, and before the work that ferry submits later; nothing waits in between.
 */

static const char *const source = "kernel void square(global float *x, ulong first)\n"
                                  "{\n"
                                  "    x += first + get_global_id(0);\n"
                                  "    *x *= *x;\n"
                                  "}\n";

/* Builds the kernel for the context and the device that ferry uses. */
static cl_kernel build(ferry_device *dev, cl_int *error)
{
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_program program;
    cl_kernel kernel = NULL;

    *error = CL_INVALID_DEVICE;
    if (ferry_device_native(dev, "cl_context", &context, sizeof(context)) ||
        ferry_device_native(dev, "cl_device_id", &id, sizeof(id)))
        return NULL;
    program = clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&source, NULL, error);
    if (!*error)
        *error = clBuildProgram(program, 1, &id, NULL, NULL, NULL);
    if (!*error)
        kernel = clCreateKernel(program, "square", error);
    if (program)
        clReleaseProgram(program); /* the kernel keeps it */
    return kernel;
}

/* The location of the data: a cl_mem, and an offset in bytes. */
static cl_int launch(cl_kernel kernel, cl_command_queue queue, ferry_ref x, size_t count)
{
    cl_mem mem = x.handle;
    cl_ulong first = x.offset / sizeof(float);
    cl_int error = clSetKernelArg(kernel, 0, sizeof(mem), &mem);

    if (!error)
        error = clSetKernelArg(kernel, 1, sizeof(first), &first);
    if (!error)
        error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL);
    return error;
}

static int square(ferry_device *dev, ferry_blob *b)
{
    cl_command_queue queue;
    cl_int error;
    cl_kernel kernel;
    ferry_ref x = ferry_blob_mutable_device_data(b); /* the kernel writes it */

    if (!x.handle ||
        ferry_queue_native(ferry_device_queue(dev), "cl_command_queue", &queue, sizeof(queue)))
        return ferry_last_error_code();
    kernel = build(dev, &error);
    if (!error)
        error = launch(kernel, queue, x, (size_t)ferry_blob_element_count(b));
    if (kernel)
        clReleaseKernel(kernel);
    if (error)
        fprintf(stderr, "OpenCL error %d\n", error);
    return error ? FERRY_EDEVICE : 0;
}

static int run(ferry_device *dev, ferry_blob *b)
{
    double sum = 0;
    int err = ferry_blob_fill_data(b, 3) || ferry_blob_fill_diff(b, 1);

    if (!err)
        err = square(dev, b) ||              /* data = 9, by this program's kernel */
              ferry_blob_update(b) ||        /* data -= 1, by ferry */
              ferry_blob_asum_data(b, &sum); /* waits for both */
    if (!err)
        printf("%s: sum %g of %lld elements\n", ferry_device_name(dev), sum,
               (long long)ferry_blob_element_count(b));
    return err;
}

int main(void)
{
    const int64_t count = 1000;
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_blob *b = NULL;
    int err = ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, "opencl", &dev) ||
              ferry_blob_create(dev, FERRY_F32, &count, 1, &b);

    if (!err)
        err = run(dev, b);
    if (err)
        fprintf(stderr, "%s\n", ferry_last_error());
    ferry_blob_destroy(b);
    ferry_runtime_close(rt);
    return err;
}
