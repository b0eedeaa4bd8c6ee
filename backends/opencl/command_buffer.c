/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of runs that repeat, as command buffers of cl_khr_command_buffer: recorded at their second
 * announcement, enqueued as one command from then on. The first failure turns lists off for the
 * device, and ferry submits the runs of the list one by one.
 *
 * Each kernel of a command buffer is an object of its own, whose arguments do not change: PoCL 3.1
 * reads them at each enqueue instead of at the recording. These objects are released when the
 * device is closed, since PoCL 3.1 accesses a kernel after the command buffer's last reference to
 * it.
 */
#include "opencl.h"

#include <stdlib.h>
#include <string.h>

#define EXTENSION      "cl_khr_command_buffer"
#define CAPABILITIES   0x12A9   /* CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR */
#define REQUIRED       0x12AA   /* CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR */
#define FLAGS          0x1293   /* CL_COMMAND_BUFFER_FLAGS_KHR */
#define CAN_BE_PENDING (1 << 2) /* CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR */
#define MAY_BE_PENDING (1 << 0) /* CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR */

/* A kernel of a recording, and its buffers. */
struct ocl_recorded {
    struct ocl_recorded *next;
    uint32_t id;
    cl_kernel kernel;
    cl_mem mems[BUFFERS];
};

struct ocl_recording {
    struct ocl_recording *next;
    uint64_t id, count;
    cl_command_queue q; /* the queue for which it was recorded */
    ocl_command_buffer buffer;
    cl_event latest; /* the event of the latest enqueue; NULL: none */
    struct ocl_recorded *kernels;
};

/* ---- the extension --------------------------------------------------------------------------- */

/*
 * Looks a function up. `out` is the address of a pointer to a function, since ISO C distinguishes
 * these from pointers to data.
 */
static bool find(cl_platform_id platform, const char *name, void *out)
{
    void *found = clGetExtensionFunctionAddressForPlatform(platform, name);

    memcpy(out, &found, sizeof(found));
    return found != NULL;
}

void ocl_command_buffers_open(struct ocl_device *dev)
{
    struct ocl_command_buffers *b = &dev->buffers;
    cl_bitfield can = 0, required = 0;

    if (!dev->set.command_buffers || dev->set.profiling || !ocl_has_extension(dev->id, EXTENSION))
        return;
    if (clGetDeviceInfo(dev->id, CAPABILITIES, sizeof(can), &can, NULL) ||
        clGetDeviceInfo(dev->id, REQUIRED, sizeof(required), &required, NULL) || required)
        return;
    b->simultaneous = can & CAN_BE_PENDING;
    b->use = find(dev->platform, "clCreateCommandBufferKHR", &b->create) &&
             find(dev->platform, "clFinalizeCommandBufferKHR", &b->finalize) &&
             find(dev->platform, "clReleaseCommandBufferKHR", &b->release) &&
             find(dev->platform, "clEnqueueCommandBufferKHR", &b->enqueue) &&
             find(dev->platform, "clCommandNDRangeKernelKHR", &b->kernel);
}

/* ---- the device's recordings ----------------------------------------------------------------- */

/*
 * Frees a recording that was removed from the device's list. The driver keeps pending command
 * buffers alive.
 */
static void end_recording(struct ocl_device *dev, struct ocl_recording *r)
{
    struct ocl_recorded **end = &r->kernels;

    (void)dev->buffers.release(r->buffer);
    if (r->latest)
        clReleaseEvent(r->latest);
    while (*end)
        end = &(*end)->next;
    ocl_lock(dev);
    *end = dev->buffers.spare;
    dev->buffers.spare = r->kernels;
    ocl_unlock(dev);
    free(r);
}

static bool uses(const struct ocl_recording *r, const void *mem)
{
    for (const struct ocl_recorded *k = r->kernels; k; k = k->next)
        for (unsigned i = 0; i < BUFFERS; i++)
            if (k->mems[i] == mem)
                return true;
    return false;
}

