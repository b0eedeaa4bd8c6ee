/* SPDX-License-Identifier: BSD-2-Clause */
/* Open devices, in a context of the plugin or of the program. */
#include "cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define INFO_FREE_MEMORY_AMD 0x4039 /* in KiB: the total free memory, and the largest free block */

/* ---- opening ---- */

/*
 * Whether the device is software. CLBlast's kernels, which are made for GPUs, take several times as
 * long there as ferry's own, and llvmpipe's compiler warns that it may miscompile some of them
 * (doc/design/opencl.md, "Workarounds for Mesa's llvmpipe").
 */
static bool is_a_program(cl_device_id id)
{
    return ocl_is_called(id, "llvmpipe") || ocl_is_called(id, "Oclgrind");
}

static void learn(struct ocl_device *dev)
{
    cl_device_type type = 0;
    cl_uint cores = 1, align_bits = 1024;
    cl_ulong largest = 0;
    size_t group = 1;
    bool cpu;

    (void)clGetDeviceInfo(dev->id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    (void)clGetDeviceInfo(dev->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cores), &cores, NULL);
    (void)clGetDeviceInfo(dev->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(align_bits), &align_bits,
                          NULL);
    (void)clGetDeviceInfo(dev->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(largest), &largest, NULL);
    (void)clGetDeviceInfo(dev->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(group), &group, NULL);
    (void)clGetDeviceInfo(dev->id, CL_DEVICE_PLATFORM, sizeof(dev->platform), &dev->platform, NULL);
    if (dev->set.arithmetic == OCL_MEASURED && is_a_program(dev->id))
        dev->set.arithmetic = OCL_OWN;
    cpu = ocl_is_processor(dev->id);
    dev->few = dev->set.items == OCL_FEW || (dev->set.items == OCL_BY_TYPE && cpu);
    dev->fp64 = dev->set.f64 == OCL_AUTO && ocl_has_extension(dev->id, "cl_khr_fp64");
    dev->float_sums =
        dev->set.sums == OCL_FLOAT_SUMS || (dev->set.sums == OCL_SUMS_BY_TYPE && !cpu);
    dev->variant = (dev->few ? OCL_FEW_ITEMS : 0) | (dev->fp64 ? OCL_DOUBLES : 0);
    dev->f16 = dev->set.f16 == OCL_ON ||
               (dev->set.f16 == OCL_AUTO && ocl_has_extension(dev->id, "cl_khr_fp16"));
    dev->zero_copy = ocl_is_unified(dev->id, type, dev->set.zero_copy);
    dev->plain = dev->zero_copy && cpu;
    dev->cores = cores ? cores : 1;
    dev->max_alloc = largest;
    dev->max_group = group;
    dev->base_align = align_bits >= 512 ? align_bits / 8 : 64;
    ocl_target_of(dev, &dev->target);
    dev->dots = ocl_has_dots(dev);
    /*
     * a CPU accepts memory with the alignment of its types; a GPU that shares memory does so by
     * page
     */
    dev->host_align = cpu || dev->base_align > OCL_PAGE ? dev->base_align : OCL_PAGE;
}

/* Opens the two queues of a device; `q` becomes the default one, or NULL to create it. */
static int open_queues(struct ocl_device *dev, cl_command_queue q)
{
    cl_command_queue own = NULL;
    int err = q ? 0 : ocl_queue_new(dev, dev->set.profiling, &own);

    if (err)
        return err;
    err = ocl_queue_init(&dev->main, dev, q ? q : own, !q);
    if (own)
        clReleaseCommandQueue(own);
    if (err)
        return err;
    err = ocl_queue_new(dev, dev->set.profiling, &own);
    if (!err) {
        err = ocl_queue_init(&dev->setup, dev, own, true);
        clReleaseCommandQueue(own);
    }
    if (err)
        ocl_queue_fini(&dev->main);
    return err;
}

/* Opens a device. It owns the context from here on, also after a failure. */
static int open_on(struct ocl_context *context, const struct ocl_settings *set, cl_command_queue q,
                   struct ocl_device **out)
{
    struct ocl_device *dev = calloc(1, sizeof(*dev));
    int err;

    if (!dev) {
        ocl_context_release(context);
        return ocl_host->error(FERRY_ENOMEM, "out of memory for the device");
    }
    context->cache = ocl_cache_wanted(context->id, set->cache);
    dev->context = context;
    dev->id = context->id;
    dev->set = *set;
    dev->index = ocl_unit_index(dev->id);
    pthread_mutex_init(&dev->lock, NULL);
    learn(dev);
    ocl_command_buffers_open(dev);
    err = open_queues(dev, q);
    if (err) {
        pthread_mutex_destroy(&dev->lock);
        free(dev);
        ocl_context_release(context);
        return err;
    }
    *out = dev;
    return 0;
}

int ocl_device_open(void *plugin, uint32_t index, void **out_dev)
{
    struct ocl_settings set;
    const struct ocl_unit *unit;
    struct ocl_context *context;
    struct ocl_device *dev;
    int err = ocl_units_find();

    (void)plugin;
    if (!err)
        err = ocl_settings_read(&set);
    if (err)
        return err;
    unit = ocl_unit_at(index);
    if (!unit)
        return ocl_host->error(FERRY_EINVAL, "no device has the index %" PRIu32, index);
    err = ocl_context_of(unit, &context);
    if (!err)
        err = open_on(context, &set, NULL, &dev);
    if (!err)
        *out_dev = dev;
    return err;
}

