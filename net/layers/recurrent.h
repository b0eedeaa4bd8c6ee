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
    float *sum;                            /* room for gates × D */
    float *top;                            /* T × N × D */
};

int ferry__recurrent_begin(ferry_layer *layer, struct ferry__recurrent_run *out);

/* The states to the tops, where they are exposed. */
int ferry__recurrent_end(ferry_layer *layer, const struct ferry__recurrent_run *run);

/* run->sum = what x, x_static and cont · h make at step t of stream n. */
void ferry__recurrent_sum(const struct ferry__recurrent_run *run, int64_t t, int64_t n);

/*
 * One step of an LSTM's unit, of D cells: sums of the gates i, f, o, g; c is replaced, h filled.
 * (Caffe: LSTMUnitLayer.)
 */
void ferry__lstm_step(int64_t d, float cont, const float *gates, const float *c_before, float *c,
                      float *h);

#endif
