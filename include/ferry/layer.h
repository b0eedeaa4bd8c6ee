/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file layer.h
 * Layer types, and the functions that their implementations call. Part of libferrynet. (Caffe:
 * Layer.)
 *
 * A type is a table of functions. A net creates a layer for each `layer` of a prototxt. It calls
 * setup once, reshape whenever the shape of a bottom changes, and forward and backward in each
 * pass. A type computes in one of two ways:
 * - reshape emits operations (ferry_layer_emit). The net runs them on the layer's device, plans the
 *   memory of their operands, fuses and counts them. Such a type needs no forward function.
 * - forward computes on the host's copies of its blobs (ferry_blob_host_data), or by its own
 *   kernels on the device's. It runs after the operations that the layer emitted, if any.
 *
 * The functions of a type return 0, or record the reason with ferry_layer_error and return a
 * negative FERRY_E… code. Those of one net are called one at a time; those of different nets
 * concurrently. Any other number that a function returns becomes FERRY_EPLUGIN.
 *
 * Errors of the functions below: unless a function names other codes, FERRY_EINVAL for NULL or an
 * index out of range, FERRY_ENOMEM.
 */
#ifndef FERRY_LAYER_H
#define FERRY_LAYER_H

#include <ferry/blob.h>
#include <ferry/proto.h>
#include <ferry/runtime.h>

FERRY_BEGIN_DECLS

/** A layer of a net. Opaque; owned by the net. */
typedef struct ferry_layer ferry_layer;
struct ferry_op_desc; /* of op.h, which a type that emits operations includes */
struct ferry_operand;

/** The phase of a net. (Caffe: Phase.) */
typedef enum ferry_phase {
    FERRY_PHASE_DEFAULT = 0, /* from the prototxt's state, else TEST */
    FERRY_PHASE_TRAIN = 1,
    FERRY_PHASE_TEST = 2
} ferry_phase;

/** Flags of ferry_layer_type: top i may be bottom i. */
#define FERRY_LAYER_IN_PLACE 1u
/** Top 0 is a loss: its weight is 1 where the prototxt gives none. */
#define FERRY_LAYER_LOSS 2u
/** The shapes of tops depend on the contents of the bottoms: forward reshapes the tops. */
#define FERRY_LAYER_RESHAPES 4u
/** The net creates unnamed tops up to min_tops, which is at most 8. (Caffe: AutoTopBlobs.) */
#define FERRY_LAYER_AUTO_TOPS 8u
/** Bottom 1 and further are never differentiated (labels). */
#define FERRY_LAYER_LABELS 16u
/** The type has no backward pass: no gradient may propagate through it. */
#define FERRY_LAYER_FORWARD_ONLY 32u
/** The number of tops equals the number of bottoms. */
#define FERRY_LAYER_PAIRS 64u
/** The tops are inputs of the net: the program sets their shapes and contents. */
#define FERRY_LAYER_INPUT 128u
/** backward and its operations may be absent: the diff of the bottom is then that of the top. */
#define FERRY_LAYER_EMPTY_BACKWARD 256u

/**
 * A layer type: a static const table, valid for the life of the process. A shorter table of an
 * older header is accepted; members past struct_size are 0. It extends at least to `reshape`.
 */
