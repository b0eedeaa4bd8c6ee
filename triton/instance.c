/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "triton/backend.h"

#include <stdlib.h>
#include <string.h>

/* Vectors of the kernels may be loaded from adopted memory in aligned pieces of this size. */
#define ALIGNMENT 16

/* ---- opening -------------------------------------------------------------------------------- */

static int find_outputs(struct triton_instance *i)
{
    const struct triton_interface *about = &i->model->about;

    i->outputs = calloc(about->output_count, sizeof(*i->outputs));
    i->ports = calloc(about->input_count, sizeof(*i->ports));
    if (!i->outputs || !i->ports)
        return ferry_error_set(FERRY_ENOMEM, "an instance: out of memory");
    for (size_t k = 0; k < about->output_count; k++) {
        i->outputs[k] = ferry_net_blob_find(i->net, about->outputs[k].name);
        if (!i->outputs[k])
            return ferry_last_error_code();
    }
    return FERRY_OK;
}

/* Parameter `threads` is for devices that have their threads from the processor. */
static int find_limit(struct triton_instance *i, ferry_device *dev)
{
    int err = i->model->config.threads
                  ? ferry_device_native(dev, "cpu_limit_threads", &i->limit_threads,
                                        sizeof(i->limit_threads))
                  : FERRY_OK;

    if (err == FERRY_EUNSUPPORTED)
        return ferry_error_set(err, "parameter threads is for the CPU; the device is %s",
                               ferry_device_name(dev));
    return err;
}

TRITONSERVER_Error *triton_instance_open(TRITONBACKEND_ModelInstance *server,
                                         struct triton_model *m, struct triton_instance **out)
{
    struct triton_instance *i;
    TRITONSERVER_InstanceGroupKind kind;
    int32_t id = 0;
    const char *name;
    TRITONSERVER_Error *error = TRITONBACKEND_ModelInstanceName(server, &name);

    if (!error)
        error = TRITONBACKEND_ModelInstanceKind(server, &kind);
    if (!error)
        error = TRITONBACKEND_ModelInstanceDeviceId(server, &id);
    if (error)
        return error;
    i = calloc(1, sizeof(*i));
    if (!i)
        return triton_error_new(TRITONSERVER_ERROR_UNAVAILABLE, "%s: out of memory", name);
    i->model = m;
    i->server = server;
    if (triton_model_device(m, kind, id, &i->device) || find_limit(i, i->device) ||
        triton_model_net(m, i->device, &i->net) || find_outputs(i)) {
        error = triton_error(ferry_last_error_code(), name);
        triton_instance_close(i);
        return error;
    }
    *out = i;
    return NULL;
}

void triton_instance_close(struct triton_instance *i)
{
    ferry_net_close(i->net);
    for (size_t k = 0; i->ports && k < i->model->about.input_count; k++)
        free(i->ports[k].staging);
    free(i->ports);
    free(i->outputs);
    free(i);
}

/* ---- adoption ------------------------------------------------------------------------------- */

/* Memory for the time between two requests: adopted memory is left only for other memory. */
static bool reserve(struct triton_port *port, ferry_memory *m, size_t bytes)
{
    size_t size = ferry_memory_size(m) > bytes ? ferry_memory_size(m) : bytes;
    ferry_ref ref = { 0 };

    if (port->size >= size)
        return true;
    if (posix_memalign(&ref.handle, 64, size) != 0)
        return false;
    if (ferry_memory_adopt(m, NULL, ref, size, 0, NULL, NULL)) {
        free(ref.handle);
        return false;
    }
    free(port->staging);
    port->staging = ref.handle;
    port->size = size;
    return true;
}

/* An output that has the input's memory is read after triton_instance_detach. */
static bool is_output(const struct triton_instance *i, const ferry_memory *m)
{
    for (size_t k = 0; k < i->model->about.output_count; k++)
        if (ferry_blob_data_memory(i->outputs[k]) == m)
            return true;
    return false;
}

bool triton_instance_adopt(struct triton_instance *i, size_t input, const void *from, size_t bytes,
                           bool on_device)
{
    ferry_memory *m = ferry_blob_data_memory(ferry_net_input_at(i->net, (int)input));
    struct triton_port *port = &i->ports[input];
    ferry_ref ref = { 0 };

    if (port->copies || !m || is_output(i, m) || (uintptr_t)from % ALIGNMENT != 0)
        return false;
    memcpy(&ref.handle, &from, sizeof(from)); /* read only, by the flag */
    if (!reserve(port, m, bytes))
        return false;
    port->on_device = on_device;
    return ferry_memory_adopt(m, on_device ? i->device : NULL, ref, bytes, FERRY_ADOPT_READONLY,
                              NULL, NULL) == FERRY_OK;
}

void triton_instance_detach(struct triton_instance *i, size_t input, int err)
{
    ferry_memory *m = ferry_blob_data_memory(ferry_net_input_at(i->net, (int)input));
    struct triton_port *port = &i->ports[input];
    const ferry_ref ref = { port->staging, 0 };

    if (err == FERRY_EPERM)
        port->copies = true;
    /* After success the outputs are on the host, and all that reads the input is done. */
    if (err && port->on_device)
        (void)ferry_device_synchronize(i->device);
    if (ferry_memory_adopt(m, NULL, ref, port->size, 0, NULL, NULL))
        triton_warn("%s: %s", i->model->net_path, ferry_last_error());
}
