/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "kit.h"

#include <ferry/profile_plugin.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * "ferry.profile/1": the clock, its relation to the host's, and the times of sections.
 */

#define NANOSECONDS UINT64_C(1000000000)
#define BYTES       (UINT64_C(1) << 20)
#define SECTIONS    64 /* of one queue, in order */
#define PATIENCE    (10 * NANOSECONDS)

static const ferry_profile_table *table;

static uint64_t host_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NANOSECONDS + (uint64_t)t.tv_nsec;
}

/* ---- the table ---- */

static void find_table(void)
{
    const void *found = NULL;
    int code;

    if (!kit.ops.extension)
        kit_not_offered("no extension entry");
    code = kit.ops.extension(kit.dev, FERRY_PROFILE_EXTENSION, &found);
    if (code == FERRY_EUNSUPPORTED)
        kit_not_offered("no extension \"" FERRY_PROFILE_EXTENSION "\"");
    kit_case("the table");
    kit_ok(code, "extension(\"" FERRY_PROFILE_EXTENSION "\")");
    table = found;
    if (!table || table->struct_size < offsetof(ferry_profile_table, destroy) + sizeof(void *))
        kit_fail("it is too short: %u bytes", table ? table->struct_size : 0);
    if (!table->clock || !table->start || !table->stop || !table->begin || !table->end ||
        !table->read || !table->destroy)
        kit_fail("an entry is absent");
}

/* ---- the clock ---- */

static ferry_profile_clock ask_clock(void)
{
    ferry_profile_clock c = { .struct_size = sizeof(c) };
    uint64_t before = host_now(), after;

    kit_ok(table->clock(kit.dev, &c), "clock");
    after = host_now();
    if (!c.frequency || !c.resolution)
        kit_fail("frequency %llu, resolution %llu", (unsigned long long)c.frequency,
                 (unsigned long long)c.resolution);
    if (c.host_ns + c.uncertainty < before || c.host_ns > after + c.uncertainty)
        kit_fail("host_ns is not a time within the call");
    return c;
}

static double seconds(const ferry_profile_clock *c, uint64_t ticks)
{
    return (double)ticks / (double)c->frequency;
}

/* Two moments 50 ms apart: the same time passes on both clocks, but for what may be wrong. */
static void check_clock(void)
{
    const struct timespec pause = { 0, 50000000 };
    ferry_profile_clock first, second;
    double host, device, wrong;

    kit_case("the clock");
    first = ask_clock();
    nanosleep(&pause, NULL);
    second = ask_clock();
    if (first.frequency != second.frequency || first.resolution != second.resolution)
        kit_fail("frequency or resolution changed");
    if (second.ticks < first.ticks)
        kit_fail("it went backward, from %llu to %llu", (unsigned long long)first.ticks,
                 (unsigned long long)second.ticks);
    host = (double)(second.host_ns - first.host_ns) * 1e-9;
    device = seconds(&first, second.ticks - first.ticks);
    wrong = (double)(first.uncertainty + second.uncertainty) * 1e-9 +
            2 * seconds(&first, first.resolution) + host * 1e-3;
    if (device < host - wrong || device > host + wrong)
        kit_fail("%.6f s on the host are %.6f s on the device, and only %.6f s may be wrong", host,
                 device, wrong);
}

/* ---- sections ---- */

static void *begin(void *queue)
{
    void *section = NULL;

    kit_ok(table->begin(kit.dev, queue, &section), "begin");
    if (!section)
        kit_fail("begin stored NULL");
    return section;
}

static void end(void *queue, void *section)
{
    kit_ok(table->end(kit.dev, queue, section), "end");
}

/* The times of a section whose work was waited for; some drivers notice its end later. */
static ferry_profile_times times_of(void *section)
{
    const struct timespec pause = { 0, 100000 };
    ferry_profile_times t = { .struct_size = sizeof(t) }, again = { .struct_size = sizeof(again) };
    uint64_t until = host_now() + PATIENCE;
    int answer = table->read(kit.dev, section, &t);

    while (answer == 0 && host_now() < until) {
        nanosleep(&pause, NULL);
        answer = table->read(kit.dev, section, &t);
    }
    if (answer == 0)
        kit_fail("read returns 0 ten seconds after the work was waited for");
    kit_ok(answer < 0 ? answer : 0, "read");
    if (answer != 1 || table->read(kit.dev, section, &again) != 1 || memcmp(&t, &again, sizeof(t)))
        kit_fail("read returned %d, and another result when it was repeated", answer);
    if (t.flags & ~FERRY_PROFILE_EMPTY)
        kit_fail("unknown flags %#x", t.flags);
    if ((t.flags & FERRY_PROFILE_EMPTY) && (t.begin || t.end))
        kit_fail("an empty section with times");
    if (t.begin > t.end)
        kit_fail("begin %llu is after end %llu", (unsigned long long)t.begin,
                 (unsigned long long)t.end);
    return t;
}

/* Work that takes some time: copies within a block, in order. */
static void work(void *queue, void *block, int copies)
{
    ferry_ref dst = { block, 0 };
    ferry_cref src = { block, BYTES };

    for (int i = 0; i < copies; i++)
        kit_ok(kit.ops.memcpy(kit.dev, queue, FERRY_MEMCPY_D2D, dst, src, BYTES), "memcpy");
}

