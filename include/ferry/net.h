/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file net.h
 * Nets: a graph of layers from a prototxt, with its weights, on a device. Part of libferrynet.
 * (Caffe: Net.)
 *
 * Operations that the device's plugin does not offer run on the host; ferry_net_get_layer_info
 * reports them, and only their operands are copied. Results agree across devices within rounding.
 *
 * Errors: unless a function names other codes, FERRY_EINVAL for NULL or for a structure whose
 * struct_size is not set, FERRY_ENOMEM, FERRY_EDEVICE, FERRY_ELOST, FERRY_EFORKED. Messages about
 * a layer name file, line and layer; others about an open net name file and net.
 *
 * Threads: distinct nets from distinct threads, also if they share weights, as long as no thread
 * writes the weights. One net from one thread at a time, except as the source of ferry_net_share.
 */
#ifndef FERRY_NET_H
#define FERRY_NET_H

#include <ferry/io.h>
#include <ferry/layer.h>
#include <ferry/net_info.h>

FERRY_BEGIN_DECLS

/**
 * The arithmetic of a net's convolutions and inner products. BF16 lets a device round their inputs
 * and weights to 8 bits of significand (FERRY_MATH_BF16), or only the weights unless the net runs
 * backward, and then the factors of gradients too; a layer may be slower. Sums and all that the
 * program reads are F32. In TEST, where blobs share memory, it may round blobs that only these,
 * BatchNorm and Scale before them, sums, pooling and concatenation use.
 */
typedef enum ferry_precision {
    FERRY_PRECISION_DEFAULT = 0, /* from the environment: FERRY_PRECISION=f32 or bf16; F32 if it is
                                  * not set, and for nets that run backward */
    FERRY_PRECISION_F32 = 1,
    FERRY_PRECISION_BF16 = 2
} ferry_precision;

/**
 * Options of ferry_net_open, which copies all that it needs. Zero the structure, set struct_size.
 *
 * A TEST net is planned and fused. Blobs whose lifetimes do not overlap share memory. BatchNorm,
 * Scale and Bias are folded into copies of the weights of the preceding convolution or inner
 * product; they are folded again when the weights change. Activations and sums become epilogues of
 * the preceding operation; convolutions may use FERRY_MATH_WINOGRAD and FERRY_MATH_STRASSEN. Some
 * blobs have no contents then, and ferry_net_blob_find returns NULL for them; inputs, outputs and
 * blobs in `keep` have contents. In TRAIN and with `backward`, without plan_training, all blobs
 * have contents, except in-place results of whole passes. Results agree within rounding.
 */
typedef struct ferry_net_options {
    size_t struct_size; /* sizeof(ferry_net_options) of the caller */
    ferry_phase phase;
    int level;                 /* compared with min_level and max_level of NetStateRule */
    const char *const *stages; /* an array of stage_count strings */
    size_t stage_count;
    const char *place; /* "conv*=opencl:0, type:Pooling=cpu"; the first match wins, else `dev` */
    const char *text;  /* the prototxt's text instead of the file; the path is then only a name */
    size_t text_size;  /* the length of the text in bytes */
    uint64_t seed;     /* the seed of fillers and dropout; 0 means 1; see ferry_net_seed */
    const char *const *keep; /* the names of keep_count blobs that stay readable; "*": all blobs,
                              * without fusion */
    size_t keep_count;
    bool no_plan;  /* in TEST, each blob has its own memory */
    bool no_fuse;  /* in TEST, layers are not fused */
    bool only;     /* compute only the layers that blobs in `keep` depend on */
    bool backward; /* a TEST net will run ferry_net_backward; TRAIN nets always can */
    /**
     * The rank of this net among `ranks` nets of one prototxt that are trained together (0 means
     * 1). In TRAIN a layer that reads records takes every ranks-th record of the common order,
     * starting at `rank`, and dropout draws other numbers on each rank. (Caffe: solver_rank,
     * solver_count.)
     */
    int rank, ranks;
    /**
     * The folder below which layers may create and replace files (HDF5Output). NULL: none; a net
     * with such a layer is FERRY_EPERM. Links and ".." are resolved at ferry_net_open and at each
     * write; a folder exchanged between check and use is not detected. Reading is not restricted.
     */
    const char *allow_write;
    const char *segments; /* a trusted folder to store segments that plugins compile; or NULL */
    bool ignore_quantization; /* computes in F32 in spite of known ranges (net_ranges.h) */
    ferry_precision precision; /* the precision of convolutions and inner products */
    /**
     * Plans forward and backward together, with the same results: data and diffs of blobs that are
     * not inputs, outputs or in `keep` share memory and have no contents. Each backward pass then
     * requires a forward pass of its own, both whole. Ignored with debug_info and "*" in `keep`.
     */
    bool plan_training;
    /**
     * Does not store weights of products, of 64 KiB and more in F32, that a TEST net uses packed
     * only, on devices in the program's memory; reads them from their .caffemodel or .h5 when a
     * pass packs them, for ferry_net_save, ferry_net_move_to and an export, and when the program
     * gets them or shares them with a net that lacks the option or was used before; then they
     * stay. The file stays open; once overwritten, not replaced, these calls fail with FERRY_EIO.
     * Sets FERRY_MATH_COMPACT, not FERRY_MATH_STRASSEN: passes may be longer, rounding differs.
     */
    bool reread_weights;
    bool recompute; /* plan_training, with cheap results computed again in backward, not kept */
    bool fake_quantize; /* rounds in F32 what is quantized in TEST (net_ranges.h); not with BF16 */
} ferry_net_options;

