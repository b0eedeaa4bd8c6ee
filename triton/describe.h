/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TRITON_DESCRIBE_H
#define FERRY_TRITON_DESCRIBE_H

#include <ferry/net.h>
#include <jansson.h>

/*
 * Inputs and outputs of a net in the words of a Triton configuration. The backend completes and
 * checks configurations with it, `ferry triton-model` writes them.
 */

/* A variable dim. */
#define TRITON_ANY (-1)

/* An input or output. Dims include the batch. */
struct triton_tensor {
    const char *name; /* borrowed from the net */
    ferry_dtype dtype;
    int rank;
    int64_t dims[FERRY_MAX_AXES];
};

struct triton_interface {
    bool batches; /* axis 0 of every input and output is the batch, not the time */
    size_t input_count, output_count;
    struct triton_tensor *inputs, *outputs;
};

/*
 * Reads inputs and outputs of a TEST net: all outputs, or the `count` blobs of `names`. Tries
 * whether the net takes any batch; with `variable`, also which axes from 2 on may differ from the
 * definition: these dims are TRITON_ANY. The net has its shapes again afterwards. The caller frees
 * *out with triton_interface_free. FERRY_ENOMEM, FERRY_EINVAL for an unknown name,
 * FERRY_EUNSUPPORTED for a net without inputs; *out is then unchanged.
 */
int triton_describe(ferry_net *net, const char *const *names, size_t count, bool variable,
                    struct triton_interface *out);

/*
 * Sets dims of the outputs to TRITON_ANY where they depend on a TRITON_ANY of the inputs. A trial
 * that the net refuses changes no dim.
 */
int triton_describe_outputs(ferry_net *net, struct triton_interface *about);

void triton_interface_free(struct triton_interface *about);

/*
 * The list `input` or `output` of a configuration, a new reference; NULL without memory. `batched`:
 * axis 0 is left out.
 */
json_t *triton_tensors_to_json(const struct triton_tensor *tensors, size_t n, bool batched);

/* "TYPE_FP32" of a dtype; "FP32" is the name in requests, four bytes on. NULL if there is none. */
const char *triton_dtype_name(ferry_dtype dtype);
/* The server's number of a dtype; 0 if there is none. */
int triton_dtype_number(ferry_dtype dtype);

/* "[3,-1,-1]" into `buf`. */
const char *triton_dims(const int64_t *dims, int rank, char *buf, size_t size);

#endif
