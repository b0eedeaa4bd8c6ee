/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "scenarios.h"

#include <stdlib.h>
#include <string.h>

#define MUTABLE (FERRY_READ | FERRY_WRITE)

/* The home: if only the second device shares the host's memory, that one. */
static int near(void)
{
    const char *const *o = wx_running()->options;

    while (*o && strcmp(o[1], "odd") != 0)
        o += 2;
    return *o != NULL;
}

static int far(void)
{
    return !near();
}

static int code_of(const void *p)
{
    return p ? 0 : ferry_last_error_code();
}

static ferry_memory *data(struct scene *s)
{
    return ferry_blob_data_memory(s->b);
}

static int at(struct scene *s, int dev, unsigned access, ferry_queue *q)
{
    ferry_ref ref;

    return ferry_memory_access(data(s), dev < 0 ? NULL : wx_dev(dev), access, q, &ref);
}

/* ---- accesses ------------------------------------------------------------------------------- */

static int host(struct scene *s)
{
    return code_of(ferry_blob_host_data(s->b));
}

static int mutable_host(struct scene *s)
{
    return code_of(ferry_blob_mutable_host_data(s->b));
}

static int overwrite_host(struct scene *s)
{
    return code_of(ferry_blob_overwrite_host_data(s->b));
}

static int device(struct scene *s)
{
    return code_of(ferry_blob_device_data(s->b).handle);
}

static int mutable_device(struct scene *s)
{
    return code_of(ferry_blob_mutable_device_data(s->b).handle);
}

static int overwrite_device(struct scene *s)
{
    return code_of(ferry_blob_overwrite_device_data(s->b).handle);
}

static int read_there(struct scene *s)
{
    return at(s, far(), FERRY_READ, NULL);
}

static int mutable_there(struct scene *s)
{
    return at(s, far(), MUTABLE, NULL);
}

static int overwrite_there(struct scene *s)
{
    return at(s, far(), FERRY_WRITE, NULL);
}

static int read_on_own_queue(struct scene *s)
{
    return at(s, near(), FERRY_READ, s->own[0]);
}

static int mutable_on_own_queue(struct scene *s)
{
    return at(s, far(), MUTABLE, s->own[1]);
}

static int prefetch_host(struct scene *s)
{
    return ferry_memory_prefetch(data(s), NULL, NULL);
}

static int prefetch_device(struct scene *s)
{
    return ferry_memory_prefetch(data(s), wx_dev(near()), NULL);
}

static int prefetch_there(struct scene *s)
{
    return ferry_memory_prefetch(data(s), wx_dev(far()), s->own[1]);
}

static int adopt_host(struct scene *s)
{
    return ferry_memory_adopt(data(s), NULL, (ferry_ref){ s->block, 0 }, SC_COUNT * sizeof(float),
                              0, fx_count_call, &s->deleted);
}

static int adopt_readonly(struct scene *s)
{
    return ferry_memory_adopt(data(s), NULL, (ferry_ref){ s->block, 0 }, SC_COUNT * sizeof(float),
                              FERRY_ADOPT_READONLY, fx_count_call, &s->deleted);
}

static int adopt_device(struct scene *s)
{
    return ferry_memory_adopt(data(s), wx_dev(near()), s->lent_at, SC_COUNT * sizeof(float), 0,
                              fx_count_call, &s->deleted);
}

static int invalidate(struct scene *s)
{
    return ferry_memory_discard(data(s));
}

static int evict(struct scene *s)
{
    int err = ferry_memory_allow_eviction(data(s));

    if (!err)
        err = ferry_device_set_budget(wx_dev(near()), 1);
    ferry_device_set_budget(wx_dev(near()), 0);
    return err;
}

/* ---- blobs ---------------------------------------------------------------------------------- */

static int fill(struct scene *s)
{
    return ferry_blob_fill_data(s->b, SC_FILL);
}

static int scale(struct scene *s)
{
    return ferry_blob_scale_data(s->b, 2);
}

static int update(struct scene *s)
{
    return ferry_blob_update(s->b);
}

static int asum(struct scene *s)
{
    double sum;

    return ferry_blob_asum_data(s->b, &sum);
}

static int sumsq(struct scene *s)
{
    double sum;

    return ferry_blob_sumsq_data(s->b, &sum);
}

