/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_STREAMS_H
#define FERRY_TOOL_STREAMS_H

#include "net.h"

/* `ferry time --streams`: nets that share weights and run at once, each on a thread of its own. */

#define STREAMS_MOST 256

/* The times of one stream's passes, in ms. */
struct stream_times {
    double median, worst;
};

struct streams {
    int count;
    int64_t passes;              /* of each stream */
    unsigned threads;            /* the limit of threads of one stream; 0: the device has none */
    double items_per_second;     /* of all streams together */
    struct stream_times *stream; /* free() */
};

/* The items of one pass: the first dimension of the first input; 1 without inputs. */
int64_t streams_items(const ferry_net *net);

/*
 * Opens streams->count nets as `r` requests, the first of which is `first`, shares its weights and
 * copies its inputs, runs each once, and then all at once for streams->passes passes. Sets the
 * other members. Returns an exit status; a failure is reported.
 */
int streams_run(const struct net_request *r, ferry_net *first, struct streams *streams);

#endif
