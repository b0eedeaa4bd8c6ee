/* SPDX-License-Identifier: BSD-2-Clause */
#include "triton/batch.h"

#include <stdlib.h>

static void report_batch(struct triton_instance *i, int64_t batch, const struct triton_times *times)
{
    TRITONSERVER_Error *error = TRITONBACKEND_ModelInstanceReportBatchStatistics(
        i->server, (uint64_t)batch, times->begin, times->compute_begin, times->compute_end,
        triton_now());

    if (error)
        TRITONSERVER_ErrorDelete(error);
}

static void run_alone(struct triton_instance *i, struct triton_request *r)
{
    struct triton_times times = { 0 };
    int64_t batch = r->batch;

    r->error = triton_pass(i, &r, 1, batch, &times);
    if (!r->error)
        report_batch(i, batch, &times);
    triton_answer(i, r, 0, batch, &times);
}

/* A pass that fails is repeated with each request alone: only those that fail get an error. */
static void run_together(struct triton_instance *i, struct triton_request **members, size_t n,
                         int64_t batch)
{
    struct triton_times times = { 0 };
    TRITONSERVER_Error *error;
    int64_t first = 0;

    if (n == 1) {
        run_alone(i, members[0]);
        return;
    }
    error = triton_pass(i, members, n, batch, &times);
    if (error) {
        TRITONSERVER_ErrorDelete(error);
        for (size_t k = 0; k < n; k++)
            run_alone(i, members[k]);
        return;
    }
    report_batch(i, batch, &times);
    for (size_t k = 0; k < n; k++) {
        int64_t next = first + members[k]->batch;

        triton_answer(i, members[k], first, batch, &times);
        first = next;
    }
}

/* The requests from `from` on that join it, up to max_batch_size; all of them are then taken. */
static size_t collect(const struct triton_model *m, struct triton_request *requests, uint32_t from,
                      uint32_t count, struct triton_request **members, int64_t *out_batch)
{
    struct triton_request *head = &requests[from];
    size_t n = 0;

    *out_batch = 0;
    for (uint32_t k = from; k < count; k++) {
        struct triton_request *r = &requests[k];

        if (r->taken || r->error)
            continue;
        if (k != from &&
            (*out_batch + r->batch > m->config.max_batch || !triton_request_joins(m, head, r)))
            continue;
        r->taken = true;
        members[n++] = r;
        *out_batch += r->batch;
    }
    return n;
}

static void answer_error(struct triton_instance *i, struct triton_request *r)
{
    const struct triton_times times = { 0 };

    triton_answer(i, r, 0, r->batch, &times);
}

TRITONSERVER_Error *triton_execute(struct triton_instance *i, TRITONBACKEND_Request **requests,
                                   uint32_t count)
{
    const struct triton_model *m = i->model;
    struct triton_request *all = calloc(count, sizeof(*all));
    struct triton_request **members = calloc(count, sizeof(struct triton_request *));
    struct triton_view *views = calloc(count * m->about.input_count, sizeof(*views));

    if (!all || !members || !views) {
        free(all);
        free(members);
        free(views);
        return triton_error_new(TRITONSERVER_ERROR_UNAVAILABLE, "%u requests: out of memory",
                                (unsigned)count);
    }
    for (uint32_t k = 0; k < count; k++) {
        all[k].server = requests[k];
        all[k].views = views + k * m->about.input_count;
        triton_request_read(m, &all[k]);
    }
    for (uint32_t k = 0; k < count; k++) {
        int64_t batch = 0;
        size_t n;

        if (all[k].taken)
            continue;
        if (all[k].error) {
            answer_error(i, &all[k]);
            continue;
        }
        n = collect(m, all, k, count, members, &batch);
        run_together(i, members, n, batch);
    }
    free(views);
    free(members);
    free(all);
    return NULL;
}
