/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TRITON_BACKEND_H
#define FERRY_TRITON_BACKEND_H

#include "triton/describe.h"
#include "triton/server.h"

#include <ferry/ferry.h>
#include <pthread.h>

/*
 * The backend's objects: one backend per process, a model per version that is loaded, an instance
 * per entry of instance_group. The server calls different models and instances from different
 * threads, and one instance from one thread at a time.
 */

#define TRITON_MOST_THREADS 1024

/* The parts of a configuration that the backend uses. Strings belong to `json`. */
struct triton_config {
    json_t *json;
    int64_t max_batch;    /* 0: the shapes of requests contain the batch, and each request runs
                           * alone */
    const char *net_file; /* default_model_filename, or NULL */
    const char *weights;  /* the parameter, or NULL */
    const char *device;   /* the parameter, or NULL: the instance's kind decides */
    const char *place;    /* the parameter, or NULL */
    unsigned threads;     /* the parameter, for one instance; 0: as many as the device has */
    const char **outputs; /* the names of the outputs; NULL and 0: the net's outputs */
    size_t output_count;
};

/* The weights of a model on one device: a net that never runs, whose parameters instances share. */
struct triton_base {
    ferry_device *dev;
    ferry_net *net;
    struct triton_base *next;
};

struct triton_backend {
    ferry_runtime *rt;
    int64_t default_batch; /* max_batch_size in a completed configuration */
};

struct triton_model {
    struct triton_backend *backend;
    char *net_path, *weights_path; /* weights_path: NULL if the file at net_path contains the
                                    * weights */
    struct triton_config config;
    struct triton_interface about;
    pthread_mutex_t lock;      /* guards the list */
    struct triton_base *bases; /* one per device */
};

/* An input of an instance, with the memory that it uses between requests. */
struct triton_port {
    bool copies;    /* the net writes to the input, so that a request's memory is never adopted */
    bool on_device; /* a request's memory is adopted for the instance's device, else for the host */
    void *staging;
    size_t size;
};

struct triton_instance {
    struct triton_model *model;
    TRITONBACKEND_ModelInstance *server;
    ferry_device *device; /* borrowed from the runtime */
    ferry_net *net;
    void (*limit_threads)(unsigned threads); /* limits the threads of the calling thread's passes;
                                              * NULL: there is no limit */
    ferry_blob **outputs;      /* about.output_count blobs, borrowed from the net */
    struct triton_port *ports; /* about.input_count ports */
};

/* ---- log.c ---------------------------------------------------------------------------------- */

/* Sends ferry's log to the server's; false restores it. */
void triton_log(bool on);
/* One line of the server's log. */
void triton_warn(const char *fmt, ...) FERRY_PRINTF(1, 2);
/*
 * The latest error of ferry as an error of the server, owned by the caller. "prefix: " precedes it
 * if a prefix is given.
 */
TRITONSERVER_Error *triton_error(int err, const char *prefix);
TRITONSERVER_Error *triton_error_new(TRITONSERVER_Error_Code code, const char *fmt, ...)
    FERRY_PRINTF(2, 3);

/* ---- config.c ------------------------------------------------------------------------------- */

/*
 * Reads a configuration; takes over `json` in any case. An error, owned by the caller, for a
 * feature that nets do not have, and for parameters that the backend does not know.
 */
TRITONSERVER_Error *triton_config_read(json_t *json, struct triton_config *out);
void triton_config_free(struct triton_config *c);

/*
 * Adds to the JSON what it leaves out and the net knows: the inputs, and the batch where it has no
 * tensors. *out_changed becomes true if it lacked something.
 */
TRITONSERVER_Error *triton_config_complete_inputs(struct triton_config *c,
                                                  const struct triton_interface *about,
                                                  int64_t default_batch, bool *out_changed);
/* As triton_config_complete_inputs, for the outputs. */
TRITONSERVER_Error *triton_config_complete_outputs(struct triton_config *c,
                                                   const struct triton_interface *about,
                                                   bool *out_changed);

/* Compares with the net. Variable dims of the configuration become TRITON_ANY in `about`. */
TRITONSERVER_Error *triton_config_check_inputs(const struct triton_config *c, const char *net,
                                               struct triton_interface *about);
TRITONSERVER_Error *triton_config_check_outputs(const struct triton_config *c, const char *net,
                                                struct triton_interface *about);

/* ---- model.c -------------------------------------------------------------------------------- */

TRITONSERVER_Error *triton_model_open(TRITONBACKEND_Model *server, struct triton_model **out);
void triton_model_close(struct triton_model *m);
/* The device of an instance of that kind: parameter `device`, else "cpu" or "cuda:ID". */
int triton_model_device(struct triton_model *m, TRITONSERVER_InstanceGroupKind kind, int32_t id,
                        ferry_device **out);
/* A net on `dev` with the model's weights, which are loaded at the first call for the device. */
int triton_model_net(struct triton_model *m, ferry_device *dev, ferry_net **out);

/* ---- files.c -------------------------------------------------------------------------------- */

/*
 * Finds definition and weights in a version's folder, by the configuration's names if it has them.
 * The caller frees both; *out_weights is NULL if the definition has its weights. FERRY_EIO,
 * FERRY_EINVAL for a name with a folder, FERRY_ENOMEM.
 */
int triton_files_find(const char *folder, const struct triton_config *c, char **out_net,
                      char **out_weights);
/* Whether a definition of that name has its weights: a caffemodel or an ONNX model. */
bool triton_file_has_weights(const char *path);

/* ---- instance.c ----------------------------------------------------------------------------- */

TRITONSERVER_Error *triton_instance_open(TRITONBACKEND_ModelInstance *server,
                                         struct triton_model *m, struct triton_instance **out);
void triton_instance_close(struct triton_instance *i);

/*
 * Makes `bytes` bytes at `from`, on the host or on the instance's device, the input's data without
 * a copy where that is possible; false where they have to be copied. triton_instance_detach ends
 * it.
 */
bool triton_instance_adopt(struct triton_instance *i, size_t input, const void *from, size_t bytes,
                           bool on_device);
/* Waits for the net and lets go of adopted memory. `err`: the result of the pass. */
void triton_instance_detach(struct triton_instance *i, size_t input, int err);

/* ---- gpu.c ---------------------------------------------------------------------------------- */

/* Whether GPU `id` of the server is the instance's device. */
bool triton_gpu_is_of(const struct triton_instance *i, int64_t id);
/*
 * Copy `bytes` bytes between the host and a buffer in the memory of GPU `id`, and wait. An error,
 * owned by the caller, where ferry has no device for that GPU.
 */
TRITONSERVER_Error *triton_gpu_read(const struct triton_instance *i, const void *from, size_t bytes,
                                    int64_t id, void *to);
TRITONSERVER_Error *triton_gpu_write(const struct triton_instance *i, const void *from,
                                     size_t bytes, int64_t id, void *to);

/* ---- execute.c ------------------------------------------------------------------------------ */

/* Answers and releases every request. */
TRITONSERVER_Error *triton_execute(struct triton_instance *i, TRITONBACKEND_Request **requests,
                                   uint32_t count);

#endif
