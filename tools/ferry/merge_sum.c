/* SPDX-License-Identifier: BSD-2-Clause */
#include "merge.h"

/*
 * Σ wᵢ·Aᵢ of one array on the selected device. The sum is kept in F64 and rounded once, to the
 * array's dtype: what cancels out in a difference of checkpoints must not leave F32's errors.
 */

/* Where memory is the host's, a tile that stays in the cache is worth more than a large one. */
#define CACHED_TILE (256u * 1024)

struct sum {
    struct merge *m;
    const struct merge_array *array;
    ferry_queue *queue;
    ferry_blob *narrow; /* one input's tile, and the result's, in the array's dtype */
    ferry_blob *wide;   /* the same in F64 */
    ferry_blob *total;
};

/* The input's tile on the device, as F64. */
static int fetch(const struct sum *s, int input, int64_t start, int64_t n, ferry_cref *out)
{
    ferry_dtype dtype = s->array->entry->dtype;
    const ferry_io_entry *entry = NULL;
    ferry_io *io = s->m->inputs[input].io;
    void *host = ferry_blob_overwrite_host_data(s->narrow);
    ferry_cref narrow;
    ferry_ref wide;
    int err = host ? ferry_io_find(io, s->array->entry->name, &entry) : ferry_last_error_code();

    if (!err)
        err = ferry_io_read_values(io, entry, start, n, host);
    if (err)
        return err;
    narrow = ferry_blob_device_data(s->narrow);
    if (dtype == FERRY_F64) {
        *out = narrow;
        return narrow.handle ? FERRY_OK : ferry_last_error_code();
    }
    wide = ferry_blob_overwrite_device_data(s->wide);
    err = ferry_convert(s->queue, n, dtype, narrow, FERRY_F64, wide);
    *out = ferry_ref_const(wide);
    return err;
}

static int add(const struct sum *s, int input, int64_t start, int64_t n)
{
    double weight = s->m->inputs[input].weight;
    ferry_cref x;
    ferry_ref total;
    int err = fetch(s, input, start, n, &x);

    if (err)
        return err;
    if (input > 0) {
        total = ferry_blob_mutable_device_data(s->total);
        return ferry_axpy(s->queue, FERRY_F64, n, weight, x, total);
    }
    total = ferry_blob_overwrite_device_data(s->total);
    err = ferry_copy(s->queue, FERRY_F64, n, x, total);
    return err || weight == 1 ? err : ferry_scal(s->queue, FERRY_F64, n, weight, total);
}

static int deliver(const struct sum *s, int64_t n)
{
    ferry_dtype dtype = s->array->entry->dtype;
    ferry_cref total = ferry_blob_device_data(s->total);
    ferry_ref narrow = ferry_blob_overwrite_device_data(s->narrow);
    const void *host;
    int err = dtype == FERRY_F64 ? ferry_copy(s->queue, dtype, n, total, narrow)
                                 : ferry_convert(s->queue, n, FERRY_F64, total, dtype, narrow);

    if (err)
        return err;
    host = ferry_blob_host_data(s->narrow);
    if (!host)
        return ferry_last_error_code();
    return ferry_io_write_values(s->m->out, host, (size_t)n * ferry_dtype_size(dtype));
}

static int sum_tile(const struct sum *s, int64_t start, int64_t n)
{
    int err = ferry_blob_reshape(s->narrow, 1, &n, NULL);

    if (!err)
        err = ferry_blob_reshape(s->wide, 1, &n, NULL);
    if (!err)
        err = ferry_blob_reshape(s->total, 1, &n, NULL);
    for (int i = 0; i < s->m->count && !err; i++)
        err = add(s, i, start, n);
    return err ? err : deliver(s, n);
}

static int sum_tiles(const struct sum *s, int64_t most)
{
    const ferry_io_entry *entry = s->array->entry;
    int err = FERRY_OK;

    for (int64_t start = 0; start < entry->count && !err; start += most) {
        int64_t n = entry->count - start < most ? entry->count - start : most;

        err = files_interrupted() ? FERRY_EBUSY : sum_tile(s, start, n);
        files_progress_step(&s->m->progress, (uint64_t)n * ferry_dtype_size(entry->dtype));
    }
    return err;
}

int merge_sum(struct merge *m, const struct merge_array *array)
{
    bool cached = ferry_device_get_properties(m->device)->host_memory;
    int64_t most = (cached ? CACHED_TILE : FILES_TILE) / (int64_t)sizeof(double);
    struct sum s = { .m = m, .array = array, .queue = ferry_device_queue(m->device) };
    int err = s.queue ? ferry_blob_create(m->device, array->entry->dtype, 1, &most, &s.narrow)
                      : ferry_last_error_code();

    if (!err)
        err = ferry_blob_create(m->device, FERRY_F64, 1, &most, &s.wide);
    if (!err)
        err = ferry_blob_create(m->device, FERRY_F64, 1, &most, &s.total);
    if (!err)
        err = sum_tiles(&s, most);
    ferry_blob_destroy(s.narrow);
    ferry_blob_destroy(s.wide);
    ferry_blob_destroy(s.total);
    return err;
}
