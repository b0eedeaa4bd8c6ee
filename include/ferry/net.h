/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file net.h
 * Nets: a directed graph of layers from a prototxt, with its weights, on a device. Part of libferrynet.
 * (Caffe: Net.)
 *
 * A net runs where it is put: ferry_net_open names the device, ferry_net_to changes it. What the
 * device's plugin cannot compute runs on the host, is counted (ferry_net_layer_info), and moves only
 * what it must. The answer is the same everywhere, within rounding.
 *
 * In the TEST phase a net lays blobs over each other whose lives do not meet, and fuses layers, unless
 * its options say otherwise; blobs that were laid over or fused away cannot be read
 * (ferry_net_blob gives NULL and says what to do). Inputs, outputs and blobs named in `keep` always
 * can, and are row-major.
 *
 * Errors, where no other is named: FERRY_EINVAL for NULL or a structure without its size,
 * FERRY_ENOMEM, FERRY_EDEVICE, FERRY_ELOST, FERRY_EFORKED. Messages name file, line and layer.
 *
 * Threads: distinct nets from distinct threads, also where they share weights, which nobody may write
 * meanwhile. One net is used by one thread at a time.
 */
#ifndef FERRY_NET_H
#define FERRY_NET_H

#include <ferry/io.h>
#include <ferry/layer.h>

FERRY_BEGIN_DECLS

/** A net. Opaque. */
typedef struct ferry_net ferry_net;

/** How a net is opened. Zero the structure, then set struct_size. */
typedef struct ferry_net_options {
    size_t struct_size; /* sizeof(ferry_net_options) of the caller */
    ferry_phase phase;
    int level;                 /* of NetStateRule's min_level and max_level */
    const char *const *stages; /* n_stages of them */
    size_t n_stages;
    const char *const *keep; /* n_keep blobs that can be read; "*": all, without plan or fusion */
    size_t n_keep;
    const char *place; /* "conv*=opencl:0, type:Pooling=cpu, *=sim:1"; the first match wins */
    int no_fuse;       /* 1: every layer is computed by itself */
    int no_plan;       /* 1: every blob has memory of its own */
    int backward;      /* 1: ferry_net_backward will be called; implies no_fuse and no_plan */
    const char *text;  /* the prototxt itself in place of the file; the path then only names it */
    size_t text_size;  /* bytes; with text only */
    uint64_t seed;     /* of fillers and dropout; 0: as net.random_seed of a solver, else 1 */
} ferry_net_options;

/**
 * Reads a prototxt (or a caffemodel that holds its definition), sets every layer up, and puts the net
 * on `dev`. V0, V1 and V2. `options` may be NULL. Parameters are filled by their fillers until weights
 * are loaded. What is done is logged at FERRY_LOG_INFO in Caffe's words. The caller closes *out.
 *
 * FERRY_EIO, FERRY_EFORMAT for a text that cannot be read or a graph that cannot be (a bottom that
 * nobody makes, two layers that make one blob), FERRY_ESHAPE for shapes that do not fit,
 * FERRY_EUNSUPPORTED for a layer type that is not known (with the nearest names, or the fork that has
 * it). *out is then untouched.
 */
FERRY_API int ferry_net_open(ferry_device *dev, const char *prototxt,
                             const ferry_net_options *options, ferry_net **out);

/** Closes a net; blobs that were borrowed from it become invalid. Waits for its work. NULL is accepted. */
FERRY_API void ferry_net_close(ferry_net *net);

/** What became of one layer's parameters, or of one entry of a file. */
typedef enum ferry_net_load_state {
    FERRY_LOAD_DONE = 0,   /* the layer got its parameters */
    FERRY_LOAD_NONE = 1,   /* the file has none for it: it keeps what it had */
    FERRY_LOAD_UNUSED = 2, /* the file has some for a layer that the net has not */
    FERRY_LOAD_SHARED = 3  /* the layer's are those of another one, which got them */
} ferry_net_load_state;

/** A line of a load report. Strings are borrowed from the net until its next load or close. */
typedef struct ferry_net_load_line {
    const char *layer;
    ferry_net_load_state state;
    int blobs; /* how many */
} ferry_net_load_line;

/** What ferry_net_load did, in the net's order, unused entries last. Borrowed as its lines. */
typedef struct ferry_net_load_report {
    size_t struct_size; /* sizeof(ferry_net_load_report) of the library */
    size_t n_lines;
    const ferry_net_load_line *lines;
} ferry_net_load_report;

/**
 * Loads weights by layer name from a .caffemodel, .h5, .safetensors or .npz (arrays LAYER/i). May be
 * called again, with another file. *report (may be NULL) says which layers got none and which entries
 * were left over. FERRY_ESHAPE, with both shapes, where a blob does not fit, FERRY_EIO, FERRY_EFORMAT:
 * the net then has the weights that it had.
 */
