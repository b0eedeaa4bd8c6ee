/* SPDX-License-Identifier: BSD-2-Clause */
#include "triton/backend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading -------------------------------------------------------------------------------- */

/* A number that JSON may have as a string: the server writes int64 so. */
static int64_t integer_of(const json_t *value, int64_t otherwise)
{
    if (json_is_integer(value))
        return json_integer_value(value);
    if (json_is_string(value))
        return strtoll(json_string_value(value), NULL, 10);
    return otherwise;
}

/* An empty string and an absent one are the same to the server. */
static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text && *text ? text : NULL;
}

static TRITONSERVER_Error *read_threads(const char *text, unsigned *out)
{
    char *end = NULL;
    long n = text ? strtol(text, &end, 10) : 0;

    if (text && (*end || n < 1 || n > TRITON_MOST_THREADS))
        return triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                "parameter threads \"%s\": a number from 1 to %d", text,
                                TRITON_MOST_THREADS);
    *out = (unsigned)n;
    return NULL;
}

static TRITONSERVER_Error *read_parameters(struct triton_config *c)
{
    json_t *parameters = json_object_get(c->json, "parameters"), *value;
    const char *key, *threads = NULL;
    const struct {
        const char *key;
        const char **out;
    } known[] = { { "weights", &c->weights },
                  { "device", &c->device },
                  { "place", &c->place },
                  { "threads", &threads } };
    const size_t n = sizeof(known) / sizeof(known[0]);

    json_object_foreach(parameters, key, value)
    {
        size_t i = 0;

        while (i < n && strcmp(key, known[i].key) != 0)
            i++;
        if (i == n)
            return triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                    "parameter \"%s\" is unknown; there are weights, device, "
                                    "place and threads",
                                    key);
        *known[i].out = text_of(value, "string_value");
    }
    return read_threads(threads, &c->threads);
}

static TRITONSERVER_Error *read_outputs(struct triton_config *c)
{
    json_t *list = json_object_get(c->json, "output"), *output;
    size_t i;

    if (json_array_size(list) == 0)
        return NULL;
    c->outputs = calloc(json_array_size(list), sizeof(*c->outputs));
    if (!c->outputs)
        return triton_error_new(TRITONSERVER_ERROR_UNAVAILABLE, "configuration: out of memory");
    json_array_foreach(list, i, output)
    {
        c->outputs[i] = text_of(output, "name");
        if (!c->outputs[i])
            return triton_error_new(TRITONSERVER_ERROR_INVALID_ARG, "output %zu has no name", i);
    }
    c->output_count = json_array_size(list);
    return NULL;
}

static TRITONSERVER_Error *refuse_features(const json_t *json)
{
    const json_t *policy = json_object_get(json, "model_transaction_policy");

    if (json_object_get(json, "sequence_batching"))
        return triton_error_new(TRITONSERVER_ERROR_UNSUPPORTED,
                                "sequence_batching: a net keeps no state between requests; "
                                "dynamic_batching is supported");
    if (json_is_true(json_object_get(policy, "decoupled")))
        return triton_error_new(TRITONSERVER_ERROR_UNSUPPORTED,
                                "model_transaction_policy: decoupled: a net answers each request "
                                "once");
    return NULL;
}

/* For a folder NAME.ferry without a configuration the server names a file that need not exist. */
static const char *net_file_of(const json_t *json)
{
    const char *name = text_of(json, "default_model_filename");

    return name && strcmp(name, "model.ferry") == 0 ? NULL : name;
}

TRITONSERVER_Error *triton_config_read(json_t *json, struct triton_config *out)
{
    struct triton_config c = { .json = json };
    TRITONSERVER_Error *error = refuse_features(json);

    c.max_batch = integer_of(json_object_get(json, "max_batch_size"), 0);
    c.net_file = net_file_of(json);
    if (!error)
        error = read_parameters(&c);
    if (!error)
        error = read_outputs(&c);
    if (error)
        triton_config_free(&c);
    else
        *out = c;
    return error;
}

void triton_config_free(struct triton_config *c)
{
    json_decref(c->json);
    free(c->outputs);
    memset(c, 0, sizeof(*c));
}

/* ---- completing ----------------------------------------------------------------------------- */

static bool lacks(const json_t *json, const char *key)
{
    return json_array_size(json_object_get(json, key)) == 0;
}

/* The batch that the server's command line gives, where neither tensors nor a batch are written. */
static bool complete_batch(struct triton_config *c, const struct triton_interface *about,
                           int64_t default_batch)
{
    if (c->max_batch || !about->batches || !lacks(c->json, "input") || !lacks(c->json, "output"))
        return false;
    c->max_batch = default_batch;
    json_object_set_new(c->json, "max_batch_size", json_integer(default_batch));
    if (default_batch > 1 && !json_object_get(c->json, "dynamic_batching"))
        json_object_set_new(c->json, "dynamic_batching", json_object());
    return true;
}

static TRITONSERVER_Error *complete(const struct triton_config *c, const char *key,
                                    const struct triton_tensor *tensors, size_t n,
                                    bool *out_changed)
{
    json_t *list;

    if (!lacks(c->json, key))
        return NULL;
    list = triton_tensors_to_json(tensors, n, c->max_batch > 0);
    if (!list || json_object_set_new(c->json, key, list))
        return triton_error_new(TRITONSERVER_ERROR_UNAVAILABLE, "configuration: out of memory");
    *out_changed = true;
    return NULL;
}

