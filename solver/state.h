/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A solver as its files share it.
 */
#ifndef FERRY_SOLVER_STATE_H
#define FERRY_SOLVER_STATE_H

#include <ferry/op.h>
#include <ferry/solver.h>

#include <signal.h>
#include <stdbool.h>

enum ferry__policy {
    FERRY__POLICY_FIXED,
    FERRY__POLICY_STEP,
    FERRY__POLICY_EXP,
    FERRY__POLICY_INV,
    FERRY__POLICY_MULTISTEP,
    FERRY__POLICY_POLY,
    FERRY__POLICY_SIGMOID
};

/* What the text says, checked. Floats where Caffe computes with floats. */
struct ferry__solver_settings {
    uint32_t type; /* FERRY_UPDATE_… */
    enum ferry__policy policy;
    float base_lr, gamma, power, momentum, momentum2, rms_decay, delta, weight_decay, clip;
    bool l1, hdf5, snapshot_diff, snapshot_after_train;
    bool test_initialization, test_compute_loss, debug;
    int stepsize, n_steps, iter_size, average_loss, display, max_iter, test_interval, snapshot;
    uint64_t seed;
};

/* A parameter that is learned, and its histories. */
struct ferry__learned {
    ferry_blob *blob; /* the net's */
    const char *layer;
    int number; /* of that layer */
    int index;  /* of its layer's parameters */
    float lr_mult, decay_mult;
    bool has_diff; /* a backward pass may add to its diff */
    ferry_blob *history[2]; /* the second: AdaDelta, Adam; else NULL */
    ferry_operation *update;
    ferry_device *where; /* what `update` was made for */
};

struct ferry__test {
    ferry_net *net;
    int iterations;
    double *sums; /* of its outputs' values, one behind the other */
    int n_sums;
};

struct ferry_solver {
    ferry_device *device;
    ferry_proto *proto;
    char *path, *prefix, *place;
    const char *allow_write; /* of the options, while the nets are opened */
    char *latest;            /* the .solverstate that was written or restored last; NULL: none */
    struct ferry__solver_settings settings;
    ferry_net *net;
    struct ferry__test *tests;
    int n_tests;
    struct ferry__learned *learned;
    int n_learned;
    int iter, current_step;
    int first;      /* the iteration that the losses begin with */
    double *losses; /* the latest average_loss of them */
    int n_losses;
    double loss, smoothed, rate;
    double began; /* seconds: when the latest line about speed was said, and at which iteration */
    int told;
    bool stopped, not_a_number; /* the latter: it has been said */
    bool goes_on;               /* the next step's losses go on from those that there are */
    int saved;                  /* the iteration of the latest snapshot; −1: none */
    ferry_solver_score *scores;
    int score_count, room_scores;
    int (*fn)(void *arg, ferry_solver *s, const ferry_solver_iteration *event);
    void *arg;
    int (*on_gradients)(void *arg, ferry_solver *s, bool ready);
    void *gradients_arg;
    int (*on_update)(void *arg, ferry_solver *s); /* in place of the update; NULL: none */
    void *update_arg;
    bool updating; /* on_update is running */
    volatile sig_atomic_t wants_snapshot, wants_stop;
    ferry_comm team; /* one rank without functions where it is alone */
    bool joined;     /* all ranks have rank 0's parameters */
    unsigned agreed; /* what all ranks do behind this iteration: FERRY_SOLVER_… */
};

/* ---- settings.c ---- */

/* Reads and checks the text, and says what of it counts for nothing. */
int ferry__settings_read(const ferry_proto *p, struct ferry__solver_settings *out);

/* ---- paths.c ---- */

/*
 * A path that a file names, to be freed: as it is, or else in the folder of that file, with the folders that it names or
 * without them, which is logged. FERRY_EIO names all these places if it is at none of them; FERRY_ENOMEM.
 */
int ferry__solver_find(const char *path, const char *namer, char **out);
/* The snapshots' prefix, where `text` is the solver's path. */
int ferry__prefix_make(const ferry_proto *p, const char *text, char **out);
/* Whether a file can be made there. FERRY_EIO. */
int ferry__prefix_check(const char *prefix);
/* PREFIX_iter_N and a suffix; NULL: no memory. */
char *ferry__snapshot_path(const ferry_solver *s, const char *suffix);

/* ---- nets.c ---- */

int ferry__solver_open_nets(ferry_solver *s, const ferry_solver_options *o);
void ferry__solver_close_nets(ferry_solver *s);

/* ---- rate.c ---- */

/* The rate of the iteration at hand. Moves multistep's step, and says so. */
float ferry__rate_now(ferry_solver *s);
/* The rate of iteration `iter` where `step` stepvalues are behind it. */
float ferry__rate_of(const ferry_solver *s, int iter, int step);

/* ---- update.c ---- */

/* Finds what is learned, and makes its histories: zeros. */
int ferry__update_begin(ferry_solver *s);
void ferry__update_end(ferry_solver *s);
/* Clips, normalises, regularises and updates every parameter, where it is; diffs are sums over `ranks`. */
int ferry__update(ferry_solver *s, int ranks);

/* ---- team.c ---- */

/* Takes over the options' team, or that of one. FERRY_EINVAL. */
int ferry__team_take(ferry_solver *s, const ferry_comm *team);
/* Gives all ranks rank 0's parameters, if they have not. */
int ferry__team_join(ferry_solver *s);
/* One pass back, in which diffs are summed layer by layer if it is the iteration's last. */
int ferry__team_backward(ferry_solver *s, bool last);
/* Waits for the sums; *loss becomes the mean, and s->agreed what is done behind this iteration. */
int ferry__team_finish(ferry_solver *s, double *loss);

/* ---- score.c ---- */

/* Tests every test net; the scores are then in s->scores. Stops early where that is requested. */
int ferry__test_all(ferry_solver *s);
/* Says what the training net's outputs hold. */
int ferry__tell_outputs(const ferry_net *net);
/* Does what was requested: a snapshot; *out_stop is whether to stop. */
int ferry__requests(ferry_solver *s, bool *out_stop);

/* ---- restore.c ---- */

/* As ferry_solver_restore, but FERRY_EFORMAT for another iteration than `want`; −1: any. */
int ferry__restore(ferry_solver *s, const char *path, int want);

/* ---- exact.c ---- */

/* Writes the .ferrystate. */
int ferry__exact_write(const ferry_solver *s, const char *path);

#endif
