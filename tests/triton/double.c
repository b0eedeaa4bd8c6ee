/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "double.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct TRITONSERVER_Error {
    TRITONSERVER_Error_Code code;
    char text[2048];
};

struct TRITONSERVER_Message {
    char *text;
};

struct TRITONSERVER_BufferAttributes {
    uint64_t size;
};

uint32_t double_minor = 19;
atomic_int double_live;

#define RULE(condition)                                                       \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "the server's double: not so: %s\n", #condition); \
            abort();                                                          \
        }                                                                     \
    } while (0)

/* ---- errors, log, messages ------------------------------------------------------------------- */

TRITONSERVER_Error *TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char *message)
{
    TRITONSERVER_Error *error = malloc(sizeof(*error));

    RULE(error && message);
    error->code = code;
    snprintf(error->text, sizeof(error->text), "%s", message);
    double_live++;
    return error;
}

void TRITONSERVER_ErrorDelete(TRITONSERVER_Error *error)
{
    RULE(error);
    free(error);
    double_live--;
}

const char *TRITONSERVER_ErrorMessage(TRITONSERVER_Error *error)
{
    return error->text;
}

TRITONSERVER_Error *TRITONSERVER_LogMessage(TRITONSERVER_LogLevel level, const char *file, int line,
                                            const char *message)
{
    (void)file;
    (void)line;
    RULE(level <= TRITONSERVER_LOG_VERBOSE && message);
    return NULL;
}

static TRITONSERVER_Message *message_of(const char *text, size_t size)
{
    TRITONSERVER_Message *m = malloc(sizeof(*m));

    RULE(m);
    m->text = strndup(text, size);
    double_live++;
    return m;
}

TRITONSERVER_Error *TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message **out,
                                                              const char *text, size_t size)
{
    *out = message_of(text, size);
    return NULL;
}

TRITONSERVER_Error *TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message *message,
                                                        const char **out_text, size_t *out_size)
{
    *out_text = message->text;
    *out_size = strlen(message->text);
    return NULL;
}

TRITONSERVER_Error *TRITONSERVER_MessageDelete(TRITONSERVER_Message *message)
{
    free(message->text);
    free(message);
    double_live--;
    return NULL;
}

/* ---- backend and model ----------------------------------------------------------------------- */

TRITONSERVER_Error *TRITONBACKEND_ApiVersion(uint32_t *out_major, uint32_t *out_minor)
{
    *out_major = 1;
    *out_minor = double_minor;
    return NULL;
}

/* The backend borrows this message, so that it is freed with the backend. */
static TRITONSERVER_Message backend_config;