typedef struct ferry_layer_type {
    size_t struct_size;           /* sizeof(ferry_layer_type) as compiled */
    const char *name;             /* "Convolution" */
    size_t state_size;            /* bytes of state per layer, zero before setup */
    int min_bottoms, max_bottoms; /* −1: any number */
    int min_tops, max_tops;
    uint32_t flags;
    /** The type's own fields in LayerParameter, "convolution_param"; NULL-terminated, or NULL. */
    const char *const *messages;
    /** Reads and checks the message, declares parameters. The bottoms have shapes. May be NULL. */
    int (*setup)(ferry_layer *layer);
    /**
     * Computes values derived from the parameters into scratch blobs with `keep`. Called before a
     * forward pass if a parameter was written, or a scratch blob created or reshaped, since the
     * last call. May be NULL.
     */
    int (*prepare)(ferry_layer *layer);
    /** Checks the bottoms' shapes, sets the tops', emits operations; reads no values. Mandatory. */
    int (*reshape)(ferry_layer *layer);
    /** Computes the tops. NULL: operations compute them; without any, FERRY_EPLUGIN at open. */
    int (*forward)(ferry_layer *layer);
    /**
     * Computes the diffs of the bottoms for which ferry_layer_propagates is true from those of the
     * tops, and adds to the diffs of the parameters for which ferry_layer_param_propagates is true.
     * Runs before the layer's backward operations. May be NULL.
     */
    int (*backward)(ferry_layer *layer);
    /** Frees the resources that the state holds. Called also after a failed setup. May be NULL. */
    void (*destroy)(ferry_layer *layer);
    /**
     * For layers that read records: the number of records used by forward since setup, times the
     * ranks; prefetched records do not count. Position and seed determine the next records and the
     * random choices about them. NULL: no position.
     */
    uint64_t (*position)(ferry_layer *layer);
    /**
     * Seeks to a position: the next forward reads the same records, bit-identically. After a
     * failure it has to succeed before the next forward. NULL if position is NULL.
     */
    int (*seek)(ferry_layer *layer, uint64_t position);
    /**
     * Why bottom `index` cannot be differentiated: a static string that follows the type's name in
     * messages; NULL if it can. May be NULL: then the flags LABELS and FORWARD_ONLY decide.
     */
    const char *(*refuses)(const ferry_layer *layer, int index);
    /**
     * For layers with random choices about records (ferry_net_seed): draws from the net's new seed
     * by ferry_layer_random and stops prefetching. seek follows before the next forward. NULL: no
     * random choices, or no position.
     */
    int (*seed)(ferry_layer *layer);
} ferry_layer_type;

/**
 * Registers a type. It replaces a type of the same name, also one of ferry's, in nets opened later.
 * The caller keeps the table. FERRY_EINVAL for a type without a name, a reshape or a struct_size,
 * with unknown flags, with a state_size above PTRDIFF_MAX / 2, or with a least number of bottoms or
 * tops above the greatest; FERRY_ENOMEM. Callable from any thread.
 */
FERRY_API int ferry_layer_register(const ferry_layer_type *type);

/** The type of that name, or NULL. Callable from any thread. */
FERRY_API const ferry_layer_type *ferry_layer_type_find(const char *name);
/** The number of types. Callable from any thread. */
FERRY_API int ferry_layer_type_count(void);
/** Type `index` in the order of names; NULL past the last. Callable from any thread. */
FERRY_API const ferry_layer_type *ferry_layer_type_at(int index);

/**
 * The table that a shared object with layer types exports as `ferry_layers`, beside the descriptor
 * of FERRY_PLUGIN (descriptor.h): const ferry_layer_library ferry_layers = { … }.
 */
typedef struct ferry_layer_library {
    size_t struct_size;                   /* sizeof(ferry_layer_library) as compiled */
    const ferry_layer_type *const *types; /* NULL-terminated */
} ferry_layer_library;

/**
 * Registers the layer types of a shared object that ferry_runtime_load_library loads; with a NULL
 * path, of all files under [layers] in plugins.conf. The object stays loaded. FERRY_EPLUGIN without
 * a valid table, and the errors of ferry_runtime_load_library and ferry_layer_register; types
 * registered before a failure stay. Callable from any thread.
 */
FERRY_API int ferry_layer_library_load(ferry_runtime *rt, const char *path);

/* ---- a layer, for the functions of its type ---- */

