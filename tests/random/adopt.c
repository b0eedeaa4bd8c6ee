/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <stdlib.h>
#include <string.h>

/* Adoption of the program's own memory by a blob, borrowed or owned. */

#define ADOPTIONS 256
#define NUMBER(o) ((int)((o)-run.obj))

struct adoption {
    const struct store *store;
    unsigned place;
    bool readonly, owned;
    atomic_int deleted;
    unsigned char *block; /* on the host; the adopted range starts `offset` bytes later */
    unsigned char *copy;  /* the contents that it must keep */
    ferry_memory *lent;   /* on a device: the memory that it is a part of */
    double value;         /* of all of its elements there */
    ferry_dtype dtype;
    size_t offset, bytes;
};

static struct adoption adoptions[ADOPTIONS];
static unsigned used;
static _Atomic uint64_t waited;

void adoptions_init(void)
{
    memset(adoptions, 0, sizeof(adoptions));
    used = 0;
    waited = 0;
}

uint64_t adoptions_waited(void)
{
    return waited;
}

bool adoption_readonly(const struct store *s, unsigned place, bool *certain)
{
    bool any = false;

    *certain = false;
    for (unsigned i = 0; s && i < used; i++) {
        const struct adoption *a = &adoptions[i];

        if (a->store != s || !a->readonly || a->deleted || (place != NOWHERE && a->place != place))
            continue;
        any = true;
        *certain |= a->owned;
    }
    return any;
}

/* ---- release -------------------------------------------------------------------------------- */

static void check_untouched(struct adoption *a)
{
    if (a->block && memcmp(a->block, a->copy, a->offset) != 0)
        wrong("memory before the adopted range was written");
    if (a->block && a->readonly && memcmp(a->block, a->copy, a->offset + a->bytes) != 0)
        wrong("memory that was adopted read-only was written");
}

static void let_go(void *arg)
{
    struct adoption *a = arg;
    uint64_t before, after;

    if (atomic_fetch_add(&a->deleted, 1) != 0) {
        wrong("a deleter ran twice");
        return;
    }
    check_untouched(a);
    free(a->block);
    a->block = NULL;
    before = world_pending();
    ferry_memory_release(a->lent);
    after = world_pending();
    waited += before > after ? before - after : 0;
    a->lent = NULL;
}

static void check_lent(struct adoption *a)
{
    const unsigned char *p;

    if (!a->readonly || run.place[a->place].lost)
        return;
    p = ferry_memory_host_data(a->lent);
    for (int64_t i = 0; p && i < (int64_t)(a->bytes / ferry_dtype_size(a->dtype)); i++)
        if (element_get(a->dtype, p + a->offset, i) != a->value) {
            wrong("device memory that was adopted read-only was written");
            return;
        }
}

void adoptions_check(void)
{
    for (unsigned i = 0; i < used; i++) {
        struct adoption *a = &adoptions[i];

        if (a->owned && a->deleted != 1)
            wrong("a deleter did not run");
        if (!a->owned && a->block)
            check_untouched(a);
        if (!a->owned && a->lent)
            check_lent(a);
        if (!a->deleted)
            free(a->block);
        if (!a->deleted)
            ferry_memory_release(a->lent);
        free(a->copy);
    }
    used = 0;
}

/* ---- adoption ------------------------------------------------------------------------------- */

/* Creates host memory with a different value in each element. */
static bool make_block(struct adoption *a, const struct obj *o, int64_t n, struct dice *d,
                       double *value)
{
    a->bytes = (size_t)(n * element_size(o));
    a->block = aligned_alloc(64, (a->offset + a->bytes + 63) / 64 * 64 + 64);
    a->copy = malloc(a->offset + a->bytes + 1);
    if (!a->block || !a->copy)
        return false;
    memset(a->block, 42, a->offset);
    for (int64_t i = 0; i < n; i++) {
        value[i] = (double)roll(d, LARGEST);
        element_set(o->dtype, a->block + a->offset, i, value[i]);
    }
    memcpy(a->copy, a->block, a->offset + a->bytes);
    return true;
}

