/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries on a net: blobs, layers and parameters, by index and by name. */
#include "net/model/state.h"

#include <ferry/status.h>

int ferry__net_find_blob(const ferry_net *net, const char *name)
{
    return ferry__names_get(&net->blob_names, name);
}

int ferry__net_find_layer(const ferry_net *net, const char *name)
{
    return ferry__names_get(&net->layer_names, name);
}

ferry_blob *ferry_net_blob_find(ferry_net *net, const char *name)
{
    int i;

    if (!net || !name) {
        ferry_error_set(FERRY_EINVAL, "ferry_net_blob_find: NULL argument");
        return NULL;
    }
    i = ferry__net_find_blob(net, name);
    if (i < 0) {
        ferry_error_set(FERRY_EINVAL, "net \"%s\": it has no blob \"%s\"", net->name, name);
        return NULL;
    }
    if (net->blobs[i].gone) {
        ferry_error_set(FERRY_EINVAL,
                        "net \"%s\": \"%s\" has no contents, since it was planned or fused away; "
                        "name it in keep",
                        net->name, name);
        return NULL;
    }
    return net->blobs[i].blob;
}

int ferry_net_input_count(const ferry_net *net)
{
    return net ? net->n_inputs : 0;
}

ferry_blob *ferry_net_input_at(const ferry_net *net, int index)
{
    return net && index >= 0 && index < net->n_inputs ? net->blobs[net->inputs[index]].blob : NULL;
}

int ferry_net_output_count(const ferry_net *net)
{
    return net ? net->n_outputs : 0;
}

ferry_blob *ferry_net_output_at(const ferry_net *net, int index)
{
    if (!net || index < 0 || index >= net->n_outputs || net->blobs[net->outputs[index]].gone)
        return NULL;
    return net->blobs[net->outputs[index]].blob;
}

int ferry_net_blob_count(const ferry_net *net)
{
    return net ? net->n_blobs : 0;
}

ferry_blob *ferry_net_blob_at(const ferry_net *net, int index)
{
    return net && index >= 0 && index < net->n_blobs && !net->blobs[index].gone
               ? net->blobs[index].blob
               : NULL;
}

int ferry_net_layer_count(const ferry_net *net)
{
    return net ? net->n_layers : 0;
}

const ferry_layer *ferry_net_layer_at(const ferry_net *net, int index)
{
    return net && index >= 0 && index < net->n_layers ? &net->layers[index] : NULL;
}

int ferry_net_param_count(const ferry_net *net, int layer)
{
    return net && layer >= 0 && layer < net->n_layers ? net->layers[layer].n_params : 0;
}

ferry_blob *ferry_net_param_at(const ferry_net *net, int layer, int index)
{
    if (!net || layer < 0 || layer >= net->n_layers || ferry__params_fill((ferry_net *)net))
        return NULL;
    return ferry_layer_param_at(&net->layers[layer], index);
}

const char *ferry_net_name(const ferry_net *net)
{
    return net ? net->name : "";
}

ferry_device *ferry_net_device(const ferry_net *net)
{
    return net ? net->device : NULL;
}
