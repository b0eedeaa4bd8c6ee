/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of blobs after an edit of a net's layers. */
#include "net/proto/upgrade.h"

#include <string.h>

bool ferry__edit_has_layer(const ferry_proto *net, const char *field, const char *value)
{
    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        for (int64_t k = 0; k < ferry_proto_value_count(layer, field); k++)
            if (strcmp(ferry_proto_string(layer, field, k, NULL), value) == 0)
                return true;
    }
    return false;
}

void ferry__edit_prune(ferry_proto *net)
{
    ferry_proto *q = ferry__proto_mutable(net, "quantization", 0);

    for (int64_t i = ferry_proto_value_count(q, "range"); i-- > 0;)
        if (!ferry__edit_has_layer(
                net, "top",
                ferry_proto_string(ferry_proto_message(q, "range", i), "blob", 0, NULL)))
            ferry__proto_remove(q, "range", i);
    for (int64_t i = ferry_proto_value_count(q, "float_layer"); i-- > 0;)
        if (!ferry__edit_has_layer(net, "name", ferry_proto_string(q, "float_layer", i, NULL)))
            ferry__proto_remove(q, "float_layer", i);
}
