/* SPDX-License-Identifier: BSD-2-Clause */
/* Constants of an ONNX model: initializers, attributes, and results of folded nodes. */
#ifndef FERRY_NET_IMPORT_TENSOR_H
#define FERRY_NET_IMPORT_TENSOR_H

#include "net/import/file.h"

#include <ferry/op_params.h>

/* A shape. */
struct ferry__import_shape {
    int rank; /* at most FERRY_OP_AXES */
    int64_t dim[FERRY_OP_AXES];
};

/* The number of elements; −1 if it or the size in bytes does not fit 62 bits. */
int64_t ferry__import_shape_count(const struct ferry__import_shape *shape);

struct ferry__import_tensor {
    int type; /* a value of enum ferry__onnx_type */
    struct ferry__import_shape shape;
    int64_t count;
    const unsigned char *bytes; /* `count` elements, not aligned; borrowed */
    bool native;                /* they are in the order of this machine, and not little-endian */
};

/* The size of an element in bytes; 0 for a type that ferry does not read. */
size_t ferry__import_type_size(int type);
/* Whether elements are integers or booleans. */
bool ferry__import_type_is_integer(int type);

/* Element i. A real number becomes an integer by truncation, within the range of int64_t. */
int64_t ferry__import_tensor_integer(const struct ferry__import_tensor *t, int64_t i);
double ferry__import_tensor_real(const struct ferry__import_tensor *t, int64_t i);

/* Copies all elements, as float. */
void ferry__import_tensor_copy(const struct ferry__import_tensor *t, float *out);

/*
 * Reads a TensorProto in any of its forms: raw_data, a field of its type, external data. Elements
 * stay in the file or are decoded into the arena. FERRY_EFORMAT for sizes that do not match and for
 * data outside of a file, FERRY_EUNSUPPORTED for other types and for more axes than FERRY_OP_AXES,
 * FERRY_EIO, FERRY_ENOMEM; `name` names the tensor in messages.
 */
int ferry__import_tensor_read(struct ferry__import_file *file, const ferry_proto *message,
                              const char *name, struct ferry__mem_arena *arena,
                              struct ferry__import_tensor *out);

/*
 * As ferry__import_tensor_read for a SparseTensorProto, which becomes dense; also FERRY_EFORMAT for
 * an index out of range.
 */
int ferry__import_tensor_read_sparse(struct ferry__import_file *file, const ferry_proto *message,
                                     const char *name, struct ferry__mem_arena *arena,
                                     struct ferry__import_tensor *out);

/*
 * Creates a tensor of zeros of type FLOAT or INT64 in the arena; *out_elements (float or int64_t)
 * are its elements, in the byte order of this machine. False if it is larger than 64 MiB or there
 * is no memory; no error is set.
 */
bool ferry__import_tensor_make(struct ferry__mem_arena *arena, int type,
                               const struct ferry__import_shape *shape,
                               struct ferry__import_tensor *out, void **out_elements);

#endif
