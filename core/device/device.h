/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device: the adopted table of its plugin, its default queue, its counters, and the calls that go
 * to the plugin.
 */
#ifndef FERRY_CORE_DEVICE_H
#define FERRY_CORE_DEVICE_H

#include "core/plugin/plugin.h"

#include <ferry/device.h>
#include <ferry/queue.h>
#include <pthread.h>
#include <stdatomic.h>

struct ferry__pool;
struct ferry__lent;
struct ferry__profile;

/*
 * Slots of a memory's masks: 0 is the host, a device has one of 1 … FERRY__SLOTS − 1 while it is
 * open.
 */
#define FERRY__SLOTS 31u
#define FERRY__HOST  0u

enum ferry__device_state {
    FERRY__DEVICE_CLOSED = 0,
    FERRY__DEVICE_OPEN = 1,
    FERRY__DEVICE_LOST = 2
};

struct ferry_queue {
    ferry_device *device;
    void *handle;         /* the plugin's handle; NULL: the default queue */
    unsigned number;      /* in traces; 0: the default queue */
    atomic_uint refs;     /* one reference of its owner, and one per pending use in a memory */
    atomic_bool gone;     /* destroyed by its owner: it has no pending work */
    pthread_mutex_t lock; /* serialises entries and sections; recursive */
    _Atomic uint64_t submitted; /* the number of submissions by ferry; not counted without events */
    pthread_mutex_t life;       /* guards `gone` while an event is recorded */
    atomic_bool native;         /* the program has the vendor's object, and may submit work to it */

    unsigned profiled; /* nested ferry_queue_profile calls; under `lock` */
    signed char laned; /* of trace_lanes.c, under `lock`: 1 profiled, −1 not possible */

    /* for section.c, under `lock` */
    bool stray;           /* something was submitted since the latest event */
    ferry_event *section; /* the event that will end the open section, or NULL */
    int section_failed;   /* a failure of the section's work that is known already */
    uint64_t events;      /* the number of events recorded so far */
    ferry_event *asked;   /* the event of the latest query for pending work, or NULL */
    uint64_t asked_at;    /* `submitted` at that query */
    ferry_event *oldest_stray,
        *newest_stray;           /* the events that cover stray work and may be pending */
    uint64_t failed_at, told_at; /* event numbers: latest failed stray work, reported */
    int failed;                  /* the code of that failure */
    char *why;                   /* the message of that failure, or NULL */
};

struct ferry_event {
    ferry_device *device;
    void *handle; /* the plugin's handle */
    atomic_uint refs;
    atomic_int state; /* 1: pending; 0: done; negative: the code it failed with */
    bool unbound;     /* it holds no reference to its device */
    bool stray;       /* its queue keeps or kept it, because it covers stray work */
    uint64_t number;  /* its number among the queue's events */
    ferry_event *next_stray;
    _Atomic(char *) why; /* the message of the failure, or NULL if it is unknown */
};

/*
 * The description of a device by its plugin, and the public structure made of it. Neither changes
 * once it is visible.
 */
struct ferry__description {
    ferry_plugin_properties said;
    ferry_device_properties properties;
};

struct ferry__counters {
    _Atomic uint64_t copies[3], bytes[3]; /* indexed by FERRY_MEMCPY_… − 1 */
    _Atomic uint64_t maps, allocs, frees, live_bytes, peak_bytes, pool_hits, fallbacks, evictions;
};

struct ferry_device {
    /* Functions of device_open.c, which is above this file. */
    int (*open_up)(ferry_device *dev);
    void (*end)(ferry_device *dev); /* called when the last reference is gone */
    ferry_device *next;             /* in the list of devices (device_list.c) */
    const struct ferry__plugin *plugin;
    const ferry_plugin_ops *ops;
    void *dev; /* the plugin's handle of the device; NULL until open */
    uint32_t index;
    uint32_t flags;         /* FERRY_DEVICE_…; UNIFIED only if the probe has confirmed it */
    unsigned slot;          /* 0 until open */
    atomic_uint generation; /* the value of ferry__forks when it was opened; a different value after
                             * its end */
    atomic_bool ended;      /* the process is exiting, and the driver has ended (at_exit.c) */
    bool strict;
    bool events; /* the plugin has events: work may be pending when an entry returns */
    atomic_int state;
    atomic_uint refs;
    pthread_mutex_t open_lock;
    uint64_t sync_domain, host_alignment;
    uint64_t offset_alignment; /* the alignment of operands of arithmetic, in bytes; at least 1 */
    uint64_t max_block;        /* the largest block in bytes; UINT64_MAX: unknown */
    struct ferry_queue queue;  /* the default queue */
    struct ferry__pool *pool;
    _Atomic(struct ferry__profile *) profile; /* for profile.c; NULL until first needed */
    pthread_mutex_t lent_lock;
    struct ferry__lent *lent; /* idle blocks of queues, for lent.c */
    _Atomic uint32_t
        refused[FERRY_OP_COUNT]; /* per operation, the dtypes, as bits, that this device does not
                                  * support */
    struct ferry__counters stats;
    struct ferry__description closed, opened;       /* the descriptions before and after it was
                                                     * opened */
    _Atomic(const ferry_device_properties *) shown; /* points into `closed` or `opened` */
    char name[48];
};

