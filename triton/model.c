/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "triton/backend.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- nets ----------------------------------------------------------------------------------- */

static int open_net(const struct triton_model *m, ferry_device *dev, ferry_net **out)
{
    const ferry_net_options o = { .struct_size = sizeof(o),
                                  .phase = FERRY_PHASE_TEST,
                                  .place = m->config.place,
                                  .keep = m->config.outputs,
                                  .keep_count = m->config.output_count };

    return ferry_net_open(dev, m->net_path, &o, out);
}

static bool has_parameters(const ferry_net *net)
{
    for (int i = 0; i < ferry_net_layer_count(net); i++)
        if (ferry_net_param_count(net, i) > 0)
            return true;
    return false;
}

static int load(const struct triton_model *m, ferry_net *net)
{
    if (m->weights_path)
        return ferry_net_load_matched(net, m->weights_path, NULL);
    if (triton_file_has_weights(m->net_path) || !has_parameters(net))
        return FERRY_OK;
    return ferry_error_set(FERRY_EIO,
                           "%.700s: the net has parameters, and there are no weights beside it "
                           "(.caffemodel, .h5, .npz, .safetensors)",
                           m->net_path);
}

/* A new base on `dev`, the first of the list. (locked) */
static int add_base(struct triton_model *m, ferry_device *dev)
{
    struct triton_base *base = calloc(1, sizeof(*base));
    int err;

    if (!base)
        return ferry_error_set(FERRY_ENOMEM, "%.700s: out of memory", m->net_path);
    err = open_net(m, dev, &base->net);
    if (err)
        goto err_free;
    err = load(m, base->net);
    if (err)
        goto err_close;
    base->dev = dev;
    base->next = m->bases;
    m->bases = base;
    return FERRY_OK;

err_close:
    ferry_net_close(base->net);
err_free:
    free(base);
    return err;
}

static int find_base(struct triton_model *m, ferry_device *dev, ferry_net **out)
{
    int err = FERRY_OK;
    struct triton_base *base;

    pthread_mutex_lock(&m->lock);
    for (base = m->bases; base && base->dev != dev; base = base->next)
        ;
    if (!base) {
        err = add_base(m, dev);
        base = m->bases;
    }
    pthread_mutex_unlock(&m->lock);
    if (!err)
        *out = base->net;
    return err;
}

int triton_model_net(struct triton_model *m, ferry_device *dev, ferry_net **out)
{
    ferry_net *base, *net;
    int err = find_base(m, dev, &base);

    if (!err)
        err = open_net(m, dev, &net);
    if (err)
        return err;
    err = ferry_net_share(net, base);
    if (err)
        ferry_net_close(net);
    else
        *out = net;
    return err;
}

int triton_model_device(struct triton_model *m, TRITONSERVER_InstanceGroupKind kind, int32_t id,
                        ferry_device **out)
{
    char name[32];

    if (m->config.device)
        return ferry_runtime_get_device(m->backend->rt, m->config.device, out);
    if (kind == TRITONSERVER_INSTANCEGROUPKIND_MODEL)
        return ferry_runtime_get_device(m->backend->rt, NULL, out);
    if (kind != TRITONSERVER_INSTANCEGROUPKIND_GPU)
        return ferry_runtime_get_device(m->backend->rt, "cpu", out);
    snprintf(name, sizeof(name), "cuda:%" PRId32, id);
    return ferry_runtime_get_device(m->backend->rt, name, out);
}

/* ---- configuration -------------------------------------------------------------------------- */

static TRITONSERVER_Error *read_config(TRITONBACKEND_Model *server, struct triton_config *out)
{
    TRITONSERVER_Message *message = NULL;
    const char *text = NULL;
    size_t size = 0;
    json_t *json = NULL;
    TRITONSERVER_Error *error = TRITONBACKEND_ModelConfig(server, 1, &message);

    if (error)
        return error;
    error = TRITONSERVER_MessageSerializeToJson(message, &text, &size);
    if (!error)
        json = json_loadb(text, size, 0, NULL);
    TRITONSERVER_MessageDelete(message);
    if (!error && !json)
        error = triton_error_new(TRITONSERVER_ERROR_INTERNAL,
                                 "the server's configuration is not a JSON document");
    return error ? error : triton_config_read(json, out);
}

