/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_NETS_H
#define FERRY_BENCH_NETS_H

#include "conv.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Nets as Caffe's users have them, written here as prototxts, with random weights; and the convolutions
 * in them, for whoever would compose the net of columns and a BLAS.
 */

#define NETS_MOST_CONVS 64

struct net_text {
    const char *name;
    char *text; /* free() */
    size_t room;
    bool failed;                             /* no memory, or too many convolutions */
    struct conv_shape conv[NETS_MOST_CONVS]; /* for one image */
    int convs;
    int images;
    int64_t channels, size; /* of the latest blob */
    int blob;               /* its number */
};

/* One each; the caller frees `text`. `failed` says whether it is whole. */
void net_lenet(struct net_text *out);
void net_squeezenet(struct net_text *out); /* 1.1 */
void net_mobilenet(struct net_text *out);  /* v1 */
void net_resnet50(struct net_text *out);
/* `layers` layers that compute next to nothing. */
void net_of_trifles(struct net_text *out, int layers);

#endif