/**
 * Opens a net on `dev` from a prototxt or a caffemodel with a definition (V0, V1 or V2), or from an
 * ONNX model (doc/onnx.md). `options` may be NULL. A net from a caffemodel or an ONNX model has its
 * parameters. Otherwise fillers initialise the parameters, unless weights are loaded. Logs at
 * FERRY_LOG_INFO in Caffe's words. The caller closes *out.
 *
 * FERRY_EIO, FERRY_EFORMAT for a text that cannot be parsed and for an invalid graph (a bottom that
 * no layer produces, two layers that produce one blob), FERRY_ESHAPE for shapes that do not match,
 * FERRY_EUNSUPPORTED for an unknown layer type (the message has similar names, or the fork that has
 * the type) and for an ONNX node that no layer computes (the message has node and operator),
 * FERRY_EINVAL for a name in `keep` without a blob and for a rank or precision out of range,
 * FERRY_ECONF for another value of FERRY_PRECISION. *out is then unchanged.
 */
FERRY_API int ferry_net_open(ferry_device *dev, const char *prototxt,
                             const ferry_net_options *options, ferry_net **out);

/** Closes a net after its work is done. Blobs borrowed from it become invalid. NULL is accepted. */
FERRY_API void ferry_net_close(ferry_net *net);

/** The result of a load for one layer or one entry of the file. */
typedef enum ferry_net_load_state {
    FERRY_LOAD_DONE = 0,   /* the file has parameters for the layer, which were loaded */
    FERRY_LOAD_NONE = 1,   /* the file has no parameters for the layer, which keeps its own */
    FERRY_LOAD_UNUSED = 2, /* the file has parameters for a layer that the net lacks */
    FERRY_LOAD_SHARED = 3  /* the layer shares the parameters of another layer, which were loaded */
} ferry_net_load_state;

/** A line of a load report. `layer` is borrowed from the net until its next load or close. */
typedef struct ferry_net_load_line {
    const char *layer;
    ferry_net_load_state state;
    int blobs; /* the number of the layer's parameter blobs; for FERRY_LOAD_UNUSED, of those in the
                * file */
} ferry_net_load_line;

/**
 * The result of ferry_net_load: one line per layer in the net's order, then the unused entries of
 * the file. Borrowed from the net until its next load or close.
 */
typedef struct ferry_net_load_report {
    size_t struct_size; /* sizeof(ferry_net_load_report) of the library */
    size_t line_count;
    const ferry_net_load_line *lines;
} ferry_net_load_report;

