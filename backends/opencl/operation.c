/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepared operations, the table "ferry.op/1": an operation is a sequence of launches of the
 * kernels in kernels/, according to its plan.
 */
#include "opencl.h"

#include "kernels/descriptor.h"
#include "kernels/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters of the compilation ---------------------------------------------------------- */

/* Constants of cl_khr_integer_dot_product, which headers may lack. */
#define DOT_CAPABILITIES 0x1073
#define DOT_PACKED       1u
#define DOT_ACCELERATION 0x1075

void ocl_target_of(const struct ocl_device *dev, struct kernel_target *out)
{
    cl_uint width = 0;

    (void)clGetDeviceInfo(dev->id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof(width), &width,
                          NULL);
    out->vec = !dev->few || width < 8 ? 4 : width < 16 ? 8 : 16;
    out->group = dev->few ? 1 : dev->max_group < 64 ? (uint32_t)dev->max_group : 64;
    out->busy = (uint32_t)dev->cores * (dev->few ? 4 : 32);
}

/*
 * Whether the device's fused multiply-add is fast. Kernels are compiled without contraction and
 * call fma explicitly where a product and a sum may be fused.
 */
static bool is_fused(const struct ocl_device *dev)
{
    cl_device_fp_config config = 0;

    return !clGetDeviceInfo(dev->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof(config), &config, NULL) &&
           config & CL_FP_FMA;
}

/*
 * Whether arguments have to be copied first. Mesa's llvmpipe aborts the process if a kernel indexes
 * its arguments with a value that is unknown at compile time.
 */
static bool reads_arguments_by_index(const struct ocl_device *dev)
{
    return !ocl_is_called(dev->id, "llvmpipe");
}

bool ocl_has_dots(const struct ocl_device *dev)
{
    struct {
        cl_bool is_signed, is_unsigned, is_mixed, saturating[3];
    } fast = { 0 };
    cl_bitfield capabilities = 0;

    return ocl_has_extension(dev->id, "cl_khr_integer_dot_product") &&
           !clGetDeviceInfo(dev->id, DOT_CAPABILITIES, sizeof(capabilities), &capabilities, NULL) &&
           (capabilities & DOT_PACKED) &&
           !clGetDeviceInfo(dev->id, DOT_ACCELERATION, sizeof(fast), &fast, NULL) &&
           fast.is_signed && fast.is_mixed;
}

/* Builds a program for the device with a version of OpenCL C and more options. */
static int build_as(const struct ocl_device *dev, uint32_t program, const char *more,
                    cl_program *out)
{
    size_t count = ocl_program_lines(program, NULL);
    const char **lines = malloc(count * sizeof(*lines));
    char options[120];
    int err;

    if (!lines)
        return ocl_host->error(FERRY_ENOMEM, "out of memory for the source of the kernels");
    (void)ocl_program_lines(program, lines);
    snprintf(options, sizeof(options), " -cl-std=%s -w -DVEC=%u -DGROUP=%u%s%s",
             more, (unsigned)dev->target.vec, (unsigned)dev->target.group,
             is_fused(dev) ? " -DFUSED" : "",
             reads_arguments_by_index(dev) ? "" : " -DARGS_COPIED");
    err = ocl_program_build(dev->context, lines, count, options, out);
    free(lines);
    return err;
}

/*
 * The functions of cl_khr_integer_dot_product belong to OpenCL C 3.0. Plans depend on what the
 * device reports: if its compiler lacks the functions, the program contains its own.
 */
static int build(const struct ocl_device *dev, uint32_t program, cl_program *out)
{
    if (program != OCL_PROGRAM_DOTS)
        return build_as(dev, program, "CL1.2", out);
    if (build_as(dev, program, "CL3.0 -DDOT", out) == 0)
        return 0;
    ocl_host->log(FERRY_LOG_WARN,
                  "device %" PRIu32 ": no products of four bytes, which it reports to have",
                  dev->index);
    return build_as(dev, program, "CL1.2 -DDOT -DOWN_DOT", out);
}

