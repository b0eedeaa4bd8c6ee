/* SPDX-License-Identifier: BSD-2-Clause */
#include "triton/backend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The functions that the server calls. */

static TRITONSERVER_Error *check_version(void)
{
    uint32_t major = 0, minor = 0;
    TRITONSERVER_Error *error = TRITONBACKEND_ApiVersion(&major, &minor);

    if (error || (major == TRITON_MAJOR && minor >= TRITON_MINOR))
        return error;
    return triton_error_new(TRITONSERVER_ERROR_UNSUPPORTED,
                            "ferry needs version %d.%d of the backend interface, or a later minor "
                            "one; this server has %" PRIu32 ".%" PRIu32,
                            TRITON_MAJOR, TRITON_MINOR, major, minor);
}

/* Sets a plugin's option from --backend-config=ferry,PLUGIN.KEY=VALUE. */
static TRITONSERVER_Error *set_option(struct triton_backend *b, const char *key, const char *value)
{
    const char *dot = strchr(key, '.');
    char plugin[64];

    if (strcmp(key, "default-max-batch-size") == 0) {
        b->default_batch = strtoll(value, NULL, 10);
        return NULL;
    }
    if (!dot || (size_t)(dot - key) >= sizeof(plugin))
        return NULL; /* the key is one of the server's own, such as backend-directory */
    memcpy(plugin, key, (size_t)(dot - key));
    plugin[dot - key] = 0;
    if (ferry_runtime_set_option(b->rt, plugin, dot + 1, value))
        return triton_error(ferry_last_error_code(), key);
    return NULL;
}

static TRITONSERVER_Error *read_options(TRITONBACKEND_Backend *server, struct triton_backend *b)
{
    TRITONSERVER_Message *message = NULL;
    const char *text = NULL, *key;
    size_t size = 0;
    json_t *json = NULL, *value;
    TRITONSERVER_Error *error = TRITONBACKEND_BackendConfig(server, &message);

    if (!error)
        error = TRITONSERVER_MessageSerializeToJson(message, &text, &size);
    if (error)
        return error;
    json = json_loadb(text, size, 0, NULL);
    json_object_foreach(json_object_get(json, "cmdline"), key, value)
    {
        if (!error && json_is_string(value))
            error = set_option(b, key, json_string_value(value));
    }
    json_decref(json);
    return error;
}

TRITONSERVER_Error *TRITONBACKEND_Initialize(TRITONBACKEND_Backend *server)
{
    struct triton_backend *b = NULL;
    TRITONSERVER_Error *error = check_version();

    if (error)
        return error;
    b = calloc(1, sizeof(*b));
    if (!b)
        return triton_error_new(TRITONSERVER_ERROR_UNAVAILABLE, "the backend: out of memory");
    b->default_batch = 4;
    triton_log(true);
    if (ferry_runtime_open(NULL, &b->rt) || ferry_layer_library_load(b->rt, NULL))
        error = triton_error(ferry_last_error_code(), NULL);
    if (!error)
        error = read_options(server, b);
    if (!error)
        error = TRITONBACKEND_BackendSetState(server, b);
    if (error) {
        ferry_runtime_close(b->rt);
        triton_log(false);
        free(b);
    }
    return error;
}

TRITONSERVER_Error *TRITONBACKEND_Finalize(TRITONBACKEND_Backend *server)
{
    void *state = NULL;
    TRITONSERVER_Error *error = TRITONBACKEND_BackendState(server, &state);
    struct triton_backend *b = state;

    if (error || !b)
        return error;
    ferry_runtime_close(b->rt);
    triton_log(false);
    free(b);
    return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *server)
{
    struct triton_model *m = NULL;
    TRITONSERVER_Error *error = triton_model_open(server, &m);

    if (!error)
        error = TRITONBACKEND_ModelSetState(server, m);
    if (error && m)
        triton_model_close(m);
    return error;
}

TRITONSERVER_Error *TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model *server)
{
    void *state = NULL;
    TRITONSERVER_Error *error = TRITONBACKEND_ModelState(server, &state);

    if (!error && state)
        triton_model_close(state);
    return error;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance *server)
{
    struct triton_instance *i = NULL;
    TRITONBACKEND_Model *model;
    void *state = NULL;
    TRITONSERVER_Error *error = TRITONBACKEND_ModelInstanceModel(server, &model);

    if (!error)
        error = TRITONBACKEND_ModelState(model, &state);
    if (!error)
        error = triton_instance_open(server, state, &i);
    if (!error)
        error = TRITONBACKEND_ModelInstanceSetState(server, i);
    if (error && i)
        triton_instance_close(i);
    return error;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance *server)
{
    void *state = NULL;
    TRITONSERVER_Error *error = TRITONBACKEND_ModelInstanceState(server, &state);

    if (!error && state)
        triton_instance_close(state);
    return error;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance *server,
                                                       TRITONBACKEND_Request **requests,
                                                       uint32_t count)
{
    void *state = NULL;
    TRITONSERVER_Error *error = TRITONBACKEND_ModelInstanceState(server, &state);

    return error ? error : triton_execute(state, requests, count);
}
