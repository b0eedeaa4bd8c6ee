/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/trace.h"

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/device/trace_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The open trace file; all members are read and written under the lock. */
static struct {
    pthread_mutex_t lock;
    char path[256];               /* for messages; "" if there is no trace */
    pid_t owner;                  /* a child of fork does not write to the file when it ends */
    /* per lane: the queues, or threads for the host, as bits, whose names have been written */
    uint64_t named[FERRY__SLOTS][3];
    const ferry_device *device[FERRY__SLOTS];
} trace = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Whether events are written, to a file or to the log; and whether to a file. */
atomic_bool ferry__trace_wanted;
atomic_bool ferry__trace_in_file;

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
    atomic_store(&ferry__trace_in_file, false);
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
    atomic_store(&ferry__trace_in_file, true);
}

/* Warns once if writing to the file failed. The lock is not held. */
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
                 atomic_load(&ferry__trace_in_file) || ferry__log_enabled(FERRY_LOG_DEBUG));
}

void ferry__trace_flush(void)
{
    uint64_t events = 0;
    char why[128];
    bool failed = false;

    if (!atomic_load(&ferry__trace_in_file))
        return;
    pthread_mutex_lock(&trace.lock);
    if (atomic_load(&ferry__trace_in_file)) {
        ferry__trace_file_flush();
        failed = ferry__trace_file_failed(&events, why, sizeof why);
    }
    pthread_mutex_unlock(&trace.lock);
    warn_of_failure(failed, events, why);
}

