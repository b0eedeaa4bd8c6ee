/* SPDX-License-Identifier: BSD-2-Clause */
/* The arrays of a file of weights, by the layers of a net that take their values. */
#ifndef FERRY_NET_MODEL_ARRAYS_H
#define FERRY_NET_MODEL_ARRAYS_H

#include "net/model/names.h"
#include "net/model/state.h"

#include <ferry/io.h>

#include <stdbool.h>

/* An array of the file: its layer, and its values. */
struct ferry__array {
    char *layer; /* the array's name up to the last slash */
    int number;
    const ferry_io_entry *entry;
    bool decided, stays; /* `stays` is decided: its layers keep its narrow form */
    /* The values, narrow or in F32. Both are empty if no layer uses the array, and `blob` also if
     * the values are read later. */
    struct ferry__narrow narrow;
    ferry_blob *blob;
    bool used; /* a layer has got the values */
    int next;  /* the next array with the layer's name, or −1 */
    /* Of the first array with a name: */
    int last;              /* the last one */
    int layers, takers;    /* how many layers of the file, and of the net, have the name */
    int begin, last_begin; /* the first array of the next layer to be taken, and of the last */
};

/*
 * All arrays of a file. Its layers of one name, which caffemodels may have, belong to the net's
 * layers of that name in their order. A single layer of the file has the values of all of the
 * net's; of several for one layer of the net, the last has them, as in Caffe.
 */
struct ferry__arrays {
    const char *path;
    ferry_io *io;
    struct ferry__array *array;
    int count;
    struct ferry__names layers; /* the first array of each layer */
    int *start; /* by the index of a layer of the net: its first array, or a negative number */
};

/* Opens the file and lists its arrays; `path` must remain valid. After an error, end it as well. */
int ferry__arrays_open(struct ferry__arrays *a, const ferry_net *net, const char *path);
/* Frees all but `io`. */
void ferry__arrays_end(struct ferry__arrays *a);

/* The array of a parameter of a layer of the net; NULL: the file has none. */
struct ferry__array *ferry__arrays_find(const struct ferry__arrays *a, const ferry_layer *layer,
                                        int number);
/* The number of arrays for a layer of the net; FERRY_ESHAPE for other numbers of layers. */
int ferry__arrays_of(const struct ferry__arrays *a, const ferry_layer *layer, int *out_count);
/* The number of arrays of all layers with a name. */
int ferry__arrays_count(const struct ferry__arrays *a, const char *layer);

/* Sets FERRY_ENOMEM for a file. */
int ferry__load_no_memory(const char *path);

#endif
