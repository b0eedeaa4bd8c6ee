/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file layer.h
 * Layer types: what a net is made of. Part of libferrynet. (Caffe: Layer.)
 *
 * A type is a table of functions. A net creates a layer for each `layer` of a prototxt and calls setup
 * once, reshape whenever the shape of a bottom changes, forward and backward in each pass. A type
 * describes its computation in one of two ways:
 *   - reshape emits operations (ferry_layer_emit). The net runs them on the layer's device, plans the
 *     memory of their operands, fuses and counts them. Such a type needs no forward.
 *   - forward computes on the host's copies of its blobs (ferry_blob_host_data), or by kernels of its
 *     own on the device's. It runs after the operations that the layer emitted, if any.
 *
 * Functions of a type return 0 or a negative FERRY_E… code, having recorded why with ferry_layer_error.
 * Those of one net are called one at a time; those of different nets from different threads.
 *
 * Errors of the functions below, where no other is named: FERRY_EINVAL for NULL or an index out of
 * range, FERRY_ENOMEM.
 */
#ifndef FERRY_LAYER_H
#define FERRY_LAYER_H

#include <ferry/blob.h>
#include <ferry/op.h>
#include <ferry/proto.h>
#include <ferry/runtime.h>

FERRY_BEGIN_DECLS

/** A layer of a net. Opaque; the net's. */
typedef struct ferry_layer ferry_layer;

/** What a net is open for. */
typedef enum ferry_phase {
    FERRY_PHASE_DEFAULT = 0, /* as the prototxt's state says, else TEST */
    FERRY_PHASE_TRAIN = 1,
    FERRY_PHASE_TEST = 2
} ferry_phase;

/** Flags of ferry_layer_type: top i may be bottom i. */
#define FERRY_LAYER_IN_PLACE 1u
/** Top 0 is a loss: its weight is 1 where the prototxt gives none. */
#define FERRY_LAYER_LOSS 2u
/** The shape of a top depends on what the bottoms hold: forward reshapes its tops. */
#define FERRY_LAYER_RESHAPES 4u
/** Tops that the prototxt does not name are made up where min_tops wants them, as Caffe does. */
#define FERRY_LAYER_AUTO_TOPS 8u
/** Bottom 1 and further are never differentiated (labels). */
#define FERRY_LAYER_LABELS 16u
/** Nothing is differentiated: there is no backward, and nothing is to pass it. */
#define FERRY_LAYER_FORWARD_ONLY 32u
/** As many tops as bottoms. */
#define FERRY_LAYER_PAIRS 64u
/** Its tops are inputs of the net: the program gives them shape and contents. */
#define FERRY_LAYER_INPUT 128u
/** A backward pass without operations and without a function is valid: the bottom's diff is the top's. */
#define FERRY_LAYER_EMPTY_BACKWARD 256u

/**
 * A layer type; a static const table, which lives as long as the process. One that was compiled when it
 * was shorter is taken; what it lacks is 0. It reaches to `reshape` at the least.
 */
