/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations that layers emit. */
#ifndef FERRY_NET_MODEL_EMITTED_H
#define FERRY_NET_MODEL_EMITTED_H

#include <ferry/layer.h>
#include <ferry/op_desc.h>

/* An operation as a layer emitted it. */
struct ferry__net_op {
    ferry_op_desc op;
    ferry_layer_operand in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
};

#endif
