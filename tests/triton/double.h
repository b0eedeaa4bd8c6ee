/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TRITON_DOUBLE_H
#define FERRY_TRITON_DOUBLE_H

#include "triton/server.h"

#include <stdatomic.h>

/*
 * A double of the Triton server: it defines the functions of triton/server.h, opens the backend as
 * the server does, and lets a test make models, instances and requests. It ends the program if the
 * backend breaks a rule of the interface: a request is released twice, a response is sent twice, or
 * an error is used after it was deleted.
 */

#define DOUBLE_INPUTS  4
#define DOUBLE_BUFFERS 4
#define DOUBLE_RANK    40

struct TRITONBACKEND_Backend {
    const char *config; /* JSON */
    void *state;
};

struct TRITONBACKEND_Model {
    const char *path;
    uint64_t version;
    char *config; /* JSON; the backend may replace it */
    bool complete;
    bool completed; /* the backend has replaced it */
    uint64_t usage; /* bytes that the backend has reported */
    void *state;
};

struct TRITONBACKEND_ModelInstance {
    TRITONBACKEND_Model *model;
    TRITONSERVER_InstanceGroupKind kind;
    int32_t id;
    void *state;
    uint64_t good, bad, passes, entries; /* statistics that were reported */
};

struct TRITONBACKEND_Input {
    const char *name;
    TRITONSERVER_DataType type;
    TRITONSERVER_MemoryType memory;
    int64_t id; /* of the GPU */
    int64_t shape[DOUBLE_RANK];
    uint32_t rank, buffer_count;
    struct {
        const void *data;
        uint64_t size;
    } buffers[DOUBLE_BUFFERS];
};

struct TRITONBACKEND_Output {
    char name[64];
    int64_t shape[DOUBLE_RANK];
    uint32_t rank;
    uint64_t size;
    void *data; /* malloc's, or the response's memory of a GPU */
    TRITONBACKEND_Response *response;
};

struct TRITONBACKEND_Response {
    void *gpu; /* memory of GPU 0 for the outputs, or NULL: host memory */
    TRITONBACKEND_Output outputs[DOUBLE_INPUTS];
    uint32_t count;
    bool sent;
    char error[2048]; /* "" for success */
    TRITONSERVER_Error_Code code;
};

struct TRITONBACKEND_Request {
    TRITONBACKEND_Input inputs[DOUBLE_INPUTS];
    uint32_t input_count;
    const char *outputs[DOUBLE_INPUTS];
    uint32_t output_count;
    bool cancelled, released;
    TRITONBACKEND_Response response;
};

/* The version that the server reports; errors and messages that exist. */
extern uint32_t double_minor;
extern atomic_int double_live;

/* Opens the backend in the build folder and initializes it. NULL, or the message of its error. */
const char *double_open(TRITONBACKEND_Backend *b);
void double_close(TRITONBACKEND_Backend *b);

/* Loads the model in a folder with `instances` instances. NULL, or the message of the error. */
const char *double_load(TRITONBACKEND_Backend *b, TRITONBACKEND_Model *m, const char *path,
                        const char *config, TRITONBACKEND_ModelInstance *instances, int count);
void double_unload(TRITONBACKEND_Model *m, TRITONBACKEND_ModelInstance *instances, int count);

/* Runs requests in one call; each is answered afterwards, or the program ends. */
void double_execute(TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request **requests, uint32_t n);
/* Frees the outputs and makes the request ready for another run. */
void double_reset(TRITONBACKEND_Request *r);

#endif