/** The layer's name in the prototxt. Borrowed for the net's life. */
FERRY_API const char *ferry_layer_name(const ferry_layer *layer);
/** The layer's type. */
FERRY_API const ferry_layer_type *ferry_layer_get_type(const ferry_layer *layer);
/** The layer's LayerParameter. Borrowed for the net's life. */
FERRY_API const ferry_proto *ferry_layer_message(const ferry_layer *layer);
/** The layer's state, which has state_size bytes. */
FERRY_API void *ferry_layer_state(ferry_layer *layer);
/** TRAIN or TEST. */
FERRY_API ferry_phase ferry_layer_phase(const ferry_layer *layer);
/**
 * The number of ranks (ferry_net_options.ranks); 1 in TEST and for NULL. A layer that reads records
 * takes every ranks-th record, starting at its rank.
 */
FERRY_API int ferry_layer_rank_count(const ferry_layer *layer);
/** The net's rank, from 0; 0 in TEST and for NULL. */
FERRY_API int ferry_layer_rank(const ferry_layer *layer);
/** The device on which the layer is placed. Borrowed. */
FERRY_API ferry_device *ferry_layer_device(const ferry_layer *layer);
/** The queue on which the net runs the layer. Borrowed. */
FERRY_API ferry_queue *ferry_layer_queue(const ferry_layer *layer);
/** The number of bottoms. 0 for NULL. */
FERRY_API int ferry_layer_bottom_count(const ferry_layer *layer);
/** The number of tops. 0 for NULL. */
FERRY_API int ferry_layer_top_count(const ferry_layer *layer);
/** Bottom `index`, borrowed from the net. NULL past the last. */
FERRY_API ferry_blob *ferry_layer_bottom_at(const ferry_layer *layer, int index);
/** Top `index`, borrowed from the net. NULL past the last. */
FERRY_API ferry_blob *ferry_layer_top_at(const ferry_layer *layer, int index);
/** Whether top `index` is the same blob as a bottom. */
FERRY_API bool ferry_layer_is_in_place(const ferry_layer *layer, int index);
/** The loss weight of top `index`; 0 without one. */
FERRY_API double ferry_layer_loss_weight(const ferry_layer *layer, int index);
/**
 * Whether this layer has a backward pass, so that reshape emits its operations. False in setup and
 * in the first reshape of a net: the net calls reshape again when it knows all layers.
 */
FERRY_API bool ferry_layer_needs_backward(const ferry_layer *layer);
/** Whether the backward pass needs the diff of bottom `index`. */
FERRY_API bool ferry_layer_propagates(const ferry_layer *layer, int index);
/** Whether backward needs the diff of parameter `index`; lr_mult 0 needs force_backward. */
FERRY_API bool ferry_layer_param_propagates(const ferry_layer *layer, int index);

/**
 * Whether a later layer works in place on top `index`, or on a blob that shares its contents,
 * before the backward pass. A type whose backward pass reads the top then keeps a copy. False in
 * setup, in the first reshape, and without a backward pass.
 */
FERRY_API bool ferry_layer_is_overwritten(const ferry_layer *layer, int index);

/**
 * Records "FILE:LINE:COLUMN: LAYER (TYPE): message" as this thread's latest failure and returns
 * `code`. When setup or reshape then fails with FERRY_ESHAPE or FERRY_EINVAL, the net appends the
 * shapes that the message does not mention: "; bottom 0 is 2 3 (6); blob 0 is 4 5 (20)".
 */
FERRY_API int ferry_layer_error(const ferry_layer *layer, int code, const char *fmt, ...)
    FERRY_PRINTF(3, 4);

/**
 * Stores the path, with links and ".." resolved, of a file that the layer will write, and checks
 * that it is below ferry_net_options.allow_write. Every type that writes files calls it in setup
 * and again before each file. FERRY_EPERM, with layer and path, for another path and without
 * allow_write; FERRY_EIO for a path that cannot be resolved, FERRY_EOVERFLOW if `capacity` is too
 * small.
 */
FERRY_API int ferry_layer_output_path(const ferry_layer *layer, const char *path, char *buf,
                                      size_t capacity);