void ocl_device_close(void *device)
{
    struct ocl_device *dev = device;

    ocl_queue_fini(&dev->setup);
    ocl_queue_fini(&dev->main);
    ocl_command_buffers_close(dev);
    pthread_mutex_destroy(&dev->lock);
    ocl_context_release(dev->context);
    free(dev);
}

/* ---- adopting ---- */

struct natives {
    cl_context context;
    cl_device_id id;
    cl_command_queue queue;
};

static int read_natives(const char *const *names, void *const *values, uint64_t n,
                        struct natives *out)
{
    memset(out, 0, sizeof(*out));
    for (uint64_t i = 0; i < n; i++) {
        if (!names[i] || !values[i])
            return ocl_host->error(FERRY_EINVAL, "%s is NULL", names[i] ? names[i] : "a name");
        if (!strcmp(names[i], "cl_context"))
            out->context = values[i];
        else if (!strcmp(names[i], "cl_device_id"))
            out->id = values[i];
        else if (!strcmp(names[i], "cl_command_queue"))
            out->queue = values[i];
        else
            return ocl_host->error(FERRY_EINVAL,
                                   "%.64s is not one of cl_context, cl_device_id, cl_command_queue",
                                   names[i]);
    }
    /* the device and the context are properties of the queue */
    if (out->queue && !out->context)
        (void)clGetCommandQueueInfo(out->queue, CL_QUEUE_CONTEXT, sizeof(out->context),
                                    &out->context, NULL);
    if (out->queue && !out->id)
        (void)clGetCommandQueueInfo(out->queue, CL_QUEUE_DEVICE, sizeof(out->id), &out->id, NULL);
    if (!out->context || !out->id)
        return ocl_host->error(FERRY_EINVAL, "%s is missing",
                               out->context ? "cl_device_id" : "cl_context");
    return 0;
}

static int check_natives(const struct natives *given)
{
    cl_device_id ids[64];
    size_t size = 0;
    int error = clGetContextInfo(given->context, CL_CONTEXT_DEVICES, sizeof(ids), ids, &size);
    bool found = false;

    if (error)
        return ocl_host->error(FERRY_EINVAL, "cl_context: clGetContextInfo: %s",
                               ocl_error_name(error));
    for (size_t i = 0; i < size / sizeof(ids[0]); i++)
        found = found || ids[i] == given->id;
    if (!found)
        return ocl_host->error(FERRY_EINVAL, "cl_device_id: the device is not in the context");
    return given->queue ? ocl_queue_check(given->queue, given->context, given->id) : 0;
}

int ocl_adopt(void *plugin, const char *const *names, void *const *values, uint64_t n,
              void **out_dev, uint32_t *out_index)
{
    struct natives given;
    struct ocl_settings set;
    struct ocl_context *context;
    struct ocl_device *dev;
    int err = ocl_settings_read(&set);

    (void)plugin;
    if (!err)
        err = read_natives(names, values, n, &given);
    if (!err)
        err = check_natives(&given);
    if (!err)
        err = ocl_context_adopt(given.context, given.id, &context);
    if (!err)
        err = open_on(context, &set, given.queue, &dev);
    if (err)
        return err;
    *out_dev = dev;
    *out_index = dev->index;
    return 0;
}

/* ---- queries ---- */

int ocl_memory_info(void *device, uint64_t *out_free, uint64_t *out_total)
{
    struct ocl_device *dev = device;
    size_t kib[2] = { 0, 0 };
    cl_ulong total = 0;

    if (!ocl_has_extension(dev->id, "cl_amd_device_attribute_query") ||
        clGetDeviceInfo(dev->id, INFO_FREE_MEMORY_AMD, sizeof(kib), kib, NULL))
        return ocl_host->error(FERRY_EUNSUPPORTED, "OpenCL does not report free memory");
    (void)clGetDeviceInfo(dev->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(total), &total, NULL);
    *out_free = (uint64_t)kib[0] * 1024;
    *out_total = total;
    return 0;
}

int ocl_counters(void *device, ferry_plugin_counters *out)
{
    struct ocl_device *dev = device;
    ferry_plugin_counters now;
    uint32_t size = out->struct_size;

    ocl_lock(dev);
    now = dev->counters;
    ocl_unlock(dev);
    now.struct_size = size;
    memcpy(out, &now, size < sizeof(now) ? size : sizeof(now));
    return 0;
}

int ocl_native(void *device, const char *what, void *out, uint64_t size)
{
    struct ocl_device *dev = device;
    const struct {
        const char *name;
        void *value;
    } natives[] = { { "cl_platform_id", dev->platform },
                    { "cl_device_id", dev->id },
                    { "cl_context", dev->context->context },
                    { "cl_command_queue", NULL } }; /* a profiled queue may exchange it */

    for (size_t i = 0; i < sizeof(natives) / sizeof(natives[0]); i++) {
        if (strcmp(natives[i].name, what) != 0)
            continue;
        if (size != sizeof(void *))
            return ocl_host->error(FERRY_EINVAL, "%s is a pointer, not %" PRIu64 " bytes", what,
                                   size);
        if (natives[i].value)
            memcpy(out, &natives[i].value, sizeof(void *));
        else
            ocl_queue_show(&dev->main, out);
        return 0;
    }
    return ocl_host->error(FERRY_EUNSUPPORTED, "unknown object \"%.64s\"", what);
}
