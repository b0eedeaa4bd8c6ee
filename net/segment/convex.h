/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks whether the nodes that a plugin claims can run together, and finds their position. */
#ifndef FERRY_NET_SEGMENT_CONVEX_H
#define FERRY_NET_SEGMENT_CONVEX_H

#include "net/segment/graph.h"

/* The order of the items around a segment. */
struct ferry__cut {
    bool *inside; /* for each item: it belongs to the segment */
    bool *after;  /* for each item: it must run after the segment, although it precedes an item of
                   * the segment */
    int last;     /* the segment's last item */
};

/*
 * Checks the nodes with that segment number. *out_why is NULL if they can run together, otherwise
 * the violated rule. FERRY_ENOMEM. End the cut afterwards.
 */
int ferry__cut_make(const struct ferry__program *p, const struct ferry__graph_of *g,
                    const uint32_t *segment, uint32_t number, struct ferry__cut *out,
                    const char **out_why);
void ferry__cut_end(struct ferry__cut *cut);

/*
 * Inserts a zeroed item at the segment's position, moves the items that must run later behind it,
 * and updates the item numbers in the nodes of `g`. The segment's own items are dropped. *out_at is
 * the new item's number. FERRY_ENOMEM; nothing has changed then.
 */
int ferry__cut_apply(struct ferry__program *p, struct ferry__graph_of *g,
                     const struct ferry__cut *cut, int *out_at);

#endif
