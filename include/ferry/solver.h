/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file solver.h
 * Solvers: training a net as a solver's prototxt says. Part of libferrynet. (Caffe: Solver.)
 *
 * A solver owns a net in TRAIN, the nets that test it, which share its parameters, and the histories of
 * its updates. Parameters, gradients and histories stay on the device where the net is: an update is an
 * operation there (FERRY_OP_UPDATE), and of an iteration only its loss comes to the host, and with
 * clip_gradients one number a parameter.
 *
 * SGD, Nesterov, AdaGrad, RMSProp, AdaDelta, Adam; learning rates by fixed, step, exp, inv, multistep,
 * poly, sigmoid: as Caffe's, in its order of operations. What is done is logged at FERRY_LOG_INFO in
 * Caffe's words, what Caffe does not say begins with "ferry: ". solver_mode and device_id say nothing
 * here: whoever opens the solver chooses the device. A random_seed that is not given is 1.
 *
 * debug_info: where a line is displayed, and in every pass of a test, the means of absolute values of what
 * each layer made and of its parameters are logged, and of the diffs that it passed down. They are computed
 * where the blobs are, layer by layer, which is waited for; a net that says debug_info itself does so in
 * every pass until its solver decides, and its blobs then share no memory.
 *
 * Paths in the text are those of the working folder, else of the folder of the text.
 *
 * A team: `ranks` solvers of one text, in processes or threads of their own, train one net together, each on its
 * share of the records: n ranks with a batch of b do what one does with n·b, within rounding. Sums of the
 * parameters' diffs over all ranks are begun layer by layer while the backward pass goes on, and the update divides
 * by the ranks; behind a backward pass a diff is that sum. The loss is the mean over the ranks. Before the first
 * iteration all get rank 0's parameters. Rank 0 tests, displays and makes snapshots, which any number of ranks
 * goes on from; a request to any rank is done by all behind the same iteration, and none breaks off a test. What a
 * layer makes of its batch alone stays so: statistics of BatchNorm (those of rank 0 are saved), a loss that is
 * divided by labels which are not to be ignored. (Caffe: NCCL.)
 *
 * Errors, where no other is named: FERRY_EINVAL for NULL or a structure without its size,
 * FERRY_ENOMEM, FERRY_EDEVICE, FERRY_ELOST, FERRY_EFORKED, and those of net.h. Messages name the file
 * and the layer.
 *
 * Threads: one solver, with its nets, is used by one thread at a time, but for ferry_solver_request.
 */
#ifndef FERRY_SOLVER_H
#define FERRY_SOLVER_H

#include <ferry/net.h>
#include <ferry/comm.h>

FERRY_BEGIN_DECLS

/** A solver. Opaque. */
typedef struct ferry_solver ferry_solver;

/** How a solver is opened. Zero the structure, then set struct_size. Everything is copied. */
typedef struct ferry_solver_options {
    size_t struct_size; /* sizeof(ferry_solver_options) of the caller */
    const char *text;   /* the solver's text in place of the file; the path then only names it */
    size_t text_size;   /* bytes; with text only */
    const char *const
        *weights; /* weight_count files that are loaded behind the text's own `weights` */
    size_t weight_count;
    const char *const
        *stages; /* stage_count that are added to train_state; its level is then `level` */
    size_t stage_count;
    int level;
    const char *place;       /* as of ferry_net_options, for all nets */
    const char *const *keep; /* keep_count blobs of the test nets that stay readable, as there */
    size_t keep_count;
    const ferry_comm *team;  /* whom it trains with (below); NULL: nobody */
    const char *allow_write; /* as of ferry_net_options, for all nets; snapshots need none */
    int weights_matched; /* 1: weights of which the training net gets nothing are FERRY_ESHAPE */
} ferry_solver_options;

