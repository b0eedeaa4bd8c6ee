/* SPDX-License-Identifier: BSD-2-Clause */
#include "triton/describe.h"

#include "triton/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Added to a dim to see what depends on it: a multiple of the usual strides. */
#define GROWTH 64

/* ---- types ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int number;
} triton_dtypes[FERRY_DTYPE_COUNT] = {
    [FERRY_F32] = { "TYPE_FP32", TRITONSERVER_TYPE_FP32 },
    [FERRY_F64] = { "TYPE_FP64", TRITONSERVER_TYPE_FP64 },
    [FERRY_F16] = { "TYPE_FP16", TRITONSERVER_TYPE_FP16 },
    [FERRY_BF16] = { "TYPE_BF16", TRITONSERVER_TYPE_BF16 },
    [FERRY_I8] = { "TYPE_INT8", TRITONSERVER_TYPE_INT8 },
    [FERRY_U8] = { "TYPE_UINT8", TRITONSERVER_TYPE_UINT8 },
    [FERRY_I32] = { "TYPE_INT32", TRITONSERVER_TYPE_INT32 },
    [FERRY_I64] = { "TYPE_INT64", TRITONSERVER_TYPE_INT64 },
    [FERRY_U32] = { "TYPE_UINT32", TRITONSERVER_TYPE_UINT32 },
};

const char *triton_dtype_name(ferry_dtype dtype)
{
    return (unsigned)dtype < FERRY_DTYPE_COUNT ? triton_dtypes[dtype].name : NULL;
}

int triton_dtype_number(ferry_dtype dtype)
{
    return (unsigned)dtype < FERRY_DTYPE_COUNT ? triton_dtypes[dtype].number : 0;
}

const char *triton_dims(const int64_t *dims, int rank, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = 0;
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%" PRId64, i ? "," : "[", dims[i]);
    if (used < size)
        snprintf(buf + used, size - used, rank ? "]" : "[]");
    return buf;
}

/* ---- trials --------------------------------------------------------------------------------- */

static void read_tensor(const ferry_blob *b, struct triton_tensor *out)
{
    out->name = ferry_blob_name(b);
    out->dtype = ferry_blob_dtype(b);
    out->rank = ferry_blob_rank(b);
    for (int i = 0; i < out->rank; i++)
        out->dims[i] = ferry_blob_dim(b, i);
}

/*
 * Gives every input its dims, with `batch` in axis 0 unless that is 0, and with GROWTH added where
 * `vary` (or NULL) has TRITON_ANY.
 */
static int set_inputs(ferry_net *net, const struct triton_interface *about, int64_t batch,
                      const struct triton_tensor *vary)
{
    for (size_t i = 0; i < about->input_count; i++) {
        const struct triton_tensor *t = &about->inputs[i];
        int64_t dims[FERRY_MAX_AXES] = { 0 };
        int err;

        for (int axis = 0; axis < t->rank; axis++) {
            dims[axis] = t->dims[axis];
            if (vary && vary[i].dims[axis] == TRITON_ANY)
                dims[axis] += GROWTH;
        }
        if (batch && t->rank > 0)
            dims[0] = batch;
        err = ferry_blob_reshape(ferry_net_input_at(net, (int)i), dims, t->rank, NULL);
        if (err)
            return err;
    }
    return ferry_net_reshape(net);
}

/* Whether each output has `batch` in axis 0, and its other dims. */
static bool outputs_follow(ferry_net *net, const struct triton_interface *about, int64_t batch)
{
    for (size_t i = 0; i < about->output_count; i++) {
        const struct triton_tensor *t = &about->outputs[i];
        const ferry_blob *b = ferry_net_blob_find(net, t->name);

        if (t->rank < 1 || ferry_blob_rank(b) != t->rank || ferry_blob_dim(b, 0) != batch)
            return false;
        for (int axis = 1; axis < t->rank; axis++)
            if (ferry_blob_dim(b, axis) != t->dims[axis])
                return false;
    }
    return true;
}

/* A recurrent layer has the time in axis 0: its entries depend on those before them. */
static bool is_recurrent(const ferry_net *net)
{
    ferry_net_layer_info info = { .struct_size = sizeof(info) };

    for (int k = 0; k < ferry_net_layer_count(net); k++)
        if (ferry_net_get_layer_info(net, k, &info) == FERRY_OK &&
            (strcmp(info.type, "LSTM") == 0 || strcmp(info.type, "RNN") == 0))
            return true;
    return false;
}

static bool takes_batch(ferry_net *net, const struct triton_interface *about, int64_t batch)
{
    for (size_t i = 0; i < about->input_count; i++)
        if (about->inputs[i].rank < 1)
            return false;
    return set_inputs(net, about, batch, NULL) == FERRY_OK && outputs_follow(net, about, batch);
}

/* Marks one axis of one input if the net takes another size there. */
static void try_axis(ferry_net *net, const struct triton_interface *about,
                     struct triton_tensor *found, size_t input, int axis)
{
    found[input].dims[axis] = TRITON_ANY;
    if (set_inputs(net, about, 0, found))
        found[input].dims[axis] = about->inputs[input].dims[axis];
}

