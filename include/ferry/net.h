/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file net.h
 * Nets: a directed graph of layers from a prototxt, with its weights, on a device. Part of libferrynet.
 * (Caffe: Net.)
 *
 * A net runs where it is put: ferry_net_open names the device, ferry_net_move_to changes it. What the
 * device's plugin cannot compute runs on the host, is counted (ferry_net_layer_info), and moves only
 * what it must. The answer is the same everywhere, within rounding.
 *
 * Errors, where no other is named: FERRY_EINVAL for NULL or a structure without its size,
 * FERRY_ENOMEM, FERRY_EDEVICE, FERRY_ELOST, FERRY_EFORKED. Messages name file, line and layer.
 *
 * Threads: distinct nets from distinct threads, also where they share weights, which no thread may write
 * meanwhile. One net is used by one thread at a time, but as the source of ferry_net_share by several.
 */
#ifndef FERRY_NET_H
#define FERRY_NET_H

#include <ferry/io.h>
#include <ferry/layer.h>

FERRY_BEGIN_DECLS

/** A net. Opaque. */
typedef struct ferry_net ferry_net;

/**
 * How a net is opened. Zero the structure, then set struct_size. Nothing of it is needed any longer when
 * ferry_net_open returns.
 *
 * In TEST a net's blobs share memory by a plan of who lives when, and layers join: BatchNorm, Scale and
 * Bias go into the weights of the convolution or inner product before them (copies, made anew when the
 * sources are written), activations and sums into its epilogue; convolutions may be Winograd's
 * (FERRY_MATH_WINOGRAD). What has no contents of its own then cannot be had from ferry_net_blob_find. Inputs,
 * outputs, and what `keep` names always can. The answer is the same within rounding. In TRAIN, and
 * with `backward`, nothing is planned or fused.
 */
typedef struct ferry_net_options {
    size_t struct_size; /* sizeof(ferry_net_options) of the caller */
    ferry_phase phase;
    int level;                 /* of NetStateRule's min_level and max_level */
    const char *const *stages; /* stage_count of them */
    size_t stage_count;
    const char *place; /* "conv*=opencl:0, type:Pooling=cpu"; the first match wins, else `dev` */
    const char *text;  /* the prototxt itself in place of the file; the path then only names it */
    size_t text_size;  /* bytes; with text only */
    uint64_t seed;     /* of fillers and dropout; 0 is 1; ferry_net_seed sets another one */
    const char *const *keep; /* keep_count blobs that stay readable; "*": all, nothing is fused */
    size_t keep_count;
    bool no_plan;  /* each blob of a TEST net has memory of its own */
    bool no_fuse;  /* layers of a TEST net are not fused */
    bool only;     /* layers that nothing in `keep` depends on are not computed, outputs included */
    bool backward; /* ferry_net_backward will be called; a TRAIN net needs no flag for that */
    /**
     * Of `ranks` nets of one text that are trained together (0 is 1), which one this is: in TRAIN its layers that
     * read records take every ranks-th one, from the rank-th on, in the order that is common to all, and its
     * dropout draws numbers of its own. (Caffe: solver_rank, solver_count.)
     */
    int rank, ranks;
    /**
     * The folder in which layers may create and replace files (HDF5Output's file_name), and below it: links and ".."
     * are resolved first, at ferry_net_open and again before each file. NULL: nowhere, and a net with such a layer is
     * FERRY_EPERM. A path is checked when it is used; another program that swaps folders for links at that moment is
     * not kept out. What a net reads, it reads wherever its text says.
     */
    const char *allow_write;
} ferry_net_options;

/**
 * Reads a prototxt (or a caffemodel that holds its definition), sets every layer up, and puts the net
 * on `dev`. V0, V1 and V2. `options` may be NULL. Parameters are those of the caffemodel that the net
 * was opened from, if it was, else filled by their fillers until weights are loaded. What is done is
 * logged at FERRY_LOG_INFO in Caffe's words. The caller closes *out.
 *
 * FERRY_EIO, FERRY_EFORMAT for a text that cannot be read or a graph that cannot be (a bottom that
 * nobody makes, two layers that make one blob), FERRY_ESHAPE for shapes that do not fit,
 * FERRY_EUNSUPPORTED for a layer type that is not known (with the nearest names, or the fork that has
 * it), FERRY_EINVAL for a name in `keep` that no blob has, and for a rank that is none of the ranks. *out is then
 * untouched.
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

/** A line of a load report; `layer` is borrowed from the net until its next load or close. */
typedef struct ferry_net_load_line {
    const char *layer;
    ferry_net_load_state state;
    int blobs; /* how many the layer has; of an unused entry, the file */
} ferry_net_load_line;