static TRITONSERVER_Error *write_config(TRITONBACKEND_Model *server, const struct triton_config *c)
{
    char *text = json_dumps(c->json, JSON_COMPACT);
    TRITONSERVER_Message *message = NULL;
    TRITONSERVER_Error *error;

    if (!text)
        return triton_error_new(TRITONSERVER_ERROR_UNAVAILABLE, "configuration: out of memory");
    error = TRITONSERVER_MessageNewFromSerializedJson(&message, text, strlen(text));
    free(text);
    if (error)
        return error;
    error = TRITONBACKEND_ModelSetConfig(server, 1, message);
    TRITONSERVER_MessageDelete(message);
    return error;
}

/* The device of the first instances, on which the net is described. */
static int first_device(struct triton_model *m, ferry_device **out)
{
    const json_t *group = json_array_get(json_object_get(m->config.json, "instance_group"), 0);
    const char *kind = json_string_value(json_object_get(group, "kind"));
    const json_t *gpu = json_array_get(json_object_get(group, "gpus"), 0);
    TRITONSERVER_InstanceGroupKind number = TRITONSERVER_INSTANCEGROUPKIND_CPU;

    if (kind && strcmp(kind, "KIND_GPU") == 0)
        number = TRITONSERVER_INSTANCEGROUPKIND_GPU;
    else if (kind && strcmp(kind, "KIND_MODEL") == 0)
        number = TRITONSERVER_INSTANCEGROUPKIND_MODEL;
    return triton_model_device(m, number, (int32_t)json_integer_value(gpu), out);
}

/*
 * Completes the configuration if the server asks for it, and compares it with the net. The outputs
 * come last: their dims are variable where the configuration's inputs make them so.
 */
static TRITONSERVER_Error *settle_config(TRITONBACKEND_Model *server, struct triton_model *m,
                                         ferry_net *net)
{
    bool complete = false, changed = false;
    TRITONSERVER_Error *error = TRITONBACKEND_ModelAutoCompleteConfig(server, &complete);

    if (!error && complete)
        error = triton_config_complete_inputs(&m->config, &m->about, m->backend->default_batch,
                                              &changed);
    if (!error)
        error = triton_config_check_inputs(&m->config, m->net_path, &m->about);
    if (!error && triton_describe_outputs(net, &m->about))
        error = triton_error(ferry_last_error_code(), m->net_path);
    if (!error && complete)
        error = triton_config_complete_outputs(&m->config, &m->about, &changed);
    if (!error)
        error = triton_config_check_outputs(&m->config, m->net_path, &m->about);
    return !error && changed ? write_config(server, &m->config) : error;
}

/* ---- memory --------------------------------------------------------------------------------- */

static size_t weights_size(const ferry_net *net)
{
    size_t size = 0;

    for (int layer = 0; layer < ferry_net_layer_count(net); layer++)
        for (int i = 0; i < ferry_net_param_count(net, layer); i++) {
            const ferry_blob *b = ferry_net_param_at(net, layer, i);

            size += (size_t)ferry_blob_element_count(b) * ferry_dtype_size(ferry_blob_dtype(b));
        }
    return size;
}