/**
 * Reads a solver's text, opens its training net and its test nets on `dev`, and loads `weights` into
 * them. `options` may be NULL. Old fields (solver_type) are understood; where snapshot_prefix is not
 * given or names a folder, the text's own path stands for it, as in Caffe. The caller closes *out.
 *
 * FERRY_EFORMAT, with the place, for a text that cannot be read, a solver type, policy or regularization
 * that is not known, no net or two, test_iter that does not fit the test nets, numbers that make no
 * sense (an iter_size of 0, a stepsize of 0 under "step"); FERRY_EIO where a snapshot could not be
 * written beside its prefix; what ferry_net_open and ferry_net_load fail with. *out is then untouched.
 */
FERRY_API int ferry_solver_open(ferry_device *dev, const char *path,
                                const ferry_solver_options *options, ferry_solver **out);

/** Closes a solver and its nets. Waits for their work. NULL is accepted. */
FERRY_API void ferry_solver_close(ferry_solver *s);

/** What may be asked of a solver that is at work. */
#define FERRY_SOLVER_SNAPSHOT 1u /* a snapshot after the iteration at hand */
#define FERRY_SOLVER_STOP     2u /* to stop after it; a test that is going on is broken off */

/**
 * Asks for FERRY_SOLVER_SNAPSHOT, _STOP or both. Any thread, and from a signal's handler. What was
 * asked between two steps is done in the next one.
 */
FERRY_API void ferry_solver_request(ferry_solver *s, unsigned what);

/**
 * Does `n` iterations: at each a test of the test nets if it is due, iter_size times forward and
 * backward, the update, and a snapshot if it is due. Stops early where that was requested, which is
 * success (ferry_solver_is_stopped). Where a rank of a team fails the others have to be told by whoever joined them
 * (ferry_mpi_fail), else they wait for it; a team that has failed is of no use to the next step. FERRY_EINVAL on every
 * rank where they have different parameters, iterations or ends (max_iter). A loss that is no number is no error, as
 * in Caffe; it is said once.
 *
 * After a failure in an iteration its number is as it was; parameters may have been updated in part
 * where an update failed. A snapshot that cannot be written ends the step with FERRY_EIO; the solver, and
 * every earlier snapshot, are as they were.
 */
FERRY_API int ferry_solver_step(ferry_solver *s, int n);

/**
 * The update alone, from the diffs that the parameters have, and one iteration more: for who goes forward
 * and backward by himself. With iter_size the diffs are the sum of so many passes. There is no test and no
 * snapshot, nobody is called, and no team: its sums are the caller's to make. Failures as of ferry_solver_step.
 * (Caffe: Solver::ApplyUpdate.)
 */
FERRY_API int ferry_solver_apply_update(ferry_solver *s);

/**
 * Steps up to max_iter, then makes a snapshot unless there is one of that iteration or
 * snapshot_after_train says no, and tests once more where it is due. Errors: as ferry_solver_step.
 */
FERRY_API int ferry_solver_solve(ferry_solver *s);

/** 1 if the latest step or solve was stopped by a request, 0 if not. */
FERRY_API bool ferry_solver_is_stopped(const ferry_solver *s);

/**
 * Writes PREFIX_iter_N.caffemodel, PREFIX_iter_N.ferrystate and PREFIX_iter_N.solverstate, in this
 * order, each complete, synced and renamed into its place (or .caffemodel.h5 and .solverstate.h5, by
 * snapshot_format), so that a .solverstate that is there has the others. The first and the last are
 * Caffe's. FERRY_EIO: what was there before is still there, whole.
 */
FERRY_API int ferry_solver_snapshot(ferry_solver *s);

/**
 * Goes on where a .solverstate or .solverstate.h5, Caffe's or ferry's, was written: its iteration, its
 * histories, and the parameters of the model that it names. Data begin with their first record again
 * and random numbers anew, as in Caffe.
 *
 * The model is looked for under the name in the file, then beside the file, which is noted.
 * FERRY_ESHAPE for the snapshot of another net or solver, with both numbers or the layer for which it has
 * nothing; FERRY_EIO, FERRY_EFORMAT; the solver is then as it was.
 */
FERRY_API int ferry_solver_restore(ferry_solver *s, const char *path);

