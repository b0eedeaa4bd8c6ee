/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <stdio.h>
#include <string.h>

#define NO_SIM \
    {          \
        NULL   \
    }

const struct world worlds[] = {
    { "cpu", NO_SIM, 0, true, 0 },
    { "sim", { "clock", "manual" }, 1, false, WORLD_FAILS },
    { "sync", { "clock", "sync", "peer", "off" }, 2, false, WORLD_FAILS },
    { "three", { "clock", "manual" }, 3, false, WORLD_FAILS },
    { "staged", { "clock", "manual", "peer", "off" }, 2, true, WORLD_FAILS },
    { "unified", { "clock", "sync", "unified", "on" }, 2, true, WORLD_FAILS },
    { "unified-async", { "clock", "manual", "unified", "on" }, 2, true, WORLD_FAILS },
    { "mixed", { "clock", "manual", "unified", "odd" }, 2, true, WORLD_FAILS },
    { "nomap", { "clock", "manual", "unified", "on", "map", "off" }, 1, true, WORLD_FAILS },
    { "nomap-mixed", { "clock", "manual", "unified", "odd", "map", "off" }, 2, false, 0 },
    { "late", { "clock", "manual" }, 2, false, WORLD_LATE },
    { "late-cpu", { "clock", "manual" }, 1, true, WORLD_LATE },
    { "late-unified", { "clock", "manual", "unified", "odd" }, 2, false, WORLD_LATE },
    { "losses", { "clock", "manual" }, 3, true, WORLD_LOSES },
    { "losses-unified", { "clock", "manual", "unified", "odd" }, 2, true, WORLD_LOSES },
    { "budgets", { "clock", "manual" }, 2, false, WORLD_BUDGETS },
    { "budgets-late", { "clock", "sync" }, 2, true, WORLD_BUDGETS | WORLD_FAILS },
    { "threads", { "clock", "real", "latency", "5" }, 3, true, WORLD_THREADS },
    { "threads-unified", { "clock", "real", "unified", "on" }, 2, true, WORLD_THREADS },
    { "threads-budgets", { "clock", "real" }, 3, false, WORLD_THREADS | WORLD_BUDGETS },
};
const unsigned nworlds = sizeof(worlds) / sizeof(worlds[0]);

bool world_has(unsigned flag)
{
    return (run.world->flags & flag) != 0;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int leaks;

static void listen_for_leaks(void *arg, int level, const char *line)
{
    (void)arg;
    if (level > FERRY_LOG_WARN || !strstr(line, "closed with"))
        return;
    printf("%s\n", line);
    leaks++;
}

static bool open_place(const char *name)
{
    struct place *p = &run.place[run.places];

    memset(p, 0, sizeof(*p));
    if (ferry_runtime_get_device(run.rt, name, &p->dev))
        return false;
    p->queue[0] = ferry_device_queue(p->dev);
    if (!p->queue[0])
        return false;
    if (strncmp(name, "sim", 3) == 0 &&
        (ferry_device_native(p->dev, "sim_device", &p->sim, sizeof(p->sim)) ||
         ferry_device_native(p->dev, "sim_control", (void *)&run.control, sizeof(run.control))))
        return false;
    (void)ferry_queue_create(p->dev, &p->queue[1]); /* fails if the plugin has no queues */
    run.places++;
    return true;
}

static bool open_sims(const struct world *w)
{
    char text[16];

    if (w->sims == 0)
        return true;
    snprintf(text, sizeof(text), "%u", w->sims);
    if (ferry_runtime_set_option(run.rt, "sim", "devices", text))
        return false;
    for (const char *const *o = w->options; *o; o += 2)
        if (ferry_runtime_set_option(run.rt, "sim", o[0], o[1]))
            return false;
    for (unsigned i = 0; i < w->sims; i++) {
        snprintf(text, sizeof(text), "sim:%u", i);
        if (!open_place(text))
            return false;
    }
    return true;
}

bool world_open(const struct world *w)
{
    run.world = w;
    run.places = 1;
    leaks = 0;
    memset(&run.place[HOST], 0, sizeof(run.place[HOST]));
    ferry_log_set_handler(listen_for_leaks, NULL);
    if (!ferry_runtime_open(NULL, &run.rt) && open_sims(w) && (!w->cpu || open_place("cpu:0")) &&
        kernels_open())
        return true;
    printf("     %s: %s\n", w->name, ferry_last_error());
    return false;
}

static void check_given_back(unsigned p)
{
    ferry_device_stats s = { .struct_size = sizeof s };

    if (ferry_device_get_stats(run.place[p].dev, &s))
        wrong("stats: %s", ferry_last_error());
    if (s.live_bytes || s.allocs != s.frees)
        wrong("place %u: %llu bytes in %llu blocks were not given back", p,
              (unsigned long long)s.live_bytes, (unsigned long long)(s.allocs - s.frees));
}

void world_close(void)
{
    for (unsigned p = 1; p < run.places; p++)
        ferry_queue_destroy(run.place[p].queue[1]);
    kernels_close();
    world_run_all();
    for (unsigned p = 1; p < run.places; p++)
        if (!run.failed)
            check_given_back(p);
    ferry_runtime_close(run.rt);
    if (leaks && !run.failed)
        wrong("a device was closed with something left");
}

/* ---- devices -------------------------------------------------------------------------------- */

unsigned world_place(struct dice *d)
{
    unsigned first = roll(d, run.places);

    for (unsigned i = 0; i < run.places; i++)
        if (!run.place[(first + i) % run.places].lost || one_in(d, 8))
            return (first + i) % run.places;
    return HOST;
}

unsigned world_device(struct dice *d)
{
    unsigned n = run.places - 1, first = roll(d, n);

    for (unsigned i = 0; i < n; i++)
        if (!run.place[1 + (first + i) % n].lost)
            return 1 + (first + i) % n;
    return HOST;
}

unsigned world_place_of(const ferry_device *dev)
{
    unsigned p = 0;

    while (p < run.places && run.place[p].dev != dev)
        p++;
    return p;
}

static bool is_manual(void)
{
    return run.world->sims && strcmp(run.world->options[1], "manual") == 0;
}

/* The number of pending commands, only on a clock that the test controls. */
uint64_t world_pending(void)
{
    uint64_t pending = 0;

    for (unsigned p = 1; p < run.places && is_manual(); p++)
        if (run.place[p].sim)
            pending += run.control->pending(run.place[p].sim);
    return pending;
}

void world_run_all(void)
{
    uint64_t ran = is_manual();

    while (ran) {
        ran = 0;
        for (unsigned p = 1; p < run.places; p++)
            if (run.place[p].sim)
                ran += run.control->run_all(run.place[p].sim);
    }
    for (unsigned p = 1; p < run.places && !is_manual(); p++)
        (void)ferry_device_synchronize(run.place[p].dev); /* it may report an injected failure */
}
