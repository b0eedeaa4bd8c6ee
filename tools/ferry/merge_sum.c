/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "merge.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/*
 * Computes Σ wᵢ·Aᵢ of one array on the selected device. The sum is kept in F64 and rounded once, to
 * the array's dtype, so that cancellation in a difference of checkpoints does not leave F32's
 * rounding errors.
 *
 * The workers take spans of the array one after the other and write them in order. A span is summed
 * tile by tile: on host memory, a tile that stays in the cache is faster than a large one, and a
 * span of many tiles reduces the time that workers wait for each other. No tile is longer than the
 * array; if the device, or its budget, cannot hold the buffers of all workers, the tile is halved.
 */

#define CACHED_TILE (MERGE_UNDIVIDED * sizeof(double))
#define SPAN_TILES  32
#define LEAST_TILE  1024 /* the minimum number of elements of a tile; the sum fails if the device
                          * cannot hold tiles of this size */

/* The minimum number of spans of an array, unless a span would be less than one tile. */
#define SPANS_WANTED 8

struct sum {
    struct merge *m;
    const struct merge_array *array;
    int first, end;                /* the range of inputs: all, or the single one that is copied
                                    * with another dtype */
    bool needs[FERRY_DTYPE_COUNT]; /* the dtypes of these inputs */
    int64_t tile, span;            /* in elements */
    pthread_mutex_t order_lock;    /* guards the next three members */
    pthread_cond_t order_changed;
    int64_t next_span; /* the index of the span to write next */
    int workers;
    int err; /* the error of the first worker that failed; its message: */
    char message[1024];
};

struct worker {
    struct sum *s;
    int number;
    ferry_queue *queue, *own_queue;
    ferry_blob *narrow[FERRY_DTYPE_COUNT]; /* one input's tile, in its dtype */
    ferry_blob *wide;                      /* the tile in F64; NULL if all inputs are F64 */
    ferry_blob *total;
    ferry_blob *result; /* a span in the result's dtype */
};

/* ---- one tile ------------------------------------------------------------------------------- */

static int reach(const struct worker *w, ferry_blob *b, unsigned access, ferry_ref *out)
{
    ferry_memory *memory = ferry_blob_data_memory(b);

    if (!memory)
        return ferry_last_error_code();
    return ferry_memory_access(memory, w->s->m->device, access, w->queue, out);
}

static int find_entry(const struct sum *s, int input, int worker, const ferry_io_entry **out)
{
    const struct merge *m = s->m;

    return files_find(m->inputs[input].io[worker], m->inputs[s->array->from].io[0],
                      s->array->entry->name, out);
}

/* Copies the input's tile to the device, in its own dtype. */
static int fetch(const struct worker *w, int input, int64_t start, int64_t n, ferry_dtype *dtype,
                 ferry_cref *out)
{
    const ferry_io_entry *entry = NULL;
    int err = find_entry(w->s, input, w->number, &entry);
    ferry_blob *narrow = err ? NULL : w->narrow[entry->dtype];
    ferry_ref ref;
    void *host;

    if (!err)
        err = ferry_blob_reshape(narrow, &n, 1, NULL);
    if (err)
        return err;
    *dtype = entry->dtype;
    host = ferry_blob_overwrite_host_data(narrow);
    err = host ? ferry_io_read_values(w->s->m->inputs[input].io[w->number], entry, start, n, host)
               : ferry_last_error_code();
    if (!err)
        err = reach(w, narrow, FERRY_READ, &ref);
    if (!err)
        *out = ferry_ref_const(ref);
    return err;
}

/* Computes y = x as F64. */
static int widen(const struct worker *w, int64_t n, ferry_dtype dtype, ferry_cref x, ferry_ref y)
{
    return dtype == FERRY_F64 ? ferry_math_copy(w->queue, dtype, n, x, y)
                              : ferry_math_convert(w->queue, n, dtype, x, FERRY_F64, y);
}

static double weight_of(const struct sum *s, int input)
{
    return s->array->copied ? 1 : s->array->weights[input];
}

/* Computes total = weight·x for the first input. */
static int begin_total(const struct worker *w, int64_t n, ferry_dtype dtype, ferry_cref x)
{
    double weight = weight_of(w->s, w->s->first);
    ferry_ref total;
    int err = reach(w, w->total, FERRY_WRITE, &total);

    if (!err)
        err = widen(w, n, dtype, x, total);
    return err || weight == 1 ? err : ferry_math_scal(w->queue, FERRY_F64, n, weight, total);
}

