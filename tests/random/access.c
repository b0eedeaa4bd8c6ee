/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <string.h>

/* Steps that access a blob's bytes. */

#define MUTABLE (FERRY_READ | FERRY_WRITE)

ferry_memory *memory_of(const struct obj *o, unsigned half)
{
    if (!o->half[half].store)
        return NULL; /* the query would create it */
    return half == DATA ? ferry_blob_data_memory(o->blob) : ferry_blob_diff_memory(o->blob);
}

unsigned valid_at(const struct obj *o, unsigned half)
{
    const ferry_memory *m = memory_of(o, half);
    unsigned v = 0;

    for (unsigned p = 0; p < run.places; p++)
        v |= ferry_memory_is_valid_at(m, run.place[p].dev) ? 1u << p : 0;
    return v;
}

bool touch(struct obj *o, unsigned half)
{
    ferry_memory *m;

    if (o->half[half].store)
        return true;
    m = ferry_blob_diff_memory(o->blob);
    if (!m) {
        wrong("diff cannot be accessed: %s", ferry_last_error());
        return false;
    }
    half_set(&o->half[half], store_create((int64_t)ferry_memory_size(m) / element_size(o)), 0, -1);
    return o->half[half].store != NULL;
}

/* Checks that V is as an access to that place leaves it. */
static void check_valid(const struct obj *o, unsigned half, unsigned access, unsigned place)
{
    unsigned v = valid_at(o, half);
    ferry_memory_head_state head = ferry_memory_head(memory_of(o, half));
    ferry_memory_head_state should = v == 1  ? FERRY_HEAD_AT_HOST
                                     : v & 1 ? FERRY_HEAD_SYNCED
                                     : v     ? FERRY_HEAD_AT_DEVICE
                                             : FERRY_HEAD_UNINITIALIZED;

    if (!(v & (1u << place)) || (access & FERRY_WRITE && v != 1u << place))
        wrong("after access %u at place %u the valid copies are %#x", access, place, v);
    if (head != should && !run.threaded) /* other threads read and evict it meanwhile */
        wrong("the head is %d, the valid copies %#x", (int)head, v);
}

/* ---- host accesses through a pointer -------------------------------------------------------- */

/* `p` is the half's first element. An element that was in doubt has the value read from now on. */
static void look(struct obj *o, unsigned half, const void *p)
{
    for (int64_t i = 0; i < o->count; i++) {
        double seen = element_get(o->dtype, p, i);

        if (!is_right(o, half, i, seen)) {
            wrong("blob %d, %s, element %d of %d: the host reads %g instead of %g",
                  (int)(o - run.obj), half ? "diff" : "data", (int)i, (int)o->count, seen,
                  value_of(o, half, i));
            return;
        }
        if (doubt_of(o, half, i) == OR_ZERO && !run.threaded)
            set_value(o, half, i, seen);
    }
}

static void scribble(struct obj *o, unsigned half, void *p, unsigned access, int64_t n,
                     struct dice *d)
{
    int64_t stride = access == FERRY_WRITE ? 1 : 3, i = access == FERRY_WRITE ? 0 : roll(d, 3);

    for (; i < n; i += stride) {
        double value = (double)roll(d, LARGEST);

        element_set(o->dtype, p, i, value);
        set_value(o, half, i, value);
    }
}

static void use_host(struct obj *o, unsigned half, void *p, unsigned access, struct dice *d)
{
    if (access & FERRY_READ)
        look(o, half, p);
    if (access & FERRY_WRITE)
        scribble(o, half, p, access, o->count, d);
}

static void use_device(struct obj *o, unsigned half, unsigned place, ferry_queue *q, ferry_ref at,
                       unsigned access, struct dice *d)
{
    if (access == FERRY_WRITE)
        kernel_fills(q, at, o, half, o->count, d);
    else if (access == MUTABLE)
        kernel_changes(q, at, o, half, d);
    else
        kernel_reads(place, q, at, o, half);
}

/* ---- a blob's own accessors ------------------------------------------------------------------ */

static const unsigned accesses[] = { FERRY_READ, MUTABLE, FERRY_WRITE };
static const char *const access_names[] = { "none", "read", "overwrite", "mutable" };

