/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "processors.h"

#include <sched.h>

/* Reads a number below PROCESSORS_MOST; −1: there is none. */
static int number(const char **text)
{
    int n = 0;

    if (**text < '0' || **text > '9')
        return -1;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        n = 10 * n + (**text - '0');
        if (n >= PROCESSORS_MOST)
            return -1;
    }
    return n;
}

int processors_parse(const char *text, struct processors *out)
{
    out->count = 0;
    while (*text) {
        int first = number(&text), last = first;

        if (first >= 0 && *text == '-') {
            text++;
            last = number(&text);
        }
        if (last < first || first < 0)
            return -1;
        for (; first <= last; first++) {
            if (out->count == PROCESSORS_MOST)
                return -1;
            out->number[out->count++] = (unsigned short)first;
        }
        if (*text == ',' && text[1])
            text++;
        else if (*text)
            return -1;
    }
    return 0;
}

int processors_forbidden(const struct processors *p)
{
    cpu_set_t allowed;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return -1; /* the machine has more processors than the set; binding them decides */
    for (unsigned i = 0; i < p->count; i++)
        if (!CPU_ISSET(p->number[i], &allowed))
            return p->number[i];
    return -1;
}
