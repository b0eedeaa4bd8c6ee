/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/memory.h"

#include "core/coherence/coherence.h"
#include "core/coherence/enter.h"
#include "core/coherence/idle.h"
#include "core/coherence/lost.h"
#include "core/base/status.h"

#include <stdlib.h>
#include <string.h>

/* Operations on a memory that only blobs use, beyond the public functions. */

/* ---- how far each of the blobs that share a memory uses it ---- */

/*
 * The bytes in use are the largest range that any blob needs. The first share creates the table; a
 * memory of one blob has no table. Under the memory's lock.
 */
struct ferry__sharer {
    const void *who; /* a half of a blob, by its address; NULL: an empty slot */
    size_t end;      /* bytes from the memory's start */
};

/*
 * A hash table by address with linear probing, at most half full. A net may share one memory among
 * 100,000 blobs, so that a search from the beginning would take quadratic time.
 */
struct ferry__sharers {
    unsigned count, room;    /* room: slots, a power of two */
    size_t furthest;         /* an upper bound of the ends */
    unsigned at_furthest;    /* sharers with that end; 0: all may end earlier */
    struct ferry__sharer at[];
};

/* The number of sharers; the table may be NULL. */
static unsigned sharers_count(const struct ferry__sharers *table)
{
    return table ? table->count : 0;
}

/* The slot at which the search for `who` begins. */
static unsigned first_slot(const struct ferry__sharers *table, const void *who)
{
    uint64_t mixed = (uint64_t)(uintptr_t)who * UINT64_C(0x9E3779B97F4A7C15);

    return (unsigned)(mixed >> 32) & (table->room - 1);
}

/* The slot of `who`, or the empty slot in which to insert it. */
static struct ferry__sharer *slot_for(struct ferry__sharers *table, const void *who)
{
    unsigned i = first_slot(table, who);

    while (table->at[i].who && table->at[i].who != who)
        i = (i + 1) & (table->room - 1);
    return &table->at[i];
}

/* NULL if `who` is not listed, or the table is NULL. */
static struct ferry__sharer *find_sharer(struct ferry__sharers *table, const void *who)
{
    struct ferry__sharer *slot = table ? slot_for(table, who) : NULL;

    return slot && slot->who ? slot : NULL;
}

/* Doubles a table that is half full. False, and no change, if memory is short. */
static bool make_room(struct ferry__sharers **table)
{
    struct ferry__sharers *before = *table, *made;
    unsigned i, room = before ? 2 * before->room : 4;

    if (before && before->count < before->room / 2)
        return true;
    made = calloc(1, sizeof *made + room * sizeof made->at[0]);
    if (!made)
        return false;
    made->room = room;
    if (before) {
        made->count = before->count;
        made->furthest = before->furthest;
        made->at_furthest = before->at_furthest;
        for (i = 0; i < before->room; i++)
            if (before->at[i].who)
                *slot_for(made, before->at[i].who) = before->at[i];
        free(before);
    }
    *table = made;
    return true;
}

/* Counts `added` (1 or -1) sharers that end at `end`. */
static void count_end(struct ferry__sharers *table, size_t end, int added)
{
    if (end > table->furthest) {
        table->furthest = end;
        table->at_furthest = 0;
    }
    if (end == table->furthest)
        table->at_furthest += (unsigned)added;
}

static void set_end(struct ferry__sharers *table, struct ferry__sharer *known, size_t end)
{
    count_end(table, known->end, -1);
    known->end = end;
    count_end(table, end, 1);
}

/* Records the end of `who`. False, and no change, if memory is short. */
static bool sharers_put(struct ferry__sharers **table, const void *who, size_t end)
{
    struct ferry__sharer *known = find_sharer(*table, who);

    if (known) {
        set_end(*table, known, end);
        return true;
    }
    if (!make_room(table))
        return false;
    *slot_for(*table, who) = (struct ferry__sharer){ who, end };
    (*table)->count++;
    count_end(*table, end, 1);
    return true;
}

/* As sharers_put, but ignores a sharer that is not listed. Cannot fail. */
static void sharers_move(struct ferry__sharers *table, const void *who, size_t end)
{
    struct ferry__sharer *known = find_sharer(table, who);

    if (known)
        set_end(table, known, end);
}

/* Empties a slot, and moves back the sharers whose search passes it. */
static void empty_slot(struct ferry__sharers *table, unsigned hole)
{
    unsigned mask = table->room - 1, i = hole;

    for (i = (i + 1) & mask; table->at[i].who; i = (i + 1) & mask) {
        unsigned first = first_slot(table, table->at[i].who);

        if (((i - first) & mask) >= ((i - hole) & mask)) {
            table->at[hole] = table->at[i];
            hole = i;
        }
    }
    table->at[hole].who = NULL;
}

