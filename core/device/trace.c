/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/trace.h"

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/device/trace_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* The file, while it is open; all of it is read and written under the lock. */
static struct {
    pthread_mutex_t lock;
    char path[256];               /* for messages; "" if there is no trace */
    pid_t owner;                  /* a forked child leaves the file alone when it ends, too */
    uint64_t named[FERRY__SLOTS]; /* queues of a slot, as bits, that have had their names written */
    const ferry_device *device[FERRY__SLOTS];
} trace = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Events are wanted, by a file or in words; and by a file. */
atomic_bool ferry__trace_wanted;
static atomic_bool in_file;

static const char *const reasons[] = {
    [FERRY__READ_MISS] = "read-miss", [FERRY__WRITE_MISS] = "write-miss",
    [FERRY__PREFETCH] = "prefetch",   [FERRY__EVICT] = "evict",
    [FERRY__STAGING] = "staging",     [FERRY__COMPUTE] = "compute",
    [FERRY__PROGRAM] = "program",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The file belongs to the parent, and so does the buffer's content. */
static void forked_in_child(void)
{
    atomic_store(&in_file, false);
}

static void open_file(void)
{
    const char *path = ferry__env_get("FERRY_TRACE");
    const char *why = path ? ferry__trace_file_open(path) : NULL;

    if (why)
        ferry__log(FERRY_LOG_WARN, "FERRY_TRACE: %s: %s", path, why);
    if (!path || why)
        return;
    snprintf(trace.path, sizeof trace.path, "%s", path);
    trace.owner = getpid();
    pthread_atfork(NULL, NULL, forked_in_child);
    atomic_store(&in_file, true);
}

/* Once, if the file could not take it all. Without the lock. */
static void warn_of_failure(bool failed, uint64_t events, const char *why)
{
    if (failed)
        ferry__log(FERRY_LOG_WARN, "FERRY_TRACE: %s: %s: the trace ends after %" PRIu64 " events",
                   trace.path, why, events);
}

void ferry__trace_configure(void)
{
    pthread_once(&once, open_file);
    atomic_store(&ferry__trace_wanted,
                 atomic_load(&in_file) || ferry__log_enabled(FERRY_LOG_DEBUG));
}

void ferry__trace_flush(void)
{
    uint64_t events = 0;
    char why[128];
    bool failed = false;

    if (!atomic_load(&in_file))
        return;
    pthread_mutex_lock(&trace.lock);
    if (atomic_load(&in_file)) {
        ferry__trace_file_flush();
        failed = ferry__trace_file_failed(&events, why, sizeof why);
    }
    pthread_mutex_unlock(&trace.lock);
    warn_of_failure(failed, events, why);
}

/* The closing bracket, once nothing can happen any more; before the log's last lines. */
static void __attribute__((destructor(FERRY__LOG_END + 1))) close_file(void)
{
    uint64_t events = 0;
    char why[128];
    bool failed;

    if (!trace.path[0] || trace.owner != getpid())
        return;
    pthread_mutex_lock(&trace.lock);
    atomic_store(&in_file, false);
    atomic_store(&ferry__trace_wanted, false);
    ferry__trace_file_close();
    failed = ferry__trace_file_failed(&events, why, sizeof why);
    pthread_mutex_unlock(&trace.lock);
    warn_of_failure(failed, events, why);
}

double ferry__trace_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- JSON ---- */

static void put_metadata(const char *what, unsigned pid, unsigned tid, const char *name)
{
    ferry__trace_begin();
    ferry__trace_put("{\"name\":");
    ferry__trace_put_string(what);
    ferry__trace_put(",\"ph\":\"M\",\"pid\":");
    ferry__trace_put_number(pid);
    ferry__trace_put(",\"tid\":");
    ferry__trace_put_number(tid);
    ferry__trace_put(",\"args\":{\"name\":");
    ferry__trace_put_string(name);
    ferry__trace_put("}}");
    ferry__trace_end();
}

/* Names a device and a queue before their first event. Slots are used again, and so named again. */
static void introduce(const ferry_device *dev, unsigned queue)
{
    uint64_t bit = UINT64_C(1) << (queue < 63 ? queue : 63);
    char name[32];

    if (trace.device[dev->slot] != dev) {
        trace.device[dev->slot] = dev;
        trace.named[dev->slot] = 0;
        put_metadata("process_name", dev->slot, 0, dev->name);
    }
    if (trace.named[dev->slot] & bit)
        return;
    trace.named[dev->slot] |= bit;
    snprintf(name, sizeof name, queue ? "queue %u" : "default queue", queue);
    put_metadata("thread_name", dev->slot, queue, name);
}

static void put_arguments(const struct ferry__trace_copy *e, bool copy)
{
    ferry__trace_put(",\"args\":{\"blob\":");
    ferry__trace_put_string(e->name ? e->name : "");
    ferry__trace_put(",\"bytes\":");
    ferry__trace_put_number(e->bytes);
    if (copy) {
        ferry__trace_put(",\"reason\":\"");
        ferry__trace_put(reasons[e->reason]);
        ferry__trace_put(e->unpinned ? "\",\"unpinned\":true" : "\"");
    }
    ferry__trace_put("}");
}

/* One whole event of the device, whose names have been written. */
static void put_whole(const struct ferry__trace_copy *e, bool copy, const ferry_device *dev,
                      unsigned queue, double start)
{
    uint64_t begin = (uint64_t)(start * 1e3 + 0.5);
    uint64_t end = (uint64_t)(ferry__trace_now() * 1e3 + 0.5);

    ferry__trace_begin();
    ferry__trace_put("{\"name\":\"");
    ferry__trace_put(e->what);
    ferry__trace_put(copy ? "\",\"cat\":\"copy\",\"ph\":\"X\",\"ts\":"
                          : "\",\"cat\":\"memory\",\"ph\":\"X\",\"ts\":");
    ferry__trace_put_time(begin);
    ferry__trace_put(",\"dur\":");
    ferry__trace_put_time(end - begin);
    ferry__trace_put(",\"pid\":");
    ferry__trace_put_number(dev->slot);
    ferry__trace_put(",\"tid\":");
    ferry__trace_put_number(queue);
    put_arguments(e, copy);
    ferry__trace_put("}");
    ferry__trace_end();
}

static void put_event(const struct ferry__trace_copy *e, bool copy, const ferry_device *dev,
                      unsigned queue, double start)
{
    uint64_t events = 0;
    char why[128];
    bool failed = false;

    pthread_mutex_lock(&trace.lock);
    if (atomic_load_explicit(&in_file, memory_order_relaxed)) {
        introduce(dev, queue);
        put_whole(e, copy, dev, queue, start);
        failed = ferry__trace_file_failed(&events, why, sizeof why);
    }
    pthread_mutex_unlock(&trace.lock);
    warn_of_failure(failed, events, why);
}

/* ---- events ---- */

void ferry__trace_write_copy(const struct ferry__trace_copy *copy, const ferry_queue *q,
                             double start)
{
    if (atomic_load_explicit(&in_file, memory_order_relaxed))
        put_event(copy, true, q->device, q->number, start);
    ferry__log(FERRY_LOG_DEBUG, "%s: %s of %" PRIu64 " bytes%s%s (%s%s)", q->device->name,
               copy->what, copy->bytes, copy->name ? " of " : "", copy->name ? copy->name : "",
               reasons[copy->reason], copy->unpinned ? ", unpinned" : "");
}

void ferry__trace_write_event(const char *what, const char *name, uint64_t bytes,
                              const ferry_device *dev, double start)
{
    const struct ferry__trace_copy e = { what, name, bytes, FERRY__READ_MISS, false };

    if (atomic_load_explicit(&in_file, memory_order_relaxed))
        put_event(&e, false, dev, 0, start);
    ferry__log(FERRY_LOG_DEBUG, "%s: %s of %" PRIu64 " bytes%s%s", dev->name, what, bytes,
               name ? " of " : "", name ? name : "");
}
