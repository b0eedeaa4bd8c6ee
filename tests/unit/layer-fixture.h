/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nets of a layer or two, written as texts, whose blobs are compared with numbers. A failure is a
 * failed assertion of the test.
 */
#ifndef FERRY_TEST_LAYER_FIXTURE_H
#define FERRY_TEST_LAYER_FIXTURE_H

#include "fixture.h"

#include <ferry/net.h>

/* Inputs x, u and v of a shape, as "dim: 2 dim: 3". */
#define X(shape) "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { " shape " } } }\n"
#define U(shape) \
    "layer { name: 'in2' type: 'Input' top: 'u' input_param { shape { " shape " } } }\n"
#define V(shape) \
    "layer { name: 'in3' type: 'Input' top: 'v' input_param { shape { " shape " } } }\n"

/* Opens a net from its text; never NULL. */
ferry_net *lx_open(const char *text);

/* Sets all elements of a blob. */
void lx_set(ferry_blob *b, const float *values);

/* Sets the blob of that name, or a parameter of the last layer. */
#define FEED(net, name, ...) \
    lx_set(ferry_net_blob_find((net), (name)), (const float[]){ __VA_ARGS__ })
#define PARAM(net, index, ...)                                                 \
    lx_set(ferry_net_param_at((net), ferry_net_layer_count(net) - 1, (index)), \
           (const float[]){ __VA_ARGS__ })

/* Whether the blob has those n elements, within 1e-5; prints the first that differs. */
bool lx_holds(ferry_net *net, const char *name, int64_t n, const float *wanted);

#define COUNT(...) ((int64_t)(sizeof((float[]){ __VA_ARGS__ }) / sizeof(float)))
#define HOLDS(net, name, ...) \
    CU_ASSERT(lx_holds((net), (name), COUNT(__VA_ARGS__), (const float[]){ __VA_ARGS__ }))

/* Runs a forward pass. */
void lx_run(ferry_net *net);

#endif
