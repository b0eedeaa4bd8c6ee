/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared declarations of the openvino plugin: OpenVINO's C interface, found at run time, and the
 * model that is written for it.
 */
#ifndef FERRY_OPENVINO_H
#define FERRY_OPENVINO_H

#include <ferry/graph_plugin.h>
#include <ferry/plugin.h>

#include <stdbool.h>
#include <stddef.h>

extern const ferry_host *ov_host;

/* ---- OpenVINO's C interface (openvino/c/openvino.h), as far as it is used ------------------ */

typedef struct ov_core ov_core;
typedef struct ov_model ov_model;
typedef struct ov_compiled_model ov_compiled_model;
typedef struct ov_infer_request ov_infer_request;
typedef struct ov_tensor ov_tensor;

typedef struct ov_shape {
    int64_t rank;
    int64_t *dims;
} ov_shape;

typedef struct ov_version {
    const char *build, *description;
} ov_version;

/* X(name, result, arguments); all functions are looked up when the library is opened. */
#define OV_FUNCTIONS(X)                                                                           \
    X(ov_get_openvino_version, int, (ov_version * version))                                       \
    X(ov_version_free, void, (ov_version * version))                                              \
    X(ov_get_last_err_msg, const char *, (void))                                                  \
    X(ov_free, void, (const char *text))                                                          \
    X(ov_core_create, int, (ov_core * *core))                                                     \
    X(ov_core_free, void, (ov_core * core))                                                       \
    X(ov_core_set_property, int, (const ov_core *core, const char *device, ...))                  \
    X(ov_core_get_property, int,                                                                  \
      (const ov_core *core, const char *device, const char *key, char **value))                   \
    X(ov_core_read_model_from_memory_buffer, int,                                                 \
      (const ov_core *core, const char *text, size_t length, const ov_tensor *weights,            \
       ov_model **model))                                                                         \
    X(ov_core_compile_model, int,                                                                 \
      (const ov_core *core, const ov_model *model, const char *device, size_t arguments,          \
       ov_compiled_model **compiled, ...))                                                        \
    X(ov_core_import_model, int,                                                                  \
      (const ov_core *core, const char *data, size_t bytes, const char *device,                   \
       ov_compiled_model **compiled))                                                             \
    X(ov_model_free, void, (ov_model * model))                                                    \
    X(ov_compiled_model_create_infer_request, int,                                                \
      (const ov_compiled_model *compiled, ov_infer_request **request))                            \
    X(ov_compiled_model_export_model, int, (const ov_compiled_model *compiled, const char *path)) \
    X(ov_compiled_model_free, void, (ov_compiled_model * compiled))                               \
    X(ov_infer_request_set_input_tensor_by_index, int,                                            \
      (ov_infer_request * request, size_t index, const ov_tensor *tensor))                        \
    X(ov_infer_request_set_output_tensor_by_index, int,                                           \
      (ov_infer_request * request, size_t index, const ov_tensor *tensor))                        \
    X(ov_infer_request_infer, int, (ov_infer_request * request))                                  \
    X(ov_infer_request_free, void, (ov_infer_request * request))                                  \
    X(ov_tensor_create, int, (unsigned type, ov_shape shape, ov_tensor **tensor))                 \
    X(ov_tensor_create_from_host_ptr, int,                                                        \
      (unsigned type, ov_shape shape, void *data, ov_tensor **tensor))                            \
    X(ov_tensor_data, int, (const ov_tensor *tensor, void **data))                                \
    X(ov_tensor_get_byte_size, int, (const ov_tensor *tensor, size_t *bytes))                     \
    X(ov_tensor_free, void, (ov_tensor * tensor))

struct ov_api {
#define OV_MEMBER(name, result, arguments) result(*name) arguments;
    OV_FUNCTIONS(OV_MEMBER)
#undef OV_MEMBER
    unsigned f32; /* the number of its element type F32, which differs among versions */
    char version[64];
};

/* Opens the library, once (api.c). FERRY_ENODEV with the reason. */
int ov_open(const struct ov_api **out);
/* Converts a status to a code, and reports what failed, with OpenVINO's message. */
int ov_check(const struct ov_api *api, int status, int code, const char *what);

struct ov_device {
    const struct ov_api *api;
    ov_core *core;
    char name[64];    /* OpenVINO's name of the device: "CPU", "GPU", "NPU" */
    char threads[16]; /* "", or a number */
};

extern const ferry_graph_table ov_graph_table; /* in graph.c */

/* ---- model.c: a model as text and constants ------------------------------------------------ */

/* A result of a layer of the model; layer 0 means no result. */
struct ov_value {
    int layer; /* the layer's number, from 1 */
    int port;
    uint32_t rank;
    int64_t dim[FERRY_OP_AXES];
};

struct ov_text {
    char *at;
    size_t length, room;
};

struct ov_writer {
    struct ov_text layers, edges;
    float *constants;
    size_t count, room;
    int layer;
    bool dry;    /* a dry run, which writes nothing and finds out whether the nodes can be
                  * expressed */
    bool failed; /* memory was short */
};

/* Adds a layer with these inputs and one output. `attributes` is the text of its data element. */
struct ov_value ov_layer(struct ov_writer *w, const char *type, int opset, const char *attributes,
                         const struct ov_value *in, int n_in, uint32_t rank, const int64_t *dim);
/* Add constants: numbers in row-major order (NULL in a dry run), and integers for layers. */
struct ov_value ov_constant(struct ov_writer *w, uint32_t rank, const int64_t *dim,
                            const float *data);
struct ov_value ov_integers(struct ov_writer *w, uint32_t count, const int64_t *values);
struct ov_value ov_input(struct ov_writer *w, uint32_t rank, const int64_t *dim);
void ov_output(struct ov_writer *w, struct ov_value value);
/* The whole text, which the caller frees; NULL without memory. */
char *ov_finish(struct ov_writer *w);
void ov_writer_end(struct ov_writer *w);

/* ---- lower.c: operations as layers --------------------------------------------------------- */

/* The state while a segment is converted. */
struct ov_lowering {
    struct ov_writer *w;
    const ferry_graph *graph;
    const void *const *constants; /* NULL in a dry run */
    struct ov_value *edges;       /* the contents of each edge, once they exist */
    struct ov_value *parts;       /* the value that each node writes into a part of an edge */
};

/* Adds node `i` to the model. False: it cannot be expressed. */
bool ov_lower(struct ov_lowering *l, uint32_t i);

#endif