/* Removes and returns a recording: that of the list `id`, or with id 0 one that uses the buffer. */
static struct ocl_recording *take(struct ocl_device *dev, uint64_t id, const void *mem)
{
    struct ocl_recording **at, *r;

    ocl_lock(dev);
    at = &dev->buffers.first;
    while (*at && (id ? (*at)->id != id : !uses(*at, mem)))
        at = &(*at)->next;
    r = *at;
    if (r)
        *at = r->next;
    ocl_unlock(dev);
    return r;
}

void ocl_list_forget(void *device, uint64_t id)
{
    struct ocl_recording *r = take(device, id, NULL);

    if (r)
        end_recording(device, r);
}

void ocl_list_forget_buffer(struct ocl_device *dev, const void *mem)
{
    struct ocl_recording *r;

    while ((r = take(dev, 0, mem)))
        end_recording(dev, r);
}

void ocl_command_buffers_close(struct ocl_device *dev)
{
    struct ocl_recorded *next;

    while (dev->buffers.first)
        ocl_list_forget(dev, dev->buffers.first->id);
    for (struct ocl_recorded *k = dev->buffers.spare; k; k = next) {
        next = k->next;
        clReleaseKernel(k->kernel);
        free(k);
    }
}

/*
 * Stops using command buffers on the device, since a call that fails once would fail in every pass.
 */
static void turn_off(struct ocl_device *dev, const char *call, int error)
{
    dev->buffers.use = false;
    ocl_host->log(FERRY_LOG_WARN,
                  "%s: %s: passes are enqueued operation by operation, not as command buffers",
                  call, ocl_error_name(error));
}

/* ---- recording ------------------------------------------------------------------------------- */

static bool start(struct ocl_queue *queue, const ferry_op_list *told)
{
    struct ocl_device *dev = queue->dev;
    const cl_bitfield properties[] = { FLAGS, MAY_BE_PENDING, 0 };
    struct ocl_recording *r = calloc(1, sizeof(*r));
    int error = 0;

    if (!r)
        return false;
    r->id = told->id;
    r->count = told->count;
    r->q = queue->q;
    r->buffer =
        dev->buffers.create(1, &r->q, dev->buffers.simultaneous ? properties : NULL, &error);
    if (error) {
        turn_off(dev, "clCreateCommandBufferKHR", error);
        free(r);
        return false;
    }
    ocl_lock(dev);
    r->next = dev->buffers.first;
    dev->buffers.first = r;
    ocl_unlock(dev);
    queue->recording = r;
    return true;
}

static struct ocl_recorded *take_spare(struct ocl_device *dev, uint32_t id)
{
    struct ocl_recorded **at, *k;

    ocl_lock(dev);
    for (at = &dev->buffers.spare; *at && (*at)->id != id; at = &(*at)->next)
        ;
    k = *at;
    if (k)
        *at = k->next;
    ocl_unlock(dev);
    return k;
}

int ocl_list_kernel(struct ocl_queue *queue, uint32_t id, cl_program program, cl_kernel *out)
{
    struct ocl_recorded *k = take_spare(queue->dev, id);
    int error = 0;

    if (!k) {
        k = calloc(1, sizeof(*k));
        if (!k)
            return ocl_host->error(FERRY_ENOMEM, "out of memory for a command buffer");
        k->id = id;
        k->kernel = clCreateKernel(program, ocl_kernel_function(id), &error);
    }
    if (error) {
        free(k);
        return ocl_fail("clCreateKernel", error);
    }
    memset(k->mems, 0, sizeof(k->mems));
    ocl_lock(queue->dev);
    k->next = queue->recording->kernels;
    queue->recording->kernels = k;
    ocl_unlock(queue->dev);
    *out = k->kernel;
    return 0;
}

