/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_NETS_H
#define FERRY_BENCH_NETS_H

#include "conv.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Well-known nets of Caffe, written here as prototxts, with random weights; and their convolutions,
 * for the comparison with im2col and a BLAS.
 */

#define NETS_MOST_CONVS 128

struct net_text {
    int batch; /* set before: the batch size of a net to train, which ends in its loss; 0: one that
                * classifies, with the batch size of the comparison */
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

/*
 * Each writes one net; the caller sets `batch` and frees `text`. `failed`: the text is incomplete.
 */
void net_lenet(struct net_text *out);
void net_squeezenet(struct net_text *out); /* 1.1 */
void net_mobilenet(struct net_text *out);  /* v1 */
void net_resnet50(struct net_text *out);
void net_densenet121(struct net_text *out);
void net_vgg16(struct net_text *out);
void net_googlenet(struct net_text *out); /* without the two losses in its middle */
/* `layers` layers that compute almost nothing. */
void net_of_trifles(struct net_text *out, int layers);

#endif
