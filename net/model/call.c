/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of the functions of layer types, whose results are checked. */
#include "net/model/call.h"

#include "common/former.h"
#include "common/status.h"
#include "net/model/state.h"

#include <ferry/status.h>

#include <string.h>

/* The error of a result that is not 0. */
static int failed(const ferry_layer *layer, const char *function, int result)
{
    bool has_line = ferry_last_error_code() != FERRY_OK;

    if (!ferry__is_failure_code(result))
        return ferry_layer_error(layer, FERRY_EPLUGIN, "%s returned %d, which is not a code%s%s",
                                 function, result, has_line ? ": " : "",
                                 has_line ? ferry_last_error() : "");
    if (!has_line)
        return ferry_layer_error(layer, result, "%s failed without a message: %s", function,
                                 ferry_strerror(result));
    return result;
}

static int end(const ferry_layer *layer, const char *function, const struct ferry__former *f,
               int result)
{
    if (result)
        return failed(layer, function, result);
    ferry__former_restore(f);
    return 0;
}

int ferry__net_failed(const ferry_net *net, int err)
{
    const char *why = ferry_last_error();

    if (!err || strstr(why, "layer \"") || strstr(why, "net \""))
        return err;
    return ferry_proto_error(net->proto, NULL, 0, err, "net \"%s\": %s", net->name, why);
}

int ferry__layer_call(ferry_layer *layer, int (*function)(ferry_layer *), const char *name)
{
    struct ferry__former f;

    ferry__former_set_aside(&f);
    return end(layer, name, &f, function(layer));
}

int ferry__layer_seek(ferry_layer *layer, uint64_t position)
{
    struct ferry__former f;

    ferry__former_set_aside(&f);
    return end(layer, "seek", &f, layer->type->seek(layer, position));
}