/* A section is within the host's time around it, as far as the clocks are comparable. */
static void check_span(void *queue, void *block)
{
    ferry_profile_clock c = ask_clock();
    uint64_t before = host_now(), after;
    void *section = begin(queue);
    ferry_profile_times t;
    double begin_at, end_at, wrong;

    work(queue, block, 16);
    end(queue, section);
    kit_wait(queue);
    after = host_now();
    t = times_of(section);
    table->destroy(kit.dev, section);
    if (t.flags & FERRY_PROFILE_EMPTY)
        kit_fail("16 copies of 1 MiB, and the section is empty");
    begin_at = (double)((int64_t)(t.begin - c.ticks)) / (double)c.frequency;
    end_at = (double)((int64_t)(t.end - c.ticks)) / (double)c.frequency;
    wrong = (double)c.uncertainty * 1e-9 + 2 * seconds(&c, c.resolution) + 1e-3;
    if (begin_at < (double)((int64_t)(before - c.host_ns)) * 1e-9 - wrong ||
        end_at > (double)((int64_t)(after - c.host_ns)) * 1e-9 + wrong)
        kit_fail("the section is from %.6f to %.6f s, the host's time around it from %.6f to "
                 "%.6f s, and only %.6f s may be wrong",
                 begin_at, end_at, (double)((int64_t)(before - c.host_ns)) * 1e-9,
                 (double)((int64_t)(after - c.host_ns)) * 1e-9, wrong);
}

/* Sections in a row are in order, one around them is around them, an empty one is allowed. */
static void check_order(void *queue, void *block)
{
    ferry_profile_times outer_times, t[SECTIONS];
    void *outer = begin(queue), *inner[SECTIONS], *empty;

    for (int i = 0; i < SECTIONS; i++) {
        inner[i] = begin(queue);
        work(queue, block, 1);
        end(queue, inner[i]);
    }
    end(queue, outer);
    empty = begin(queue);
    end(queue, empty);
    kit_wait(queue);
    outer_times = times_of(outer);
    (void)times_of(empty);
    for (int i = 0; i < SECTIONS; i++) {
        t[i] = times_of(inner[i]);
        if (t[i].begin < outer_times.begin || t[i].end > outer_times.end)
            kit_fail("section %d is not within the one around it", i);
        if (i && t[i].begin < t[i - 1].end)
            kit_fail("section %d begins before section %d ends", i, i - 1);
        table->destroy(kit.dev, inner[i]);
    }
    table->destroy(kit.dev, outer);
    table->destroy(kit.dev, empty);
}

/* A section that is destroyed before its work is done, and one that is read after the stop. */
static void check_ends(void *queue, void *block)
{
    void *early = begin(queue), *late;
    ferry_profile_times t;

    work(queue, block, 8);
    end(queue, early);
    table->destroy(kit.dev, early);
    late = begin(queue);
    work(queue, block, 1);
    end(queue, late);
    kit_ok(table->stop(kit.dev, queue), "stop");
    kit_wait(queue);
    t = times_of(late);
    if (t.flags & FERRY_PROFILE_EMPTY)
        kit_fail("a section is empty once its queue is stopped");
    table->destroy(kit.dev, late);
}

/*
 * Checks that bytes are the same as without profiling, while the queue is profiled and afterwards.
 */
static void check_bytes(const char *when)
{
    struct mirror m;

    kit_case("a copy to the device and back, %s", when);
    mirror_create(&m, BYTES, 7);
    mirror_upload(&m);
    mirror_download(&m);
    mirror_check(&m);
    mirror_destroy(&m);
}

static void check_queue(void *queue, void *block, const char *name)
{
    int code;

    kit_case("start of %s", name);
    code = table->start(kit.dev, queue);
    if (code == FERRY_EUNSUPPORTED) {
        kit_skipped("%s", kit_told());
        return;
    }
    kit_ok(code, "start");
    check_bytes("while the queue is profiled");
    kit_case("a section of %s", name);
    check_span(queue, block);
    kit_case("sections in order, on %s", name);
    check_order(queue, block);
    kit_case("destroy before the work is done, and read after stop, on %s", name);
    check_ends(queue, block);
    check_bytes("after stop");
}

/* A round must not leak. */
static void *leak_block;

static void one_round(void)
{
    void *section;

    if (table->start(kit.dev, NULL))
        return;
    section = begin(NULL);
    work(NULL, leak_block, 1);
    end(NULL, section);
    kit_wait(NULL);
    (void)times_of(section);
    table->destroy(kit.dev, section);
    kit_ok(table->stop(kit.dev, NULL), "stop");
}

void group_profile(void)
{
    void *queue = NULL, *block;

    kit_open();
    find_table();
    check_clock();
    block = kit_alloc(2 * BYTES);
    check_queue(NULL, block, "the default queue");
    check_queue(NULL, block, "the default queue, once more");
    if (kit.ops.queue_create) {
        kit_ok(kit.ops.queue_create(kit.dev, 0, &queue), "queue_create");
        check_queue(queue, block, "another queue");
        kit_ok(kit.ops.queue_destroy(kit.dev, queue), "queue_destroy");
    }
    kit_case("start, a section and stop, again and again");
    leak_block = block;
    kit_does_not_grow("profiling", one_round, 50);
    kit_free(block);
}