TRITONSERVER_Error *TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend *b,
                                                TRITONSERVER_Message **out)
{
    free(backend_config.text);
    backend_config.text = strdup(b->config);
    *out = &backend_config;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_BackendState(TRITONBACKEND_Backend *b, void **out)
{
    *out = b->state;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_BackendSetState(TRITONBACKEND_Backend *b, void *state)
{
    b->state = state;
    return NULL;
}

static TRITONBACKEND_Backend *the_backend;

TRITONSERVER_Error *TRITONBACKEND_ModelBackend(TRITONBACKEND_Model *m, TRITONBACKEND_Backend **out)
{
    (void)m;
    *out = the_backend;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelName(TRITONBACKEND_Model *m, const char **out)
{
    *out = m->path;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelVersion(TRITONBACKEND_Model *m, uint64_t *out)
{
    *out = m->version;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelRepository(TRITONBACKEND_Model *m,
                                                  TRITONBACKEND_ArtifactType *out_type,
                                                  const char **out_path)
{
    *out_type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
    *out_path = m->path;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelConfig(TRITONBACKEND_Model *m, uint32_t version,
                                              TRITONSERVER_Message **out)
{
    RULE(version == 1);
    *out = message_of(m->config, strlen(m->config));
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model *m, bool *out)
{
    *out = m->complete;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model *m, uint32_t version,
                                                 TRITONSERVER_Message *config)
{
    RULE(version == 1 && m->complete);
    free(m->config);
    m->config = strdup(config->text);
    m->completed = true;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelState(TRITONBACKEND_Model *m, void **out)
{
    *out = m->state;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelSetState(TRITONBACKEND_Model *m, void *state)
{
    m->state = state;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelReportMemoryUsage(TRITONBACKEND_Model *m,
                                                         TRITONSERVER_BufferAttributes **usage,
                                                         uint32_t count)
{
    RULE(count == 1);
    m->usage = usage[0]->size;
    return NULL;
}

TRITONSERVER_Error *TRITONSERVER_BufferAttributesNew(TRITONSERVER_BufferAttributes **out)
{
    *out = calloc(1, sizeof(**out));
    RULE(*out);
    double_live++;
    return NULL;
}

TRITONSERVER_Error *TRITONSERVER_BufferAttributesDelete(TRITONSERVER_BufferAttributes *a)
{
    free(a);
    double_live--;
    return NULL;
}

TRITONSERVER_Error *TRITONSERVER_BufferAttributesSetMemoryType(TRITONSERVER_BufferAttributes *a,
                                                               TRITONSERVER_MemoryType type)
{
    RULE(a && type == TRITONSERVER_MEMORY_CPU);
    return NULL;
}

TRITONSERVER_Error *TRITONSERVER_BufferAttributesSetMemoryTypeId(TRITONSERVER_BufferAttributes *a,
                                                                 int64_t id)
{
    RULE(a && id == 0);
    return NULL;
}

TRITONSERVER_Error *TRITONSERVER_BufferAttributesSetByteSize(TRITONSERVER_BufferAttributes *a,
                                                             size_t size)
{
    a->size = size;
    return NULL;
}

/* ---- instances ------------------------------------------------------------------------------- */

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceName(TRITONBACKEND_ModelInstance *i,
                                                    const char **out)
{
    (void)i;
    *out = "instance";
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance *i,
                                                    TRITONSERVER_InstanceGroupKind *out)
{
    *out = i->kind;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance *i,
                                                        int32_t *out)
{
    *out = i->id;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance *i,
                                                     TRITONBACKEND_Model **out)
{
    *out = i->model;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance *i, void **out)
{
    *out = i->state;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance *i, void *state)
{
    i->state = state;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportStatistics(TRITONBACKEND_ModelInstance *i,
                                                                TRITONBACKEND_Request *r,
                                                                bool success, uint64_t begin,
                                                                uint64_t compute_begin,
                                                                uint64_t compute_end, uint64_t end)
{
    RULE(!r->released && success == !r->response.error[0]);
    RULE(!success ||
         (begin && begin <= compute_begin && compute_begin <= compute_end && compute_end <= end));
    *(success ? &i->good : &i->bad) += 1;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance *i,
                                                                     uint64_t batch, uint64_t begin,
                                                                     uint64_t compute_begin,
                                                                     uint64_t compute_end,
                                                                     uint64_t end)
{
    RULE(batch > 0 && begin && begin <= compute_begin && compute_begin <= compute_end &&
         compute_end <= end);
    i->passes++;
    i->entries += batch;
    return NULL;
}

/* ---- requests and responses ------------------------------------------------------------------ */

TRITONSERVER_Error *TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request *r, bool *out)
{
    *out = r->cancelled;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestInput(TRITONBACKEND_Request *r, const char *name,
                                               TRITONBACKEND_Input **out)
{
    RULE(!r->released);
    for (uint32_t k = 0; k < r->input_count; k++)
        if (strcmp(r->inputs[k].name, name) == 0) {
            *out = &r->inputs[k];
            return NULL;
        }
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "no such input");
}

TRITONSERVER_Error *TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request *r, uint32_t *out)
{
    *out = r->output_count;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request *r, uint32_t index,
                                                    const char **out)
{
    RULE(index < r->output_count);
    *out = r->outputs[index];
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestRelease(TRITONBACKEND_Request *r, uint32_t flags)
{
    RULE(!r->released && flags == TRITONSERVER_REQUEST_RELEASE_ALL);
    r->released = true;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_InputProperties(TRITONBACKEND_Input *i, const char **name,
                                                  TRITONSERVER_DataType *type,
                                                  const int64_t **shape, uint32_t *rank,
                                                  uint64_t *size, uint32_t *buffers)
{
    if (name)
        *name = i->name;
    *type = i->type;
    *shape = i->shape;
    *rank = i->rank;
    *size = 0;
    for (uint32_t k = 0; k < i->buffer_count; k++)
        *size += i->buffers[k].size;
    *buffers = i->buffer_count;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_InputBuffer(TRITONBACKEND_Input *i, uint32_t index,
                                              const void **out, uint64_t *out_size,
                                              TRITONSERVER_MemoryType *type, int64_t *type_id)
{
    RULE(index < i->buffer_count);
    *out = i->buffers[index].data;
    *out_size = i->buffers[index].size;
    *type = i->memory;
    *type_id = i->id;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ResponseNew(TRITONBACKEND_Response **out,
                                              TRITONBACKEND_Request *r)
{
    RULE(!r->released && !r->response.sent && !r->response.count);
    *out = &r->response;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response *r,
                                                 TRITONBACKEND_Output **out, const char *name,
                                                 TRITONSERVER_DataType type, const int64_t *shape,
                                                 uint32_t rank)
{
    TRITONBACKEND_Output *o = &r->outputs[r->count++];

    RULE(r->count <= DOUBLE_INPUTS && rank <= DOUBLE_RANK && type == TRITONSERVER_TYPE_FP32);
    snprintf(o->name, sizeof(o->name), "%s", name);
    memcpy(o->shape, shape, rank * sizeof(*shape));
    o->rank = rank;
    o->response = r;
    *out = o;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output *o, void **out, uint64_t size,
                                               TRITONSERVER_MemoryType *type, int64_t *type_id)
{
    o->data = o->response->gpu ? o->response->gpu : malloc(size ? size : 1);
    o->size = size;
    RULE(o->data);
    *out = o->data;
    *type = o->response->gpu ? TRITONSERVER_MEMORY_GPU : TRITONSERVER_MEMORY_CPU;
    *type_id = 0;
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ResponseSend(TRITONBACKEND_Response *r, uint32_t flags,
                                               TRITONSERVER_Error *error)
{
    RULE(!r->sent && flags == TRITONSERVER_RESPONSE_COMPLETE_FINAL);
    r->sent = true;
    if (error) {
        r->code = error->code;
        snprintf(r->error, sizeof(r->error), "%s", error->text);
        RULE(r->error[0]);
    }
    return NULL;
}

/* ---- the server ------------------------------------------------------------------------------ */

typedef TRITONSERVER_Error *(*backend_fn)(TRITONBACKEND_Backend *);
typedef TRITONSERVER_Error *(*model_fn)(TRITONBACKEND_Model *);
typedef TRITONSERVER_Error *(*instance_fn)(TRITONBACKEND_ModelInstance *);
typedef TRITONSERVER_Error *(*execute_fn)(TRITONBACKEND_ModelInstance *, TRITONBACKEND_Request **,
                                          uint32_t);

static struct {
    void *handle;
    backend_fn initialize, finalize;
    model_fn model_initialize, model_finalize;
    instance_fn instance_initialize, instance_finalize;
    execute_fn execute;
} entries;

static void find(const char *name, void *out)
{
    void *symbol = dlsym(entries.handle, name);

    RULE(symbol);
    memcpy(out, &symbol, sizeof(symbol));
}

/* Keeps an error's text until the next call; NULL for NULL. */
static const char *text_of(TRITONSERVER_Error *error)
{
    static _Thread_local char text[2048];

    if (!error)
        return NULL;
    snprintf(text, sizeof(text), "%s", error->text);
    TRITONSERVER_ErrorDelete(error);
    return text;
}

const char *double_open(TRITONBACKEND_Backend *b)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/triton/.libs/libtriton_ferry.so",
             getenv("FERRY_TEST_BUILDDIR"));
    entries.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!entries.handle)
        fprintf(stderr, "%s\n", dlerror());
    RULE(entries.handle);
    find("TRITONBACKEND_Initialize", &entries.initialize);
    find("TRITONBACKEND_Finalize", &entries.finalize);
    find("TRITONBACKEND_ModelInitialize", &entries.model_initialize);
    find("TRITONBACKEND_ModelFinalize", &entries.model_finalize);
    find("TRITONBACKEND_ModelInstanceInitialize", &entries.instance_initialize);
    find("TRITONBACKEND_ModelInstanceFinalize", &entries.instance_finalize);
    find("TRITONBACKEND_ModelInstanceExecute", &entries.execute);
    the_backend = b;
    return text_of(entries.initialize(b));
}

void double_close(TRITONBACKEND_Backend *b)
{
    if (b->state)
        RULE(!text_of(entries.finalize(b)));
    b->state = NULL;
    free(backend_config.text);
    backend_config.text = NULL;
    dlclose(entries.handle);
}

const char *double_load(TRITONBACKEND_Backend *b, TRITONBACKEND_Model *m, const char *path,
                        const char *config, TRITONBACKEND_ModelInstance *instances, int count)
{
    const char *error;

    RULE(b == the_backend);
    m->path = path;
    m->version = 1;
    m->config = strdup(config);
    error = text_of(entries.model_initialize(m));
    if (error) {
        free(m->config);
        m->config = NULL;
        return error;
    }
    for (int k = 0; k < count; k++) {
        instances[k].model = m;
        error = text_of(entries.instance_initialize(&instances[k]));
        if (error) {
            double_unload(m, instances, k);
            return error;
        }
    }
    return NULL;
}

void double_unload(TRITONBACKEND_Model *m, TRITONBACKEND_ModelInstance *instances, int count)
{
    for (int k = 0; k < count; k++)
        RULE(!text_of(entries.instance_finalize(&instances[k])));
    RULE(!text_of(entries.model_finalize(m)));
    free(m->config);
    m->config = NULL;
}

void double_execute(TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request **requests, uint32_t n)
{
    RULE(!text_of(entries.execute(i, requests, n)));
    for (uint32_t k = 0; k < n; k++)
        RULE(requests[k]->released && requests[k]->response.sent);
}

void double_reset(TRITONBACKEND_Request *r)
{
    for (uint32_t k = 0; k < r->response.count; k++)
        if (r->response.outputs[k].data != r->response.gpu)
            free(r->response.outputs[k].data);
    memset(&r->response, 0, sizeof(r->response));
    r->released = false;
}
