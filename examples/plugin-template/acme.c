/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ferry plugin with what every plugin has to have: memory, copies, memset and axpy. Everything
 * else ferry does without: it computes on the host what is missing here.
 *
 * Lines that end in a comment beginning with "yours:" are the ones to change. ferry-plugin(7) has
 * the rules, <ferry/plugin.h> has them entry by entry, and `make check` runs `ferry check`.
 */
#include <ferry/plugin.h>

#include "acme_driver.h" /* yours: your vendor's header */

FERRY_PLUGIN(.name = "acme", .version = "1.0", .vendor = "Acme"); /* yours: who it is */

static const ferry_host *ferry; /* what ferry offers: error, log, option */

/* Says why an entry fails: the call, and the vendor's own name for the error. */
static int check(int code, const char *call)
{
    if (code == ACME_OK) /* yours: success */
        return FERRY_OK;
    return ferry->error(code == ACME_OUT_OF_MEMORY ? FERRY_ENOMEM
                                                   : FERRY_EDEVICE, /* yours: codes */
                        "%s: %s", call, acme_error_name(code));     /* yours: their names */
}

/* A reference is a handle of alloc's and a distance from it in bytes. The host's are the same. */
static void *at(ferry_ref ref)
{
    return (char *)ref.handle + ref.offset; /* yours: where handles are no pointers */
}

static const void *const_at(ferry_cref ref)
{
    return (const char *)ref.handle + ref.offset; /* yours: likewise */
}

/* ---- devices -------------------------------------------------------------------------------- */

static int device_count(void *plugin, uint32_t *out)
{
    (void)plugin;
    *out = 1; /* yours: how many there are; 0 is no error */
    return FERRY_OK;
}

static int device_open(void *plugin, uint32_t index, void **out_dev)
{
    static int the_device;

    (void)plugin;
    if (index != 0) /* yours: open device `index`, create its context */
        return ferry->error(FERRY_ENODEV, "there is one device, not %u", index + 1);
    *out_dev = &the_device; /* yours: whatever the entries below want to get */
    return FERRY_OK;
}

static void device_close(void *dev)
{
    (void)dev; /* yours: destroy the context; every block has been freed before */
}

static int synchronize(void *dev)
{
    (void)dev; /* yours: wait for all work; here every entry has done its own when it returns */
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

/* y += alpha x. F32 is mandatory; for any other dtype ferry computes on the host. */
static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    (void)dev, (void)queue;
    if (dtype != FERRY_F32)
        return FERRY_EUNSUPPORTED;
    return check(acme_saxpy((long)n, (float)alpha, const_at(x), at(y)),
                 "acme_saxpy"); /* yours: axpy */
}

/* ---- what ferry gets ------------------------------------------------------------------------ */

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
};

/* The vendor's library is loaded here, if it is not linked; no device is touched yet. */
int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out)
{
    ferry = host;
    *out = &ops;
    return FERRY_OK;
}