/* Writes the closing bracket when no more events are possible, before the log's last lines. */
static void __attribute__((destructor(FERRY__LOG_END + 1))) close_file(void)
{
    uint64_t events = 0;
    char why[128];
    bool failed;

    if (!trace.path[0] || trace.owner != getpid())
        return;
    pthread_mutex_lock(&trace.lock);
    atomic_store(&ferry__trace_in_file, false);
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

/* The pid and the tid of a lane in the trace: the pid is a device's slot, or THE_HOST. */
#define THE_HOST 100u

static unsigned process_of(const ferry_device *dev)
{
    return dev ? dev->slot : THE_HOST;
}

/*
 * The tid of a lane: queues in host time have their own numbers, lanes in device time higher ones.
 */
static unsigned thread_of(enum ferry__lane lane, unsigned number)
{
    return lane == FERRY__LANE_HOST ? number : 1000 + 2 * number + (lane == FERRY__LANE_WORK);
}

static void name_lane(char *out, size_t size, const ferry_device *dev, unsigned number,
                      enum ferry__lane lane)
{
    static const char *const whats[] = { "", ", device time: copies", ", device time: work" };

    if (!dev)
        snprintf(out, size, "thread %u", number);
    else if (number)
        snprintf(out, size, "queue %u%s", number, whats[lane]);
    else
        snprintf(out, size, "default queue%s", whats[lane]);
}

/*
 * Writes the names of a device and a lane before their first event; `dev` NULL: the host. A slot is
 * named again when another device uses it.
 */
static void introduce(const ferry_device *dev, unsigned number, enum ferry__lane lane)
{
    uint64_t bit = UINT64_C(1) << (number < 63 ? number : 63);
    unsigned slot = dev ? dev->slot : FERRY__HOST;
    char name[64];

    if (trace.device[slot] != dev || (!dev && !(trace.named[slot][0]))) {
        trace.device[slot] = dev;
        memset(trace.named[slot], 0, sizeof trace.named[0]);
        put_metadata("process_name", process_of(dev), 0, dev ? dev->name : "host");
    }
    if (trace.named[slot][lane] & bit)
        return;
    trace.named[slot][lane] |= bit;
    name_lane(name, sizeof name, dev, number, lane);
    put_metadata("thread_name", process_of(dev), thread_of(lane, number), name);
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

/* Writes one complete event of the device, whose names have been written. */
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
    if (atomic_load_explicit(&ferry__trace_in_file, memory_order_relaxed)) {
        introduce(dev, queue, FERRY__LANE_HOST);
        put_whole(e, copy, dev, queue, start);
        failed = ferry__trace_file_failed(&events, why, sizeof why);
    }
    pthread_mutex_unlock(&trace.lock);
    warn_of_failure(failed, events, why);
}

/* ---- slices ---- */

/* Writes the time, process and thread of the next event. */
static void put_place(const struct ferry__trace_slice *s, uint64_t when)
{
    ferry__trace_put(",\"ts\":");
    ferry__trace_put_time(when);
    ferry__trace_put(",\"pid\":");
    ferry__trace_put_number(process_of(s->device));
    ferry__trace_put(",\"tid\":");
    ferry__trace_put_number(thread_of(s->lane, s->number));
}

static void put_slice(const struct ferry__trace_slice *s)
{
    ferry__trace_begin();
    ferry__trace_put("{\"name\":");
    ferry__trace_put_string(s->name);
    ferry__trace_put(",\"cat\":");
    ferry__trace_put_string(s->kind);
    ferry__trace_put(",\"ph\":\"X\"");
    put_place(s, s->begin);
    ferry__trace_put(",\"dur\":");
    ferry__trace_put_time(s->end - s->begin);
    if (s->bytes) {
        ferry__trace_put(",\"args\":{\"bytes\":");
        ferry__trace_put_number(s->bytes);
        ferry__trace_put("}");
    }
    ferry__trace_put("}");
    ferry__trace_end();
}

static void put_arrow(const struct ferry__trace_slice *s, bool ends, uint64_t id, uint64_t when)
{
    ferry__trace_begin();
    ferry__trace_put("{\"name\":\"copied for\",\"cat\":\"copy\",\"ph\":");
    ferry__trace_put(ends ? "\"f\",\"bp\":\"e\"" : "\"s\"");
    put_place(s, when);
    ferry__trace_put(",\"id\":");
    ferry__trace_put_number(id);
    ferry__trace_put("}");
    ferry__trace_end();
}

/* Writes a slice, or with `id` not 0 one end of an arrow. */
static void write_slice(const struct ferry__trace_slice *s, bool ends, uint64_t id, uint64_t when)
{
    uint64_t events = 0;
    char why[128];
    bool failed = false;

    pthread_mutex_lock(&trace.lock);
    if (atomic_load_explicit(&ferry__trace_in_file, memory_order_relaxed)) {
        introduce(s->device, s->number, s->lane);
        if (id)
            put_arrow(s, ends, id, when);
        else
            put_slice(s);
        failed = ferry__trace_file_failed(&events, why, sizeof why);
    }
    pthread_mutex_unlock(&trace.lock);
    warn_of_failure(failed, events, why);
}

void ferry__trace_write_slice(const struct ferry__trace_slice *s)
{
    write_slice(s, false, 0, 0);
}

void ferry__trace_write_arrow(const struct ferry__trace_slice *s, bool ends, uint64_t id,
                              uint64_t when)
{
    write_slice(s, ends, id, when);
}

/* ---- events ---- */

void ferry__trace_write_copy(const struct ferry__trace_copy *copy, const ferry_queue *q,
                             double start)
{
    if (atomic_load_explicit(&ferry__trace_in_file, memory_order_relaxed))
        put_event(copy, true, q->device, q->number, start);
    ferry__log(FERRY_LOG_DEBUG, "%s: %s of %" PRIu64 " bytes%s%s (%s%s)", q->device->name,
               copy->what, copy->bytes, copy->name ? " of " : "", copy->name ? copy->name : "",
               reasons[copy->reason], copy->unpinned ? ", unpinned" : "");
}

void ferry__trace_write_event(const char *what, const char *name, uint64_t bytes,
                              const ferry_device *dev, double start)
{
    const struct ferry__trace_copy e = { what, name, bytes, FERRY__READ_MISS, false };

    if (atomic_load_explicit(&ferry__trace_in_file, memory_order_relaxed))
        put_event(&e, false, dev, 0, start);
    ferry__log(FERRY_LOG_DEBUG, "%s: %s of %" PRIu64 " bytes%s%s", dev->name, what, bytes,
               name ? " of " : "", name ? name : "");
}