static void sharers_drop(struct ferry__sharers *table, const void *who)
{
    struct ferry__sharer *known = find_sharer(table, who);

    if (!known)
        return;
    count_end(table, known->end, -1);
    table->count--;
    empty_slot(table, (unsigned)(known - table->at));
}

/* The largest end of the sharers. */
static size_t sharers_end(struct ferry__sharers *table)
{
    unsigned i;

    if (table->at_furthest)
        return table->furthest;
    table->furthest = 0;
    for (i = 0; i < table->room; i++)
        if (table->at[i].who)
            count_end(table, table->at[i].end, 1);
    return table->furthest;
}

/* ---- the bytes in use ---- */

/*
 * Removes bits from V permanently. Where no event can be recorded, waits for pending work on the
 * removed copies.
 */
static void drop_bits(struct ferry__request *req, uint32_t kept)
{
    uint32_t losers = req->valid & ~kept & ~UINT32_C(1);

    if (!ferry__valid_claim(req, kept))
        return;
    for (; losers; losers &= losers - 1) {
        ferry_device *dev = ferry__replica_device(req->m, (unsigned)__builtin_ctz(losers));

        if (dev)
            ferry__queue_settle(dev, NULL);
    }
    req->valid = kept;
}

/*
 * Gives up copies whose storage is smaller than `bytes`. There are such copies only if each copy
 * with more storage, which the caller counted on (ferry__memory_room), has failed meanwhile.
 */
static void lose_small(struct ferry__request *req, size_t bytes)
{
    ferry_memory *m = req->m;
    uint32_t left, small = 0;

    for (left = req->valid; left && m->is_short; left &= left - 1)
        if (ferry__replica_find(m, (unsigned)__builtin_ctz(left))->capacity < bytes)
            small |= UINT32_C(1) << __builtin_ctz(left);
    if (!small)
        return;
    drop_bits(req, req->valid & ~small);
    if (!req->valid)
        m->lost = FERRY_ELOST;
}

/*
 * Sets the number of bytes in use. It does not shrink while any of the `holders` references belongs
 * to the program instead of a blob.
 */
static void use(struct ferry__request *req, int holders, size_t bytes)
{
    ferry_memory *m = req->m;
    unsigned blobs = sharers_count(m->sharers);

    if (bytes == m->used || (bytes < m->used && holders > (blobs ? (int)blobs : 1)))
        return;
    if (bytes > m->used) {
        uint32_t kept = ferry__enter_reach(req, bytes), all = req->valid;

        if (kept != req->valid) {
            ferry__lost_note(m, &all, all & ~kept); /* the copies that leave are longer, but on a
                                                     * lost device */
            drop_bits(req, kept);
            req->valid = ferry__valid_hand_back(req, req->valid);
        }
        lose_small(req, bytes);
    }
    m->used = bytes;
    ferry__valid_publish(m, req->valid);
}

size_t ferry__memory_reach(const ferry_memory *m, uint64_t state)
{
    uint64_t at_host = state & FERRY__VALID(FERRY__HOST), valid = state & FERRY__VALID_MASK;
    size_t reach = m->size;

    if (valid ? state & ~(FERRY__VALID_MASK | FERRY__TURNS) : state)
        return 0;
    if (at_host && m->on_host.filled < reach)
        reach = m->on_host.filled;
    if (valid != at_host && m->alias_filled < reach)
        reach = m->alias_filled;
    return reach;
}

/* The largest storage of a valid copy; SIZE_MAX: there is no valid copy. The lock is held. */
static size_t most_storage(ferry_memory *m)
{
    uint32_t valid = ferry__coherence_valid(m);
    size_t most = valid ? 0 : SIZE_MAX;

    for (; valid; valid &= valid - 1) {
        size_t capacity = ferry__replica_find(m, (unsigned)__builtin_ctz(valid))->capacity;

        most = capacity > most ? capacity : most;
    }
    return most;
}

size_t ferry__memory_room(ferry_memory *m)
{
    size_t most;

    if (!m->is_short || ferry__request_lock(m, false))
        return m->size;
    most = most_storage(m);
    pthread_mutex_unlock(&m->lock);
    return most < m->size ? most : m->size;
}

void ferry__memory_set_used(ferry_memory *m, const void *who, size_t end_of_use)
{
    struct ferry__request req;

    if ((end_of_use == m->used && !ferry__memory_shared(m)) ||
        ferry__request_begin(&req, m, NULL, false))
        return;
    sharers_move(m->sharers, who, end_of_use);
    use(&req, atomic_load(&m->refs),
        sharers_count(m->sharers) ? sharers_end(m->sharers) : end_of_use);
    ferry__request_end(&req);
}