/* Computes total += weight·x for a further input. */
static int add_to_total(const struct worker *w, int input, int64_t n, ferry_dtype dtype,
                        ferry_cref x)
{
    double weight = weight_of(w->s, input);
    ferry_ref wide, total;
    int err = FERRY_OK;

    if (dtype != FERRY_F64) {
        err = reach(w, w->wide, FERRY_WRITE, &wide);
        if (!err)
            err = widen(w, n, dtype, x, wide);
        if (!err)
            x = ferry_ref_const(wide);
    }
    if (!err)
        err = reach(w, w->total, FERRY_READ | FERRY_WRITE, &total);
    return err ? err : ferry_math_axpy(w->queue, FERRY_F64, n, weight, x, total);
}

/* Rounds the tile into the result at offset `at`. */
static int round_total(const struct worker *w, int64_t at, int64_t n)
{
    ferry_dtype dtype = w->s->array->dtype;
    ferry_ref total, result;
    int err = reach(w, w->total, FERRY_READ, &total);

    if (!err)
        err = reach(w, w->result, at ? FERRY_READ | FERRY_WRITE : FERRY_WRITE, &result);
    if (err)
        return err;
    result.offset += (uint64_t)at * ferry_dtype_size(dtype);
    return dtype == FERRY_F64
               ? ferry_math_copy(w->queue, dtype, n, ferry_ref_const(total), result)
               : ferry_math_convert(w->queue, n, FERRY_F64, ferry_ref_const(total), dtype, result);
}

static int sum_tile(const struct worker *w, int64_t span, int64_t at, int64_t n)
{
    int err = w->wide ? ferry_blob_reshape(w->wide, &n, 1, NULL) : FERRY_OK;

    if (!err)
        err = ferry_blob_reshape(w->total, &n, 1, NULL);
    for (int i = w->s->first; i < w->s->end && !err; i++) {
        ferry_dtype dtype;
        ferry_cref x;

        err = fetch(w, i, span + at, n, &dtype, &x);
        if (!err)
            err = i == w->s->first ? begin_total(w, n, dtype, x) : add_to_total(w, i, n, dtype, x);
    }
    return err ? err : round_total(w, at, n);
}

/* Sums the `n` elements from `span` on, and copies the result to the host. */
static int sum_span(const struct worker *w, int64_t span, int64_t n)
{
    int64_t most = w->s->tile;
    int err = ferry_blob_reshape(w->result, &n, 1, NULL);

    for (int64_t at = 0; at < n && !err; at += most)
        err = is_interrupted() ? FERRY_EBUSY : sum_tile(w, span, at, n - at < most ? n - at : most);
    if (!err && !ferry_blob_host_data(w->result))
        err = ferry_last_error_code();
    return err;
}

/* ---- all spans ------------------------------------------------------------------------------ */

/* Writes the span after the spans before it are written, and lets the next one be written. */
static int write_span(const struct worker *w, int64_t number, int64_t n)
{
    struct sum *s = w->s;
    size_t size = (size_t)n * ferry_dtype_size(s->array->dtype);
    int err;

    pthread_mutex_lock(&s->order_lock);
    while (s->next_span != number && !s->err)
        pthread_cond_wait(&s->order_changed, &s->order_lock);
    err = s->err;
    if (!err)
        err = target_write(&s->m->target, ferry_blob_host_data(w->result), size);
    s->next_span++;
    progress_step(&s->m->progress, size);
    pthread_cond_broadcast(&s->order_changed);
    pthread_mutex_unlock(&s->order_lock);
    return err;
}

/* Stores an error. Messages are per thread, so the message is copied with the code. */
static void store_error(struct sum *s, int err)
{
    pthread_mutex_lock(&s->order_lock);
    if (!s->err) {
        s->err = err;
        snprintf(s->message, sizeof(s->message), "%s", ferry_last_error());
    }
    pthread_cond_broadcast(&s->order_changed);
    pthread_mutex_unlock(&s->order_lock);
}

static int create_queue(struct worker *w)
{
    ferry_device *device = w->s->m->device;
    int err = ferry_queue_create(device, &w->own_queue);

    w->queue = w->own_queue;
    if (err == FERRY_EUNSUPPORTED) { /* the device has one queue, which the workers share */
        w->queue = ferry_device_queue(device);
        err = w->queue ? FERRY_OK : ferry_last_error_code();
    }
    return err;
}

/*
 * Creates a blob of `n` elements and allocates its device memory, so that a shortage is detected
 * now.
 */
static int create_blob(const struct worker *w, ferry_dtype dtype, int64_t n, ferry_blob **out)
{
    int err = ferry_blob_create(w->s->m->device, dtype, &n, 1, out);

    return err || ferry_blob_overwrite_device_data(*out).handle ? err : ferry_last_error_code();
}

