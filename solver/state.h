/* SPDX-License-Identifier: BSD-2-Clause */
/* The structures of a solver. */
#ifndef FERRY_SOLVER_STATE_H
#define FERRY_SOLVER_STATE_H

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

/* The checked settings of the text. They are floats where Caffe computes with floats. */
struct ferry__solver_settings {
    uint32_t type; /* FERRY_UPDATE_… */
    enum ferry__policy policy;
    float base_lr, gamma, power, momentum, momentum2, rms_decay, delta, weight_decay, clip;
    bool l1, hdf5, snapshot_diff, snapshot_after_train;
    bool test_initialization, test_compute_loss, debug;
    int stepsize, n_steps, iter_size, average_loss, display, max_iter, test_interval, snapshot;
    uint64_t seed;
    ferry_precision precision; /* of the training net */
};

/* A parameter that is trained, with its histories. */
struct ferry__learned {
    ferry_blob *blob; /* the net owns it */
    const char *layer;
    int number; /* the index of the layer */
    int index;  /* among the parameters of its layer */
    float lr_mult, decay_mult;
    bool has_diff;          /* a backward pass may add to its diff */
    ferry_blob *history[2]; /* the second is for AdaDelta and Adam, otherwise NULL */
    struct ferry_operation *update;
    ferry_device *where; /* the device that `update` was made for */
};

struct ferry__test {
    ferry_net *net;
    int iterations;
    double *sums; /* the sums of its outputs' values, of one output after the other */
    int n_sums;
};

struct ferry_solver {
    ferry_device *device;
    ferry_proto *proto;
    char *path, *prefix, *place;
    const char *allow_write; /* the option allow_write, while the nets are opened */
    char *latest;            /* the .solverstate that was written or restored last; NULL: none */
    struct ferry__solver_settings settings;
    ferry_net *net;
    struct ferry__test *tests;
    int n_tests;
    struct ferry__learned *learned;
    int n_learned;
    int iter, current_step;
    int first;      /* the iteration at which the losses begin */
    double *losses; /* a ring of the latest average_loss losses */
    int n_losses;
    double loss, smoothed, rate;
    double began; /* when the latest log line about speed was written: time in seconds, and
                   * iteration */
    int logged_at;
    bool stopped, not_a_number; /* not_a_number: the warning about a NaN loss was logged */
    bool has_logged_precision;  /* how many layers round, if any does */
    bool goes_on;               /* the next ferry_solver_step continues the running average of
                                 * the losses */
    bool is_fake, has_ranges;   /* fake_quantize; the ranges of its nets were checked */
    int saved;                  /* the iteration of the latest snapshot; −1: none */
    ferry_solver_score *scores;
    int score_count, room_scores;
    int (*fn)(void *arg, ferry_solver *s, const ferry_solver_iteration *event);
    void *arg;
    int (*on_gradients)(void *arg, ferry_solver *s, bool ready);
    void *gradients_arg;
    int (*on_update)(void *arg, ferry_solver *s); /* replaces the update; NULL: not set */
    void *update_arg;
    bool updating; /* on_update is running */
    volatile sig_atomic_t wants_snapshot, wants_stop;
    ferry_comm team; /* without other ranks: a communicator of one rank, without functions */
    bool joined;     /* all ranks have the parameters of rank 0 */
    unsigned agreed; /* the requests that all ranks serve after this iteration: FERRY_SOLVER_… */
};

/* ---- settings.c ---- */

/* Reads and checks the text, and logs ignored and missing fields. */
int ferry__settings_read(const ferry_proto *p, struct ferry__solver_settings *out);

/* ---- paths.c ---- */

/*
 * Finds a path from a file; the caller frees it. The path is used as it is if it exists, otherwise
 * in the folder of that file, with or without its own folders, which is logged. FERRY_EIO names all
 * of these paths if none exists; FERRY_ENOMEM.
 */
int ferry__solver_find(const char *path, const char *namer, char **out);
/* The prefix of snapshots; `text` is the solver's path. */
int ferry__prefix_make(const ferry_proto *p, const char *text, char **out);
/* Checks that a file can be created with the prefix. FERRY_EIO. */
int ferry__prefix_check(const char *prefix);
/* PREFIX_iter_N and a suffix; NULL: no memory. */
char *ferry__snapshot_path(const ferry_solver *s, const char *suffix);

/* ---- nets.c ---- */

int ferry__solver_open_nets(ferry_solver *s, const ferry_solver_options *o);
void ferry__solver_close_nets(ferry_solver *s);

/* ---- rate.c ---- */

/* The rate of the current iteration. Advances multistep's step, and logs that. */
float ferry__rate_now(ferry_solver *s);
/* The rate of iteration `iter` after `step` stepvalues. */
float ferry__rate_of(const ferry_solver *s, int iter, int step);

/* ---- update.c ---- */

/* Finds the parameters that are trained, and creates their histories, filled with zeros. */
int ferry__update_begin(ferry_solver *s);
void ferry__update_end(ferry_solver *s);
/*
 * Clips, normalizes, regularizes and updates every parameter on its device; diffs are sums over
 * `ranks`.
 */
int ferry__update(ferry_solver *s, int ranks);

/* ---- team.c ---- */

/* Copies the options' communicator, or makes one of a single rank. FERRY_EINVAL. */
int ferry__team_take(ferry_solver *s, const ferry_comm *team);
/* Broadcasts rank 0's parameters to all ranks, once. */
int ferry__team_join(ferry_solver *s);
/*
 * One backward pass; if it is the iteration's last, sums the diffs over the ranks layer by layer.
 */
int ferry__team_backward(ferry_solver *s, bool last);
/*
 * Waits for the sums; *loss becomes the mean over the ranks, and s->agreed their common requests.
 */
int ferry__team_finish(ferry_solver *s, double *loss);

/* ---- score.c ---- */

/* Runs every test net; the scores are then in s->scores. Stops early on request. */
int ferry__test_all(ferry_solver *s);
/* Logs the values of the training net's outputs. */
int ferry__log_outputs(const ferry_net *net);
/* Serves requests: a snapshot; *out_stop is whether to stop. */
int ferry__requests(ferry_solver *s, bool *out_stop);

/* ---- restore.c ---- */

/* As ferry_solver_restore, but FERRY_EFORMAT if the iteration is not `want`; −1: any. */
int ferry__restore(ferry_solver *s, const char *path, int want);

/* ---- exact.c ---- */

/* Writes the .ferrystate. */
int ferry__exact_write(const ferry_solver *s, const char *path);

#endif