FERRY_API int ferry_net_load(ferry_net *net, const char *weights,
                             const ferry_net_load_report **report);

/**
 * Writes the net: definition and weights as a .caffemodel, weights alone in the other formats. The
 * file appears whole or not at all. FERRY_EIO, FERRY_EUNSUPPORTED for a format that cannot hold it.
 */
FERRY_API int ferry_net_save(const ferry_net *net, const char *path, ferry_io_format format);

/**
 * Makes the parameters of equally named layers of `source` this net's too, by sharing their memory.
 * FERRY_ESHAPE, with both shapes, and nothing is shared.
 */
FERRY_API int ferry_net_share(ferry_net *net, ferry_net *source);

/**
 * The blob of that name, borrowed for the net's life. NULL, with an error that says which, if there is
 * none, or if it was laid over or fused away; the message then names `keep`.
 */
FERRY_API ferry_blob *ferry_net_blob(ferry_net *net, const char *name);

/** How many inputs there are. */
FERRY_API int ferry_net_n_inputs(const ferry_net *net);
/** Input `index`; NULL past the last. Its name is ferry_blob_name's. */
FERRY_API ferry_blob *ferry_net_input(const ferry_net *net, int index);
/** How many outputs there are: blobs that nobody consumes. */
FERRY_API int ferry_net_n_outputs(const ferry_net *net);
/** Output `index`, by name; NULL past the last. */
FERRY_API ferry_blob *ferry_net_output(const ferry_net *net, int index);
/** How many blobs there are in all. */
FERRY_API int ferry_net_n_blobs(const ferry_net *net);
/**
 * Blob `index`, in the order in which they are made; NULL past the last. One that cannot be read has
 * no data.
 */
FERRY_API ferry_blob *ferry_net_blob_at(const ferry_net *net, int index);
/** How many parameters a layer has, `layer` counting from 0 in the net's order. */
FERRY_API int ferry_net_n_params(const ferry_net *net, int layer);
/** Parameter `index` of that layer; NULL past the last. */
FERRY_API ferry_blob *ferry_net_param(const ferry_net *net, int layer, int index);

/** What is known of a layer. The caller sets struct_size. Strings are borrowed for the net's life. */
typedef struct ferry_net_layer_info {
    size_t struct_size;
    const char *name, *type;
    const char *device;     /* where it is placed */
    ferry_op_tier tier;     /* the worst one of its operations; HOST for a layer without any */
    int operations;         /* that its forward runs; 0 for one that was fused into another */
    const char *fused_into; /* the layer that computes it too, or NULL */
    double ms;              /* of its latest forward, where ferry_net_time measured */
    uint64_t bytes_moved;   /* between host and devices in its latest forward, likewise */
} ferry_net_layer_info;

/** How many layers there are, splits among them. */
FERRY_API int ferry_net_n_layers(const ferry_net *net);
/** What is known of layer `index`; FERRY_EINVAL for one outside. */
FERRY_API int ferry_net_layer(const ferry_net *net, int index, ferry_net_layer_info *out);

/**
 * Brings tops to the shapes that the inputs now have, and prepares what has to be. ferry_net_forward
 * does so by itself. The last 8 sets of shapes are kept prepared. FERRY_ESHAPE with layer and shapes;
 * the net can then be used again once its inputs have shapes that fit.
 */
FERRY_API int ferry_net_reshape(ferry_net *net);

/**
 * Computes every layer in order. Returns when the work is enqueued; reading an output waits for it.
 * *out_loss (may be NULL, and is 0 without a loss) waits too. A failure names the layer; inputs and
 * weights are then as before, and the net may be run again where its device still works.
 */
FERRY_API int ferry_net_forward(ferry_net *net, double *out_loss);

/**
 * The same from layer `from` to layer `to`, by name, both among them; NULL: the first, the last. Only
 * where nothing is laid over (keep = "*", or no_plan): else FERRY_EINVAL.
 */
FERRY_API int ferry_net_forward_range(ferry_net *net, const char *from, const char *to,
                                      double *out_loss);

/**
 * Moves the net: parameters now, other blobs at their next use. What `place` holds elsewhere stays.
 * After a failure the net is where it was.
 */
FERRY_API int ferry_net_to(ferry_net *net, ferry_device *dev);

/** The device that the net was opened on or moved to last. NULL for NULL. */
FERRY_API ferry_device *ferry_net_device(const ferry_net *net);

/** What the net's blobs need. The caller sets struct_size. */
typedef struct ferry_net_memory {
    size_t struct_size;
    uint64_t blobs;      /* bytes of all blobs but parameters, each by itself, as Caffe counts */
    uint64_t planned;    /* bytes that they take as they are laid */
    uint64_t parameters; /* bytes, shared ones once */
} ferry_net_memory;

/** Says so, for the shapes of now. */
FERRY_API int ferry_net_memory_of(const ferry_net *net, ferry_net_memory *out);

FERRY_END_DECLS

#endif
