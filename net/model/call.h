/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of the functions of layer types, and failures that concern no single layer. */
#ifndef FERRY_NET_MODEL_CALL_H
#define FERRY_NET_MODEL_CALL_H

#include <ferry/net.h>

/*
 * Calls a function of the layer's type, whose name is for messages. Returns 0 or a code of status.h
 * with a message of this call: FERRY_EPLUGIN if the function returned any other number, and a
 * general message if it recorded none. The thread's latest failure does not change on success.
 */
int ferry__layer_call(ferry_layer *layer, int (*function)(ferry_layer *), const char *name);

/* As ferry__layer_call, for the type's seek. */
int ferry__layer_seek(ferry_layer *layer, uint64_t position);

/* Adds the net's file and name to the recorded error, if it names neither a layer nor a net. */
int ferry__net_failed(const ferry_net *net, int err);

#endif