typedef struct ferry_layer_type {
    size_t struct_size;           /* sizeof(ferry_layer_type) as compiled */
    const char *name;             /* "Convolution" */
    size_t state_size;            /* bytes that the net keeps for a layer, zero before setup */
    int min_bottoms, max_bottoms; /* −1: any number */
    int min_tops, max_tops;
    uint32_t flags;
    /** The messages of a LayerParameter that are its own, "convolution_param"; NULL ends them. May be NULL. */
    const char *const *messages;
    /**
     * Reads and checks the parameters, declares blobs of parameters (ferry_layer_declare_param). The
     * bottoms have their first shapes. May be NULL.
     */
    int (*setup)(ferry_layer *layer);
    /**
     * Makes what the operations want out of the parameters, into scratch blobs that are kept. Called
     * before a forward pass where a parameter has been written since the last time, or reshape has made
     * a scratch blob or given one another shape. May be NULL.
     */
    int (*prepare)(ferry_layer *layer);
    /** Checks the bottoms' shapes, sets the tops' and emits operations. Mandatory. */
    int (*reshape)(ferry_layer *layer);
    /** Fills the tops. May be NULL: the operations do. */
    int (*forward)(ferry_layer *layer);
    /**
     * Fills the diffs of those bottoms for which ferry_layer_propagates says so, from those of the
     * tops, and adds to the diffs of those parameters for which ferry_layer_param_propagates does. It
     * runs before the layer's operations of the backward pass, if it emitted any. May be NULL: those
     * do, or the layer has none.
     */
    int (*backward)(ferry_layer *layer);
    /** Ends what the state holds. Called also after a failed setup. May be NULL. */
    void (*destroy)(ferry_layer *layer);
    /**
     * For layers that read records: the number of records that their forwards have used since setup,
     * times the ranks, without those read ahead. The next records, and every random choice about them,
     * follow from the position and the net's seed. NULL: no position.
     */
    uint64_t (*position)(ferry_layer *layer);
    /**
     * Moves to a position: the next forward reads the same records, to the bit. After a failure it has
     * to succeed before the next forward. NULL where position is.
     */
    int (*seek)(ferry_layer *layer, uint64_t position);
    /**
     * Why bottom `index` cannot be differentiated: static words that follow the type's name, NULL where
     * it can. NULL: FERRY_LAYER_LABELS and FERRY_LAYER_FORWARD_ONLY decide.
     */
    const char *(*refuses)(const ferry_layer *layer, int index);
    /**
     * For layers that make random choices about their records: draws from the net's present seed by
     * ferry_layer_random, and stops reading ahead; seek follows before the next forward
     * (ferry_net_seed). NULL: no random choices, or no position.
     */
    int (*seed)(ferry_layer *layer);
} ferry_layer_type;

/**
 * Adds a type; one of the same name that was added before, ferry's own among them, is replaced for
 * nets that are opened from now on. The table stays the caller's. FERRY_EINVAL for one without a
 * name or reshape, or whose size is not set; FERRY_ENOMEM. Any thread.
 */
FERRY_API int ferry_layer_register(const ferry_layer_type *type);

/** The type of that name, or NULL. Any thread. */
FERRY_API const ferry_layer_type *ferry_layer_type_find(const char *name);
/** The number of types. Any thread. */
FERRY_API int ferry_layer_type_count(void);
/** Type `index` in the order of names; NULL past the last. Any thread. */
FERRY_API const ferry_layer_type *ferry_layer_type_at(int index);

/**
 * What a shared object of layer types exports as `ferry_layers`, beside the descriptor that FERRY_PLUGIN
 * of ferry/descriptor.h makes: const ferry_layer_library ferry_layers = { … }.
 */
typedef struct ferry_layer_library {
    size_t struct_size;                   /* sizeof(ferry_layer_library) as compiled */
    const ferry_layer_type *const *types; /* NULL ends them */
} ferry_layer_library;

/**
 * Adds the layer types of a shared object (ferry_runtime_load_library says under which rules); with a NULL
 * path those of all files that plugins.conf names under [layers]. It stays loaded. FERRY_EPLUGIN for one
 * without a table of its size, and as ferry_runtime_load_library and ferry_layer_register; types that were
 * added before a failure stay. Any thread.
 */
FERRY_API int ferry_layer_library_load(ferry_runtime *rt, const char *path);

/* ---- a layer, for the functions of its type ---- */

