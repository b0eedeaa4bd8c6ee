/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by LSTM and RNN. The products with the input of all steps are operations; the steps run on
 * the host.
 */
#ifndef FERRY_NET_LAYERS_RECURRENT_H
#define FERRY_NET_LAYERS_RECURRENT_H

#include "net/layers/layers.h"

#define FERRY__RECURRENT_STATES 2

struct ferry__recurrent {
    int64_t steps, streams, outputs; /* T, N and D */
    int64_t inputs, statics;         /* values of x and of x_static per step and stream */
    int64_t gates;                   /* the number of gates: the products of a step have that
                                      * many vectors of D values */
    int states;                      /* 1: h; 2: h and c */
    bool has_static, exposed;
    int64_t kept; /* the number of streams that have a state from the previous forward pass */
};

/*
 * Reads recurrent_param, and declares the weights of the input, their bias, and the weights of
 * x_static.
 */
int ferry__recurrent_setup(ferry_layer *layer, int states, int64_t gates);

/* Declares `rows` × D weights; with rows 0, D biases. */
int ferry__recurrent_declare(ferry_layer *layer, int64_t rows);

/* Shapes the tops and emits the products with x and x_static. */
int ferry__recurrent_reshape(ferry_layer *layer);

/* The data of a forward pass. States come from the bottoms or from the previous forward pass. */
struct ferry__recurrent_run {
    const struct ferry__recurrent *s;
    const float *gates;                    /* T × N × gates × D: the products of x with the weights,
                                            * plus the bias */
    const float *statics;                  /* N × gates × D, or NULL */
    const float *cont;                     /* T × N */
    const float *recurrent;                /* the weights of h: gates·D × D */
    float *state[FERRY__RECURRENT_STATES]; /* N × D each: h, c */
    float *sums; /* gates × D, for each of T × N if backward needs them */
    float *sum;  /* result of the latest ferry__recurrent_sum */
    bool kept;   /* backward needs the sums, and the states before and after each step: */
    float *history[FERRY__RECURRENT_STATES];
    float *top; /* T × N × D */
};

int ferry__recurrent_begin(ferry_layer *layer, struct ferry__recurrent_run *out);

/* Copies the states to the tops if they are exposed. */
int ferry__recurrent_end(ferry_layer *layer, const struct ferry__recurrent_run *run);

/* Records the states after step t of stream n if backward needs them. */
void ferry__recurrent_keep(const struct ferry__recurrent_run *run, int64_t t, int64_t n);

/* Computes run->sum from x, x_static and cont · h at step t of stream n. */
void ferry__recurrent_sum(struct ferry__recurrent_run *run, int64_t t, int64_t n);

/*
 * One step of an LSTM's unit with D cells: takes sums of the gates i, f, o, g; updates c and writes
 * h. (Caffe: LSTMUnitLayer.)
 */
void ferry__lstm_step(int64_t d, float cont, const float *gates, const float *c_before, float *c,
                      float *h);

/*
 * The gradients of one step: of the gates' sums, and of the previous c; `dc` and `dh` are those of
 * c and h. c itself is recomputed: a later layer may have overwritten it.
 */
void ferry__lstm_step_back(int64_t d, float cont, const float *gates, const float *c_before,
                           const float *dc, const float *dh, float *d_gates, float *dc_before);

/* ---- backward (recurrent_backward.c) ---- */

/*
 * The data of a backward pass, from the last step to the first. As in Caffe the initial states get
 * no gradient, and of the final states only that of c is used.
 */
struct ferry__recurrent_back {
    const struct ferry__recurrent *s;
    const float *sums, *cont, *recurrent; /* as in forward */
    const float *history[FERRY__RECURRENT_STATES];
    const float *top;                      /* the diff of top 0 */
    float *gates;                          /* the diff of the gates' sums, T × N × gates × D */
    float *d_recurrent;                    /* the diff of the weights of h, or NULL */
    float *carry[FERRY__RECURRENT_STATES]; /* N × D: the gradients of h and c from the next step */
};

/* Emits the backward pass of the products with x and x_static; called in reshape. */
int ferry__recurrent_emit_backward(ferry_layer *layer);

int ferry__recurrent_back_begin(ferry_layer *layer, struct ferry__recurrent_back *out);

/*
 * Computes, from the gradients of the gates at step t of stream n, those of the previous h and of
 * its weights.
 */
void ferry__recurrent_back_step(const struct ferry__recurrent_back *back, int64_t t, int64_t n);

/* The error message for the gradient of the sequence indicators. */
const char *ferry__recurrent_refuses(const ferry_layer *layer, int index);

/* The scratch blobs: products with x, with x_static, sums, the states, and their history. */
enum {
    FERRY__RECURRENT_PRODUCTS,
    FERRY__RECURRENT_STATICS,
    FERRY__RECURRENT_SUM,
    FERRY__RECURRENT_STATE,
    FERRY__RECURRENT_HISTORY = FERRY__RECURRENT_STATE + FERRY__RECURRENT_STATES
};

#endif
