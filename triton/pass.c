/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "triton/batch.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

uint64_t triton_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- inputs --------------------------------------------------------------------------------- */

static int reshape(struct triton_instance *i, const struct triton_request *r, int64_t batch)
{
    const struct triton_model *m = i->model;

    for (size_t k = 0; k < m->about.input_count; k++) {
        int64_t dims[FERRY_MAX_AXES];
        int rank = (int)r->views[k].rank, err;

        memcpy(dims, r->views[k].shape, r->views[k].rank * sizeof(*dims));
        if (m->config.max_batch > 0)
            dims[0] = batch;
        err = ferry_blob_reshape(ferry_net_input_at(i->net, (int)k), dims, rank, NULL);
        if (err)
            return err;
    }
    return ferry_net_reshape(i->net);
}

/*
 * The one buffer of an input, on the host or on the instance's device; NULL where it has several,
 * or is in the memory of another GPU.
 */
static const void *whole_buffer(const struct triton_instance *i, const struct triton_view *v,
                                bool *out_on_device)
{
    TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
    const void *from = NULL;
    uint64_t size = 0;
    int64_t id = 0;
    TRITONSERVER_Error *error;

    if (v->buffers != 1)
        return NULL;
    error = TRITONBACKEND_InputBuffer(v->input, 0, &from, &size, &type, &id);
    if (error) {
        TRITONSERVER_ErrorDelete(error);
        return NULL;
    }
    *out_on_device = type == TRITONSERVER_MEMORY_GPU;
    if (size != v->bytes || (*out_on_device && !triton_gpu_is_of(i, id)))
        return NULL;
    return from;
}

/* Puts an input of all members one behind the other into the blob. */
static TRITONSERVER_Error *gather(struct triton_instance *i, struct triton_request **members,
                                  size_t n, size_t input)
{
    char *to = ferry_blob_overwrite_host_data(ferry_net_input_at(i->net, (int)input));
    TRITONSERVER_Error *error = NULL;

    if (!to)
        return triton_error(ferry_last_error_code(), NULL);
    for (size_t k = 0; !error && k < n; k++) {
        error = triton_request_copy(i, members[k], input, to);
        to += members[k]->views[input].bytes;
    }
    return error;
}

/* Bit `input` of *adopted: the input is the request's own memory until triton_instance_detach. */
static TRITONSERVER_Error *fill(struct triton_instance *i, struct triton_request **members,
                                size_t n, uint64_t *adopted)
{
    TRITONSERVER_Error *error = NULL;

    for (size_t k = 0; !error && k < i->model->about.input_count; k++) {
        const struct triton_view *v = &members[0]->views[k];
        bool on_device = false;
        const void *from = n == 1 && k < 64 ? whole_buffer(i, v, &on_device) : NULL;

        if (from && triton_instance_adopt(i, k, from, v->bytes, on_device))
            *adopted |= (uint64_t)1 << k;
        else
            error = gather(i, members, n, k);
    }
    return error;
}

/* ---- the pass ------------------------------------------------------------------------------- */

/* Reshaping and selecting layers may give an output other entries than the batch's. */
static int check_entries(const ferry_blob *output, int64_t batch)
{
    int64_t entries = ferry_blob_rank(output) > 0 ? ferry_blob_dim(output, 0) : 1;

    if (entries == batch)
        return FERRY_OK;
    return ferry_error_set(FERRY_ESHAPE,
                           "output \"%s\" has %" PRId64 " entries for a batch of %" PRId64
                           "; such a net is served with max_batch_size 0",
                           ferry_blob_name(output), entries, batch);
}

/* Waits for the outputs: they are on the host afterwards. */
static int fetch(struct triton_instance *i, int64_t batch)
{
    int err = FERRY_OK;

    for (size_t k = 0; !err && k < i->model->about.output_count; k++)
        if (!ferry_blob_host_data(i->outputs[k]))
            err = ferry_last_error_code();
        else if (i->model->config.max_batch > 0)
            err = check_entries(i->outputs[k], batch);
    return err;
}

static int run(struct triton_instance *i, int64_t batch, uint64_t adopted,
               struct triton_times *times)
{
    int err;

    times->compute_begin = triton_now();
    err = ferry_net_forward(i->net, NULL);
    if (!err)
        err = fetch(i, batch);
    times->compute_end = triton_now();
    for (size_t k = 0; k < i->model->about.input_count && k < 64; k++)
        if (adopted >> k & 1)
            triton_instance_detach(i, k, err);
    return err;
}

static TRITONSERVER_Error *pass(struct triton_instance *i, struct triton_request **members,
                                size_t n, int64_t batch, struct triton_times *times)
{
    TRITONSERVER_Error *error;
    uint64_t adopted = 0;
    int err;

    times->begin = triton_now();
    err = reshape(i, members[0], batch);
    if (err)
        return triton_error(err, NULL);
    error = fill(i, members, n, &adopted);
    if (error) {
        for (size_t k = 0; k < 64; k++)
            if (adopted >> k & 1)
                triton_instance_detach(i, k, FERRY_OK);
        return error;
    }
    err = run(i, batch, adopted, times);
    /* A layer writes to its input in place: the instance copies from now on. */
    if (err == FERRY_EPERM && adopted)
        return pass(i, members, n, batch, times);
    return err ? triton_error(err, NULL) : NULL;
}

TRITONSERVER_Error *triton_pass(struct triton_instance *i, struct triton_request **members,
                                size_t n, int64_t batch, struct triton_times *times)
{
    TRITONSERVER_Error *error;

    /* The server may run instances of several models on one thread. */
    if (i->limit_threads)
        i->limit_threads(i->model->config.threads);
    error = pass(i, members, n, batch, times);
    if (i->limit_threads)
        i->limit_threads(0);
    return error;
}