int ferry__memory_share(ferry_memory *m, const void *owner, size_t owner_end, const void *who,
                        size_t end_of_use)
{
    struct ferry__request req;
    bool noted;
    int err = ferry__request_begin(&req, m, NULL, false);

    if (err)
        return err;
    noted = sharers_put(&m->sharers, owner, owner_end) && sharers_put(&m->sharers, who, end_of_use);
    ferry__request_end(&req);
    return noted
               ? 0
               : ferry__error(FERRY_ENOMEM, "no memory to record a sharer of %zu bytes", owner_end);
}

void ferry__memory_leave(ferry_memory *m, const void *who)
{
    struct ferry__request req;

    if (m && ferry__memory_shared(m) && !ferry__request_begin(&req, m, NULL, false)) {
        sharers_drop(m->sharers, who);
        if (sharers_count(m->sharers))
            use(&req, atomic_load(&m->refs) - 1, sharers_end(m->sharers));
        ferry__request_end(&req);
    }
    ferry_memory_release(m);
}

void ferry__memory_set_sliced(ferry_memory *m)
{
    struct ferry__request req;

    if (ferry__request_begin(&req, m, NULL, false))
        return;
    m->sliced = 1;
    ferry__request_end(&req);
}

/* A bit of the result of ferry__memory_mark: tail_lost. */
#define MARK_TAIL_LOST FERRY__READERS

uint64_t ferry__memory_mark(const ferry_memory *m)
{
    return (atomic_load_explicit(&m->state, memory_order_acquire) &
            (FERRY__VALID_MASK | FERRY__LOST)) |
           (m->tail_lost ? MARK_TAIL_LOST : 0);
}

bool ferry__memory_is_short(ferry_memory *m, const ferry_device *where)
{
    unsigned slot = where ? where->slot : FERRY__HOST;
    uint64_t both = FERRY__VALID(slot) | FERRY__SLOW(slot);
    struct ferry__request req;
    bool is_short;

    if ((atomic_load_explicit(&m->state, memory_order_acquire) & both) != both ||
        ferry__request_begin(&req, m, NULL, false))
        return false;
    is_short = *ferry__replica_filled(m, slot) < m->used;
    ferry__request_end(&req);
    return is_short;
}

/*
 * Whether a copy that was valid is unchanged, with storage for the bytes in use: it was not evicted
 * and has not failed.
 */
static bool holds(const ferry_memory *m, const struct ferry__replica *r)
{
    return r && r->ref.handle && !r->failed && r->capacity >= m->used;
}

void ferry__memory_regain(ferry_memory *m, uint64_t mark)
{
    uint32_t lost, left;
    struct ferry__request req;

    if (ferry__request_begin(&req, m, NULL, false))
        return;
    lost = (uint32_t)(mark & FERRY__VALID_MASK) & ~req.valid;
    for (left = req.valid ? lost : 0; left; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        struct ferry__replica *r = ferry__replica_find(m, slot);

        if (holds(m, r))
            req.valid |= UINT32_C(1) << slot;
    }
    m->tail_lost |= (mark & MARK_TAIL_LOST) != 0;
    ferry__valid_publish(m, ferry__valid_hand_back(&req, req.valid));
    ferry__request_end(&req);
}

/* The copies in `valid` that are unchanged, or all of `valid` if there are none. */
static uint32_t holding(ferry_memory *m, uint32_t valid)
{
    uint32_t left, found = 0;

    for (left = valid; left; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);

        if (holds(m, ferry__replica_find(m, slot)))
            found |= UINT32_C(1) << slot;
    }
    return found ? found : valid;
}

size_t ferry__memory_filled(ferry_memory *m, const ferry_device *where)
{
    unsigned slot = where ? where->slot : FERRY__HOST;
    struct ferry__request req;
    size_t filled = 0;

    if (ferry__request_begin(&req, m, NULL, false))
        return SIZE_MAX;
    if (ferry__replica_find(m, slot))
        filled = *ferry__replica_filled(m, slot);
    ferry__request_end(&req);
    return filled;
}