/** Its name in the prototxt. Borrowed for the net's life. */
FERRY_API const char *ferry_layer_name(const ferry_layer *layer);
/** Its type. */
FERRY_API const ferry_layer_type *ferry_layer_get_type(const ferry_layer *layer);
/** Its LayerParameter. Borrowed for the net's life. */
FERRY_API const ferry_proto *ferry_layer_message(const ferry_layer *layer);
/** The state that the net keeps for it: state_size bytes. */
FERRY_API void *ferry_layer_state(ferry_layer *layer);
/** TRAIN or TEST. */
FERRY_API ferry_phase ferry_layer_phase(const ferry_layer *layer);
/**
 * The number of nets that are trained together (ferry_net_options.ranks); 1 in TEST and for NULL. A
 * layer that reads records takes every ranks-th record, starting at its rank.
 */
FERRY_API int ferry_layer_rank_count(const ferry_layer *layer);
/** The rank of this net among them, from 0; 0 in TEST and for NULL. */
FERRY_API int ferry_layer_rank(const ferry_layer *layer);
/** The device on which it is placed. Borrowed. */
FERRY_API ferry_device *ferry_layer_device(const ferry_layer *layer);
/** The queue on which the net runs there. Borrowed. */
FERRY_API ferry_queue *ferry_layer_queue(const ferry_layer *layer);
/** The number of bottoms. 0 for NULL. */
FERRY_API int ferry_layer_bottom_count(const ferry_layer *layer);
/** The number of tops. 0 for NULL. */
FERRY_API int ferry_layer_top_count(const ferry_layer *layer);
/** Bottom `index`, borrowed from the net. NULL past the last. */
FERRY_API ferry_blob *ferry_layer_bottom_at(const ferry_layer *layer, int index);
/** Top `index`, likewise. */
FERRY_API ferry_blob *ferry_layer_top_at(const ferry_layer *layer, int index);
/** Whether top `index` is the same blob as a bottom. */
FERRY_API bool ferry_layer_is_in_place(const ferry_layer *layer, int index);
/** The weight of top `index` in the loss, 0 where it has none. */
FERRY_API double ferry_layer_loss_weight(const ferry_layer *layer, int index);
/**
 * Whether this layer takes part in the backward pass, so that reshape emits operations for it. False
 * in setup and in the first reshape of a net: reshape is called again once all layers are known.
 */
FERRY_API bool ferry_layer_needs_backward(const ferry_layer *layer);
/** Whether the backward pass needs the diff of bottom `index`. */
FERRY_API bool ferry_layer_propagates(const ferry_layer *layer, int index);
/** Whether it needs the diff of parameter `index`: false where lr_mult is 0 without force_backward. */
FERRY_API bool ferry_layer_param_propagates(const ferry_layer *layer, int index);

/**
 * Whether a later layer works in place on top `index`, or on a blob that shares its contents, before
 * the backward pass. A type whose backward reads its result then keeps a copy. False in setup, in the
 * first reshape, and where ferry_layer_needs_backward is.
 */
FERRY_API bool ferry_layer_is_overwritten(const ferry_layer *layer, int index);

/**
 * Records "FILE:LINE:COLUMN: LAYER (TYPE): message" as this thread's latest failure and returns
 * `code`. When setup or reshape then fails with FERRY_ESHAPE or FERRY_EINVAL, the net appends the shapes
 * that the message does not mention: "; bottom 0 is 2 3 (6); blob 0 is 4 5 (20)".
 */
FERRY_API int ferry_layer_error(const ferry_layer *layer, int code, const char *fmt, ...)
    FERRY_PRINTF(3, 4);

/**
 * The real path of a file that the layer is about to write: links and ".." are resolved, and the file is under the
 * folder of ferry_net_options.allow_write. For every type that writes files, in setup and again before each file.
 * FERRY_EPERM, with layer and path, where that folder is not given or the file is elsewhere; FERRY_EIO for a path that
 * cannot be resolved (no such folder, a link to nothing), FERRY_EOVERFLOW where `capacity` bytes are too few.
 */
FERRY_API int ferry_layer_output_path(const ferry_layer *layer, const char *path, char *buf,
                                      size_t capacity);

