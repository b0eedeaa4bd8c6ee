/* SPDX-License-Identifier: BSD-2-Clause */
#include "triton/batch.h"

#include <inttypes.h>
#include <string.h>

static TRITONSERVER_Error *check_cancelled(TRITONBACKEND_Request *r)
{
    bool cancelled = false;
    TRITONSERVER_Error *error =
        TRITONBACKEND_RequestIsCancelled ? TRITONBACKEND_RequestIsCancelled(r, &cancelled) : NULL;

    if (!error && cancelled)
        error = triton_error_new(TRITONSERVER_ERROR_CANCELLED, "the request was cancelled");
    return error;
}

/* Whether dims are the model's where these are numbers; axis 0 is free in a batch. */
static bool fits(const struct triton_view *v, const struct triton_tensor *t, bool batched)
{
    if (v->rank != (uint32_t)t->rank)
        return false;
    for (int axis = batched; axis < t->rank; axis++)
        if (v->shape[axis] != t->dims[axis] && t->dims[axis] != TRITON_ANY)
            return false;
    return true;
}

/* The bytes of a shape; SIZE_MAX if they are more than an int64_t counts, or a dim is negative. */
static size_t bytes_of(const struct triton_view *v, ferry_dtype dtype)
{
    int64_t count = 1, size = (int64_t)ferry_dtype_size(dtype);

    for (uint32_t axis = 0; axis < v->rank; axis++) {
        if (v->shape[axis] < 0 || (v->shape[axis] > 0 && count > INT64_MAX / size / v->shape[axis]))
            return SIZE_MAX;
        count *= v->shape[axis];
    }
    return (size_t)(count * size);
}

static TRITONSERVER_Error *check_view(const struct triton_model *m, const struct triton_tensor *t,
                                      const struct triton_view *v, TRITONSERVER_DataType type)
{
    bool batched = m->config.max_batch > 0;
    char got[256], wanted[256];
    size_t bytes;

    if ((int)type != triton_dtype_number(t->dtype))
        return triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                "input \"%s\": data type number %d, the model takes %s", t->name,
                                (int)type, triton_dtype_name(t->dtype) + 5);
    if (v->rank > FERRY_MAX_AXES)
        return triton_error_new(TRITONSERVER_ERROR_INVALID_ARG, "input \"%s\": %" PRIu32 " axes",
                                t->name, v->rank);
    triton_dims(v->shape, (int)v->rank, got, sizeof(got));
    if (!fits(v, t, batched))
        return triton_error_new(
            TRITONSERVER_ERROR_INVALID_ARG, "input \"%s\": shape %s, the model takes %s%s", t->name,
            got, triton_dims(t->dims + batched, t->rank - batched, wanted, sizeof(wanted)),
            batched ? " after the batch" : "");
    bytes = bytes_of(v, t->dtype);
    if (bytes == 0)
        return triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                "input \"%s\": shape %s has no elements", t->name, got);
    if (bytes != v->bytes)
        return triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                "input \"%s\": %zu bytes, shape %s does not have them", t->name,
                                v->bytes, got);
    return NULL;
}

static TRITONSERVER_Error *read_view(const struct triton_model *m, struct triton_request *r,
                                     size_t input)
{
    const struct triton_tensor *t = &m->about.inputs[input];
    struct triton_view *v = &r->views[input];
    TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
    uint64_t bytes = 0;
    TRITONSERVER_Error *error = TRITONBACKEND_RequestInput(r->server, t->name, &v->input);

    if (!error)
        error = TRITONBACKEND_InputProperties(v->input, NULL, &type, &v->shape, &v->rank, &bytes,
                                              &v->buffers);
    v->bytes = (size_t)bytes;
    return error ? error : check_view(m, t, v, type);
}

void triton_request_read(const struct triton_model *m, struct triton_request *r)
{
    bool batched = m->config.max_batch > 0;

    r->error = check_cancelled(r->server);
    for (size_t i = 0; !r->error && i < m->about.input_count; i++)
        r->error = read_view(m, r, i);
    r->batch = !r->error && batched ? r->views[0].shape[0] : 1;
    for (size_t i = 0; !r->error && batched && i < m->about.input_count; i++)
        if (r->views[i].shape[0] != r->batch || r->batch > m->config.max_batch)
            r->error = triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                        "input \"%s\": a batch of %" PRId64 "; the first input has "
                                        "%" PRId64 ", and max_batch_size is %" PRId64,
                                        m->about.inputs[i].name, r->views[i].shape[0], r->batch,
                                        m->config.max_batch);
}

bool triton_request_joins(const struct triton_model *m, const struct triton_request *a,
                          const struct triton_request *b)
{
    if (m->config.max_batch == 0)
        return false;
    for (size_t i = 0; i < m->about.input_count; i++)
        if (memcmp(a->views[i].shape + 1, b->views[i].shape + 1,
                   (a->views[i].rank - 1) * sizeof(*a->views[i].shape)) != 0)
            return false;
    return true;
}

TRITONSERVER_Error *triton_request_copy(const struct triton_instance *i,
                                        const struct triton_request *r, size_t input, char *to)
{
    const struct triton_view *v = &r->views[input];
    size_t done = 0;

    for (uint32_t k = 0; k < v->buffers; k++) {
        TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
        const void *from = NULL;
        uint64_t size = 0;
        int64_t id = 0;
        TRITONSERVER_Error *error =
            TRITONBACKEND_InputBuffer(v->input, k, &from, &size, &type, &id);

        if (size > v->bytes - done)
            size = v->bytes - done;
        if (!error && type == TRITONSERVER_MEMORY_GPU)
            error = triton_gpu_read(i, from, (size_t)size, id, to + done);
        else if (!error && size)
            memcpy(to + done, from, (size_t)size);
        if (error)
            return error;
        done += (size_t)size;
    }
    if (done == v->bytes)
        return NULL;
    return triton_error_new(TRITONSERVER_ERROR_INTERNAL, "an input's buffers have %zu of %zu bytes",
                            done, v->bytes);
}
