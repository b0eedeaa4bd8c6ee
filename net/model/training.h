/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of a net that the solver needs beyond <ferry/net.h>. This header shows none of the
 * net's structures. Layers are given by their index in the net, which has to be valid.
 *
 * Threads: as ferry_net_forward, one thread at a time for each net.
 */
#ifndef FERRY_NET_MODEL_TRAINING_H
#define FERRY_NET_MODEL_TRAINING_H

#include <ferry/net.h>

/* ---- parameters ---- */

/* A parameter of a layer. */
struct ferry__training_param {
    ferry_blob *blob; /* borrowed from the net; possibly not yet filled */
    double lr_mult, decay_mult;
    bool is_owned; /* false: an earlier layer owns it, which has the same `param` name */
    bool has_diff; /* the backward pass of this layer, or of one that shares it, adds to its diff */
};

/* Parameter `index` of layer `layer`. Returns false past the last; *out is then unchanged. */
bool ferry__training_param_at(const ferry_net *net, int layer, int index,
                              struct ferry__training_param *out);

/*
 * Sets the function that each backward pass calls for each layer with parameters, from the last
 * layer to the first. All work that adds to the diffs of the parameters that the layer owns has
 * then been submitted. If it fails, the pass ends with its error. NULL: no function, as in a new
 * net.
 */
void ferry__training_on_layer(ferry_net *net, int (*fn)(void *arg, int layer), void *arg);

/* ---- fake quantisation ---- */

/* Whether a net with the option fake_quantize has a layer with known ranges. */
bool ferry__training_is_rounded(ferry_net *net);

/* ---- the state of a run, for exact snapshots ---- */

/* The net's seed, and how many random numbers were drawn from it. */
void ferry__training_random(const ferry_net *net, uint64_t *out_seed, uint64_t *out_drawn);
/* Continues after that many drawn numbers. */
void ferry__training_set_drawn(ferry_net *net, uint64_t drawn);

/*
 * The position of a layer in its records: how many its forward passes have used
 * (ferry_layer_type.position). FERRY_EINVAL for a layer that reads no records; *out is then
 * unchanged.
 */
int ferry__training_position(ferry_net *net, int layer, uint64_t *out);

/*
 * Seeks to a position: the next forward pass reads the records that follow it, for a net that was
 * opened with the same text and seed. FERRY_EINVAL for a layer that reads no records; otherwise the
 * errors of reading. After such an error the call has to succeed before the next forward pass.
 */
int ferry__training_seek(ferry_net *net, int layer, uint64_t position);

/*
 * Scratch blob `index` of a recurrent layer, whose contents carry over to the next forward pass.
 * *out is NULL for a blob whose contents do not. Returns false past the last, and for layers of
 * other types.
 */
bool ferry__training_carried_at(const ferry_net *net, int layer, int index, ferry_blob **out);

/* ---- files ---- */

/* As ferry_net_load, but FERRY_ESHAPE if a layer with parameters of its own gets none. load.c */
int ferry__net_load_whole(ferry_net *net, const char *weights);

/* As ferry_net_save; with `diffs`, the diffs of the parameters are saved too. save.c */
int ferry__net_save(const ferry_net *net, const char *path, ferry_io_format format, bool diffs);

/* Logs the text of a message at FERRY_LOG_INFO, one log line for each of its lines. conditions.c */
void ferry__log_text(const ferry_proto *p);

#endif
