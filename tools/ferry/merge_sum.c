/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "merge.h"

#include <pthread.h>
#include <stdio.h>

/*
 * Σ wᵢ·Aᵢ of one array on the selected device. The sum is kept in F64 and rounded once, to the
 * array's dtype: what cancels out in a difference of checkpoints must not leave F32's errors.
 *
 * Two workers take every other tile, so that one computes while the other reads or writes. Files are
 * read by one at a time, and written in turn.
 */

#define WORKERS 2

/* Where memory is the host's, a tile that stays in the cache is worth more than a large one. */
#define CACHED_TILE (256u * 1024)

struct sum {
    struct merge *m;
    const struct merge_array *array;
    int64_t tile; /* elements */
    pthread_mutex_t read_lock;
    pthread_mutex_t turn_lock; /* of the three below */
    pthread_cond_t turn_changed;
    int64_t turn; /* the tile that is to be written next */
    int err;      /* the first worker's that failed; its message: */
    char message[1024];
};

struct worker {
    struct sum *s;
    int number;
    ferry_queue *queue, *own_queue;
    ferry_blob *narrow; /* one input's tile, and the result's, in the array's dtype */
    ferry_blob *wide;   /* the same in F64 */
    ferry_blob *total;
};

/* ---- one tile ------------------------------------------------------------------------------- */

static int reach(const struct worker *w, ferry_blob *b, unsigned access, ferry_ref *out)
{
    ferry_memory *memory = ferry_blob_data_memory(b);

    if (!memory)
        return ferry_last_error_code();
    return ferry_memory_access(memory, w->s->m->device, access, w->queue, out);
}

static int read_values(struct sum *s, int input, int64_t start, int64_t n, void *out)
{
    ferry_io *io = s->m->inputs[input].io;
    const ferry_io_entry *entry = NULL;
    int err;

    pthread_mutex_lock(&s->read_lock);
    err = ferry_io_find(io, s->array->entry->name, &entry);
    if (!err)
        err = ferry_io_read_values(io, entry, start, n, out);
    pthread_mutex_unlock(&s->read_lock);
    return err;
}

/* The input's tile on the device, in its own dtype. */
static int fetch(const struct worker *w, int input, int64_t start, int64_t n, ferry_cref *out)
{
    void *host = ferry_blob_overwrite_host_data(w->narrow);
    ferry_ref ref;
    int err = host ? read_values(w->s, input, start, n, host) : ferry_last_error_code();

    if (!err)
        err = reach(w, w->narrow, FERRY_READ, &ref);
    if (!err)
        *out = ferry_ref_const(ref);
    return err;
}

/* y = x as F64. */
static int widen(const struct worker *w, int64_t n, ferry_cref x, ferry_ref y)
{
    ferry_dtype dtype = w->s->array->entry->dtype;

    return dtype == FERRY_F64 ? ferry_copy(w->queue, dtype, n, x, y)
                              : ferry_convert(w->queue, n, dtype, x, FERRY_F64, y);
}

/* total = weight·x, of the first input. */
static int begin_total(const struct worker *w, int64_t n, ferry_cref x)
{
    double weight = w->s->m->inputs[0].weight;
    ferry_ref total;
    int err = reach(w, w->total, FERRY_WRITE, &total);

    if (!err)
        err = widen(w, n, x, total);
    return err || weight == 1 ? err : ferry_scal(w->queue, FERRY_F64, n, weight, total);
}

/* total += weight·x, of another one. */
static int add_to_total(const struct worker *w, int input, int64_t n, ferry_cref x)
{
    double weight = w->s->m->inputs[input].weight;
    ferry_ref wide, total;
    int err = FERRY_OK;

    if (w->s->array->entry->dtype != FERRY_F64) {
        err = reach(w, w->wide, FERRY_WRITE, &wide);
        if (!err)
            err = widen(w, n, x, wide);
        if (!err)
            x = ferry_ref_const(wide);
    }
    if (!err)
        err = reach(w, w->total, FERRY_READ | FERRY_WRITE, &total);
    return err ? err : ferry_axpy(w->queue, FERRY_F64, n, weight, x, total);
}

static int round_total(const struct worker *w, int64_t n)
{
    ferry_dtype dtype = w->s->array->entry->dtype;
    ferry_ref total, narrow;
    int err = reach(w, w->total, FERRY_READ, &total);

    if (!err)
        err = reach(w, w->narrow, FERRY_WRITE, &narrow);
    if (err)
        return err;
    return dtype == FERRY_F64
               ? ferry_copy(w->queue, dtype, n, ferry_ref_const(total), narrow)
               : ferry_convert(w->queue, n, FERRY_F64, ferry_ref_const(total), dtype, narrow);
}