/*
 * Opens the device if it is not open: context, slot, default queue, probe. Callable from any
 * thread.
 */
int ferry__device_open(ferry_device *dev);

/*
 * References: the runtime holds one per device; memories, queues and events one each. The last one
 * closes the device.
 */
static inline ferry_device *ferry__device_retain(ferry_device *dev)
{
    atomic_fetch_add_explicit(&dev->refs, 1, memory_order_relaxed);
    return dev;
}

/* NULL is accepted. */
static inline void ferry__device_release(ferry_device *dev)
{
    if (dev && atomic_fetch_sub_explicit(&dev->refs, 1, memory_order_acq_rel) == 1)
        dev->end(dev);
}

/* Adds a reference; false if the last one is gone already and the device is closing. */
bool ferry__device_retain_alive(ferry_device *dev);

/*
 * The number of forks of this process and its ancestors; slow paths compare it before they take a
 * lock.
 */
extern atomic_uint ferry__forks;

/*
 * Whether the device is open, not lost, and this process's: the usual state that
 * ferry__device_usable checks for.
 */
static inline bool ferry__device_ready(ferry_device *dev)
{
    return atomic_load_explicit(&dev->state, memory_order_acquire) == FERRY__DEVICE_OPEN &&
           atomic_load_explicit(&dev->generation, memory_order_relaxed) ==
               atomic_load_explicit(&ferry__forks, memory_order_relaxed);
}

/* Opens a device that is not ready, or returns the error that prevents its use. */
int ferry__device_make_ready(ferry_device *dev);

/*
 * 0 if the device is open and may be used by this process; FERRY_EFORKED, FERRY_ELOST or the error
 * of opening it.
 */
static inline int ferry__device_usable(ferry_device *dev)
{
    return ferry__device_ready(dev) ? 0 : ferry__device_make_ready(dev);
}

/*
 * Whether the device was never opened. Another thread may be opening it, so a caller may only read
 * `shown` and the members that device_new sets.
 */
static inline bool ferry__device_is_closed(const ferry_device *dev)
{
    return atomic_load_explicit(&((ferry_device *)dev)->state, memory_order_acquire) ==
           FERRY__DEVICE_CLOSED;
}

/*
 * For an open device: 1 if the handle belongs to its memory, 0 if not, FERRY_EUNSUPPORTED if the
 * plugin cannot tell, or the error of the query.
 */
int ferry__device_ask(ferry_device *dev, const void *handle);

/* Whether the device is known to be lost. */
static inline bool ferry__device_lost(const ferry_device *dev)
{
    return atomic_load_explicit(&((ferry_device *)dev)->state, memory_order_acquire) ==
           FERRY__DEVICE_LOST;
}

/*
 * Whether the device belongs to another process, because it was opened before fork, or has ended
 * with this one: none of its entries may be called.
 */
static inline bool ferry__device_forked(const ferry_device *dev)
{
    return !ferry__device_is_closed(dev) &&
           atomic_load_explicit(&((ferry_device *)dev)->generation, memory_order_relaxed) !=
               atomic_load_explicit(&ferry__forks, memory_order_relaxed);
}

/*
 * Turns a plugin's negative answer into this thread's error: "cuda:0: alloc of 4096 bytes: <the
 * plugin's message>". Returns `code`; FERRY_ELOST marks the device. `bytes` is left out of the
 * message if it is UINT64_MAX.
 */
int ferry__device_fail(ferry_device *dev, const char *operation, uint64_t bytes, int code);

/*
 * Calls the plugin's host_alloc; if the plugin has none and the device is unified, allocates memory
 * with the alignment that import_host requires. Returns the plugin's code unchanged; the table's
 * host_free frees the memory.
 */
int ferry__device_host_alloc(ferry_device *dev, uint64_t bytes, uint32_t flags, void **out_ptr,
                             uint32_t *out_flags);

static inline bool ferry__device_is(const ferry_device *dev, uint32_t flag)
{
    return (dev->flags & flag) != 0;
}

static inline void ferry__count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

#endif