TRITONSERVER_Error *triton_config_complete_inputs(struct triton_config *c,
                                                  const struct triton_interface *about,
                                                  int64_t default_batch, bool *out_changed)
{
    *out_changed |= complete_batch(c, about, default_batch);
    return complete(c, "input", about->inputs, about->input_count, out_changed);
}

TRITONSERVER_Error *triton_config_complete_outputs(struct triton_config *c,
                                                   const struct triton_interface *about,
                                                   bool *out_changed)
{
    return complete(c, "output", about->outputs, about->output_count, out_changed);
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* The names of tensors, for a message. */
static void list_names(const struct triton_tensor *tensors, size_t n, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = 0;
    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", tensors[i].name);
}

static struct triton_tensor *find(struct triton_tensor *tensors, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (name && strcmp(tensors[i].name, name) == 0)
            return &tensors[i];
    return NULL;
}

/* The dims of an entry or of its `reshape`, after the batch's if there is one. -1: too many. */
static int dims_of(const json_t *entry, bool batched, int64_t *out)
{
    const json_t *list = json_object_get(json_object_get(entry, "reshape"), "shape");
    int rank = 0;

    if (!list)
        list = json_object_get(entry, "dims");
    if (json_array_size(list) + batched > FERRY_MAX_AXES)
        return -1;
    if (batched)
        out[rank++] = TRITON_ANY;
    for (size_t i = 0; i < json_array_size(list); i++)
        out[rank++] = integer_of(json_array_get(list, i), 0);
    return rank;
}

/*
 * Compares the dims of an entry with the net's. An input may be variable where the net has a
 * number; an output's numbers are the net's, unless either is variable.
 */
static bool dims_agree(const struct triton_tensor *t, const int64_t *dims, int rank, bool batched)
{
    if (rank != t->rank)
        return false;
    for (int i = batched; i < rank; i++)
        if (dims[i] != t->dims[i] && dims[i] != TRITON_ANY && t->dims[i] != TRITON_ANY)
            return false;
    return true;
}

static TRITONSERVER_Error *check_entry(const json_t *entry, const char *kind, const char *net,
                                       bool batched, struct triton_tensor *t)
{
    const char *type = text_of(entry, "data_type");
    int64_t dims[FERRY_MAX_AXES];
    int rank = dims_of(entry, batched, dims), first = batched;
    char written[256], own[256];

    if (type && strcmp(type, triton_dtype_name(t->dtype)) != 0)
        return triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                "%s \"%s\": data_type is %s in the configuration, and %s in %s",
                                kind, t->name, type, triton_dtype_name(t->dtype), net);
    if (rank < 0 || !dims_agree(t, dims, rank, batched))
        return triton_error_new(
            TRITONSERVER_ERROR_INVALID_ARG,
            "%s \"%s\": dims are %s in the configuration, and %s%s in %s", kind, t->name,
            triton_dims(dims + first, rank < 0 ? 0 : rank - first, written, sizeof(written)),
            triton_dims(t->dims + first, t->rank - first, own, sizeof(own)),
            batched ? " after the batch" : "", net);
    for (int i = 0; i < rank; i++)
        if (dims[i] == TRITON_ANY && i >= first)
            t->dims[i] = TRITON_ANY;
    return NULL;
}

/* Whether an entry before `last` has its name. */
static bool is_repeated(const json_t *list, size_t last)
{
    const char *name = text_of(json_array_get(list, last), "name");

    for (size_t i = 0; name && i < last; i++) {
        const char *other = text_of(json_array_get(list, i), "name");

        if (other && strcmp(name, other) == 0)
            return true;
    }
    return false;
}

static TRITONSERVER_Error *check_list(const struct triton_config *c, const char *kind,
                                      const char *net, struct triton_tensor *tensors, size_t n)
{
    const json_t *list = json_object_get(c->json, kind);
    TRITONSERVER_Error *error = NULL;
    char names[512];

    list_names(tensors, n, names, sizeof(names));
    for (size_t i = 0; !error && i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *name = text_of(entry, "name");
        struct triton_tensor *t = find(tensors, n, name);

        if (is_repeated(list, i))
            error = triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                     "the configuration has %s \"%s\" twice; %s has %s", kind, name,
                                     net, names);
        else if (t)
            error = check_entry(entry, kind, net, c->max_batch > 0, t);
        else
            error = triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                     "%s \"%s\" of the configuration is not in %s, which has %s",
                                     kind, name ? name : "", net, names);
    }
    if (!error && json_array_size(list) < n)
        error = triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                 "the configuration has %zu of the %zu %ss of %s: %s",
                                 json_array_size(list), n, kind, net, names);
    return error;
}

TRITONSERVER_Error *triton_config_check_inputs(const struct triton_config *c, const char *net,
                                               struct triton_interface *about)
{
    if (c->max_batch > 0 && !about->batches)
        return triton_error_new(TRITONSERVER_ERROR_INVALID_ARG,
                                "max_batch_size is %" PRId64 " in the configuration, but axis 0 of "
                                "the inputs and outputs of %s is not a batch; 0 is possible",
                                c->max_batch, net);
    return check_list(c, "input", net, about->inputs, about->input_count);
}

TRITONSERVER_Error *triton_config_check_outputs(const struct triton_config *c, const char *net,
                                                struct triton_interface *about)
{
    return check_list(c, "output", net, about->outputs, about->output_count);
}