/* The result's tile is in `narrow`, on the host. */
static int sum_tile(const struct worker *w, int64_t start, int64_t n)
{
    int err = ferry_blob_reshape(w->narrow, 1, &n, NULL);

    if (!err)
        err = ferry_blob_reshape(w->wide, 1, &n, NULL);
    if (!err)
        err = ferry_blob_reshape(w->total, 1, &n, NULL);
    for (int i = 0; i < w->s->m->count && !err; i++) {
        ferry_cref x;

        err = fetch(w, i, start, n, &x);
        if (!err)
            err = i == 0 ? begin_total(w, n, x) : add_to_total(w, i, n, x);
    }
    if (!err)
        err = round_total(w, n);
    if (!err && !ferry_blob_host_data(w->narrow))
        err = ferry_last_error_code();
    return err;
}

/* ---- all tiles ------------------------------------------------------------------------------ */

/* Writes the tile once those before it are written; then it is the next one's turn. */
static int write_tile(const struct worker *w, int64_t tile, int64_t n)
{
    struct sum *s = w->s;
    size_t size = (size_t)n * ferry_dtype_size(s->array->entry->dtype);
    int err;

    pthread_mutex_lock(&s->turn_lock);
    while (s->turn != tile && !s->err)
        pthread_cond_wait(&s->turn_changed, &s->turn_lock);
    err = s->err;
    if (!err)
        err = ferry_io_write_values(s->m->out, ferry_blob_host_data(w->narrow), size);
    s->turn++;
    files_progress_step(&s->m->progress, size);
    pthread_cond_broadcast(&s->turn_changed);
    pthread_mutex_unlock(&s->turn_lock);
    return err;
}

/* A thread's errors are its own: the message is handed over with the code. */
static void give_up(struct sum *s, int err)
{
    pthread_mutex_lock(&s->turn_lock);
    if (!s->err) {
        s->err = err;
        snprintf(s->message, sizeof(s->message), "%s", ferry_last_error());
    }
    pthread_cond_broadcast(&s->turn_changed);
    pthread_mutex_unlock(&s->turn_lock);
}

static int create_blobs(struct worker *w)
{
    ferry_device *device = w->s->m->device;
    int64_t tile = w->s->tile;
    int err = ferry_queue_create(device, &w->own_queue);

    w->queue = w->own_queue;
    if (err == FERRY_EUNSUPPORTED) { /* it has one, which the workers then share */
        w->queue = ferry_device_queue(device);
        err = w->queue ? FERRY_OK : ferry_last_error_code();
    }
    if (!err)
        err = ferry_blob_create(device, w->s->array->entry->dtype, 1, &tile, &w->narrow);
    if (!err)
        err = ferry_blob_create(device, FERRY_F64, 1, &tile, &w->wide);
    if (!err)
        err = ferry_blob_create(device, FERRY_F64, 1, &tile, &w->total);
    return err;
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    int64_t count = w->s->array->entry->count, most = w->s->tile;
    int err = create_blobs(w);

    for (int64_t tile = w->number; !err && tile * most < count; tile += WORKERS) {
        int64_t n = count - tile * most < most ? count - tile * most : most;

        err = files_interrupted() ? FERRY_EBUSY : sum_tile(w, tile * most, n);
        if (!err)
            err = write_tile(w, tile, n);
    }
    if (err)
        give_up(w->s, err);
    ferry_blob_destroy(w->narrow);
    ferry_blob_destroy(w->wide);
    ferry_blob_destroy(w->total);
    ferry_queue_destroy(w->own_queue);
    return NULL;
}

int merge_sum(struct merge *m, const struct merge_array *array)
{
    bool cached = ferry_device_get_properties(m->device)->host_memory;
    struct sum s = { .m = m,
                     .array = array,
                     .tile = (cached ? CACHED_TILE : FILES_TILE) / (int64_t)sizeof(double) };
    struct worker workers[WORKERS] = { { .s = &s, .number = 0 }, { .s = &s, .number = 1 } };
    pthread_t thread;
    bool threaded;

    pthread_mutex_init(&s.read_lock, NULL);
    pthread_mutex_init(&s.turn_lock, NULL);
    pthread_cond_init(&s.turn_changed, NULL);
    threaded = array->entry->count > s.tile;
    if (threaded && pthread_create(&thread, NULL, run_worker, &workers[1]) != 0) {
        threaded = false;
        s.err = ferry_error_set(FERRY_ENOMEM, "merge: no thread can be started");
    } else {
        run_worker(&workers[0]);
    }
    if (threaded)
        pthread_join(thread, NULL);
    pthread_cond_destroy(&s.turn_changed);
    pthread_mutex_destroy(&s.turn_lock);
    pthread_mutex_destroy(&s.read_lock);
    return s.err && s.message[0] ? ferry_error_set(s.err, "%s", s.message) : s.err;
}
