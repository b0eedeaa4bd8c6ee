/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file solver.h
 * Solvers: training a net as a solver's prototxt describes. Part of libferrynet. (Caffe: Solver.)
 *
 * A solver owns a net in TRAIN, test nets that share its parameters, and the histories of its
 * updates. Parameters, diffs and histories stay on the net's device, where FERRY_OP_UPDATE computes
 * the update. An iteration copies to the host only its loss, and with clip_gradients one number per
 * parameter.
 *
 * Solver types: SGD, Nesterov, AdaGrad, RMSProp, AdaDelta, Adam. Learning rate policies: fixed,
 * step, exp, inv, multistep, poly, sigmoid. The order of arithmetic is Caffe's. Progress is logged
 * at FERRY_LOG_INFO in Caffe's words; lines that Caffe does not have begin with "ferry: ".
 * solver_mode and device_id have no effect: the caller chooses the device. The default of
 * random_seed is 1.
 *
 * debug_info of the solver logs the mean absolute value of each layer's tops, parameters and
 * propagated diffs, at displayed iterations and in every test pass. The values are computed on the
 * device, and ferry waits for each layer. A net with debug_info in its own text logs every pass
 * until the solver's setting replaces its own. In both cases the net's blobs share no memory.
 *
 * Paths in the text are relative to the working folder, or else to the folder of the text.
 *
 * Data-parallel training: `ranks` solvers of one text, in processes or threads, train one net, each
 * on its share of the records. (Caffe: NCCL.)
 * - n ranks with batch size b compute the same as one rank with n·b, within rounding, except for
 *   values that a layer derives from its own batch: statistics of BatchNorm (rank 0 saves its own),
 *   and a loss normalised by the number of labels that are not ignored.
 * - All ranks start with the parameters of rank 0. The diffs of each layer's parameters are summed
 *   over the ranks while the backward pass continues, and the update divides by `ranks`; after a
 *   backward pass a diff is that sum. The loss is the mean over the ranks.
 * - Rank 0 tests, displays and writes snapshots. Training can resume with another number of ranks.
 *   All ranks act on a request to any rank after the same iteration; a request does not interrupt a
 *   test.
 *
 * Errors: unless a function names other codes, FERRY_EINVAL for NULL or for a structure whose
 * struct_size is not set, FERRY_ENOMEM, FERRY_EDEVICE, FERRY_ELOST, FERRY_EFORKED, and those of
 * net.h. Messages name the file and the layer.
 *
 * Threads: one solver, with its nets, from one thread at a time, except ferry_solver_request.
 */
#ifndef FERRY_SOLVER_H
#define FERRY_SOLVER_H

#include <ferry/net.h>
#include <ferry/comm.h>

FERRY_BEGIN_DECLS

/** A solver. Opaque. */
typedef struct ferry_solver ferry_solver;

/** Options of ferry_solver_open. Zero the structure, then set struct_size. Everything is copied. */
typedef struct ferry_solver_options {
    size_t struct_size; /* sizeof(ferry_solver_options) of the caller */
    const char *text;   /* the solver's text instead of the file; the path is then only a name */
    size_t text_size;   /* bytes; with text only */
    const char *const *weights; /* weight_count files, loaded after `weights` of the text */
    size_t weight_count;
    const char *const *stages; /* stage_count stages, added to train_state, with `level` */
    size_t stage_count;
    int level;
    const char *place;       /* as in ferry_net_options, for all nets */
    const char *const *keep; /* keep_count readable blobs of the test nets, likewise */
    size_t keep_count;
    const ferry_comm *team;  /* the other ranks; NULL: trains alone */
    const char *allow_write; /* likewise; snapshots need none */
    bool weights_matched;    /* FERRY_ESHAPE for a file without weights for the net */
    bool plan_training; /* as in ferry_net_options, for the training net; ignored with debug_info */
    bool recompute;     /* likewise */
    /**
     * As in ferry_net_options, for all nets: training for integers of 8 bits, with the ranges of
     * `weights` or of a restored snapshot. Snapshots have them too; FERRY_EINVAL for those of
     * HDF5, which have none. FERRY_EINVAL from ferry_solver_step and ferry_solver_solve if no layer
     * has known ranges.
     */
    bool fake_quantize;
    /**
     * As in ferry_net_options, for the training net; FERRY_PRECISION_DEFAULT: as `precision` of the
     * text ("f32" or "bf16"), else F32, whatever FERRY_PRECISION is. FERRY_EINVAL for BF16 with
     * fake_quantize. Parameters, diffs, histories, updates, snapshots and test nets are F32, so
     * that updates below half a step of BF16 add up.
     */
    ferry_precision precision;
} ferry_solver_options;