static void *host_pointer(struct obj *o, unsigned half, unsigned access)
{
    ferry_blob *b = o->blob;

    if (access == FERRY_READ)
        return (void *)(half ? ferry_blob_host_diff(b) : ferry_blob_host_data(b));
    if (access == FERRY_WRITE)
        return half ? ferry_blob_overwrite_host_diff(b) : ferry_blob_overwrite_host_data(b);
    return half ? ferry_blob_mutable_host_diff(b) : ferry_blob_mutable_host_data(b);
}

static ferry_ref device_place(struct obj *o, unsigned half, unsigned access)
{
    ferry_blob *b = o->blob;
    ferry_cref read;
    ferry_ref ref;

    if (access == FERRY_WRITE)
        return half ? ferry_blob_overwrite_device_diff(b) : ferry_blob_overwrite_device_data(b);
    if (access == MUTABLE)
        return half ? ferry_blob_mutable_device_diff(b) : ferry_blob_mutable_device_data(b);
    read = half ? ferry_blob_device_diff(b) : ferry_blob_device_data(b);
    memcpy(&ref, &read, sizeof(ref));
    return ref;
}

/*
 * The access that the library makes: if the write is partial, the rest of the contents must be
 * kept.
 */
static unsigned real_access(const struct obj *o, unsigned half, unsigned access)
{
    return access == FERRY_WRITE && !half_covers(o, half, run.obj) ? MUTABLE : access;
}

static void on_host(struct obj *o, unsigned half, unsigned access, struct dice *d)
{
    struct act a = act_on(o, half, real_access(o, half, access), HOST);
    void *p;

    tell("%s host %s of blob %d", access_names[access], half ? "diff" : "data", (int)(o - run.obj));
    act_begin(&a, d);
    p = host_pointer(o, half, access);
    if (!act_end(&a, p ? 0 : ferry_last_error_code()))
        return;
    check_valid(o, half, access, HOST);
    use_host(o, half, p, access, d);
}

void step_host(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 3) / 2;

    if (o && touch(o, half))
        on_host(o, half, accesses[roll(d, 3)], d);
}

bool read_host(struct obj *o, unsigned half, struct dice *d)
{
    if (touch(o, half))
        on_host(o, half, FERRY_READ, d);
    return !run.failed;
}

void step_device(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 3) / 2, access = accesses[roll(d, 3)], home;
    struct act a;
    ferry_ref at;

    if (!o || !touch(o, half))
        return;
    home = world_place_of(ferry_blob_home(o->blob));
    tell("%s device %s of blob %d, at place %u", access_names[access], half ? "diff" : "data",
         (int)(o - run.obj), home);
    a = act_on(o, half, real_access(o, half, access), home);
    act_begin(&a, d);
    at = device_place(o, half, access);
    if (!act_end(&a, at.handle ? 0 : ferry_last_error_code()))
        return;
    check_valid(o, half, access, home);
    use_device(o, half, home, run.place[home].queue[0], at, access, d);
}

/* ---- a memory's ------------------------------------------------------------------------------ */

/* The reference of the half's first element within the memory's. */
static ferry_ref shifted(const struct obj *o, unsigned half, ferry_ref at)
{
    at.offset += (uint64_t)(o->half[half].offset * element_size(o));
    return at;
}

static void use(struct obj *o, unsigned half, unsigned place, ferry_queue *q, ferry_ref at,
                unsigned access, struct dice *d)
{
    struct obj whole = *o; /* a write of the whole memory also overwrites elements of other blobs */

    if (access == FERRY_WRITE) {
        whole.half[half].offset = 0;
        whole.count = store_reach(o->half[half].store, run.obj);
    } else {
        at = shifted(o, half, at);
    }
    if (place == HOST)
        use_host(access == FERRY_WRITE ? &whole : o, half, (char *)at.handle + at.offset, access,
                 d);
    else
        use_device(access == FERRY_WRITE ? &whole : o, half, place, q, at, access, d);
}