int ocl_list_take(struct ocl_queue *queue, size_t global, size_t local, const cl_mem *mems)
{
    struct ocl_recording *r = queue->recording;
    int error = queue->dev->buffers.kernel(r->buffer, NULL, NULL, r->kernels->kernel, 1, NULL,
                                           &global, &local, 0, NULL, NULL, NULL);

    if (error)
        return ocl_fail("clCommandNDRangeKernelKHR", error);
    ocl_lock(queue->dev);
    memcpy(r->kernels->mems, mems, sizeof(r->kernels->mems));
    ocl_unlock(queue->dev);
    return 0;
}

/* ---- enqueueing ------------------------------------------------------------------------------ */

/*
 * Whether the queue is profiled: it then measures each command, while for a command buffer PoCL
 * measures only the end.
 */
static bool is_profiled(struct ocl_queue *queue)
{
    bool profiled;

    ocl_lock(queue->dev);
    profiled = queue->exchanged || queue->sections;
    ocl_unlock(queue->dev);
    return profiled;
}

/* Whether the command buffer may be enqueued on the queue now. */
static bool is_ready(struct ocl_queue *queue, const struct ocl_recording *r)
{
    bool ready;
    int ignored;

    ocl_lock(queue->dev);
    ready =
        r->q == queue->q && ocl_list_grow(&queue->pending); /* so that ocl_queue_note cannot fail */
    ocl_unlock(queue->dev);
    return ready && (queue->dev->buffers.simultaneous || !r->latest ||
                     ocl_command_ended(r->latest, &ignored));
}

/* Enqueues the command buffer. On an error of OpenCL nothing was enqueued. */
static int replay(struct ocl_queue *queue, struct ocl_recording *r)
{
    struct ocl_device *dev = queue->dev;
    cl_event event;
    int error = dev->buffers.enqueue(0, NULL, r->buffer, 0, NULL, &event);

    if (error) {
        turn_off(dev, "clEnqueueCommandBufferKHR", error);
        return error;
    }
    if (r->latest)
        clReleaseEvent(r->latest);
    r->latest = event;
    clRetainEvent(event);
    (void)ocl_queue_note(queue, "clEnqueueCommandBufferKHR", event);
    return 0;
}

/* ---- the entries ----------------------------------------------------------------------------- */

static struct ocl_recording *recording_of(struct ocl_device *dev, uint64_t id)
{
    struct ocl_recording *r;

    ocl_lock(dev);
    for (r = dev->buffers.first; r && r->id != id; r = r->next)
        ;
    ocl_unlock(dev);
    return r;
}

int ocl_list_begin(void *device, void *handle, const ferry_op_list *told, uint32_t *out_action)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = ocl_queue_of(dev, handle);
    struct ocl_recording *r;

    *out_action = FERRY_OP_LIST_RUN;
    if (!dev->buffers.use || !told->repeats || is_profiled(queue))
        return 0;
    r = recording_of(dev, told->id);
    if (!r && start(queue, told)) {
        *out_action = FERRY_OP_LIST_RECORD;
    } else if (r && is_ready(queue, r) && !replay(queue, r)) {
        *out_action = FERRY_OP_LIST_REPLAYED;
        ocl_lock(dev);
        dev->counters.ops += r->count;
        ocl_unlock(dev);
    }
    return 0;
}

int ocl_list_end(void *device, void *handle, uint64_t id, uint32_t discard)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = ocl_queue_of(dev, handle);
    struct ocl_recording *r = queue->recording;
    const char *failed = "clFinalizeCommandBufferKHR";
    int error = 0;

    queue->recording = NULL;
    if (discard) { /* ferry has already reported the failure of a run */
        dev->buffers.use = false;
        ocl_list_forget(dev, id);
        return 0;
    }
    error = dev->buffers.finalize(r->buffer);
    if (error) {
        turn_off(dev, failed, error);
    } else {
        failed = "clEnqueueCommandBufferKHR";
        error = is_ready(queue, r) ? replay(queue, r) : CL_OUT_OF_HOST_MEMORY;
    }
    if (!error)
        return 0;
    ocl_list_forget(dev, id);
    return ocl_fail(failed, error);
}
