/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "processors.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>

/* Reads a number below PROCESSORS_MOST; −1: the text does not begin with one. */
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

struct trial {
    const struct processors *list;
    int forbidden;
};

/* The system refuses a thread a processor that is absent, or outside the process's cpuset. */
static void *try_each(void *arg)
{
    struct trial *t = arg;

    for (unsigned i = 0; i < t->list->count && t->forbidden < 0; i++) {
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET(t->list->number[i], &one);
        if (sched_setaffinity(0, sizeof(one), &one) != 0)
            t->forbidden = t->list->number[i];
    }
    return NULL;
}

int processors_forbidden(const struct processors *p)
{
    struct trial t = { .list = p, .forbidden = -1 };
    sigset_t all, before;
    pthread_t thread;

    sigfillset(&all); /* the program's own threads handle them */
    if (!p->count || pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return -1;
    if (pthread_create(&thread, NULL, try_each, &t) == 0)
        pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return t.forbidden;
}