/**
 * Opens a solver from its text: opens its training net and its test nets on `dev` and loads
 * `weights` into them. `options` may be NULL. Old fields (solver_type) are supported. If
 * snapshot_prefix is absent or names a folder, the prefix is made from the text's path, as in
 * Caffe. The caller closes *out.
 *
 * FERRY_EFORMAT, with the position, for a text that cannot be parsed, an unknown solver type,
 * policy or regularization, no net or two nets, test_iter that does not match the test nets, and
 * invalid numbers (an iter_size of 0, a stepsize of 0 with "step"); FERRY_EIO if the folder of the
 * snapshots is not writable; the errors of ferry_net_open and ferry_net_load. *out is then
 * unchanged.
 */
FERRY_API int ferry_solver_open(ferry_device *dev, const char *path,
                                const ferry_solver_options *options, ferry_solver **out);

/** Closes a solver and its nets after their work is done. NULL is accepted. */
FERRY_API void ferry_solver_close(ferry_solver *s);

/** Requests to a running solver. */
#define FERRY_SOLVER_SNAPSHOT 1u /* write a snapshot after the current iteration */
#define FERRY_SOLVER_STOP     2u /* stop after the current iteration; interrupts a test */

/**
 * Requests FERRY_SOLVER_SNAPSHOT, FERRY_SOLVER_STOP or both. Any thread, and signal handlers. A
 * request between two steps takes effect in the next step. (Caffe: SolverAction.)
 */
FERRY_API void ferry_solver_request(ferry_solver *s, unsigned what);

/**
 * Runs `n` iterations. Each runs the test nets if a test is due, iter_size forward and backward
 * passes, the update, and a snapshot if due. A request can stop it early; the result is then 0 and
 * ferry_solver_is_stopped is true. A loss that is not finite is not an error, as in Caffe; it is
 * logged once. [Step]
 *
 * With a comm: if one rank fails, the program has to inform the others (ferry_mpi_fail), which
 * otherwise wait for it; a comm that has failed cannot be used for a further step. FERRY_EINVAL on
 * every rank if their parameters, iterations or max_iter differ.
 *
 * A failed iteration does not change the iteration number; if the update failed, some parameters
 * may have been updated. If a snapshot cannot be written the step ends with FERRY_EIO; the solver
 * and all earlier snapshots are unchanged.
 */
FERRY_API int ferry_solver_step(ferry_solver *s, int n);

/**
 * Applies the update from the present diffs of the parameters, and increments the iteration, for
 * programs that run forward and backward passes themselves. With iter_size the diffs are the sum of
 * that many passes. Runs no test, snapshot or callback and does not use the comm: the caller sums
 * over the ranks. Called by a function of ferry_solver_on_update it applies the update of the
 * current iteration, over all ranks, and does not increment it. Failures as of ferry_solver_step.
 * [ApplyUpdate]
 */
FERRY_API int ferry_solver_apply_update(ferry_solver *s);

/**
 * Runs iterations up to max_iter. Then writes a snapshot, unless that iteration has one or
 * snapshot_after_train is false, and runs the test nets if a test is due. Errors are those of
 * ferry_solver_step. [Solve]
 */
FERRY_API int ferry_solver_solve(ferry_solver *s);

/** Whether a request stopped the latest step or solve. */
FERRY_API bool ferry_solver_is_stopped(const ferry_solver *s);

/**
 * Writes PREFIX_iter_N.caffemodel, PREFIX_iter_N.ferrystate and PREFIX_iter_N.solverstate in this
 * order (or .caffemodel.h5 and .solverstate.h5, by snapshot_format). Each file is completed, synced
 * and renamed, so an existing .solverstate implies the other two. The first and the last are in
 * Caffe's formats. FERRY_EIO; existing files are then unchanged. [Snapshot]
 */
FERRY_API int ferry_solver_snapshot(ferry_solver *s);

/**
 * Restores the iteration, the histories and the parameters from a .solverstate or .solverstate.h5
 * of Caffe or ferry. Data layers begin at their first record and random numbers at the seed, as in
 * Caffe. [Restore]
 *
 * The parameters come from the model that the file names; if that path does not exist, from the
 * file of that name in the folder of the .solverstate, which is logged. FERRY_ESHAPE for a snapshot
 * of another net or solver, with both numbers or the layer without parameters; FERRY_EIO,
 * FERRY_EFORMAT. The solver is then as before.
 */
