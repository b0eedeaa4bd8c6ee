/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plugin of acme.c, extended with queues and events, so that copies and arithmetic run
 * asynchronously; device properties; an option; and counters for `ferry check`.
 *
 * Comments mark what is new compared with acme.c; lines to change are marked "yours:" as there.
 */
#include <ferry/plugin.h>

#include "acme_driver.h" /* yours: your vendor's header */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* yours: name, version, vendor */
FERRY_PLUGIN_FOR_HOST(1, .name = "acme_queues", .version = "1.0", .vendor = "Acme");

static const ferry_host *ferry;

/* New: a device has a stream, its default queue, and counters. */
struct device {
    acme_stream *stream; /* yours */
    pthread_mutex_t lock;
    ferry_plugin_counters counts;
};

static int check(int code, const char *call)
{
    if (code == ACME_OK) /* yours: success */
        return FERRY_OK;
    return ferry->error(code == ACME_OUT_OF_MEMORY ? FERRY_ENOMEM
                                                   : FERRY_EDEVICE, /* yours: codes */
                        "%s: %s", call, acme_error_name(code));     /* yours: their names */
}

static void *at(ferry_ref ref)
{
    return (char *)ref.handle + ref.offset; /* yours: if handles are not pointers */
}

static const void *const_at(ferry_cref ref)
{
    return (const char *)ref.handle + ref.offset; /* yours: as above */
}

/* New: a queue is a stream, and NULL is the default queue. */
static acme_stream *stream_of(void *dev, void *queue)
{
    return queue ? (acme_stream *)queue : ((struct device *)dev)->stream;
}

/* Entries are called on any thread, and those of different queues concurrently. */
static void count(struct device *d, uint64_t *counter, int64_t by)
{
    pthread_mutex_lock(&d->lock);
    *counter += (uint64_t)by;
    pthread_mutex_unlock(&d->lock);
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
    uint32_t greet = 0; /* new: the value if the option is not set */
    struct device *d;
    int err;

    (void)plugin;
    if (index != 0) /* yours: the existing devices */
        return ferry->error(FERRY_ENODEV, "there is one device, not %u", index + 1);
    err = ferry->option_boolean("greet", &greet); /* ferry reports an invalid value and where it
                                                   * was set */
    if (err)
        return err;
    if (greet)
        ferry->log(FERRY_LOG_WARN, "hello from acme");
    d = (struct device *)calloc(1, sizeof(*d));
    if (!d)
        return ferry->error(FERRY_ENOMEM, "malloc of the device failed");
    err = check(acme_stream_create(&d->stream), "acme_stream_create"); /* yours: context, stream */
    if (err) {
        free(d);
        return err;
    }
    pthread_mutex_init(&d->lock, NULL);
    *out_dev = d;
    return FERRY_OK;
}

static void device_close(void *dev)
{
    struct device *d = (struct device *)dev;

    acme_stream_destroy(d->stream); /* yours */
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* New. Also called before a device is open: `dev` is NULL then, and nothing may be created. */
static int properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    size_t available, total;

    (void)plugin, (void)index, (void)dev;
    acme_memory_info(&available, &total); /* yours */
    out->flags = FERRY_DEVICE_POINTERS;   /* yours: handle + offset is an address on the device */
    out->memory_total = out->max_alloc = total;
    out->sync_domain = 1; /* yours: equal for devices that can wait for each other's events */
    strcpy(out->description, "Acme A1, simulated"); /* yours */
    return FERRY_OK;
}

/* New. */
static int memory_info(void *dev, uint64_t *out_free, uint64_t *out_total)
{
    size_t available, total;

    (void)dev;
    acme_memory_info(&available, &total); /* yours */
    *out_free = available;
    *out_total = total;
    return FERRY_OK;
}

/* New: the live objects. struct_size comes from ferry: an older ferry has fewer members. */
static int counters(void *dev, ferry_plugin_counters *out)
{
    struct device *d = (struct device *)dev;
    uint32_t size = out->struct_size;

    pthread_mutex_lock(&d->lock);
    memcpy(out, &d->counts, size < sizeof(*out) ? size : sizeof(*out));
    pthread_mutex_unlock(&d->lock);
    out->struct_size = size;
    return FERRY_OK;
}

/* ---- memory --------------------------------------------------------------------------------- */

static int alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                 uint32_t *out_flags)
{
    struct device *d = (struct device *)dev;
    int err;

    (void)queue, (void)flags, (void)out_flags;
    if (bytes > SIZE_MAX)
        return ferry->error(FERRY_ENOMEM, "%llu bytes", (unsigned long long)bytes);
    err = check(acme_malloc(out_handle, (size_t)bytes), "acme_malloc"); /* yours: allocate */
    if (err)
        return err;
    count(d, &d->counts.live_blocks, 1);
    count(d, &d->counts.live_bytes, (int64_t)bytes);
    return FERRY_OK;
}

static int release(void *dev, void *queue, void *handle)
{
    struct device *d = (struct device *)dev;

    (void)queue; /* no work uses the block any more: ferry waits before it frees */
    count(d, &d->counts.live_blocks, -1);
    count(d, &d->counts.live_bytes, -(int64_t)acme_size(handle)); /* yours: its size */
    return check(acme_free(handle), "acme_free");                 /* yours: free */
}

