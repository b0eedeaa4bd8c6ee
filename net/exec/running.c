/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parameters that a forward pass itself writes: BatchNorm's running statistics. What they hold is set
 * aside before each pass, on the device where they are, and is back where one has failed.
 */

#include "net/exec/exec.h"

#include <ferry/status.h>

#include <string.h>

/* Where nothing of the contents is valid any more. */
static bool is_lost(const ferry_layer *layer, const ferry_blob *b)
{
    const ferry_memory *m = ferry_blob_data_memory(b);

    return !ferry_memory_is_valid_at(m, NULL) && !ferry_memory_is_valid_at(m, ferry_blob_home(b)) &&
           !ferry_memory_is_valid_at(m, layer->device);
}

static int make_before(struct ferry__net_param *p)
{
    ferry_device *home = ferry_blob_home(p->blob);

    if (p->before)
        return ferry_blob_home(p->before) == home ? 0 : ferry_blob_move_to(p->before, home);
    return ferry_blob_create(home, FERRY_F32, ferry_blob_shape(p->blob), ferry_blob_rank(p->blob),
                             &p->before);
}

/* A pass that has failed later than it returned may have cost the parameter what it held. */
static int save(const ferry_layer *layer, struct ferry__net_param *p)
{
    int err = make_before(p);

    if (!err)
        err = ferry_blob_copy_from(p->before, p->blob, 0);
    if (err && p->saved && is_lost(layer, p->blob)) {
        err = ferry_blob_copy_from(p->blob, p->before, 0);
        if (!err)
            ferry_log_write(
                FERRY_LOG_WARN,
                "ferry: layer \"%s\": a pass failed; its statistics are those of before",
                layer->name);
    }
    p->saved = p->saved || !err;
    return err;
}

int ferry__running_save(ferry_net *net, int first, int last)
{
    int i, k, err = 0;

    for (i = first; !err && net->writes && i <= last; i++)
        for (k = 0; !err && k < net->layers[i].n_params; k++)
            if (net->layers[i].params[k].written)
                err = ferry__layer_failed(&net->layers[i],
                                          save(&net->layers[i], &net->layers[i].params[k]));
    return err;
}

int ferry__running_restore(ferry_net *net, int first, int last, int err)
{
    char why[1024];
    int i, k;

    if (!net->writes)
        return err;
    strncpy(why, ferry_last_error(), sizeof why - 1);
    why[sizeof why - 1] = 0;
    for (i = first; i <= last; i++)
        for (k = 0; k < net->layers[i].n_params; k++) {
            struct ferry__net_param *p = &net->layers[i].params[k];

            if (p->written && p->saved)
                ferry_blob_copy_from(p->blob, p->before, 0); /* else the next pass tries again */
        }
    return ferry_error_set(err, "%s", why);
}