FERRY_API int ferry_solver_restore(ferry_solver *s, const char *path);

/**
 * As ferry_solver_restore, and also restores the .ferrystate in the same folder: data layers
 * continue at their positions with the same random numbers, so that training continues
 * bit-identically. FERRY_EIO without a .ferrystate, FERRY_ESHAPE for one of other nets,
 * FERRY_EUNSUPPORTED for a layer without a position. The solver is then as before; if a data layer
 * fails to seek, it is in the state of ferry_solver_restore.
 */
FERRY_API int ferry_solver_restore_exact(ferry_solver *s, const char *path);

/** The training net, borrowed. NULL for NULL. */
FERRY_API ferry_net *ferry_solver_net(const ferry_solver *s);
/** The number of test nets; 0 for NULL. */
FERRY_API int ferry_solver_test_net_count(const ferry_solver *s);
/** Test net `index`, borrowed; NULL past the last. */
FERRY_API ferry_net *ferry_solver_test_net_at(const ferry_solver *s, int index);
/** The number of completed iterations. 0 for NULL. [iter] */
FERRY_API int ferry_solver_iter(const ferry_solver *s);
/** max_iter of the text. 0 for NULL. */
FERRY_API int ferry_solver_max_iter(const ferry_solver *s);
/** iter_size of the text. 0 for NULL. */
FERRY_API int ferry_solver_iter_size(const ferry_solver *s);
/**
 * The path of the .solverstate that was written or restored last; "" before the first, and for
 * NULL. Borrowed until the next.
 */
FERRY_API const char *ferry_solver_latest_snapshot(const ferry_solver *s);
/** The loss of the latest iteration, not smoothed; with iter_size the mean. 0 before the first. */
FERRY_API double ferry_solver_loss(const ferry_solver *s);
/** The learning rate of the next iteration. 0 for NULL. [GetLearningRate] */
FERRY_API double ferry_solver_learning_rate(const ferry_solver *s);

/** The number of history blobs: one per parameter; for AdaDelta and Adam two per parameter. */
FERRY_API int ferry_solver_history_count(const ferry_solver *s);
/** History `index`, in Caffe's order, borrowed; NULL past the last. */
FERRY_API ferry_blob *ferry_solver_history_at(const ferry_solver *s, int index);

/** One score of a test: the mean of one element of a test net's output. Borrowed for the call. */
typedef struct ferry_solver_score {
    int net;          /* index of the test net */
    const char *name; /* the output's name */
    double value;
    double loss_weight; /* 0: not a loss */
} ferry_solver_score;

/**
 * Sets a function that is called twice per iteration on the stepping thread: with `ready` false
 * before the first forward pass, and with `ready` true after the last backward pass, when the diffs
 * are complete, summed over iter_size passes, and may be changed. `fn` may read, write and send
 * requests, but not step. NULL removes it. A nonzero result ends the step with that code, and the
 * iteration does not count. (Caffe: Solver::Callback.)
 */
FERRY_API int ferry_solver_on_gradients(ferry_solver *s,
                                        int (*fn)(void *arg, ferry_solver *s, bool ready),
                                        void *arg);

/**
 * Registers a function that replaces the update of each iteration. It is called on the stepping
 * thread after the last backward pass and ferry_solver_on_gradients, and updates the parameters
 * itself or calls ferry_solver_apply_update once. It must not step. NULL restores the built-in
 * update. A nonzero result ends the step with that code, and the iteration does not count.
 * [ApplyUpdate]
 */
FERRY_API int ferry_solver_on_update(ferry_solver *s, int (*fn)(void *arg, ferry_solver *s),
                                     void *arg);

/** The result of an iteration. Borrowed for the call. */
typedef struct ferry_solver_iteration {
    size_t struct_size;             /* set by the library */
    int iter;                       /* its number; max_iter for the final test */
    bool is_last;                   /* the final test; lr and losses are then 0 */
    double lr, loss, smoothed_loss; /* loss: the mean over iter_size passes */
    size_t score_count;             /* of the test before the iteration; 0 without one */
    const ferry_solver_score *scores;
} ferry_solver_iteration;

/**
 * Sets a function that is called on the stepping thread after the update of each iteration, before
 * its snapshot, and after the final test. `fn` may read and send requests, but not step. NULL
 * removes it. A nonzero result ends the step with that code.
 */
FERRY_API int ferry_solver_on_iteration(ferry_solver *s,
                                        int (*fn)(void *arg, ferry_solver *s,
                                                  const ferry_solver_iteration *event),
                                        void *arg);

FERRY_END_DECLS

#endif