/** What ferry_net_load did, in the net's order, unused entries last. Borrowed as its lines. */
typedef struct ferry_net_load_report {
    size_t struct_size; /* sizeof(ferry_net_load_report) of the library */
    size_t line_count;
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
 * As ferry_net_load, but FERRY_ESHAPE where no layer gets anything though some have parameters: the weights are those
 * of another net. The message names the first layers of both.
 */
FERRY_API int ferry_net_load_matched(ferry_net *net, const char *weights,
                                     const ferry_net_load_report **report);

/**
 * Keeps a net's parameters in a file: FERRY_IO_CAFFEMODEL, _HDF5, _SAFETENSORS or _NPZ, each as blob i
 * of its layer (LAYER/i), shared ones under each layer that has them. A caffemodel also keeps the whole
 * definition in today's form, with the layers of other phases, so that it can be opened without its
 * prototxt, here as in Caffe. Of layers with one name those of this net are kept, where they have
 * parameters. A fork's field that has no number in a caffemodel is left out, and named at
 * FERRY_LOG_WARN.
 *
 * The file replaces what was there in one step, or not at all. Waits for work on the parameters.
 * FERRY_EINVAL for another format, FERRY_EUNSUPPORTED where the format cannot hold a name, FERRY_EIO.
 * (Caffe: Net::ToProto, Net::ToHDF5.)
 */
FERRY_API int ferry_net_save(const ferry_net *net, const char *path, ferry_io_format format);

/**
 * Makes the parameters of equally named layers of `source` this net's too, by sharing their memory. Nets of several
 * threads may take one source's at once; what nothing has read of it yet is filled by one of them.
 * FERRY_ESHAPE, with both shapes, and nothing is shared.
 */
FERRY_API int ferry_net_share(ferry_net *net, ferry_net *source);

/**
 * The blob of that name, borrowed for the net's life. NULL, with an error that says so, if there is
 * none, or where its contents were planned or fused away: see ferry_net_options.
 */
FERRY_API ferry_blob *ferry_net_blob_find(ferry_net *net, const char *name);

/** How many inputs there are: tops of Input layers. 0 for NULL. */
FERRY_API int ferry_net_input_count(const ferry_net *net);
/** Input `index`, borrowed for the net's life; NULL past the last. Its name is ferry_blob_name's. */
FERRY_API ferry_blob *ferry_net_input_at(const ferry_net *net, int index);

/** How many outputs there are: blobs that nobody consumes. 0 for NULL. */
FERRY_API int ferry_net_output_count(const ferry_net *net);
/** Output `index`, by name, borrowed for the net's life; NULL past the last, or where `only` leaves it out. */
FERRY_API ferry_blob *ferry_net_output_at(const ferry_net *net, int index);

/** How many blobs there are in all. 0 for NULL. */
FERRY_API int ferry_net_blob_count(const ferry_net *net);
/**
 * Blob `index`, in the order in which they are made, borrowed likewise; NULL past the last, or where its
 * contents were planned or fused away.
 */
FERRY_API ferry_blob *ferry_net_blob_at(const ferry_net *net, int index);

/** How many blobs of parameters layer `layer`, from 0 in the net's order, has; 0 past the last. */
FERRY_API int ferry_net_param_count(const ferry_net *net, int layer);
/**
 * One of them, borrowed for the net's life; filled, if nothing was loaded into it. NULL past the last,
 * or where filling failed.
 */
FERRY_API ferry_blob *ferry_net_param_at(const ferry_net *net, int layer, int index);

/** What is known of a layer. The caller sets struct_size. Strings are borrowed for the net's life. */
typedef struct ferry_net_layer_info {
    size_t struct_size;
    const char *name, *type;
    const char *device; /* where it is placed */
    ferry_operation_tier
        tier;       /* the worst one of its operations; HOST where it computes by itself */
    int operations; /* that its forward runs */
    double
        ms; /* of a pass, since ferry_net_set_measuring; 0 before, and where others do its work */
    double flops; /* of a pass: multiplications and additions of convolutions and inner products */
    uint64_t bytes_moved; /* of a pass: copied to, from and on the devices */
    int needs_backward;   /* 1: ferry_net_backward runs it */
    /* The same of backward: 0 and OWN where it does not. */
    ferry_operation_tier backward_tier;
    int backward_operations;
    double backward_ms, backward_flops;
    uint64_t backward_bytes_moved;
} ferry_net_layer_info;

/** How many layers there are, splits among them. 0 for NULL. */
FERRY_API int ferry_net_layer_count(const ferry_net *net);
/**
 * With 1, each layer of further passes is waited for and counted by itself, for ferry_net_layer_info;
 * counts begin at 0. Layers then do not overlap, so that their sum is more than a pass takes otherwise.
 * With 0 not any longer.
 */
FERRY_API int ferry_net_set_measuring(ferry_net *net, int on);
/**
 * What is known of layer `index`: as much of it as fits the struct_size that the caller has set.
 * FERRY_EINVAL past the last, and without a size.
 */
FERRY_API int ferry_net_get_layer_info(const ferry_net *net, int index, ferry_net_layer_info *out);

/**
 * Layer `index` itself, for whoever describes a net: its message, bottoms and tops, by the functions of
 * ferry/layer.h. Borrowed for the net's life; NULL past the last.
 */
FERRY_API const ferry_layer *ferry_net_layer_at(const ferry_net *net, int index);

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
 * The same from layer `from` to layer `to`, by name, both among them; NULL: the first, the last. As in Caffe
 * no other layer is reshaped: one behind `to` need not fit the shapes that the inputs have.
 * FERRY_EINVAL for a name that no layer has, in the wrong order, or for less than all of the net where
 * `keep` is not "*" and the phase is TEST.
 */
FERRY_API int ferry_net_forward_range(ferry_net *net, const char *from, const char *to,
                                      double *out_loss);

/**
 * Computes diffs, from the last layer to the first, as those layers need it that Caffe would run: from
 * the diff of each top that nobody differentiates, the diffs of blobs, which are overwritten, and of
 * parameters, which are added to (ferry_net_clear_param_diffs). For the shapes and contents of the
 * forward pass before it. The diff of a top with a loss weight is that weight, until something else is
 * written to it; any other that was never written is zeros. An in-place blob's diff is that of its first
 * contents afterwards. Returns when the work is enqueued.
 *
 * FERRY_EINVAL for a net in TEST that was opened without `backward`, or whose shapes have changed since
 * forward; FERRY_EUNSUPPORTED, with the layer, where a loss reaches through a bottom that its layer
 * cannot differentiate (labels, ArgMax). A failure costs the diffs that were being written. (Caffe:
 * Net::Backward.)
 */
FERRY_API int ferry_net_backward(ferry_net *net);

/**
 * The same from layer `from` back to layer `to`, by name, both among them; NULL: the last, the first. What
 * lies behind `from` is taken to be done: its tops' diffs are as they are. FERRY_EINVAL for a name that no
 * layer has, and in the wrong order. (Caffe: Net::BackwardFromTo.)
 */
FERRY_API int ferry_net_backward_range(ferry_net *net, const char *from, const char *to);

/**
 * Sets the diffs of all parameters to zeros, where they are. (Caffe: Net::ClearParamDiffs.)
 */
FERRY_API int ferry_net_clear_param_diffs(ferry_net *net);

/**
 * Begins anew with the random numbers of an open net, by `seed` (0 is 1): those of Dropout and of DummyData's fillers,
 * the order, crops and mirroring of records that are read from now on. Two nets of one text and one position in
 * their data then draw the same in the same passes, whatever they drew before. Parameters keep their values: those that
 * nothing has read or loaded yet are filled first, by the seed of ferry_net_options; so does the record at which
 * rand_skip has a layer begin.
 *
 * Uses the net as a pass does, so by one thread at a time; waits for the threads that read ahead, and discards what they
 * have read. FERRY_EFORKED where those are the parent's, and as filling and reading fail: the call has to succeed then
 * before the next forward. (Caffe: Caffe::set_random_seed, of one net alone.)
 */
FERRY_API int ferry_net_seed(ferry_net *net, uint64_t seed);

/**
 * Moves the net: parameters now, other blobs at their next use. What `place` holds elsewhere stays.
 * After a failure the net is where it was.
 */
FERRY_API int ferry_net_move_to(ferry_net *net, ferry_device *dev);

/** The device that the net was opened on or moved to last. NULL for NULL. */
FERRY_API ferry_device *ferry_net_device(const ferry_net *net);

FERRY_END_DECLS

#endif
