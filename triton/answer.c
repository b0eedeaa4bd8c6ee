/* SPDX-License-Identifier: BSD-2-Clause */
#include "triton/batch.h"

#include <string.h>

/* Logs and frees an error of the server's own functions, which cannot be sent to a client. */
static void drop(TRITONSERVER_Error *error, const char *what)
{
    if (!error)
        return;
    triton_warn("%s: %s", what, TRITONSERVER_ErrorMessage(error));
    TRITONSERVER_ErrorDelete(error);
}

/* Number of the model's output of that name; -1 if there is none. */
static int find_output(const struct triton_model *m, const char *name)
{
    for (size_t k = 0; k < m->about.output_count; k++)
        if (strcmp(m->about.outputs[k].name, name) == 0)
            return (int)k;
    return -1;
}

/* Entries first … first + r->batch - 1 of an output of `batch` entries. */
static TRITONSERVER_Error *send_output(const struct triton_instance *i,
                                       const struct triton_request *r,
                                       TRITONBACKEND_Response *response, int k, int64_t first,
                                       int64_t batch)
{
    const struct triton_tensor *t = &i->model->about.outputs[k];
    const ferry_blob *b = i->outputs[k];
    size_t bytes = (size_t)ferry_blob_element_count(b) * ferry_dtype_size(t->dtype);
    const char *from = ferry_blob_host_data(b);
    TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
    TRITONBACKEND_Output *output;
    int64_t dims[FERRY_MAX_AXES], id = 0;
    int rank = ferry_blob_rank(b);
    void *to = NULL;
    TRITONSERVER_Error *error;

    memcpy(dims, ferry_blob_shape(b), (size_t)rank * sizeof(*dims));
    if (i->model->config.max_batch > 0) {
        dims[0] = r->batch;
        bytes = bytes / (size_t)batch;
        from += (size_t)first * bytes;
        bytes *= (size_t)r->batch;
    }
    error = TRITONBACKEND_ResponseOutput(response, &output, t->name,
                                         (TRITONSERVER_DataType)triton_dtype_number(t->dtype), dims,
                                         (uint32_t)rank);
    if (!error)
        error = TRITONBACKEND_OutputBuffer(output, &to, bytes, &type, &id);
    if (!error && type == TRITONSERVER_MEMORY_GPU)
        error = triton_gpu_write(i, from, bytes, id, to);
    else if (!error && bytes)
        memcpy(to, from, bytes);
    return error;
}

static TRITONSERVER_Error *send_outputs(const struct triton_instance *i,
                                        const struct triton_request *r,
                                        TRITONBACKEND_Response *response, int64_t first,
                                        int64_t batch)
{
    uint32_t count = 0;
    TRITONSERVER_Error *error = TRITONBACKEND_RequestOutputCount(r->server, &count);

    for (uint32_t n = 0; !error && n < count; n++) {
        const char *name;
        int k;

        error = TRITONBACKEND_RequestOutputName(r->server, n, &name);
        if (error)
            break;
        k = find_output(i->model, name);
        error = k >= 0 ? send_output(i, r, response, k, first, batch)
                       : triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                          "output \"%s\" is not one of the model's", name);
    }
    return error;
}

void triton_answer(struct triton_instance *i, struct triton_request *r, int64_t first,
                   int64_t batch, const struct triton_times *times)
{
    TRITONBACKEND_Response *response = NULL;
    TRITONSERVER_Error *lost = TRITONBACKEND_ResponseNew(&response, r->server);
    bool good;

    if (!lost && !r->error)
        r->error = send_outputs(i, r, response, first, batch);
    good = !lost && !r->error;
    if (lost)
        drop(lost, "a response");
    else
        drop(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, r->error),
             "a response");
    drop(TRITONBACKEND_ModelInstanceReportStatistics(i->server, r->server, good, times->begin,
                                                     times->compute_begin, times->compute_end,
                                                     triton_now()),
         "statistics");
    drop(TRITONBACKEND_RequestRelease(r->server, TRITONSERVER_REQUEST_RELEASE_ALL), "a request");
    if (r->error)
        TRITONSERVER_ErrorDelete(r->error);
    r->error = NULL;
    r->server = NULL;
}
