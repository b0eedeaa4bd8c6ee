/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores compiled segments in the net's folder: one file for each graph with its constants. */
#ifndef FERRY_NET_SEGMENT_STORE_H
#define FERRY_NET_SEGMENT_STORE_H

#include "net/segment/graph.h"

/* The size of a buffer for a path. */
#define FERRY__STORE_PATH 4096

/* The location of a segment's file; a segment without a path is not stored. */
struct ferry__stored {
    char path[FERRY__STORE_PATH];
    char compatibility[512];
    uint64_t key;
};

/*
 * Finds the file of a graph with these constants. Errors are those of the plugin's compatibility
 * entry.
 */
int ferry__store_find(const ferry_net *net, const struct ferry__grapher *by,
                      const struct ferry__graph_of *graph, const void *const *constants,
                      struct ferry__stored *out);

/*
 * Loads the segment if there is a complete file with the plugin's compatibility string. Otherwise
 * *out is unchanged, the result is 0, and the log has the reason why a file was ignored.
 */
int ferry__store_load(const struct ferry__stored *file, const struct ferry__grapher *by,
                      const struct ferry__graph_of *graph, void **out,
                      uint64_t *out_workspace_bytes);

/* Saves a compiled segment. A failure is a warning: the next process compiles again. */
void ferry__store_save(const struct ferry__stored *file, const struct ferry__grapher *by,
                       void *prepared);

#endif
