/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TRITON_BATCH_H
#define FERRY_TRITON_BATCH_H

#include "triton/backend.h"

/* Requests of one call, and the passes that they are joined to. */

/* An input of a request. Borrowed from the server until the request is released. */
struct triton_view {
    TRITONBACKEND_Input *input;
    const int64_t *shape;
    uint32_t rank, buffers;
    size_t bytes;
};

struct triton_request {
    TRITONBACKEND_Request *server;
    TRITONSERVER_Error *error; /* the answer, if it is not the outputs */
    int64_t batch;             /* entries of axis 0 that it adds to a pass; 1 without batching */
    bool taken;                /* part of a pass already */
    struct triton_view *views; /* one per input of the model */
};

/* Nanoseconds of the steady clock. */
struct triton_times {
    uint64_t begin, compute_begin, compute_end;
};

/* Reads the inputs of a request and checks them; sets r->error where it cannot be computed. */
void triton_request_read(const struct triton_model *m, struct triton_request *r);
/* Whether two requests may be parts of one pass: equal shapes but for the batch. */
bool triton_request_joins(const struct triton_model *m, const struct triton_request *a,
                          const struct triton_request *b);
/* Copies an input's buffers, r->views[input].bytes bytes, to `to` on the host. */
TRITONSERVER_Error *triton_request_copy(const struct triton_instance *i,
                                        const struct triton_request *r, size_t input, char *to);

/*
 * Runs the net on n requests as one batch and leaves the outputs in its blobs. An error is that of
 * the pass, for all of them, and owned by the caller.
 */
TRITONSERVER_Error *triton_pass(struct triton_instance *i, struct triton_request **members,
                                size_t n, int64_t batch, struct triton_times *times);

/*
 * Sends the entries `first` … of the outputs as the request's response, or r->error; reports
 * statistics; releases the request.
 */
void triton_answer(struct triton_instance *i, struct triton_request *r, int64_t first,
                   int64_t batch, const struct triton_times *times);

uint64_t triton_now(void);

#endif
