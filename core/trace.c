/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "trace.h"

#include "env.h"
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The file, while it is open; everything but `wanted` is read and written under the lock. */
static struct {
    pthread_mutex_t lock;
    FILE *file;
    pid_t owner;                  /* a forked child leaves the file alone */
    uint64_t named[FERRY__SLOTS]; /* queues of a slot, as bits, that have had their names written */
    const ferry_device *device[FERRY__SLOTS];
    bool any;
} trace = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Events are wanted: by a file, or in words. */
static atomic_bool wanted;
static atomic_bool in_file;

static const char *const reasons[] = {
    [FERRY__READ_MISS] = "read-miss", [FERRY__WRITE_MISS] = "write-miss",
    [FERRY__PREFETCH] = "prefetch",   [FERRY__EVICT] = "evict",
    [FERRY__STAGING] = "staging",     [FERRY__COMPUTE] = "compute",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_file(void)
{
    const char *path = ferry__env_get("FERRY_TRACE");

    if (!path)
        return;
    trace.file = fopen(path, "we");
    if (!trace.file) {
        ferry__log(FERRY_LOG_WARN, "FERRY_TRACE: %s: %s", path, strerror(errno));
        return;
    }
    trace.owner = getpid();
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", trace.file);
    atomic_store(&in_file, true);
}

void ferry__trace_configure(void)
{
    pthread_once(&once, open_file);
    atomic_store(&wanted, atomic_load(&in_file) || ferry__log_enabled(FERRY_LOG_DEBUG));
}

/* The closing bracket, once nothing can happen any more. */
static void __attribute__((destructor)) close_file(void)
{
    if (!trace.file || trace.owner != getpid())
        return;
    pthread_mutex_lock(&trace.lock);
    atomic_store(&in_file, false);
    atomic_store(&wanted, false);
    fputs("\n]}\n", trace.file);
    fclose(trace.file);
    trace.file = NULL;
    pthread_mutex_unlock(&trace.lock);
}

double ferry__trace_now(void)
{
    struct timespec t;

    if (!atomic_load_explicit(&wanted, memory_order_relaxed))
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- JSON ---- */

static void put_string(const char *s)
{
    putc('"', trace.file);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\')
            fprintf(trace.file, "\\%c", c);
        else if (c < 0x20)
            fprintf(trace.file, "\\u%04x", c);
        else
            putc(c, trace.file);
    }
    putc('"', trace.file);
}

static void put_separator(void)
{
    fputs(trace.any ? ",\n" : "\n", trace.file);
    trace.any = true;
}

static void put_metadata(const char *what, unsigned pid, unsigned tid, const char *name)
{
    put_separator();
    fprintf(trace.file,
            "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", what, pid,
            tid);
    put_string(name);
    fputs("}}", trace.file);
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

static void put_event(const struct ferry__trace_copy *e, const char *category,
                      const ferry_device *dev, unsigned queue, double start)
{
    double end = ferry__trace_now();

    pthread_mutex_lock(&trace.lock);
    if (trace.file && trace.owner == getpid()) {
        bool copy = strcmp(category, "copy") == 0;

        introduce(dev, queue);
        put_separator();
        fprintf(trace.file,
                "{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%u,"
                "\"tid\":%u,\"args\":{\"blob\":",
                e->what, category, start, end - start, dev->slot, queue);
        put_string(e->name ? e->name : "");
        fprintf(trace.file, ",\"bytes\":%" PRIu64, e->bytes);
        if (copy)
            fprintf(trace.file, ",\"reason\":\"%s\"", reasons[e->reason]);
        if (copy && e->unpinned)
            fputs(",\"unpinned\":true", trace.file);
        fputs("}}", trace.file);
    }
    pthread_mutex_unlock(&trace.lock);
}

/* ---- events ---- */

void ferry__trace_copy(const struct ferry__trace_copy *copy, const ferry_queue *q, double start)
{
    if (!atomic_load_explicit(&wanted, memory_order_relaxed))
        return;
    if (atomic_load_explicit(&in_file, memory_order_relaxed))
        put_event(copy, "copy", q->device, q->number, start);
    ferry__log(FERRY_LOG_DEBUG, "%s: %s of %" PRIu64 " bytes%s%s (%s%s)", q->device->name,
               copy->what, copy->bytes, copy->name ? " of " : "", copy->name ? copy->name : "",
               reasons[copy->reason], copy->unpinned ? ", unpinned" : "");
}

void ferry__trace_event(const char *what, const char *name, uint64_t bytes, const ferry_device *dev,
                        double start)
{
    const struct ferry__trace_copy e = { what, name, bytes, FERRY__READ_MISS, false };

    if (!atomic_load_explicit(&wanted, memory_order_relaxed))
        return;
    if (atomic_load_explicit(&in_file, memory_order_relaxed))
        put_event(&e, "memory", dev, 0, start);
    ferry__log(FERRY_LOG_DEBUG, "%s: %s of %" PRIu64 " bytes%s%s", dev->name, what, bytes,
               name ? " of " : "", name ? name : "");
}
