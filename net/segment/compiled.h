/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A segment of a program that the plugin has claimed: compiled when its constants are known, then
 * run.
 */
#ifndef FERRY_NET_SEGMENT_COMPILED_H
#define FERRY_NET_SEGMENT_COMPILED_H

#include "net/segment/graph.h"

struct ferry__claim {
    struct ferry__claim *next;
    int number; /* its number in its program, starting at 1 */
    struct ferry__grapher by;
    struct ferry__graph_of graph;
    void *prepared; /* NULL: not compiled yet, or its constants have been written */
    uint64_t workspace_bytes;
    uint64_t version; /* the version of the constants that it was compiled with */
    int *values;      /* the values that it reads, then those that it writes */
    int n_reads, n_writes;
    ferry_cref *in; /* the arguments of a run */
    ferry_ref *out;
    ferry_memory_use *uses;
    ferry_memory *keeper; /* a memory of 0 bytes that retains the device */
};

/*
 * Finds the device's table "ferry.graph/1". FERRY_EUNSUPPORTED, without a log line, if its plugin
 * has no such table.
 */
int ferry__grapher_of(ferry_device *dev, struct ferry__grapher *out);

/* Creates a claim of the nodes with that segment number. FERRY_ENOMEM. */
int ferry__claim_make(const struct ferry__program *p, const struct ferry__grapher *by,
                      const struct ferry__graph_of *from, const uint32_t *segment, uint32_t number,
                      struct ferry__claim **out);
/* Destroys the compiled segment after its runs. NULL is accepted. */
void ferry__claim_end(struct ferry__claim *c);

/*
 * Compiles the segment, or loads it from the net's folder, unless it is compiled with the present
 * constants. *out_refused: the plugin cannot compile it, and the log has the reason.
 */
int ferry__claim_prepare(struct ferry__claim *c, const ferry_net *net, bool *out_refused);

/* Runs the segment on `q`; after a failure the contents that it writes are lost. */
int ferry__claim_run(struct ferry__claim *c, ferry_queue *q);

#endif