void step_access(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 3) / 2, access = accesses[roll(d, 3)], place = world_place(d);
    bool nowait = one_in(d, 4), named = one_in(d, 2);
    ferry_queue *q = run.place[place].queue[one_in(d, 3)];
    ferry_ref at = { run.obj, 77 };
    struct act a;
    int err;

    if (!o || !touch(o, half))
        return;
    if (!q || place == HOST || (q == run.place[place].queue[0] && !named))
        q = NULL;
    tell("%s access to %s of blob %d at place %u, queue %s%s", access_names[access],
         half ? "diff" : "data", (int)(o - run.obj), place,
         !q                               ? "none"
         : q == run.place[place].queue[0] ? "default"
                                          : "own",
         nowait ? ", NOWAIT" : "");
    a = act_on(o, half, access, place);
    a.nowait = nowait;
    act_begin(&a, d);
    err = ferry_memory_access(memory_of(o, half), run.place[place].dev,
                              access | (nowait ? FERRY_NOWAIT : 0), q, &at);
    if (!act_end(&a, err)) {
        if (err && (at.handle != run.obj || at.offset != 77))
            wrong("refused, but *out has changed");
        return;
    }
    check_valid(o, half, access, place);
    use(o, half, place, q ? q : run.place[place].queue[0], at, access, d);
}

void step_prefetch(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 3) / 2, place = world_place(d);
    ferry_queue *q = run.place[place].queue[one_in(d, 3)];
    struct act a;
    bool idle;

    if (!o || !touch(o, half))
        return;
    tell("prefetch %s of blob %d to place %u", half ? "diff" : "data", (int)(o - run.obj), place);
    a = act_on(o, half, FERRY_READ, place);
    if (o->half[half].store->state == LOST)
        a.touched[0].access = 0, a.allowed = FERRY_ELOST; /* there may be nothing to copy */
    act_begin(&a, d);
    idle = o->half[half].store->idle;
    (void)act_end(&a, ferry_memory_prefetch(memory_of(o, half), run.place[place].dev,
                                            place == HOST ? NULL : q));
    o->half[half].store->idle = idle; /* there may have been nothing to copy */
}

/* Submits work to a queue other than that of the access, and reports it to ferry afterwards. */
void step_record(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 3) / 2, place = world_device(d);
    bool write = one_in(d, 2);
    ferry_queue *own = run.place[place].queue[1];
    ferry_event *e = NULL;
    ferry_ref at;
    struct act a;

    if (!o || !own || !touch(o, half))
        return;
    tell("%s of blob %d at place %u, the work on a queue that is reported to ferry",
         write ? "mutable" : "read", (int)(o - run.obj), place);
    a = act_on(o, half, write ? MUTABLE : FERRY_READ, place);
    act_begin(&a, d);
    if (!act_end(&a, ferry_memory_access(memory_of(o, half), run.place[place].dev,
                                         a.touched[0].access, NULL, &at)))
        return;
    if (ferry_event_record(run.place[place].queue[0], &e) || ferry_queue_wait_event(own, e)) {
        ferry_event_destroy(e);
        if (!world_has(WORLD_LATE))
            wrong("queues cannot be ordered: %s", ferry_last_error());
        return; /* an earlier failure is reported here; nothing was done */
    }
    ferry_event_destroy(e);
    use_device(o, half, place, own, shifted(o, half, at), a.touched[0].access, d);
    a = act_on(o, half, 0, place);
    if (o->half[half].store->state == SHAKY)
        a.touched[0].access = FERRY_READ, a.allowed = FERRY_EUNINIT;
    a.expected = 0;
    act_begin(&a, &(struct dice){ 0 });
    (void)act_end(&a,
                  ferry_memory_record(memory_of(o, half), own, write ? FERRY_WRITE : FERRY_READ));
}

void step_allow_eviction(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 2);
    uint64_t before = world_pending();

    if (!o || !o->half[half].store)
        return;
    tell("no more use of %s of blob %d", half ? "diff" : "data", (int)(o - run.obj));
    if (ferry_memory_allow_eviction(memory_of(o, half)))
        wrong("allow_eviction: %s", ferry_last_error());
    if (!run.threaded && world_pending() < before)
        wrong("allow_eviction waited");
    o->half[half].store->idle = true;
}

void step_invalidate(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 2);
    struct act a;

    if (!o || !touch(o, half))
        return;
    tell("forget %s of blob %d", half ? "diff" : "data", (int)(o - run.obj));
    a = act_on(o, half, FERRY_WRITE, NOWHERE);
    act_begin(&a, d);
    if (!act_end(&a, ferry_memory_discard(memory_of(o, half))))
        return;
    store_forget(o->half[half].store);
    if (valid_at(o, half))
        wrong("invalidated, but copies are valid: %#x", valid_at(o, half));
}
