/* SPDX-License-Identifier: BSD-2-Clause */
/* The processors that threads are bound to. */
#ifndef FERRY_CPU_PROCESSORS_H
#define FERRY_CPU_PROCESSORS_H

#define PROCESSORS_MOST 1024

struct processors {
    unsigned count; /* 0: threads are not bound */
    unsigned short number[PROCESSORS_MOST];
};

/*
 * Reads a list of the system's numbers of processors: numbers and ranges, separated by commas, as
 * "0-3,8"; "" has none. 0, or −1: it is not such a list, or has more than PROCESSORS_MOST numbers;
 * *out is undefined then.
 */
int processors_parse(const char *text, struct processors *out);
/*
 * The first processor of the list that this process may not run on; −1: it may run on all, or no
 * thread can be started to try. The calling thread's own processors do not matter.
 */
int processors_forbidden(const struct processors *p);

#endif