static int program_of(const struct ocl_device *dev, uint32_t program, cl_program *out)
{
    struct ocl_context *c = dev->context;
    cl_program *slot = &c->operations[dev->few][program];
    int err = 0;

    pthread_mutex_lock(&c->build_lock);
    if (!*slot)
        err = build(dev, program, slot);
    if (!err)
        *out = *slot;
    pthread_mutex_unlock(&c->build_lock);
    return err;
}

/*
 * The kernel object of the queue, because clSetKernelArg is not thread-safe; with `recording`, a
 * kernel object of the recording.
 */
static int kernel_of(struct ocl_queue *queue, uint32_t kernel, bool recording, cl_kernel *out)
{
    cl_kernel *slot = &queue->operations[kernel];
    cl_program program;
    int error = 0, err = 0;

    if (!*slot || recording) {
        err = program_of(queue->dev, ocl_kernel_program(kernel, queue->dev->dots), &program);
        if (err)
            return err;
        if (recording)
            return ocl_list_kernel(queue, kernel, program, out);
        *slot = clCreateKernel(program, ocl_kernel_function(kernel), &error);
        if (error) {
            *slot = NULL;
            return ocl_fail("clCreateKernel", error);
        }
    }
    *out = *slot;
    return 0;
}

/* ---- launching ------------------------------------------------------------------------------ */

/* Sets the arguments of a kernel; the buffers are stored in `mems`. */
static int set_args(cl_kernel kernel, const struct kernel_launch *l,
                    const struct kernel_place *places, const ferry_op_run_args *run, cl_mem *mems)
{
    union kernel_args args;
    int error = 0;

    kernel_numbers(l, places, run, &args);
    for (cl_uint i = 0; i < BUFFERS && !error; i++) {
        mems[i] = (cl_mem)(uintptr_t)places[l->from[i]].ref.handle;
        error = clSetKernelArg(kernel, i, sizeof(mems[i]), mems[i] ? &mems[i] : NULL);
    }
    if (!error)
        error = clSetKernelArg(kernel, BUFFERS, l->size, &args);
    return error ? ocl_fail("clSetKernelArg", error) : 0;
}

/* Launches one kernel. `run`: the arguments of the run; NULL for packing. */
static int launch(struct ocl_queue *queue, const struct kernel_launch *l,
                  const struct kernel_place *places, const ferry_op_run_args *run)
{
    size_t local = queue->dev->target.group, global = (size_t)l->groups * local;
    bool recording = run && queue->recording;
    cl_mem mems[BUFFERS];
    cl_kernel kernel = NULL;
    cl_event event;
    int err = kernel_of(queue, l->kernel, recording, &kernel), error;

    if (!err)
        err = set_args(kernel, l, places, run, mems);
    if (err || recording)
        return err ? err : ocl_list_take(queue, global, local, mems);
    error = clEnqueueNDRangeKernel(queue->q, kernel, 1, NULL, &global, &local, 0, NULL, &event);
    return error ? ocl_fail("clEnqueueNDRangeKernel", error)
                 : ocl_queue_note(queue, ocl_kernel_function(l->kernel), event);
}

static int check_places(const struct kernel_place *places)
{
    int err = 0;

    for (uint32_t i = 0; i < FROM_COUNT && !err; i++)
        if (places[i].what)
            err = ocl_range_check(places[i].what, places[i].ref.handle, places[i].ref.offset,
                                  places[i].bytes);
    return err;
}

/* ---- the entries ---------------------------------------------------------------------------- */

/* Mesa's llvmpipe crashes when it runs the kernels of bytes; the host computes there. */
static int make_plan(const struct ocl_device *dev, const ferry_op_desc *op, struct kernel_plan *out)
{
    if (!ocl_is_integer(op))
        return kernel_plan_make(&dev->target, op, out);
    return ocl_is_called(dev->id, "llvmpipe")
               ? FERRY_EUNSUPPORTED
               : ocl_integer_plan(&dev->target, dev->dots, op, out);
}