/** A random number, 0 … below − 1, from the net's seed. 0 for NULL or a `below` of 0. */
FERRY_API uint64_t ferry_layer_random(ferry_layer *layer, uint64_t below);

/* ---- in setup ---- */

/** A parameter to declare. Zero the structure, then set struct_size and the other members. */
typedef struct ferry_layer_param {
    size_t struct_size; /* sizeof(ferry_layer_param) of the caller */
    int rank;
    const int64_t *shape;      /* rank dimensions, borrowed for the call */
    const ferry_proto *filler; /* a FillerParameter; NULL: `value` */
    double value;
    double lr_mult, decay_mult; /* defaults without a `param`; usually 1 */
} ferry_layer_param;

/**
 * Declares the next parameter blob: F32, filled, or shared with the parameter of the same `param`
 * name in an earlier layer. Without a filler, contents that setup writes are kept. FERRY_ESHAPE if
 * the shapes of shared parameters do not match.
 */
FERRY_API int ferry_layer_declare_param(ferry_layer *layer, const ferry_layer_param *param);

/** The number of declared parameters. 0 for NULL. */
FERRY_API int ferry_layer_param_count(const ferry_layer *layer);
/** Parameter `index`, borrowed for the net's life; NULL past the last, or if reading it fails. */
FERRY_API ferry_blob *ferry_layer_param_at(const ferry_layer *layer, int index);

/* ---- in reshape ---- */

/**
 * A blob of the layer itself, F32: created at the first call with `index`, shaped at each. With
 * `keep` its contents persist from forward to backward and to the next forward; otherwise other
 * layers may use its memory in between. NULL on failure. Borrowed for the net's life.
 */
FERRY_API ferry_blob *ferry_layer_scratch(ferry_layer *layer, int index, bool keep,
                                          const int64_t *shape, int rank);

/** Scratch blob `index` with its present shape; NULL if it was not created. */
FERRY_API ferry_blob *ferry_layer_scratch_at(const ferry_layer *layer, int index);

/**
 * Makes top `top` share the contents of bottom `bottom`, of equal element count. If no other top
 * shares them, the diffs are shared too and backward does nothing; each top of Split has a diff of
 * its own. A later in-place layer on either writes both. A type whose top keeps its contents emits
 * a copy instead, which a planned net omits if it has no effect. (Caffe: ShareData, ShareDiff.)
 */
FERRY_API int ferry_layer_alias(ferry_layer *layer, int top, int bottom);

/** The kind of blob that an operand is in. */
typedef enum ferry_layer_from {
    FERRY_FROM_BOTTOM = 0,
    FERRY_FROM_TOP = 1,
    FERRY_FROM_PARAM = 2,
    FERRY_FROM_SCRATCH = 3
} ferry_layer_from;

/** An operand: a blob of the layer, and the offset of the operand's first element in it. */
typedef struct ferry_layer_operand {
    ferry_layer_from from;
    int index;
    bool diff;      /* the blob's diff, or its data */
    int64_t offset; /* elements */
} ferry_layer_operand;

/**
 * Adds an operation to the layer's forward pass or, if op->pass is not FERRY_PASS_FORWARD or an
 * operand is a diff, to its backward pass. `in` has n_in operands, `out` n_out; everything is
 * copied. Operands that are whole blobs are plain; the net may change their layout in memory, not
 * their logical contents. Errors are those of ferry_op_desc_check, with the layer's name.
 */
FERRY_API int ferry_layer_emit(ferry_layer *layer, const struct ferry_op_desc *op,
                               const ferry_layer_operand *in, const ferry_layer_operand *out);

/** Writes the plain operand of a blob's shape; above FERRY_OP_AXES axes, one axis of elements. */
FERRY_API void ferry_layer_operand_of(const ferry_blob *blob, struct ferry_operand *operand);

FERRY_END_DECLS

#endif