/**
 * Loads weights by layer name from a .caffemodel, .h5, .safetensors or .npz file (arrays LAYER/i);
 * several files may be loaded in turn. Several layers of one name get those of the file in order.
 * *report (may be NULL) lists layers without weights and unused entries. In TEST, a .caffemodel's
 * ranges (net_ranges.h) replace the net's by name; other names are logged as INFO. FERRY_ESHAPE,
 * with both shapes, for a blob that does not match; FERRY_EIO, FERRY_EFORMAT. After a failure
 * weights and ranges are as before. F16, BF16, I8 may remain (net_info.h). [CopyTrainedLayersFrom]
 */
FERRY_API int ferry_net_load(ferry_net *net, const char *weights,
                             const ferry_net_load_report **report);

/**
 * As ferry_net_load, but FERRY_ESHAPE if no layer gets weights although some layers have
 * parameters: the file belongs to another net. The message names the first layers of both.
 */
FERRY_API int ferry_net_load_matched(ferry_net *net, const char *weights,
                                     const ferry_net_load_report **report);

/**
 * Saves a net's parameters as FERRY_IO_CAFFEMODEL, _HDF5, _SAFETENSORS or _NPZ: blob i of a layer
 * as LAYER/i, shared blobs under each layer that uses them. A caffemodel also contains the whole
 * definition in the current form, with the layers of other phases except namesakes of layers with
 * blobs, so that ferry and Caffe can open it without a prototxt. Of several layers of the net with
 * one name it has the blobs of each. A fork's field without a number is omitted and logged as WARN.
 *
 * Waits for work on the parameters, and replaces an existing file atomically. FERRY_EINVAL for
 * another format, FERRY_EUNSUPPORTED for a name that the format cannot represent, FERRY_EIO; an
 * existing file is then unchanged. [Net::ToProto, Net::ToHDF5]
 */
FERRY_API int ferry_net_save(const ferry_net *net, const char *path, ferry_io_format format);

/**
 * Shares the memory of the parameters of `source` with the equally named layers of this net.
 * Several threads may share from one source at once; a parameter that is not initialised yet is
 * initialised once. Copies the known ranges of `source`. FERRY_ESHAPE, with both shapes; nothing is
 * then shared. [ShareTrainedLayersWith]
 */
FERRY_API int ferry_net_share(ferry_net *net, ferry_net *source);

/**
 * The blob with that name, borrowed for the net's life. NULL, with an error, if there is none or if
 * planning or fusion removed its contents (ferry_net_options). [blob_by_name]
 */
FERRY_API ferry_blob *ferry_net_blob_find(ferry_net *net, const char *name);

/** The number of inputs, the tops of Input layers. 0 for NULL. */
FERRY_API int ferry_net_input_count(const ferry_net *net);
/** Input `index`, with its name, borrowed for the net's life; NULL past the last. */
FERRY_API ferry_blob *ferry_net_input_at(const ferry_net *net, int index);

/** The number of outputs: blobs that no layer consumes. 0 for NULL. */
FERRY_API int ferry_net_output_count(const ferry_net *net);
/** Output `index`, by name, borrowed likewise; NULL past the last, or if `only` excludes it. */
FERRY_API ferry_blob *ferry_net_output_at(const ferry_net *net, int index);

/**
 * Blob `index`, in the order of the layers, borrowed for the net's life; NULL past the last, or if
 * planning or fusion removed its contents.
 */
FERRY_API ferry_blob *ferry_net_blob_at(const ferry_net *net, int index);

/**
 * Parameter blob `index` of layer `layer`, borrowed for the net's life, initialised by its filler
 * if no weights were loaded. NULL past the last, or if filler, memory or `reread_weights` failed.
 */
FERRY_API ferry_blob *ferry_net_param_at(const ferry_net *net, int layer, int index);

/** Layer `index`, for the functions of layer.h. Borrowed for the net's life; NULL past the last. */
FERRY_API const ferry_layer *ferry_net_layer_at(const ferry_net *net, int index);

/**
 * Propagates the shapes of the inputs and prepares the operations. ferry_net_forward does this when
 * needed. The last 8 sets of shapes stay prepared. FERRY_ESHAPE, with layer and shapes; the net is
 * usable again when its inputs have valid shapes. [Reshape]
 */
