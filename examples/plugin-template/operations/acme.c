/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ferry plugin with the mandatory entries: memory, copies, memset and axpy; and with every
 * operation of nets, by the kernels of libferrykernels.
 *
 * Lines that end in a comment beginning with "yours:" are the ones to change. ferry-plugin(7) has
 * the rules, <ferry/plugin.h> documents each entry, and `make check` runs `ferry check`. The file
 * is valid C11 and C++20: hence the casts, and the tables in the order of their declaration.
 */
#include <ferry/kernels.h>
#include <ferry/plugin.h>

#include "acme_driver.h" /* yours: your vendor's header */
#include "acme_launch.h"

#include <stdlib.h>
#include <string.h>

FERRY_PLUGIN(.name = "acme", .version = "1.0", .vendor = "Acme"); /* yours: name, version, vendor */

static const ferry_host *ferry; /* ferry's services: error, log, option */

/* Reports why an entry fails: the call, and the vendor's name of the error. */
static int check(int code, const char *call)
{
    if (code == ACME_OK) /* yours: success */
        return FERRY_OK;
    return ferry->error(code == ACME_OUT_OF_MEMORY ? FERRY_ENOMEM
                                                   : FERRY_EDEVICE, /* yours: codes */
                        "%s: %s", call, acme_error_name(code));     /* yours: their names */
}

/*
 * A reference is a handle from alloc and an offset in bytes. References to host memory have the
 * same form.
 */
static void *at(ferry_ref ref)
{
    return (char *)ref.handle + ref.offset; /* yours: if handles are not pointers */
}

static const void *const_at(ferry_cref ref)
{
    return (const char *)ref.handle + ref.offset; /* yours: as above */
}

/* ---- devices -------------------------------------------------------------------------------- */

static int device_count(void *plugin, uint32_t *out)
{
    (void)plugin;
    *out = 1; /* yours: the number of devices; 0 is not an error */
    return FERRY_OK;
}

static int device_open(void *plugin, uint32_t index, void **out_dev)
{
    static int the_device;

    (void)plugin;
    if (index != 0) /* yours: open device `index`, create its context */
        return ferry->error(FERRY_ENODEV, "there is one device, not %u", index + 1);
    *out_dev = &the_device; /* yours: the pointer that the entries below receive */
    return FERRY_OK;
}

static void device_close(void *dev)
{
    (void)dev; /* yours: destroy the context; every block has been freed before */
}

static int synchronize(void *dev)
{
    (void)dev; /* yours: wait for all work; here every entry is complete when it returns */
    return FERRY_OK;
}

/* ---- memory --------------------------------------------------------------------------------- */

static int alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                 uint32_t *out_flags)
{
    (void)dev, (void)queue, (void)flags, (void)out_flags;
    if (bytes > SIZE_MAX)
        return ferry->error(FERRY_ENOMEM, "%llu bytes", (unsigned long long)bytes);
    return check(acme_malloc(out_handle, (size_t)bytes), "acme_malloc"); /* yours: allocate */
}

static int release(void *dev, void *queue, void *handle)
{
    (void)dev, (void)queue;
    return check(acme_free(handle), "acme_free"); /* yours: free */
}

static int copy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                uint64_t bytes)
{
    (void)dev, (void)queue;
    (void)kind; /* yours: FERRY_MEMCPY_H2D, FERRY_MEMCPY_D2H or FERRY_MEMCPY_D2D */
    return check(acme_memcpy(at(dst), const_at(src), (size_t)bytes),
                 "acme_memcpy"); /* yours: copy */
}

static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    (void)dev, (void)queue;
    return check(acme_memset(at(dst), (int)(byte & 0xff), (size_t)bytes),
                 "acme_memset"); /* yours: set */
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

/* y += alpha x. F32 is mandatory; for other dtypes ferry computes on the host. */
static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    (void)dev, (void)queue;
    if (dtype != FERRY_F32)
        return FERRY_EUNSUPPORTED;
    return check(acme_saxpy((long)n, (float)alpha, (const float *)const_at(x), (float *)at(y)),
                 "acme_saxpy"); /* yours: axpy */
}

