/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/trace.h"

#include "core/base/env.h"
#include "core/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The file, while it is open; all of it is read and written under the lock. */
static struct {
    pthread_mutex_t lock;
    FILE *file;
    pid_t owner;                  /* a forked child leaves the file alone when it ends, too */
    uint64_t named[FERRY__SLOTS]; /* queues of a slot, as bits, that have had their names written */
    const ferry_device *device[FERRY__SLOTS];
    bool any;
    char buffer[64u << 10]; /* of the file */
} trace = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Events are wanted, by a file or in words; and by a file. */
atomic_bool ferry__trace_wanted;
static atomic_bool in_file;

static const char *const reasons[] = {
    [FERRY__READ_MISS] = "read-miss", [FERRY__WRITE_MISS] = "write-miss",
    [FERRY__PREFETCH] = "prefetch",   [FERRY__EVICT] = "evict",
    [FERRY__STAGING] = "staging",     [FERRY__COMPUTE] = "compute",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The file is the parent's, and so is what its buffer holds. */
static void forked_in_child(void)
{
    atomic_store(&in_file, false);
}

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
    setvbuf(trace.file, trace.buffer, _IOFBF, sizeof trace.buffer);
    trace.owner = getpid();
    pthread_atfork(NULL, NULL, forked_in_child);
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", trace.file);
    atomic_store(&in_file, true);
}

void ferry__trace_configure(void)
{
    pthread_once(&once, open_file);
    atomic_store(&ferry__trace_wanted,
                 atomic_load(&in_file) || ferry__log_enabled(FERRY_LOG_DEBUG));
}

/* The closing bracket, once nothing can happen any more. */
static void __attribute__((destructor)) close_file(void)
{
    if (!trace.file || trace.owner != getpid())
        return;
    pthread_mutex_lock(&trace.lock);
    atomic_store(&in_file, false);
    atomic_store(&ferry__trace_wanted, false);
    fputs("\n]}\n", trace.file);
    fclose(trace.file);
    trace.file = NULL;
    pthread_mutex_unlock(&trace.lock);
}

double ferry__trace_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- JSON ---- */

/*
 * By hand, and without stdio's locks, which the lock here makes needless: an event must not cost
 * what a small copy does.
 */
static void put(const char *text)
{
    while (*text)
        putc_unlocked(*text++, trace.file);
}

static void put_string(const char *s)
{
    put("\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\')
            fprintf(trace.file, "\\%c", c);
        else if (c < 0x20)
            fprintf(trace.file, "\\u%04x", c);
        else
            putc_unlocked(c, trace.file);
    }
    put("\"");
}

static void put_number(uint64_t number)
{
    char digits[21], *first = digits + sizeof digits - 1;

    *first = '\0';
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    put(first);
}

/* Nanoseconds, written as microseconds to three places. */
static void put_time(uint64_t ns)
{
    put_number(ns / 1000);
    putc_unlocked('.', trace.file);
    for (unsigned place = 100; place; place /= 10)
        putc_unlocked((int)('0' + ns / place % 10), trace.file);
}

static void put_separator(void)
{
    put(trace.any ? ",\n" : "\n");
    trace.any = true;
}

static void put_metadata(const char *what, unsigned pid, unsigned tid, const char *name)
{
    put_separator();
    fprintf(trace.file,
            "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", what, pid,
            tid);
    put_string(name);
    put("}}");
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
    put(",\"args\":{\"blob\":");
    put_string(e->name ? e->name : "");
    put(",\"bytes\":");
    put_number(e->bytes);
    if (copy) {
        put(",\"reason\":\"");
        put(reasons[e->reason]);
        put(e->unpinned ? "\",\"unpinned\":true" : "\"");
    }
    put("}");
}

static void put_event(const struct ferry__trace_copy *e, bool copy, const ferry_device *dev,
                      unsigned queue, double start)
{
    uint64_t begin = (uint64_t)(start * 1e3 + 0.5);
    uint64_t end = (uint64_t)(ferry__trace_now() * 1e3 + 0.5);

    pthread_mutex_lock(&trace.lock);
    if (atomic_load_explicit(&in_file, memory_order_relaxed)) {
        introduce(dev, queue);
        put_separator();
        put("{\"name\":\"");
        put(e->what);
        put(copy ? "\",\"cat\":\"copy\",\"ph\":\"X\",\"ts\":"
                 : "\",\"cat\":\"memory\",\"ph\":\"X\",\"ts\":");
        put_time(begin);
        put(",\"dur\":");
        put_time(end - begin);
        put(",\"pid\":");
        put_number(dev->slot);
        put(",\"tid\":");
        put_number(queue);
        put_arguments(e, copy);
        put("}");
    }
    pthread_mutex_unlock(&trace.lock);
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
