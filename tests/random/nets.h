/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_RANDOM_NETS_H
#define FERRY_TEST_RANDOM_NETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Random nets: directed graphs of layers whose shapes fit, each made from a seed alone. Axis 0 of every
 * blob is a multiple of the batch, so that a net can be run with other batches.
 */

#define NET_BLOBS 64
#define NET_AXES  5
#define NET_TEXT  16384

#define NET_FAVOURITES 3

struct net_blob {
    char name[8];
    int axes;
    int64_t shape[NET_AXES];
    bool used; /* by a layer, since it was written last */
};

struct net_maker {
    uint64_t state; /* of the dice */
    int blobs, layers;
    int favourite[NET_FAVOURITES]; /* kinds of layers that half of the net is made of */
    size_t length;
    struct net_blob blob[NET_BLOBS];
    char text[NET_TEXT]; /* the prototxt */
};

/* The net of a seed, of at most that many layers: fewer of them make a part of the same net. */
void net_make(struct net_maker *m, uint64_t seed, int most);

/* ---- what the layers are made with (nets-make.c) ---- */

/* In low … high, both among them. */
int net_roll(struct net_maker *m, int low, int high);
/* One of the words, which are separated by '|'; static storage. */
const char *net_word(struct net_maker *m, const char *words);
int64_t net_count(const struct net_blob *b, int from);
/* A layer of `bottoms` blobs, by index, and one top of that shape, or in place: it is a copy of `top`. */
void net_layer(struct net_maker *m, const char *type, const int *bottom, int bottoms,
               const struct net_blob *top, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* The same of one bottom and two tops. */
void net_layer_of_two(struct net_maker *m, const char *type, int bottom, const struct net_blob *top,
                      const struct net_blob *second, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* The same of one bottom, whose shape is the top's: in place now and then, where nobody else reads it. */
void net_layer_like(struct net_maker *m, const char *type, int bottom, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- the layers (nets-layers.c) ---- */

/* Each net has its favourites, so that what goes wrong with a few kinds only meets them together. */
void net_choose_favourites(struct net_maker *m);
/* Adds a random layer that reads the blob; nothing where the kind does not go with its shape. */
void net_some_layer(struct net_maker *m, int bottom);

#endif
