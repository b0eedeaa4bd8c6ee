/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the nodes that a plugin claims can run together, and when.
 */
#ifndef FERRY_NET_SEGMENT_CONVEX_H
#define FERRY_NET_SEGMENT_CONVEX_H

#include "net/segment/graph.h"

/* Where the items around a segment run. */
struct ferry__cut {
    bool *inside; /* an entry for each item: it is of the segment */
    bool *after;  /* it has to run after the segment, though it is before its last item */
    int last;     /* the segment's last item */
};

/*
 * Checks the nodes with that segment number. *out_why is NULL if they can run together, otherwise the
 * rule that they violate. FERRY_ENOMEM. The cut is to be ended.
 */
int ferry__cut_make(const struct ferry__program *p, const struct ferry__graph_of *g,
                    const uint32_t *segment, uint32_t number, struct ferry__cut *out,
                    const char **out_why);
void ferry__cut_end(struct ferry__cut *cut);

/*
 * Puts a zero item where the segment runs, with the items that have to run later behind it, and gives
 * the nodes of `g` the new numbers of their items. The segment's own items are dropped. *out_at is the
 * new item's number. FERRY_ENOMEM; nothing has changed then.
 */
int ferry__cut_apply(struct ferry__program *p, struct ferry__graph_of *g,
                     const struct ferry__cut *cut, int *out_at);

#endif
