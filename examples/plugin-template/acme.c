/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ferry plugin with the mandatory entries: memory, copies, memset and axpy; and with one
 * operation of nets, a rectifier. ferry computes everything else on the host.
 *
 * Lines that end in a comment beginning with "yours:" are the ones to change. ferry-plugin(7) has
 * the rules, <ferry/plugin.h> documents each entry, and `make check` runs `ferry check`. The file
 * is valid C11 and C++20: hence the casts, and the tables in the order of their declaration.
 */
#include <ferry/op_plugin.h>
#include <ferry/plugin.h>

#include "acme_driver.h" /* yours: your vendor's header */

#include <stdbool.h>
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

/* Without this part, and .extension below, ferry computes all operations on the host. */

/* The state of a prepared operation. */
struct rectifier {
    long n;
    float slope;
};

/* Row-major without gaps. The stride of an axis of one element is ignored. */
static bool is_plain(const ferry_operand *o)
{
    int64_t run = 1;

    for (uint32_t axis = o->rank; axis-- > 0; run *= o->shape[axis])
        if (o->shape[axis] > 1 && o->stride[axis] != run)
            return false;
    return true;
}

static int op_query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev;
    (void)out; /* no epilogue, no packed constants, no workspace: ferry has set all of these to 0 */
    if (op->kind != FERRY_OP_UNARY || op->pass != FERRY_PASS_FORWARD ||
        op->params.unary.function != FERRY_UNARY_RELU || op->in[0].dtype != FERRY_F32 ||
        op->out[0].dtype != FERRY_F32 || !is_plain(&op->in[0]) ||
        !is_plain(&op->out[0])) /* yours: the supported operations */
        return FERRY_EUNSUPPORTED;
    return FERRY_OK;
}

static int op_create(void *dev, const ferry_op_desc *op, void **out_prepared)
{
    struct rectifier *r = (struct rectifier *)malloc(sizeof(*r));

    (void)dev;
    if (!r)
        return ferry->error(FERRY_ENOMEM, "malloc of %zu bytes", sizeof(*r));
    r->n = 1;
    for (uint32_t axis = 0; axis < op->in[0].rank; axis++)
        r->n *= (long)op->in[0].shape[axis];
    r->slope = (float)op->params.unary.a;
    *out_prepared = r; /* yours: compile, choose an algorithm */
    return FERRY_OK;
}

/* ferry calls this only if query has requested packed constants. */
static int op_prepare(void *dev, void *queue, void *prepared, const ferry_cref *in,
                      ferry_ref packed)
{
    (void)dev, (void)queue, (void)prepared, (void)in, (void)packed;
    return FERRY_OK;
}

static int op_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const struct rectifier *r = (const struct rectifier *)prepared;

    (void)dev, (void)queue;
    return check(
        acme_srelu(r->n, r->slope, (const float *)const_at(args->in[0]), (float *)at(args->out[0])),
        "acme_srelu"); /* yours: launch it */
}

static void op_destroy(void *dev, void *prepared)
{
    (void)dev;
    free(prepared);
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
    *out = &ops;
    return FERRY_OK;
}
