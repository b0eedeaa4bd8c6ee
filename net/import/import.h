/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversion of ONNX models to nets. */
#ifndef FERRY_NET_IMPORT_IMPORT_H
#define FERRY_NET_IMPORT_IMPORT_H

#include <ferry/net.h>
#include <ferry/proto.h>
#include <stdbool.h>

/* An open model, which has the parameters of its net. */
struct ferry__onnx_model;

/*
 * Whether a file is an ONNX model: its name ends in .onnx, or it begins like the files of
 * exporters.
 */
bool ferry__import_is_onnx(const char *path);

/*
 * Opens the model at `path`, a path that outlives it. *out_net is its graph as a NetParameter,
 * which the caller closes. Layers have the names of nodes, and blobs the names of values.
 *
 * FERRY_EIO; FERRY_EFORMAT for a file that is not a valid model; FERRY_EUNSUPPORTED, with node and
 * operator, for an operator that ferry's layers do not compute; FERRY_ENOMEM. After a failure the
 * outputs are unchanged.
 */
int ferry__import_open(const char *path, struct ferry__onnx_model **out, ferry_proto **out_net);

/*
 * Copies the model's parameters into those of its net, which was built from *out_net. FERRY_ESHAPE
 * if the parameters of the net's layers have other sizes.
 */
int ferry__import_load(const struct ferry__onnx_model *model, ferry_net *net);

/* Closes the model. NULL is accepted. The net stays valid. */
void ferry__import_close(struct ferry__onnx_model *model);

#endif