static int element(struct scene *s)
{
    double value;

    return ferry_blob_data_at(s->b, (int64_t[]){ 3 }, 1, &value);
}

static int copy_from(struct scene *s)
{
    return ferry_blob_copy_from(s->b, s->other, 0);
}

static int copy_reshaped(struct scene *s)
{
    return ferry_blob_copy_from(s->b, s->other, FERRY_COPY_RESHAPE);
}

static int copy_diff(struct scene *s)
{
    return ferry_blob_copy_from(s->b, s->other, FERRY_COPY_DIFF);
}

static int reshape(struct scene *s)
{
    return ferry_blob_reshape(s->b, (int64_t[]){ SC_COUNT }, 1, NULL);
}

static int reshape_to_axes(struct scene *s)
{
    return ferry_blob_reshape(s->b, (int64_t[]){ 2, 2, SC_COUNT / 4 }, 3, NULL);
}

static int grow(struct scene *s)
{
    return ferry_blob_reshape(s->b, (int64_t[]){ 4 * SC_COUNT }, 1, NULL);
}

static int share_data(struct scene *s)
{
    return ferry_blob_share_data(s->b, s->other);
}

static int slice(struct scene *s)
{
    return ferry_blob_slice(s->b, 2, 3, &s->blob_made);
}

static int write_slice(struct scene *s)
{
    int err = ferry_blob_slice(s->b, 2, 3, &s->blob_made);

    return err ? err : code_of(ferry_blob_overwrite_device_data(s->blob_made).handle);
}

static int move(struct scene *s)
{
    return ferry_blob_move_to(s->b, wx_dev(far()));
}

static int create(struct scene *s)
{
    return ferry_blob_create(wx_dev(far()), FERRY_F16, (int64_t[]){ 3, 4 }, 2, &s->blob_made);
}

static int name(struct scene *s)
{
    return ferry_blob_set_name(s->b, "conv1");
}

static int shape_on_device(struct scene *s)
{
    return code_of(ferry_blob_device_shape(s->b).handle);
}

/* ---- queues --------------------------------------------------------------------------------- */

static int queue_create(struct scene *s)
{
    return ferry_queue_create(wx_dev(far()), &s->queue_made);
}

static int queue_record(struct scene *s)
{
    return ferry_event_record(s->own[0], &s->event_made);
}

static int queue_wait(struct scene *s)
{
    return ferry_queue_wait_event(s->own[0], s->event);
}

static int record_use(struct scene *s)
{
    int err = at(s, near(), FERRY_READ, NULL);

    return err ? err : ferry_memory_record(data(s), s->own[0], FERRY_READ);
}

static int trim(struct scene *s)
{
    (void)s;
    return ferry_device_trim(wx_dev(near()));
}

const struct scenario scenarios[] = {
    { "host", host, SC_SAME, false },
    { "mutable_host", mutable_host, SC_SAME, false },
    { "overwrite_host", overwrite_host, SC_WRITTEN, false },
    { "device", device, SC_SAME, false },
    { "mutable_device", mutable_device, SC_SAME, false },
    { "overwrite_device", overwrite_device, SC_WRITTEN, false },
    { "read on the other device", read_there, SC_SAME, false },
    { "mutable on the other device", mutable_there, SC_SAME, false },
    { "overwrite on the other device", overwrite_there, SC_WRITTEN, false },
    { "read on an own queue", read_on_own_queue, SC_SAME, false },
    { "mutable on an own queue", mutable_on_own_queue, SC_SAME, false },
    { "prefetch to the host", prefetch_host, SC_SAME, false },
    { "prefetch to the home", prefetch_device, SC_SAME, false },
    { "prefetch to the other device", prefetch_there, SC_SAME, false },
    { "adopt", adopt_host, SC_ADOPTED, false },
    { "adopt read-only", adopt_readonly, SC_ADOPTED, false },
    { "adopt device memory", adopt_device, SC_ADOPTED, false },
    { "invalidate", invalidate, SC_ZEROS, false },
    { "evict", evict, SC_SAME, true },
    { "fill", fill, SC_FILLED, false },
    { "scale", scale, SC_SCALED, false },
    { "update", update, SC_UPDATED, false },
    { "asum", asum, SC_SAME, false },
    { "sumsq", sumsq, SC_SAME, false },
    { "element", element, SC_SAME, false },
    { "copy_from", copy_from, SC_COPIED, false },
    { "copy_from, reshape", copy_reshaped, SC_COPIED, false },
    { "copy_from, diff", copy_diff, SC_DIFF_COPIED, false },
    { "reshape to the same", reshape, SC_SAME, false },
    { "reshape to other axes", reshape_to_axes, SC_SAME, false },
    { "reshape that grows", grow, SC_ZEROS, false },
    { "share_data", share_data, SC_COPIED, false },
    { "slice", slice, SC_SAME, false },
    { "overwrite through a slice", write_slice, SC_SAME, true },
    { "to", move, SC_SAME, false },
    { "create", create, SC_SAME, false },
    { "set_name", name, SC_SAME, false },
    { "device_shape", shape_on_device, SC_SAME, false },
    { "queue_create", queue_create, SC_SAME, false },
    { "queue_record", queue_record, SC_SAME, false },
    { "queue_wait", queue_wait, SC_SAME, false },
    { "record", record_use, SC_SAME, true },
    { "trim", trim, SC_SAME, false },
};
const unsigned nscenarios = sizeof(scenarios) / sizeof(scenarios[0]);