/* Several inputs may need equal sizes: all axes are tried together first, then each alone. */
static void try_axes(ferry_net *net, const struct triton_interface *about,
                     struct triton_tensor *found)
{
    for (size_t i = 0; i < about->input_count; i++)
        for (int axis = 2; axis < about->inputs[i].rank; axis++)
            found[i].dims[axis] = TRITON_ANY;
    if (set_inputs(net, about, 0, found) == FERRY_OK)
        return;
    memcpy(found, about->inputs, about->input_count * sizeof(*found));
    for (size_t i = 0; i < about->input_count; i++)
        for (int axis = 2; axis < about->inputs[i].rank; axis++)
            try_axis(net, about, found, i, axis);
}

/* ---- the interface -------------------------------------------------------------------------- */

static void mark_outputs(ferry_net *net, struct triton_interface *about)
{
    for (size_t i = 0; i < about->output_count; i++) {
        struct triton_tensor *t = &about->outputs[i];
        const ferry_blob *b = ferry_net_blob_find(net, t->name);

        for (int axis = 0; axis < t->rank && ferry_blob_rank(b) == t->rank; axis++)
            if (ferry_blob_dim(b, axis) != t->dims[axis])
                t->dims[axis] = TRITON_ANY;
    }
}

int triton_describe_outputs(ferry_net *net, struct triton_interface *about)
{
    struct triton_interface fixed = *about;
    int err;

    fixed.inputs = calloc(about->input_count, sizeof(*fixed.inputs));
    if (!fixed.inputs)
        return ferry_error_set(FERRY_ENOMEM, "inputs of a net: out of memory");
    memcpy(fixed.inputs, about->inputs, about->input_count * sizeof(*fixed.inputs));
    for (size_t i = 0; i < about->input_count; i++)
        read_tensor(ferry_net_input_at(net, (int)i), &fixed.inputs[i]);
    if (set_inputs(net, &fixed, 0, about->inputs) == FERRY_OK)
        mark_outputs(net, about);
    err = set_inputs(net, &fixed, 0, NULL);
    free(fixed.inputs);
    return err;
}

static int allocate(ferry_net *net, size_t count, struct triton_interface *out)
{
    out->input_count = (size_t)ferry_net_input_count(net);
    out->output_count = count ? count : (size_t)ferry_net_output_count(net);
    if (!out->input_count || !out->output_count)
        return ferry_error_set(FERRY_EUNSUPPORTED, "a net without %s cannot be served",
                               out->input_count ? "outputs" : "inputs (layers of type Input)");
    out->inputs = calloc(out->input_count, sizeof(*out->inputs));
    out->outputs = calloc(out->output_count, sizeof(*out->outputs));
    if (out->inputs && out->outputs)
        return FERRY_OK;
    return ferry_error_set(FERRY_ENOMEM, "inputs and outputs of a net: out of memory");
}

/* The shapes that the definition gives. */
static int read_tensors(ferry_net *net, const char *const *names, size_t count,
                        struct triton_interface *about)
{
    int err = ferry_net_reshape(net);

    for (size_t i = 0; !err && i < about->input_count; i++)
        read_tensor(ferry_net_input_at(net, (int)i), &about->inputs[i]);
    for (size_t i = 0; !err && i < about->output_count; i++) {
        const ferry_blob *b =
            count ? ferry_net_blob_find(net, names[i]) : ferry_net_output_at(net, (int)i);

        if (b)
            read_tensor(b, &about->outputs[i]);
        else
            err = ferry_last_error_code();
    }
    return err;
}

static int find_variable(ferry_net *net, struct triton_interface *about)
{
    struct triton_tensor *found = calloc(about->input_count, sizeof(*found));
    int err;

    if (!found)
        return ferry_error_set(FERRY_ENOMEM, "inputs of a net: out of memory");
    memcpy(found, about->inputs, about->input_count * sizeof(*found));
    try_axes(net, about, found);
    err = set_inputs(net, about, 0, NULL);
    memcpy(about->inputs, found, about->input_count * sizeof(*found));
    free(found);
    return err ? err : triton_describe_outputs(net, about);
}

int triton_describe(ferry_net *net, const char *const *names, size_t count, bool variable,
                    struct triton_interface *out)
{
    struct triton_interface about = { 0 };
    int err = allocate(net, count, &about);

    if (!err)
        err = read_tensors(net, names, count, &about);
    if (err)
        goto err_free;
    about.batches =
        !is_recurrent(net) && takes_batch(net, &about, 1) && takes_batch(net, &about, 3);
    err = set_inputs(net, &about, 0, NULL);
    if (!err && variable)
        err = find_variable(net, &about);
    if (err)
        goto err_free;
    *out = about;
    return FERRY_OK;

err_free:
    triton_interface_free(&about);
    return err;
}

void triton_interface_free(struct triton_interface *about)
{
    free(about->inputs);
    free(about->outputs);
    memset(about, 0, sizeof(*about));
}

json_t *triton_tensors_to_json(const struct triton_tensor *tensors, size_t n, bool batched)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *dims = json_array();

        for (int axis = batched; axis < tensors[i].rank; axis++)
            json_array_append_new(dims, json_integer(tensors[i].dims[axis]));
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o}", "name", tensors[i].name, "data_type",
                                        triton_dtype_name(tensors[i].dtype), "dims", dims));
    }
    if (json_array_size(list) == n)
        return list;
    json_decref(list);
    return NULL;
}