/**
 * The same, with the .ferrystate beside it: data go on where they were, in their order, with the same
 * random numbers, so that what follows is to the bit what would have followed. FERRY_EIO where there is
 * no .ferrystate, FERRY_ESHAPE for one of other nets, FERRY_EUNSUPPORTED for a layer that cannot say
 * where it is. The solver is then as it was, or, if a data layer could not go back, restored as by
 * ferry_solver_restore.
 */
FERRY_API int ferry_solver_restore_exact(ferry_solver *s, const char *path);

/** The training net, borrowed. NULL for NULL. */
FERRY_API ferry_net *ferry_solver_net(const ferry_solver *s);
/** How many test nets there are; 0 for NULL. */
FERRY_API int ferry_solver_test_net_count(const ferry_solver *s);
/** Test net `index`, borrowed; NULL past the last. */
FERRY_API ferry_net *ferry_solver_test_net_at(const ferry_solver *s, int index);
/** How many iterations have been done: the number of the next one. 0 for NULL. */
FERRY_API int ferry_solver_iter(const ferry_solver *s);
/** max_iter of the text. 0 for NULL. */
FERRY_API int ferry_solver_max_iter(const ferry_solver *s);
/** iter_size of the text. 0 for NULL. */
FERRY_API int ferry_solver_iter_size(const ferry_solver *s);
/**
 * The .solverstate that was written or restored last; "" before the first, and for NULL. Borrowed until
 * the next one.
 */
FERRY_API const char *ferry_solver_latest_snapshot(const ferry_solver *s);
/** The loss of the latest iteration, unsmoothed: with iter_size the mean. 0 before the first. */
FERRY_API double ferry_solver_loss(const ferry_solver *s);
/** The learning rate of the next iteration. (Caffe: GetLearningRate.) 0 for NULL. */
FERRY_API double ferry_solver_learning_rate(const ferry_solver *s);

/** How many blobs the histories have: one for each parameter, then for AdaDelta and Adam as many again. */
FERRY_API int ferry_solver_history_count(const ferry_solver *s);
/** History `index`, in Caffe's order, borrowed; NULL past the last. */
FERRY_API ferry_blob *ferry_solver_history_at(const ferry_solver *s, int index);

/** One number of a test: the mean of one value of a test net's output. Borrowed for the call. */
typedef struct ferry_solver_score {
    int net;          /* which test net */
    const char *name; /* of the output */
    double value;
    double loss_weight; /* 0: it is no loss */
} ferry_solver_score;

/**
 * Has `fn` called twice an iteration on the stepping thread: with `ready` false before the first forward pass,
 * and with true after the last backward pass, where the parameters' diffs, iter_size times summed, are whole
 * and may still be changed. It may ask, read and write, not step. NULL: nobody. A nonzero result ends the
 * step with that code, and the iteration is not counted. (Caffe: Solver::Callback.)
 */
FERRY_API int ferry_solver_on_gradients(ferry_solver *s,
                                        int (*fn)(void *arg, ferry_solver *s, bool ready),
                                        void *arg);

/** What an iteration came to. Borrowed for the call. */
typedef struct ferry_solver_iteration {
    size_t struct_size; /* of the library */
    int iter;           /* its number; max_iter for the test behind the last iteration */
    bool is_last;       /* behind the last iteration; lr and losses are then 0 */
    double lr, loss, smoothed_loss; /* the loss is the mean over iter_size */
    size_t score_count;             /* of the test before it; 0 where there was none */
    const ferry_solver_score *scores;
} ferry_solver_iteration;

/**
 * Has `fn` called after each iteration's update, before its snapshot, on the stepping thread, and with
 * the test behind the last iteration. It may ask and read, not step. NULL: nobody. A nonzero result ends
 * the step with that code.
 */
FERRY_API int ferry_solver_on_iteration(ferry_solver *s,
                                        int (*fn)(void *arg, ferry_solver *s,
                                                  const ferry_solver_iteration *event),
                                        void *arg);

FERRY_END_DECLS

#endif
