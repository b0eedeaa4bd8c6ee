/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/descriptor.h>
#include <ferry/layer.h>

/*
 * A layer type in a shared object: AcmeClamp keeps values between acme_param's least and most. Load
 * it with `ferry run --layers`, with [layers] library in plugins.conf, or with
 * ferry_layer_library_load.
 */

FERRY_PLUGIN(.name = "acme-layers", .version = "1.0", .vendor = "Acme");

struct clamp {
    double least, most;
};

/* A message that a type claims may have any fields: it is read without a schema. */
static int setup(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "acme_param", 0);
    struct clamp *c = ferry_layer_state(layer);
    int err;

    c->least = 0;
    c->most = 1;
    if (!p)
        return FERRY_OK;
    err = ferry_proto_value_count(p, "least") ? ferry_proto_get_real(p, "least", 0, &c->least)
                                              : FERRY_OK;
    if (!err && ferry_proto_value_count(p, "most"))
        err = ferry_proto_get_real(p, "most", 0, &c->most);
    if (!err && c->least > c->most)
        err = ferry_layer_error(layer, FERRY_EFORMAT, "least is %g, most %g", c->least, c->most);
    return err;
}

static int reshape(ferry_layer *layer)
{
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0);

    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), ferry_blob_shape(x), ferry_blob_rank(x),
                              NULL);
}

/* Runs on the host; coherence copies the blobs there if necessary. */
static int forward(ferry_layer *layer)
{
    const struct clamp *c = ferry_layer_state(layer);
    const float *x = ferry_blob_host_data(ferry_layer_bottom_at(layer, 0));
    float *y = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 0));

    if (!x || !y)
        return ferry_last_error_code();
    for (int64_t i = 0; i < ferry_blob_element_count(ferry_layer_bottom_at(layer, 0)); i++)
        y[i] = (float)(x[i] < c->least ? c->least : x[i] > c->most ? c->most : x[i]);
    return FERRY_OK;
}

static const char *const messages[] = { "acme_param", NULL };

static const ferry_layer_type clamp = {
    .struct_size = sizeof clamp,
    .name = "AcmeClamp",
    .state_size = sizeof(struct clamp),
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
};

static const ferry_layer_type *const types[] = { &clamp, NULL };

FERRY_API const ferry_layer_library ferry_layers = { sizeof ferry_layers, types };
