/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <pthread.h>
#include <string.h>

/*
 * The program's own work on a device. A kernel that reads copies the values into a buffer of its
 * own, which is compared later, when all of it has run.
 */

#define ENTRIES 64
#define WIDEST  8 /* bytes of an element */

struct entry {
    unsigned place;
    int64_t n;
    ferry_dtype dtype;
    bool unsure; /* it may have read contents that were lost meanwhile */
    unsigned step;
    double value[ROOM];
    unsigned char doubt[ROOM];
};

static struct {
    pthread_mutex_t lock;
    ferry_memory *memory[PLACES];
    ferry_ref at[PLACES];
    struct entry entry[ENTRIES];
    unsigned used;
} notes = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool take(unsigned p)
{
    return !ferry_memory_access(notes.memory[p], run.place[p].dev, FERRY_WRITE, NULL, &notes.at[p]);
}

bool kernels_open(void)
{
    for (unsigned p = 1; p < run.places; p++)
        if (ferry_memory_create(run.place[p].dev, ENTRIES * ROOM * WIDEST, &notes.memory[p]) ||
            !take(p))
            return false;
    return true;
}

void kernels_close(void)
{
    for (unsigned p = 1; p < run.places; p++)
        ferry_memory_release(notes.memory[p]);
    memset(notes.memory, 0, sizeof(notes.memory));
    notes.used = 0;
}

void kernels_forget(unsigned place)
{
    for (unsigned i = 0; i < notes.used; i++)
        notes.entry[i].unsure |= notes.entry[i].place == place;
}

/* ---- reading -------------------------------------------------------------------------------- */

static struct entry *add(const struct obj *o, unsigned half, unsigned place)
{
    const struct store *s = o->half[half].store;
    struct entry *e = &notes.entry[notes.used++];

    e->place = place;
    e->n = o->count;
    e->dtype = o->dtype;
    e->unsure = s->state != SAFE;
    e->step = run.step;
    for (int64_t i = 0; i < o->count; i++) {
        e->value[i] = value_of(o, half, i);
        e->doubt[i] = (unsigned char)doubt_of(o, half, i);
    }
    return e;
}

void kernel_reads(unsigned place, ferry_queue *q, ferry_ref at, const struct obj *o, unsigned half)
{
    ferry_ref to = notes.at[place];

    if (notes.used == ENTRIES && !run.threaded)
        kernels_check();
    if (o->count == 0 || run.failed)
        return;
    pthread_mutex_lock(&notes.lock);
    if (notes.used < ENTRIES) {
        to.offset += notes.used * (uint64_t)ROOM * WIDEST;
        add(o, half, place);
        if (ferry_math_copy(q, o->dtype, o->count, ferry_ref_const(at), to))
            wrong("a kernel cannot read: %s", ferry_last_error());
    }
    pthread_mutex_unlock(&notes.lock);
}

static void check_entry(const struct entry *e, const void *seen, unsigned index)
{
    for (int64_t i = 0; i < e->n && !e->unsure; i++) {
        double got = element_get(e->dtype, (const char *)seen + index * ROOM * WIDEST, i);

        if (e->doubt[i] == ANY || got == e->value[i] || (e->doubt[i] == OR_ZERO && got == 0))
            continue;
        wrong("the kernel of step %u on place %u read %g instead of %g in element %d", e->step,
              e->place, got, e->value[i], (int)i);
        return;
    }
}

static void check_place(unsigned p)
{
    ferry_ref seen = { NULL, 0 };

    (void)ferry_device_synchronize(run.place[p].dev); /* it may report an injected failure */
    if (ferry_memory_access(notes.memory[p], NULL, FERRY_READ, NULL, &seen)) {
        wrong("values that kernels read on place %u: %s", p, ferry_last_error());
        return;
    }
    for (unsigned i = 0; i < notes.used; i++)
        if (notes.entry[i].place == p)
            check_entry(&notes.entry[i], (const char *)seen.handle + seen.offset, i);
    if (!take(p))
        wrong("a log for kernels on place %u: %s", p, ferry_last_error());
}

void kernels_check(void)
{
    for (unsigned p = 1; p < run.places && !run.failed; p++)
        if (!run.place[p].lost)
            check_place(p);
    notes.used = 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

static ferry_ref beyond(ferry_ref at, const struct obj *o, int64_t elements)
{
    at.offset += (uint64_t)(elements * element_size(o));
    return at;
}

static void fill(ferry_queue *q, ferry_ref at, const struct obj *o, int64_t from, int64_t n,
                 double value)
{
    if (n > 0 && ferry_math_fill(q, o->dtype, n, value, beyond(at, o, from)))
        wrong("a kernel cannot write: %s", ferry_last_error());
}

void kernel_changes(ferry_queue *q, ferry_ref at, struct obj *o, unsigned half, struct dice *d)
{
    int64_t from = o->count / 3, n = o->count / 2;
    double value = (double)roll(d, LARGEST);

    if (is_float(o->dtype) && one_in(d, 2)) {
        if (o->count > 0 && ferry_math_scal(q, o->dtype, o->count, -1, at))
            wrong("a kernel cannot scale: %s", ferry_last_error());
        for (int64_t i = 0; i < o->count; i++)
            o->half[half].store->value[o->half[half].offset + i] *= -1;
        return;
    }
    fill(q, at, o, from, n, value);
    for (int64_t i = from; i < from + n; i++)
        set_value(o, half, i, value);
}

/* Fills `n` elements from the half's offset on. */
void kernel_fills(ferry_queue *q, ferry_ref at, struct obj *o, unsigned half, int64_t n,
                  struct dice *d)
{
    double a = (double)roll(d, LARGEST), b = (double)roll(d, LARGEST);

    fill(q, at, o, 0, n / 2, a);
    fill(q, at, o, n / 2, n - n / 2, b);
    for (int64_t i = 0; i < n; i++)
        set_value(o, half, i, i < n / 2 ? a : b);
}