/* ---- operations ----------------------------------------------------------------------------- */

/*
 * Every kind, forward and backward, by ferry's kernels: libferrykernels divides an operation into
 * launches, and the device runs them in order.
 */
static const ferry_kernels_target target = {
    .struct_size = sizeof(ferry_kernels_target),
    .vec = ACME_VEC,
    .group = ACME_GROUP,
    .busy = 4, /* yours: groups that keep the device busy */
    .flags = FERRY_KERNELS_DOUBLES | FERRY_KERNELS_EMPTY_INPUTS, /* yours: if it has doubles */
};

static int op_query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev;
    return ferry_kernels_query(&target, op, out);
}

static int op_create(void *dev, const ferry_op_desc *op, void **out_prepared)
{
    ferry_kernels_plan *plan;
    uint32_t kernels[FERRY_KERNELS_LAUNCHES];
    int err = ferry_kernels_plan_create(&target, op, &plan);

    (void)dev;
    if (err)
        return ferry->error(err, "operation %u, pass %u", (unsigned)op->kind, (unsigned)op->pass);
    for (uint32_t n = ferry_kernels_plan_kernels(plan, kernels); n-- > 0 && !err;)
        if (!acme_kernel_find(ferry_kernels_name(kernels[n]))) /* yours: compile its program */
            err = ferry->error(FERRY_EUNSUPPORTED, "no %s", ferry_kernels_name(kernels[n]));
    if (err)
        ferry_kernels_plan_destroy(plan);
    else
        *out_prepared = plan;
    return err;
}

/* The kernel adds the offset, which is among its arguments, to the beginning of the block. */
static int launch(void *queue, const ferry_kernels_launch *l)
{
    void *buffers[FERRY_KERNELS_BUFFERS];

    (void)queue; /* yours: the queue */
    for (uint32_t i = 0; i < FERRY_KERNELS_BUFFERS; i++)
        buffers[i] = l->buffer[i].ref.handle;
    return check(acme_launch(acme_kernel_find(ferry_kernels_name(l->kernel)), (long)l->groups,
                             buffers, l->args),
                 "acme_launch"); /* yours: submit it */
}

static int op_prepare(void *dev, void *queue, void *prepared, const ferry_cref *in,
                      ferry_ref packed)
{
    (void)dev;
    return ferry_kernels_pack((const ferry_kernels_plan *)prepared, in, packed, launch, queue);
}

static int op_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    (void)dev;
    return ferry_kernels_run((const ferry_kernels_plan *)prepared, args, launch, queue);
}

static void op_destroy(void *dev, void *prepared)
{
    (void)dev;
    ferry_kernels_plan_destroy((ferry_kernels_plan *)prepared);
}

static const ferry_op_table operations = {
    .struct_size = sizeof(ferry_op_table),
    .query = op_query,
    .create = op_create,
    .prepare = op_prepare,
    .run = op_run,
    .destroy = op_destroy,
};

static int extension(void *dev, const char *name, const void **out_table)
{
    (void)dev;
    if (strcmp(name, FERRY_OP_EXTENSION) != 0)
        return FERRY_EUNSUPPORTED;
    *out_table = &operations;
    return FERRY_OK;
}

/* ---- tables --------------------------------------------------------------------------------- */

static const ferry_plugin_ops ops = {
    .struct_size = sizeof(ferry_plugin_ops),
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .alloc = alloc,
    .free = release,
    .memcpy = copy,
    .memset = set,
    .axpy = axpy,
    .synchronize = synchronize,
    .extension = extension,
};

/* Load the vendor's library here, unless it is linked; do not use a device yet. */
int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out)
{
    ferry = host;
    if (acme_kernels_fingerprint() != ferry_kernels_fingerprint()) /* yours: if built with texts */
        return ferry->error(FERRY_EABI, "the kernels are those of another libferrykernels");
    *out = &ops;
    return FERRY_OK;
}
