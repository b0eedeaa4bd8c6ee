/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ranges of blobs, by which programs are quantized: `quantization` of a NetParameter. Blobs
 * that share contents share a range, in the blob that owns the contents (ferry__net_root).
 */
#ifndef FERRY_NET_MODEL_RANGES_H
#define FERRY_NET_MODEL_RANGES_H

#include "net/model/state.h"

/* The integers of 8 bits that stand for the values of a range: integer i for (i − zero)·scale. */
struct ferry__grid {
    uint32_t dtype; /* FERRY_U8, or FERRY_I8 with zero 0 */
    float scale, zero;
};

/*
 * U8 with zero 0 if no value is negative. Otherwise I8 with as many steps on each side of 0, or, if
 * `may_shift` and the steps are finer, U8 from `least` to `most`.
 */
struct ferry__grid ferry__grid_of(float least, float most, bool may_shift);

/*
 * Takes over the ranges and the F32 layers of the net's own definition. FERRY_EFORMAT, with the
 * position, for a range that is not valid and, in a text, for a name that no layer of it has.
 */
int ferry__ranges_begin(ferry_net *net);

/*
 * Makes a `quantization` of the ranges that layers state; the caller closes it. `definition` is the
 * net's own, of which the layers in the net count, or that of a file of weights, of which those
 * count that the net has by name. *out is NULL if none of them states any. FERRY_EFORMAT, with the
 * position, for a scale that is missing or not valid; FERRY_ENOMEM.
 */
int ferry__ranges_of_layers(const ferry_net *net, const ferry_proto *definition, ferry_proto **out);

/*
 * Reads the `quantization` of a file of weights, or else makes it of the ranges that its layers
 * state; the caller closes it. *out is NULL for a file without either, such as each that is not a
 * caffemodel. FERRY_EIO, FERRY_EFORMAT, FERRY_ENOMEM.
 */
int ferry__ranges_read(const ferry_net *net, const char *path, ferry_proto **out);

/*
 * Checks the ranges of that message: FERRY_EFORMAT if one is not valid; names that the net lacks
 * are accepted.
 */
int ferry__ranges_check(const ferry_net *net, const ferry_proto *quantization);

/* Takes them over; logs how many names the net lacks. `path` is the file for that line. */
void ferry__ranges_commit(ferry_net *net, const ferry_proto *quantization, const char *path);

/*
 * Removes the ranges that files of weights had; called when another file without ranges is loaded.
 */
void ferry__ranges_drop(ferry_net *net);

/* Takes over the ranges of another net, by the names of blobs and layers. */
void ferry__ranges_share(ferry_net *net, const ferry_net *source);

/*
 * Replaces the `quantization` of a copy of the net's text by the net's current ranges. Names of
 * layers and blobs of other phases are kept. FERRY_ENOMEM.
 */
int ferry__ranges_put(const ferry_net *net, ferry_proto *definition);

#endif