/** The next random number, 0 … below − 1, of the net's seed. 0 for NULL or a `below` of 0. */
FERRY_API uint64_t ferry_layer_random(ferry_layer *layer, uint64_t below);

/* ---- in setup ---- */

/** A blob of parameters, as it is declared. Zero it, then set struct_size and what is not 0. */
typedef struct ferry_layer_param {
    size_t struct_size; /* sizeof(ferry_layer_param) of the caller */
    int rank;
    const int64_t *shape;      /* rank of them, borrowed for the call */
    const ferry_proto *filler; /* a FillerParameter; NULL: filled with `value` */
    double value;
    double lr_mult, decay_mult; /* where no `param` says otherwise; usually 1 */
} ferry_layer_param;

/**
 * Declares the next blob of parameters: F32, filled, or shared with the one of the same name in a
 * `param` of an earlier layer. One without a filler keeps what setup writes into it. FERRY_ESHAPE where
 * shapes of shared ones do not fit.
 */
FERRY_API int ferry_layer_declare_param(ferry_layer *layer, const ferry_layer_param *param);

/** The number of declared parameters. 0 for NULL. */
FERRY_API int ferry_layer_param_count(const ferry_layer *layer);
/** Parameter `index`, borrowed for the net's life; NULL past the last. */
FERRY_API ferry_blob *ferry_layer_param_at(const ferry_layer *layer, int index);

/* ---- in reshape ---- */

/**
 * A blob of the layer's own: number `index`, made at the first call, shaped at each. `keep` nonzero:
 * it has to hold its contents from forward to backward, or from one forward to the next; else other
 * layers may use its memory while this one does not run. F32. NULL on failure. Borrowed for the
 * net's life.
 */
FERRY_API ferry_blob *ferry_layer_scratch(ferry_layer *layer, int index, int keep,
                                          const int64_t *shape, int rank);

/** Number `index` of them as it is, NULL where it was not made. */
FERRY_API ferry_blob *ferry_layer_scratch_at(const ferry_layer *layer, int index);

/**
 * Makes top `top` share the contents of bottom `bottom`, of the same element count. If it is the only
 * top that does, the diffs are shared as well and backward has nothing to do. A later layer in place on
 * either writes both. A type whose top keeps its contents emits a copy instead, which a planned net
 * omits where nothing can observe it. (Caffe: ShareData, ShareDiff, as Reshape, Flatten, Split do.)
 */
FERRY_API int ferry_layer_alias(ferry_layer *layer, int top, int bottom);

/** Where an operand of an operation is. */
typedef enum ferry_layer_from {
    FERRY_FROM_BOTTOM = 0,
    FERRY_FROM_TOP = 1,
    FERRY_FROM_PARAM = 2,
    FERRY_FROM_SCRATCH = 3
} ferry_layer_from;

/** One operand: a blob of the layer's, and the distance of its first element from the blob's start. */
typedef struct ferry_layer_operand {
    ferry_layer_from from;
    int index;
    int diff;       /* 1: the blob's diff; 0: its data */
    int64_t offset; /* elements */
} ferry_layer_operand;

/**
 * Describes the next operation of this layer's forward pass or, where op->pass is another than
 * FERRY_PASS_FORWARD or one of the operands is a diff, of its backward pass. `in` and `out` have n_in
 * and n_out of them; everything is copied. Operands that are whole blobs are plain; the net may lay
 * them otherwise, with the same contents in the same logical places. What ferry_op_desc_check refuses is
 * refused here, with the layer's name.
 */
FERRY_API int ferry_layer_emit(ferry_layer *layer, const ferry_op_desc *op,
                               const ferry_layer_operand *in, const ferry_layer_operand *out);

/** The plain operand of a blob's shape; of one of more than FERRY_OP_AXES axes a row of its elements. */
FERRY_API ferry_operand ferry_layer_operand_of(const ferry_blob *blob);

FERRY_END_DECLS

#endif