/* The weights' size in the model's statistics; a server without the function shows no size. */
static void report_memory(TRITONBACKEND_Model *server, const struct triton_model *m)
{
    TRITONSERVER_BufferAttributes *usage = NULL;
    TRITONSERVER_Error *error;

    if (!TRITONBACKEND_ModelReportMemoryUsage || !TRITONSERVER_BufferAttributesNew ||
        !TRITONSERVER_BufferAttributesSetByteSize || !m->bases)
        return;
    error = TRITONSERVER_BufferAttributesNew(&usage);
    if (!error)
        error = TRITONSERVER_BufferAttributesSetMemoryType(usage, TRITONSERVER_MEMORY_CPU);
    if (!error)
        error = TRITONSERVER_BufferAttributesSetMemoryTypeId(usage, 0);
    if (!error)
        error = TRITONSERVER_BufferAttributesSetByteSize(usage, weights_size(m->bases->net));
    if (!error)
        error = TRITONBACKEND_ModelReportMemoryUsage(server, &usage, 1);
    if (error) {
        triton_warn("%s: memory usage: %s", m->net_path, TRITONSERVER_ErrorMessage(error));
        TRITONSERVER_ErrorDelete(error);
    }
    if (usage)
        TRITONSERVER_BufferAttributesDelete(usage);
}

/* ---- opening -------------------------------------------------------------------------------- */

static TRITONSERVER_Error *find_files(TRITONBACKEND_Model *server, struct triton_model *m)
{
    TRITONBACKEND_ArtifactType type;
    char folder[PATH_MAX];
    const char *path;
    uint64_t version;
    TRITONSERVER_Error *error = TRITONBACKEND_ModelRepository(server, &type, &path);

    if (!error)
        error = TRITONBACKEND_ModelVersion(server, &version);
    if (error)
        return error;
    if (type != TRITONBACKEND_ARTIFACT_FILESYSTEM)
        return triton_error_new(TRITONSERVER_ERROR_UNSUPPORTED,
                                "the model is not in a folder of this machine");
    if (snprintf(folder, sizeof(folder), "%s/%" PRIu64, path, version) >= (int)sizeof(folder))
        return triton_error_new(TRITONSERVER_ERROR_INVALID_ARG, "%.200s…: the path is too long",
                                path);
    if (triton_files_find(folder, &m->config, &m->net_path, &m->weights_path))
        return triton_error(ferry_last_error_code(), NULL);
    return NULL;
}

static TRITONSERVER_Error *open_base(TRITONBACKEND_Model *server, struct triton_model *m)
{
    ferry_device *dev;
    ferry_net *net;

    if (first_device(m, &dev) || find_base(m, dev, &net) ||
        triton_describe(net, m->config.outputs, m->config.output_count, false, &m->about)) {
        bool named = strstr(ferry_last_error(), m->net_path) != NULL;

        return triton_error(ferry_last_error_code(), named ? NULL : m->net_path);
    }
    return settle_config(server, m, net);
}

TRITONSERVER_Error *triton_model_open(TRITONBACKEND_Model *server, struct triton_model **out)
{
    struct triton_model *m = calloc(1, sizeof(*m));
    TRITONBACKEND_Backend *backend;
    TRITONSERVER_Error *error;
    void *state = NULL;

    if (!m)
        return triton_error_new(TRITONSERVER_ERROR_UNAVAILABLE, "a model: out of memory");
    pthread_mutex_init(&m->lock, NULL);
    error = TRITONBACKEND_ModelBackend(server, &backend);
    if (!error)
        error = TRITONBACKEND_BackendState(backend, &state);
    m->backend = state;
    if (!error)
        error = read_config(server, &m->config);
    if (!error)
        error = find_files(server, m);
    if (!error)
        error = open_base(server, m);
    if (error) {
        triton_model_close(m);
        return error;
    }
    report_memory(server, m);
    *out = m;
    return NULL;
}

void triton_model_close(struct triton_model *m)
{
    while (m->bases) {
        struct triton_base *base = m->bases;

        m->bases = base->next;
        ferry_net_close(base->net);
        free(base);
    }
    triton_interface_free(&m->about);
    triton_config_free(&m->config);
    pthread_mutex_destroy(&m->lock);
    free(m->net_path);
    free(m->weights_path);
    free(m);
}