static void count_copy(struct device *d, uint32_t kind, uint64_t bytes)
{
    uint64_t *copies[] = { &d->counts.copies_h2d, &d->counts.copies_d2h, &d->counts.copies_d2d };
    uint64_t *moved[] = { &d->counts.bytes_h2d, &d->counts.bytes_d2h, &d->counts.bytes_d2d };

    count(d, copies[kind - FERRY_MEMCPY_H2D], 1);
    count(d, moved[kind - FERRY_MEMCPY_H2D], (int64_t)bytes);
}

/*
 * Now on a stream: returns before the copy is complete. ferry does not touch the memory until an
 * event.
 */
static int copy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                uint64_t bytes)
{
    count_copy((struct device *)dev, kind, bytes);
    return check(acme_memcpy_async(stream_of(dev, queue), at(dst), const_at(src), (size_t)bytes),
                 "acme_memcpy_async"); /* yours: copy */
}

static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    return check(
        acme_memset_async(stream_of(dev, queue), at(dst), (int)(byte & 0xff), (size_t)bytes),
        "acme_memset_async"); /* yours: set */
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    if (dtype != FERRY_F32)
        return FERRY_EUNSUPPORTED;
    return check(acme_saxpy_async(stream_of(dev, queue), (long)n, (float)alpha,
                                  (const float *)const_at(x), (float *)at(y)),
                 "acme_saxpy_async"); /* yours: axpy */
}

/* New: lets ferry ask instead of trying. */
static int supports(void *dev, uint32_t op, uint32_t dtype)
{
    (void)dev;
    return op == FERRY_OP_AXPY && dtype == FERRY_F32;
}

/* ---- queues, all new ------------------------------------------------------------------------ */

static int queue_create(void *dev, uint32_t flags, void **out_queue)
{
    struct device *d = (struct device *)dev;
    acme_stream *stream;
    int err = check(acme_stream_create(&stream), "acme_stream_create"); /* yours */

    (void)flags;
    if (err)
        return err;
    count(d, &d->counts.live_queues, 1);
    *out_queue = stream;
    return FERRY_OK;
}

static int queue_destroy(void *dev, void *queue)
{
    struct device *d = (struct device *)dev;

    count(d, &d->counts.live_queues, -1);
    return check(acme_stream_destroy((acme_stream *)queue), "acme_stream_destroy"); /* yours */
}

static int queue_synchronize(void *dev, void *queue)
{
    return check(acme_stream_synchronize(stream_of(dev, queue)), "acme_stream_synchronize");
}

/* Waits for all queues. */
static int synchronize(void *dev)
{
    (void)dev;
    return check(acme_device_synchronize(),
                 "acme_device_synchronize"); /* yours: wait for all work */
}

/* ---- events, all new; all five or none ------------------------------------------------------ */

static int event_record(void *dev, void *queue, void **out_event)
{
    struct device *d = (struct device *)dev;
    acme_event *event;
    int err = check(acme_event_record(stream_of(dev, queue), &event), "acme_event_record");

    if (err)
        return err;
    count(d, &d->counts.live_events, 1);
    *out_event = event; /* yours: if the driver batches work, flush it here */
    return FERRY_OK;
}

static int event_query(void *dev, void *event)
{
    (void)dev;
    return acme_event_is_done((acme_event *)event)
               ? 1
               : 0; /* yours: 1 complete, 0 not yet, or the error */
}

static int event_synchronize(void *dev, void *event)
{
    (void)dev;
    return check(acme_event_synchronize((acme_event *)event), "acme_event_synchronize"); /* yours */
}

static int event_destroy(void *dev, void *event)
{
    struct device *d = (struct device *)dev;

    count(d, &d->counts.live_events, -1);
    return check(acme_event_destroy((acme_event *)event), "acme_event_destroy"); /* yours */
}

/* The queue waits, not the caller. */
static int queue_wait(void *dev, void *queue, void *event)
{
    return check(acme_stream_wait(stream_of(dev, queue), (acme_event *)event),
                 "acme_stream_wait"); /* yours */
}

/* ---- tables --------------------------------------------------------------------------------- */

/* New: `ferry plugins -v` lists the options, and plugins.conf sets them: option.greet = yes. */
static const ferry_plugin_option options[] = {
    { .name = "greet",
      .default_value = "no",
      .description = "whether the device says hello when it is opened",
      .type = FERRY_OPTION_BOOL },
};

static const ferry_plugin_ops ops = {
    .struct_size = sizeof(ferry_plugin_ops),
    .option_count = sizeof(options) / sizeof(options[0]),
    .options = options,
    .option_size = sizeof(options[0]),
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .alloc = alloc,
    .free = release,
    .memcpy = copy,
    .memset = set,
    .axpy = axpy,
    .synchronize = synchronize,
    .properties = properties,
    .supports = supports,
    .memory_info = memory_info,
    .counters = counters,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_synchronize = queue_synchronize,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_destroy = event_destroy,
    .queue_wait = queue_wait,
};

int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out)
{
    ferry = host;
    *out = &ops;
    return FERRY_OK;
}