static int query(void *device, const ferry_op_desc *op, ferry_op_answer *out)
{
    const struct ocl_device *dev = device;
    struct kernel_plan p;
    int err = make_plan(dev, op, &p);

    if (!err)
        descriptor_answer(&p.answer, out);
    return err;
}

/* Checks that the driver can run the kernel in groups of the compiled size. */
static int check_group(const struct ocl_device *dev, cl_program program, uint32_t kernel)
{
    size_t most = dev->target.group;
    int error;
    cl_kernel k = clCreateKernel(program, ocl_kernel_function(kernel), &error);

    if (error)
        return ocl_fail("clCreateKernel", error);
    (void)clGetKernelWorkGroupInfo(k, dev->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof(most), &most,
                                   NULL);
    (void)clReleaseKernel(k);
    if (most >= dev->target.group)
        return 0;
    return ocl_host->error(FERRY_EUNSUPPORTED,
                           "%s runs in groups of %zu here; %" PRIu32 " are required",
                           ocl_kernel_function(kernel), most, dev->target.group);
}

static int compile_kernel(const struct ocl_device *dev, uint32_t kernel)
{
    cl_program program;
    int err = program_of(dev, ocl_kernel_program(kernel, dev->dots), &program);

    return err ? err : check_group(dev, program, kernel);
}

/* Compiles the programs that the launches need. */
static int compile(const struct ocl_device *dev, const struct kernel_plan *p)
{
    int err = 0;

    for (uint32_t i = 0; i < p->launches && !err; i++)
        err = compile_kernel(dev, p->launch[i].kernel);
    if (!err && p->answer.packed_bytes)
        err = compile_kernel(dev, p->pack.kernel);
    return err;
}

static int create(void *device, const ferry_op_desc *op, void **out_prepared)
{
    const struct ocl_device *dev = device;
    struct kernel_plan *p = malloc(sizeof(*p));
    int err;

    if (!p)
        return ocl_host->error(FERRY_ENOMEM, "out of memory for a prepared operation");
    err = make_plan(dev, op, p);
    if (err)
        (void)ocl_host->error(err, "operation %" PRIu32 ", pass %" PRIu32, op->kind, op->pass);
    else
        err = compile(dev, p);
    if (err) {
        free(p);
        return err;
    }
    *out_prepared = p;
    return 0;
}

static int prepare(void *dev, void *queue, void *prepared, const ferry_cref *in, ferry_ref packed)
{
    const struct kernel_plan *p = prepared;
    struct kernel_place places[FROM_COUNT];
    int err;

    if (!p->answer.packed_bytes)
        return 0;
    kernel_places_of_packing(p, in, packed, places);
    err = check_places(places);
    return err ? err : launch(ocl_queue_of(dev, queue), &p->pack, places, NULL);
}

static int run(void *device, void *handle, void *prepared, const ferry_op_run_args *args)
{
    struct ocl_device *dev = device;
    const struct kernel_plan *p = prepared;
    struct kernel_place places[FROM_COUNT];
    int err = 0;

    if (p->launches) {
        kernel_places_of_run(p, args, places);
        err = check_places(places);
    }
    for (uint32_t i = 0; i < p->launches && !err; i++)
        err = launch(ocl_queue_of(dev, handle), &p->launch[i], places, args);
    ocl_lock(dev);
    dev->counters.ops++;
    ocl_unlock(dev);
    return err;
}

static const ferry_op_table table = {
    .struct_size = sizeof(ferry_op_table),
    .flags = FERRY_OP_INTEGERS,
    .query = query,
    .create = create,
    .prepare = prepare,
    .run = run,
    .destroy = descriptor_destroy,
    .begin = ocl_list_begin,
    .end = ocl_list_end,
    .forget = ocl_list_forget,
};

int ocl_extension(void *dev, const char *name, const void **out_table)
{
    (void)dev;
    if (!strcmp(name, FERRY_OP_EXTENSION))
        *out_table = &table;
    else if (!strcmp(name, FERRY_PROFILE_EXTENSION))
        *out_table = &ocl_profile;
    else
        return ocl_host->error(FERRY_EUNSUPPORTED, "unknown extension \"%.64s\"", name);
    return 0;
}