void ferry__memory_restore(ferry_memory *m, uint64_t mark, const ferry_device *where, bool intact,
                           size_t filled)
{
    uint32_t touched = UINT32_C(1) << (where ? where->slot : FERRY__HOST);
    struct ferry__request req;

    if (ferry__request_begin(&req, m, NULL, false))
        return;
    req.valid = holding(m, (uint32_t)(mark & FERRY__VALID_MASK));
    if (!intact && (req.valid & ~touched))
        ferry__lost_note(m, &req.valid, touched);
    else if (!intact)
        req.valid = touched;
    m->tail_lost |= (mark & MARK_TAIL_LOST) != 0;
    if (!req.valid && (mark & FERRY__LOST))
        m->lost = FERRY_ELOST;
    if (intact && filled != SIZE_MAX)
        *ferry__replica_filled(m, where ? where->slot : FERRY__HOST) = filled;
    ferry__valid_publish(m, ferry__valid_hand_back(&req, req.valid));
    ferry__request_end(&req);
}

void ferry__memory_fail(ferry_memory *m, const ferry_device *where, int code)
{
    struct ferry__request req;

    if (ferry__request_begin(&req, m, NULL, false))
        return;
    ferry__transfer_fail(&req, where ? where->slot : FERRY__HOST, code);
    ferry__valid_publish(m, req.valid);
    ferry__request_end(&req);
}

int ferry__memory_check(ferry_memory *m, ferry_device *where)
{
    unsigned slot = where ? where->slot : FERRY__HOST;
    struct ferry__request req;
    int err;

    if (!(atomic_load_explicit(&m->state, memory_order_acquire) & FERRY__SLOW(slot)))
        return 0;
    err = ferry__request_begin(&req, m, where, false);
    if (err)
        return err;
    err = ferry__coherence_settle(&req);
    ferry__request_end(&req);
    return err;
}

int ferry__memory_to(ferry_memory *m, ferry_device *home)
{
    struct ferry__request req;
    ferry_device *before;
    int err = ferry__device_usable(home);

    if (err)
        return err;
    if (m->home == home)
        return 0;
    err = ferry__request_begin(&req, m, NULL, false);
    if (err)
        return err;
    /* the memory was made idle by the parent, before fork */
    if (ferry__device_forked(m->home))
        ferry__idle_withdraw(m);
    before = ferry__replica_move_home(m, home);
    ferry__valid_publish(m, req.valid);
    ferry__request_end(&req);
    ferry__device_release(before);
    return 0;
}

int ferry__memory_set_name(ferry_memory *m, const char *name, const char *suffix)
{
    struct ferry__request req;
    char *made = NULL, *before;
    int err;

    if (name && name[0]) {
        size_t n = strlen(name), s = strlen(suffix);

        made = malloc(n + s + 1);
        if (!made)
            return ferry__error(FERRY_ENOMEM, "no memory for the name %s%s", name, suffix);
        memcpy(made, name, n);
        memcpy(made + n, suffix, s + 1);
    }
    err = ferry__request_begin(&req, m, NULL, false);
    if (err) {
        free(made);
        return err;
    }
    before = m->name;
    m->name = made;
    ferry__request_end(&req);
    free(before);
    return 0;
}

/*
 * A device with a valid copy that is not lost; NULL if there is no such device. The memory's lock
 * is held.
 */
static ferry_device *lowest_device(ferry_memory *m, uint32_t valid)
{
    for (valid &= ~1u; valid; valid &= valid - 1) {
        ferry_device *dev = ferry__replica_device(m, (unsigned)__builtin_ctz(valid));

        if (dev && !ferry__device_lost(dev))
            return dev;
    }
    return NULL;
}

int ferry__memory_whereabouts(const ferry_memory *m, ferry_device **out)
{
    uint64_t mark = ferry__memory_mark(m); /* read once: bit 63 depends on the other bits */
    uint32_t valid = (uint32_t)(mark & FERRY__VALID_MASK);
    struct ferry__request req;

    if (!valid)
        return mark & FERRY__LOST
                   ? ferry__error(FERRY_ELOST, "%s: the last valid copy of %zu bytes was lost",
                                  m->home->name, m->used)
                   : FERRY_EUNINIT;
    *out = NULL;
    if (valid == 1)
        return 0;
    *out = m->home;
    if ((valid >> m->home_slot & 1) && !ferry__device_lost(m->home))
        return 0;
    /*
     * another reader may be adding a replica; if the lock cannot be taken, the next access there
     * returns the error
     */
    if (ferry__request_begin(&req, (ferry_memory *)m, NULL, false))
        return 0;
    *out = lowest_device(req.m, req.valid);
    if (!*out && !(req.valid & 1))
        *out = m->home;
    ferry__request_end(&req);
    return 0;
}

bool ferry__memory_is_left(const ferry_memory *m)
{
    ferry_device *dev;

    return m && ferry__coherence_valid(m) && !ferry__memory_whereabouts(m, &dev) &&
           !(dev && ferry__device_lost(dev));
}
