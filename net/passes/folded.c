/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The copies of folds. They own what they are computed from: the weights' memory, and copies of the
 * small sources. Nets that share weights have their own values of BatchNorm's mean and deviation,
 * so that the small sources are compared by contents.
 */
#include "net/passes/fold.h"

#include "common/hash.h"
#include "op/origin.h"

#include <ferry/status.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct ferry__folded {
    struct ferry__folded *next;
    unsigned bucket, users;
    struct ferry__fold fold; /* its blobs are this structure's own */
    uint64_t weights;        /* the version of the weights' memory */
};

#define BUCKETS 4096

/* Held while copies are looked for or made; guards the lists and `users`. */
static struct {
    pthread_mutex_t lock;
    struct ferry__folded *bucket[BUCKETS];
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- comparison ------------------------------------------------------------------------------ */

static bool same_contents(const ferry_blob *a, const ferry_blob *b)
{
    int64_t count = a ? ferry_blob_element_count(a) : 0;
    const float *x, *y;

    if (!a || !b || ferry_blob_element_count(b) != count)
        return a == b;
    x = ferry_blob_host_data(a);
    y = ferry_blob_host_data(b);
    return x && y && !memcmp(x, y, (size_t)count * sizeof *x);
}

static bool same_steps(const struct ferry__fold_step *a, const struct ferry__fold_step *b, int n)
{
    int i;

    for (i = 0; i < n; i++)
        if (a[i].kind != b[i].kind || a[i].function != b[i].function ||
            memcmp(&a[i].b, &b[i].b, sizeof a[i].b) || memcmp(&a[i].c, &b[i].c, sizeof a[i].c) ||
            !same_contents(a[i].u, b[i].u) || !same_contents(a[i].v, b[i].v))
            return false;
    return true;
}

static bool same_weights(const struct ferry__folded *d, const struct ferry__fold *f)
{
    const ferry_memory *memory = f->weights ? ferry_blob_data_memory(f->weights) : NULL;

    return !memory ? !d->fold.weights
                   : d->fold.weights && ferry_blob_data_memory(d->fold.weights) == memory &&
                         ferry_blob_home(d->fold.weights) == ferry_blob_home(f->weights) &&
                         ferry_memory_version(memory) == d->weights;
}

static bool fits(const struct ferry__folded *d, const struct ferry__fold *f)
{
    const struct ferry__fold *own = &d->fold;

    return same_weights(d, f) && ferry_blob_home(own->made[0]) == ferry_blob_home(f->made[0]) &&
           ferry_blob_shape_equals(own->made[0], f->made[0]) == 1 &&
           ferry_blob_shape_equals(own->made[1], f->made[1]) == 1 &&
           !memcmp(&own->order, &f->order, sizeof f->order) && own->inputs == f->inputs &&
           own->span == f->span && own->outputs_of_group == f->outputs_of_group &&
           own->n_steps == f->n_steps && own->n_before == f->n_before &&
           same_contents(own->bias, f->bias) && same_steps(own->step, f->step, f->n_steps) &&
           same_steps(own->before, f->before, f->n_before);
}

/* ---- creation -------------------------------------------------------------------------------- */

/* The contents of a new blob of a fold: a copy, the same memory, or none. */
enum owned { COPIED, SHARED, EMPTY };

/* Replaces a fold's blob by one of its own. After a former failure, *err, it becomes NULL. */
static void own(ferry_blob **blob, enum owned how, int *err)
{
    ferry_blob *from = *blob;

    *blob = NULL;
    if (!from || *err)
        return;
    *err = ferry_blob_create(ferry_blob_home(from), FERRY_F32, ferry_blob_shape(from),
                             ferry_blob_rank(from), blob);
    if (!*err && how == COPIED)
        *err = ferry_blob_copy_from(*blob, from, 0);
    if (!*err && how == SHARED)
        *err = ferry_blob_share_data(*blob, from);
}

static int own_all(struct ferry__fold *f)
{
    int i, err = 0;

    own(&f->weights, SHARED, &err);
    own(&f->bias, COPIED, &err);
    own(&f->made[0], EMPTY, &err);
    own(&f->made[1], EMPTY, &err);
    for (i = 0; i < FERRY__FOLD_STEPS; i++) {
        own(&f->step[i].u, COPIED, &err);
        own(&f->step[i].v, COPIED, &err);
        own(&f->before[i].u, COPIED, &err);
        own(&f->before[i].v, COPIED, &err);
    }
    return err;
}

static void end(struct ferry__folded *d)
{
    int i;

    if (d->fold.made[0])
        ferry__origin_forget(ferry_blob_data_memory(d->fold.made[0]));
    for (i = 0; i < FERRY__FOLD_STEPS; i++) {
        ferry_blob_destroy(d->fold.step[i].u);
        ferry_blob_destroy(d->fold.step[i].v);
        ferry_blob_destroy(d->fold.before[i].u);
        ferry_blob_destroy(d->fold.before[i].v);
    }
    ferry_blob_destroy(d->fold.weights);
    ferry_blob_destroy(d->fold.bias);
    ferry_blob_destroy(d->fold.made[0]);
    ferry_blob_destroy(d->fold.made[1]);
    free(d);
}

/* Computes the copy of the weights when it is packed. */
static int fill_later(void *arg, void *bytes)
{
    return ferry__fold_compute(arg, bytes, NULL);
}

static bool is_large(const struct ferry__fold *f)
{
    return f->weights && ferry_device_get_properties(ferry_blob_home(f->made[0]))->host_memory &&
           (uint64_t)ferry_blob_element_count(f->made[0]) * sizeof(float) >= FERRY__ORIGIN_BYTES;
}

static int fill(struct ferry__folded *d)
{
    float *bias = ferry_blob_overwrite_host_data(d->fold.made[1]), *weights;

    if (!bias)
        return ferry_last_error_code();
    if (is_large(&d->fold)) {
        int err = ferry__origin_create(ferry_blob_data_memory(d->fold.made[0]), fill_later, NULL,
                                       &d->fold);

        return err ? err : ferry__fold_compute(&d->fold, NULL, bias);
    }
    weights = ferry_blob_overwrite_host_data(d->fold.made[0]);
    return weights ? ferry__fold_compute(&d->fold, weights, bias) : ferry_last_error_code();
}

static int make(const struct ferry__fold *f, struct ferry__folded **out)
{
    struct ferry__folded *d = calloc(1, sizeof *d);
    int err;

    if (!d)
        return ferry_error_set(FERRY_ENOMEM, "no memory for its folded weights");
    d->fold = *f;
    d->fold.next = NULL;
    d->fold.folded = NULL;
    d->weights = f->weights ? ferry_memory_version(ferry_blob_data_memory(f->weights)) : 0;
    err = own_all(&d->fold);
    if (!err)
        err = fill(d);
    if (err)
        end(d);
    else
        *out = d;
    return err;
}

/* ---- use ------------------------------------------------------------------------------------- */

/* Adds the first elements of a blob to a hash; NULL is accepted. */
static uint64_t add_contents(uint64_t so_far, const ferry_blob *b)
{
    int64_t count = b ? ferry_blob_element_count(b) : 0;
    const float *x = count ? ferry_blob_host_data(b) : NULL;

    return x ? ferry__hash(so_far, x, (size_t)(count < 16 ? count : 16) * sizeof *x) : so_far;
}

/* The list of the copies that may fit a fold, by its weights' memory and its first steps. */
static unsigned bucket_of(const struct ferry__fold *f)
{
    uintptr_t weights = f->weights ? (uintptr_t)ferry_blob_data_memory(f->weights) : 0;
    uint64_t n = ferry__hash(FERRY__HASH, &weights, sizeof weights);

    if (f->n_steps)
        n = add_contents(add_contents(n, f->step[0].u), f->step[0].v);
    if (f->n_before)
        n = add_contents(add_contents(n, f->before[0].u), f->before[0].v);
    return (unsigned)((n ^ n >> 32) % BUCKETS);
}

/* Finds or makes the copies of a fold, for one more user. */
static int get(const struct ferry__fold *f, struct ferry__folded **out)
{
    unsigned bucket = bucket_of(f);
    struct ferry__folded *d;
    int err = 0;

    pthread_mutex_lock(&shared.lock);
    for (d = shared.bucket[bucket]; d && !fits(d, f); d = d->next)
        ;
    if (!d) {
        err = make(f, &d);
        if (!err) {
            d->bucket = bucket;
            d->next = shared.bucket[bucket];
            shared.bucket[bucket] = d;
        }
    }
    if (!err) {
        d->users++;
        *out = d;
    }
    pthread_mutex_unlock(&shared.lock);
    return err;
}

void ferry__folded_release(struct ferry__folded *d)
{
    struct ferry__folded **at;
    bool last;

    if (!d)
        return;
    pthread_mutex_lock(&shared.lock);
    last = !--d->users;
    for (at = &shared.bucket[d->bucket]; last && *at != d; at = &(*at)->next)
        ;
    if (last)
        *at = d->next;
    pthread_mutex_unlock(&shared.lock);
    if (last)
        end(d);
}

/* The version of the sources of a fold. */
static uint64_t sources(const struct ferry__fold *f)
{
    uint64_t n = ferry__contents(ferry__contents(1, f->weights), f->bias);
    int i;

    for (i = 0; i < f->n_steps; i++)
        n = ferry__contents(ferry__contents(n, f->step[i].u), f->step[i].v);
    for (i = 0; i < f->n_before; i++)
        n = ferry__contents(ferry__contents(n, f->before[i].u), f->before[i].v);
    return n;
}

/* Replaces a fold's copies by those of its sources' present contents. */
static int take(struct ferry__fold *f)
{
    struct ferry__folded *d = NULL;
    int err = get(f, &d), i;

    for (i = 0; !err && i < 2; i++)
        err = ferry_blob_share_data(f->made[i], d->fold.made[i]);
    ferry__folded_release(err ? d : f->folded);
    if (err)
        return err;
    f->folded = d;
    ferry__integers_forget(f->layer); /* the new memory may have the address and the version of one
                                       * that is freed */
    return 0;
}

int ferry__fold_refresh(struct ferry__fold *f, bool kept)
{
    uint64_t version = sources(f);
    int err = 0;

    if (version != f->version) {
        f->version = 0;
        err = take(f);
        f->version = err ? 0 : version;
    }
    return err || !kept ? err : ferry__origin_keep(ferry_blob_data_memory(f->made[0]));
}
