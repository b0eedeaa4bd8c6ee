/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What LSTM and RNN share. The products with the input of all steps are operations, step after step is
 * the host's.
 */
#ifndef FERRY_NET_LAYERS_RECURRENT_H
#define FERRY_NET_LAYERS_RECURRENT_H

#include "net/layers/layers.h"

#define FERRY__RECURRENT_STATES 2

struct ferry__recurrent {
    int64_t steps, streams, outputs; /* T, N, D */
    int64_t inputs, statics;         /* values of x and of x_static for a step and stream */
    int64_t gates;                   /* how many vectors of D the products of a step give */
    int states;                      /* 1: h; 2: h and c */
    bool has_static, exposed;
    int64_t kept; /* streams for which there is a state from the forward before */
};

/* Reads recurrent_param, and declares the weights of the input, their bias, those of x_static. */
int ferry__recurrent_setup(ferry_layer *layer, int states, int64_t gates);

/* Declares `rows` × D weights, or D biases with rows 0. */
int ferry__recurrent_declare(ferry_layer *layer, int64_t rows);

/* Shapes the tops and emits the products with x and x_static. */
int ferry__recurrent_reshape(ferry_layer *layer);

/* What a forward pass works on. States come from the bottoms or the forward before. */
struct ferry__recurrent_run {
    const struct ferry__recurrent *s;
    const float *gates;                    /* T × N × gates × D, of x and the bias */
    const float *statics;                  /* N × gates × D, or NULL */
    const float *cont;                     /* T × N */
    const float *recurrent;                /* the weights of h: gates·D × D */
    float *state[FERRY__RECURRENT_STATES]; /* N × D each: h, c */
    float *sums; /* gates × D, for each of T × N where backward wants them */
    float *sum;  /* those of the latest ferry__recurrent_sum */
    bool kept;   /* backward will want the sums, and the states before and behind each step: */
    float *history[FERRY__RECURRENT_STATES];
    float *top; /* T × N × D */
};

int ferry__recurrent_begin(ferry_layer *layer, struct ferry__recurrent_run *out);

/* The states to the tops, where they are exposed. */
int ferry__recurrent_end(ferry_layer *layer, const struct ferry__recurrent_run *run);

/* Keeps the states behind step t of stream n for backward, where that wants them. */
void ferry__recurrent_keep(const struct ferry__recurrent_run *run, int64_t t, int64_t n);

/* run->sum = what x, x_static and cont · h make at step t of stream n. */
void ferry__recurrent_sum(struct ferry__recurrent_run *run, int64_t t, int64_t n);

/*
 * One step of an LSTM's unit, of D cells: sums of the gates i, f, o, g; c is replaced, h filled.
 * (Caffe: LSTMUnitLayer.)
 */
void ferry__lstm_step(int64_t d, float cont, const float *gates, const float *c_before, float *c,
                      float *h);

/*
 * The gradients of one step: of the gates' sums, and of c before; `dc` and `dh` are those of c and h. c itself
 * is computed again: a layer behind may have overwritten it.
 */
void ferry__lstm_step_back(int64_t d, float cont, const float *gates, const float *c_before,
                           const float *dc, const float *dh, float *d_gates, float *dc_before);

/* ---- backward (recurrent_backward.c) ---- */

/*
 * What a backward pass works on, from the last step to the first. As in Caffe nothing flows back into
 * the states before the first step, and of those behind the last one c's gradient alone counts.
 */
struct ferry__recurrent_back {
    const struct ferry__recurrent *s;
    const float *sums, *cont, *recurrent; /* as forward had them */
    const float *history[FERRY__RECURRENT_STATES];
    const float *top;                      /* the diff of top 0 */
    float *gates;                          /* the diff of the gates' sums, T × N × gates × D */
    float *d_recurrent;                    /* of the weights of h, or NULL */
    float *carry[FERRY__RECURRENT_STATES]; /* N × D: what the step behind gives to h and c */
};

/* Emits the backward pass of the products with x and x_static; in reshape. */
int ferry__recurrent_emit_backward(ferry_layer *layer);

int ferry__recurrent_back_begin(ferry_layer *layer, struct ferry__recurrent_back *out);

/* From the gradients of the gates at step t of stream n to those of h before and of its weights. */
void ferry__recurrent_back_step(const struct ferry__recurrent_back *back, int64_t t, int64_t n);

/* The sequence's indicators cannot be differentiated. */
const char *ferry__recurrent_refuses(const ferry_layer *layer, int index);

/* Of the layer's own blobs: products with x, with x_static, sums, the states, and their history. */
enum {
    FERRY__RECURRENT_PRODUCTS,
    FERRY__RECURRENT_STATICS,
    FERRY__RECURRENT_SUM,
    FERRY__RECURRENT_STATE,
    FERRY__RECURRENT_HISTORY = FERRY__RECURRENT_STATE + FERRY__RECURRENT_STATES
};

#endif
