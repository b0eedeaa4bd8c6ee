/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A segment of a program that the plugin has claimed: compiling it when its constants are known, and
 * running it.
 */
#ifndef FERRY_NET_SEGMENT_COMPILED_H
#define FERRY_NET_SEGMENT_COMPILED_H

#include "net/segment/graph.h"

struct ferry__claim {
    struct ferry__claim *next;
    int number; /* in its program, from 1 */
    struct ferry__grapher by;
    struct ferry__graph_of graph;
    void *prepared; /* NULL: not compiled yet, or its constants have been written */
    uint64_t workspace_bytes;
    uint64_t version; /* of the constants that it was compiled with */
    int *values;      /* what it reads, then what it writes */
    int n_reads, n_writes;
    ferry_cref *in; /* for a run */
    ferry_ref *out;
    ferry_memory_use *uses;
    ferry_memory *keeper; /* of no bytes: retains the device */
};

/* FERRY_EUNSUPPORTED, quietly, where the device's plugin has no such table. */
int ferry__grapher_of(ferry_device *dev, struct ferry__grapher *out);

/* A claim of the nodes with that number. FERRY_ENOMEM. */
int ferry__claim_make(const struct ferry__program *p, const struct ferry__grapher *by,
                      const struct ferry__graph_of *from, const uint32_t *segment, uint32_t number,
                      struct ferry__claim **out);
/* Destroys the compiled segment after its runs. NULL is accepted. */
void ferry__claim_end(struct ferry__claim *c);

/*
 * Compiles the segment, or takes it from the net's folder, unless it is compiled with the constants as
 * they are. *out_refused: the plugin cannot, and the log says why.
 */
int ferry__claim_prepare(struct ferry__claim *c, const ferry_net *net, bool *out_refused);

/* Runs it on `q`; what it writes is lost after a failure. */
int ferry__claim_run(struct ferry__claim *c, ferry_queue *q);

#endif