/* ---- scenes --------------------------------------------------------------------------------- */

static void put(float *p, float first, float step)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int i = 0; i < SC_COUNT; i++)
        p[i] = first + step * (float)i;
}

static void bring(struct scene *s, enum whereabouts where)
{
    ferry_memory *m = data(s);

    if (where == SC_DEV0)
        (void)wx_access(m, wx_queue(near()), MUTABLE);
    else if (where == SC_DEV1)
        (void)wx_access(m, wx_queue(far()), MUTABLE);
    else if (where == SC_HOST_DEV0)
        (void)wx_access(m, wx_queue(near()), FERRY_READ);
    else if (where == SC_PENDING) /* a kernel that changes nothing, on a queue of the program */
        FX_OK(ferry_math_scal(s->own[1], FERRY_F32, SC_COUNT, 1, wx_access(m, s->own[1], MUTABLE)));
    if (where == SC_DEV0_DEV1) {
        (void)wx_access(m, wx_queue(near()), MUTABLE);
        (void)wx_access(m, wx_queue(far()), FERRY_READ);
    }
}

void scene_set(struct scene *s, enum whereabouts where)
{
    const int64_t count = SC_COUNT;

    memset(s, 0, sizeof(*s));
    FX_OK_FATAL(ferry_blob_create(wx_dev(near()), FERRY_F32, &count, 1, &s->b));
    FX_OK_FATAL(ferry_blob_create(wx_dev(near()), FERRY_F32, &count, 1, &s->other));
    put(ferry_blob_overwrite_host_data(s->b), 1, 1);
    put(ferry_blob_overwrite_host_diff(s->b), 10, 10);
    put(ferry_blob_overwrite_host_data(s->other), 101, 1);
    put(ferry_blob_overwrite_host_diff(s->other), 201, 1);
    for (int i = 0; i < 2; i++)
        s->own[i] = wx_queue_create(i ? far() : near());
    FX_OK_FATAL(ferry_event_record(s->own[1], &s->event));
    s->block = aligned_alloc(64, 64);
    put(s->block, 7, 0);
    FX_OK_FATAL(ferry_memory_create(wx_dev(near()), SC_COUNT * sizeof(float), &s->lent));
    s->lent_at = wx_access(s->lent, wx_queue(near()), FERRY_WRITE);
    FX_OK(ferry_math_fill(wx_queue(near()), FERRY_F32, SC_COUNT, 7, s->lent_at));
    wx_run_all();
    bring(s, where);
}

void scene_clear(struct scene *s)
{
    ferry_blob_destroy(s->blob_made);
    ferry_queue_destroy(s->queue_made);
    ferry_event_destroy(s->event_made);
    ferry_blob_destroy(s->b);
    ferry_blob_destroy(s->other);
    ferry_event_destroy(s->event);
    for (int i = 0; i < 2; i++)
        ferry_queue_destroy(s->own[i]);
    ferry_memory_release(s->lent);
    free(s->block);
}
