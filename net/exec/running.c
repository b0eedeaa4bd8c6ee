/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parameters that forward passes write: BatchNorm's running statistics. Their contents are saved
 * before each pass, on their device, and restored after a failed one.
 */

#include "net/exec/exec.h"

#include <ferry/status.h>

#include <string.h>

/* Whether no valid copy of the contents remains. */
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

/*
 * Saves the parameter. A pass whose failure is detected after it has returned may have lost the
 * parameter's contents; then the saved ones are restored first.
 */
static int save(const ferry_layer *layer, struct ferry__net_param *p)
{
    int err = make_before(p);

    if (!err)
        err = ferry_blob_copy_from(p->before, p->blob, 0);
    if (err && p->saved && is_lost(layer, p->blob)) {
        err = ferry_blob_copy_from(p->blob, p->before, 0);
        if (!err)
            ferry_log_write(FERRY_LOG_WARN,
                            "ferry: layer \"%s\": a pass failed; its statistics were restored",
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
                ferry_blob_copy_from(p->blob, p->before, 0); /* if it fails, the next pass tries
                                                              * again */
        }
    return ferry_error_set(err, "%s", why);
}
