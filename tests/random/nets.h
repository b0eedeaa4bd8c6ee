/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_RANDOM_NETS_H
#define FERRY_TEST_RANDOM_NETS_H

#include <ferry/blob.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ferry_net;

/*
 * Random nets: directed graphs of layers with matching shapes, each determined by a seed. Axis 0 of
 * every blob is a multiple of the batch, so that a net can run with other batches.
 */

#define NET_BLOBS 64
#define NET_AXES  5
#define NET_TEXT  16384

#define NET_FAVOURITES 3

struct net_blob {
    char name[8];
    int axes;
    int64_t shape[NET_AXES];
    bool used; /* by a layer, since it was last written */
};

struct net_maker {
    uint64_t state; /* of the random numbers */
    int blobs, layers;
    int favourite[NET_FAVOURITES]; /* the kinds of layers that half of the net is made of */
    size_t length;
    struct net_blob blob[NET_BLOBS];
    char text[NET_TEXT]; /* the prototxt */
};

/*
 * Makes the net of a seed, of at most that many layers: fewer layers give the beginning of the same
 * net.
 */
void net_make(struct net_maker *m, uint64_t seed, int most);

/* ---- contents and comparison (test-random-nets.c) ---- */

/* Fills the parameters, so that values keep their magnitude from layer to layer. */
void net_fill_params(struct net_maker *dice, struct ferry_net *net);
/* Fills a blob with numbers from low to high. */
void net_fill(struct net_maker *dice, ferry_blob *b, double low, double high);
/* Whether two arrays of n numbers agree within rounding; prints their name if they do not. */
bool net_same(const char *name, const float *x, const float *y, int64_t n);

/* ---- training (nets-train.c) ---- */

/*
 * Trains the net of a seed plainly, with plan_training, and with recompute. Returns its number of
 * layers; 0 if losses or gradients differed, and prints the net with `print`.
 */
int net_run_training(uint64_t seed, int layers, bool print);

/* ---- helpers of the layers (nets-make.c) ---- */

/* A random number in low … high, inclusive. */
int net_roll(struct net_maker *m, int low, int high);
/* A random one of the words, which are separated by '|'; static storage. */
const char *net_word(struct net_maker *m, const char *words);
int64_t net_count(const struct net_blob *b, int from);
/*
 * Adds a layer. `bottom` has the indices of its `bottoms` blobs. `top` has the shape of its top, or
 * is a copy of a bottom for a layer in place.
 */
void net_layer(struct net_maker *m, const char *type, const int *bottom, int bottoms,
               const struct net_blob *top, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* As net_layer, with one bottom and two tops. */
void net_layer_of_two(struct net_maker *m, const char *type, int bottom, const struct net_blob *top,
                      const struct net_blob *second, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/*
 * As net_layer, with one bottom of the top's shape: sometimes in place, if no other layer reads the
 * bottom.
 */
void net_layer_like(struct net_maker *m, const char *type, int bottom, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- the layers (nets-layers.c) ---- */

/* Each net prefers some kinds, so that errors that need several layers of these kinds are found. */
void net_choose_favourites(struct net_maker *m);
/* Adds a random layer that reads the blob; nothing if the kind does not support its shape. */
void net_some_layer(struct net_maker *m, int bottom);

#endif