static int create_blobs(struct worker *w)
{
    int err = create_queue(w);
    bool widens = false;

    for (int i = 0; i < FERRY_DTYPE_COUNT && !err; i++) {
        widens = widens || (w->s->needs[i] && i != FERRY_F64);
        if (w->s->needs[i])
            err = create_blob(w, (ferry_dtype)i, w->s->tile, &w->narrow[i]);
    }
    if (!err && widens)
        err = create_blob(w, FERRY_F64, w->s->tile, &w->wide);
    if (!err)
        err = create_blob(w, FERRY_F64, w->s->tile, &w->total);
    if (!err)
        err = create_blob(w, w->s->array->dtype, w->s->span, &w->result);
    return err;
}

static void destroy_blobs(struct worker *w)
{
    for (int i = 0; i < FERRY_DTYPE_COUNT; i++)
        ferry_blob_destroy(w->narrow[i]);
    ferry_blob_destroy(w->wide);
    ferry_blob_destroy(w->total);
    ferry_blob_destroy(w->result);
    ferry_queue_destroy(w->own_queue);
    memset(w, 0, sizeof(*w));
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    int64_t count = w->s->array->entry->count, most = w->s->span;
    int err = FERRY_OK;

    for (int64_t i = w->number; !err && i * most < count; i += w->s->workers) {
        int64_t n = count - i * most < most ? count - i * most : most;

        err = sum_span(w, i * most, n);
        if (!err)
            err = write_span(w, i, n);
    }
    if (err)
        store_error(w->s, err);
    return NULL;
}

/* Sets the size of spans. A span is a whole number of tiles. */
static void choose_spans(struct sum *s)
{
    int64_t count = s->array->entry->count;
    bool cached = ferry_device_get_properties(s->m->device)->host_memory;
    int64_t tiles = cached ? count / s->tile / SPANS_WANTED : 1;

    tiles = tiles < SPAN_TILES ? tiles : SPAN_TILES;
    s->span = s->tile * (tiles > 1 ? tiles : 1);
    s->workers = count > s->span ? s->m->workers : 1;
}

static int choose_inputs(struct sum *s)
{
    const ferry_io_entry *entry = NULL;
    int err = FERRY_OK;

    s->first = s->array->copied ? s->array->from : 0;
    s->end = s->array->copied ? s->first + 1 : s->m->count;
    for (int i = s->first; i < s->end && !err; i++) {
        err = find_entry(s, i, 0, &entry);
        if (!err)
            s->needs[entry->dtype] = true;
    }
    return err;
}

static void choose_sizes(struct sum *s)
{
    int64_t count = s->array->entry->count;
    bool cached = ferry_device_get_properties(s->m->device)->host_memory;

    s->tile = (int64_t)((cached ? CACHED_TILE : FILES_TILE) / sizeof(double));
    if (s->tile > count)
        s->tile = count > 0 ? count : 1;
    choose_spans(s);
}

/* Allocates the buffers of all workers, with the largest tiles that fit. */
static int acquire(struct sum *s, struct worker *workers)
{
    for (;;) {
        int err = FERRY_OK;

        for (int i = 0; i < s->workers && !err; i++) {
            workers[i].s = s;
            workers[i].number = i;
            err = create_blobs(&workers[i]);
        }
        if (!err)
            return FERRY_OK;
        for (int i = 0; i < s->workers; i++)
            destroy_blobs(&workers[i]);
        if (err != FERRY_ENOMEM || s->tile / 2 < LEAST_TILE)
            return err;
        s->tile /= 2;
        choose_spans(s);
    }
}

/* Runs the workers; the calling thread is the first one. */
static void run_workers(struct sum *s, struct worker *workers)
{
    pthread_t threads[MERGE_WORKERS];
    int started = 1;

    for (; started < s->workers; started++)
        if (pthread_create(&threads[started], NULL, run_worker, &workers[started]) != 0) {
            s->err = ferry_error_set(FERRY_ENOMEM, "merge: cannot start a thread");
            break;
        }
    if (started == s->workers)
        run_worker(&workers[0]);
    for (int i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
}

int merge_sum(struct merge *m, const struct merge_array *array)
{
    struct sum s = { .m = m, .array = array };
    struct worker workers[MERGE_WORKERS] = { { .number = 0 } };

    s.err = choose_inputs(&s);
    if (s.err)
        return s.err;
    choose_sizes(&s);
    s.err = acquire(&s, workers);
    if (s.err)
        return s.err;
    pthread_mutex_init(&s.order_lock, NULL);
    pthread_cond_init(&s.order_changed, NULL);
    run_workers(&s, workers);
    pthread_cond_destroy(&s.order_changed);
    pthread_mutex_destroy(&s.order_lock);
    for (int i = 0; i < s.workers; i++)
        destroy_blobs(&workers[i]);
    return s.err && s.message[0] ? ferry_error_set(s.err, "%s", s.message) : s.err;
}