FERRY_API int ferry_net_reshape(ferry_net *net);

/**
 * Runs the forward pass. Returns after the work is submitted; reading an output waits for it. If
 * out_loss is not NULL, waits and stores the total loss, 0 if there is none. A failure names the
 * layer, or the net where layers share memory; inputs and weights are as before, and the net can
 * run again if its device works, after FERRY_ENOMEM with new memory for its blobs. [Forward]
 */
FERRY_API int ferry_net_forward(ferry_net *net, double *out_loss);

/**
 * Runs the forward pass from layer `from` to layer `to`, by name, inclusive; NULL means the first
 * and the last. As in Caffe, other layers are not reshaped: shapes after `to` need not match the
 * inputs. FERRY_EINVAL for an unknown name, for the wrong order, and for a partial range in TEST
 * or with plan_training unless `keep` is "*". [ForwardFromTo]
 */
FERRY_API int ferry_net_forward_range(ferry_net *net, const char *from, const char *to,
                                      double *out_loss);

/**
 * Runs the backward pass of the latest forward pass, through the layers that Caffe would run.
 * Overwrites the diffs of blobs and adds to the diffs of parameters (ferry_net_clear_param_diffs).
 * Returns after the work is submitted. [Backward]
 *
 * The pass starts from the diffs of tops that no layer differentiates. The diff of a top with a
 * loss weight is that weight, unless the program writes another; any other diff never written is
 * zeros. Afterwards the diff of an in-place blob is that of its contents before these layers.
 *
 * FERRY_EINVAL for a TEST net opened without `backward`, if shapes have changed since forward, and
 * with plan_training if a backward pass followed that forward; FERRY_EUNSUPPORTED, with the layer,
 * if a loss depends on a bottom that its layer cannot differentiate (labels, ArgMax). After a
 * failure the diffs being written are lost: call ferry_net_clear_param_diffs before the next pass.
 */
FERRY_API int ferry_net_backward(ferry_net *net);

/**
 * Runs the backward pass from layer `from` back to layer `to`, by name, inclusive; NULL means the
 * last and the first. Uses the diffs of the tops of `from` as they are. FERRY_EINVAL for an unknown
 * name, the wrong order, and a partial range with plan_training. [BackwardFromTo]
 */
FERRY_API int ferry_net_backward_range(ferry_net *net, const char *from, const char *to);

/** Sets the diffs of all parameters to zeros, where they are. [ClearParamDiffs] */
FERRY_API int ferry_net_clear_param_diffs(ferry_net *net);

/**
 * Reseeds an open net (0 means 1): Dropout, the fillers of DummyData, and order, crops and
 * mirroring of the records read from now on. Nets with one prototxt and one data position then draw
 * the same numbers in the same passes. Parameters keep their values; those not yet initialised are
 * first initialised with the seed of ferry_net_options, which also decides the first record under
 * rand_skip.
 *
 * Uses the net as a pass does: one thread at a time. Waits for the prefetch threads and discards
 * their records. FERRY_EFORKED if those threads are the parent process's, and the errors of filling
 * and reading. After a failure the call has to succeed before the next forward pass.
 * [set_random_seed]
 */
FERRY_API int ferry_net_seed(ferry_net *net, uint64_t seed);

/**
 * With true, further passes log the means of absolute values of the tops and parameters of each
 * layer, and of the diffs that it computes, as debug_info in a text does; with false they do not.
 * FERRY_EINVAL for a TEST or plan_training net without "*" in `keep`. [set_debug_info]
 */
FERRY_API int ferry_net_set_debug(ferry_net *net, bool on);

/**
 * Moves the net to `dev`: parameters now, other blobs at their next use; layers that `place` puts
 * on other devices stay there. After a failure the net is where it was.
 */
FERRY_API int ferry_net_move_to(ferry_net *net, ferry_device *dev);

/** The device of the last move, or else of ferry_net_open. Borrowed; NULL for NULL. */
FERRY_API ferry_device *ferry_net_device(const ferry_net *net);

FERRY_END_DECLS

#endif