/* Creates device memory, which a kernel on the default queue fills. */
static bool make_lent(struct adoption *a, const struct obj *o, int64_t n, struct dice *d,
                      double *value, ferry_ref *at)
{
    const struct place *p = &run.place[a->place];

    a->bytes = (size_t)(n * element_size(o));
    a->value = (double)roll(d, LARGEST);
    a->dtype = o->dtype;
    for (int64_t i = 0; i < n; i++)
        value[i] = a->value;
    if (ferry_memory_create(p->dev, a->offset + a->bytes, &a->lent) ||
        ferry_memory_access(a->lent, p->dev, FERRY_WRITE, NULL, at))
        return false;
    at->offset += a->offset;
    return n == 0 || !ferry_math_fill(p->queue[0], o->dtype, n, a->value, *at);
}

static void discard(struct adoption *a)
{
    free(a->block);
    free(a->copy);
    ferry_memory_release(a->lent);
    memset(a, 0, sizeof(*a));
}

/* Checks the previous adoption at that place. */
static void check_succession(const struct adoption *now)
{
    for (struct adoption *a = adoptions; a < now; a++)
        if (a->store == now->store && a->place == now->place && a->owned && !a->deleted)
            wrong("other memory was adopted, but the deleter of the previous one did not run");
        else if (a->store == now->store && a->place == now->place)
            a->store = NULL; /* released */
}

/* The expected refusal: the memory is too short, or belongs to a slice. */
static void expect(struct act *a, const struct store *s, int64_t n)
{
    if (n >= store_reach(s, run.obj))
        return;
    a->expected = FERRY_ESHAPE;
    a->allowed = FERRY_EPERM;
}

void step_adopt(struct dice *d)
{
    struct obj *o = some_obj(d);
    unsigned half = roll(d, 3) / 2, place = world_place(d);
    struct adoption *mine = &adoptions[used];
    struct store *s;
    double value[ROOM];
    ferry_ref at = { NULL, 0 };
    struct act a;
    int64_t n;

    if (!o || used == ADOPTIONS || !touch(o, half))
        return;
    s = o->half[half].store;
    n = one_in(d, 12) ? store_reach(s, run.obj) - 1 : one_in(d, 3) ? ROOM : s->room;
    if (n <= 0)
        return;
    *mine = (struct adoption){ .store = s, .place = place };
    mine->readonly = one_in(d, 3);
    mine->owned = one_in(d, 2);
    mine->offset = one_in(d, 2) ? 64 * roll(d, 4) : 0;
    tell("adopt %d elements at place %u for %s of blob %d%s%s, %zu bytes into a block", (int)n,
         place, half ? "diff" : "data", NUMBER(o), mine->readonly ? ", read-only" : "",
         mine->owned ? ", with a deleter" : "", mine->offset);
    if (!(place == HOST ? make_block(mine, o, n, d, value)
                        : make_lent(mine, o, n, d, value, &at))) {
        discard(mine);
        return;
    }
    if (place == HOST)
        at = (ferry_ref){ mine->block, mine->offset };
    a = act_on(o, half, FERRY_WRITE, place);
    expect(&a, s, n);
    act_begin(&a, d);
    /* the adopted memory replaces the read-only one */
    if (!act_end(&a, ferry_memory_adopt(memory_of(o, half), run.place[place].dev, at, mine->bytes,
                                        mine->readonly ? FERRY_ADOPT_READONLY : 0,
                                        mine->owned ? let_go : NULL, mine))) {
        if (mine->deleted)
            wrong("refused, but the deleter ran");
        else
            discard(mine);
        return;
    }
    used++;
    check_succession(mine);
    s->room = n;
    store_forget(s);
    memcpy(s->value, value, (size_t)n * sizeof(value[0]));
    if (valid_at(o, half) != 1u << place)
        wrong("adopted at place %u, but the valid copies are %#x", place, valid_at(o, half));
    if (ferry_memory_size(memory_of(o, half)) != mine->bytes)
        wrong("adopted, but the capacity has changed");
    /* the kernel that filled it ran on the default queue */
    if (place != HOST &&
        ferry_memory_record(memory_of(o, half), run.place[place].queue[0], FERRY_WRITE))
        wrong("record: %s", ferry_last_error());
}
