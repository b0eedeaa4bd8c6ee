/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order between queues, by vector clocks: each queue counts its submissions, and a vector has
 * the number of submissions of each queue that happen before a point. All host threads share one
 * clock, so that a wait of any thread orders the later work of all: a correct order is never
 * reported, a race between threads may be missed.
 */
#include "config.h"

#include "core/validate/track.h"

static struct ferry__vector host;
static uint64_t count[FERRY__CLOCKS]; /* submissions of each queue */
static bool used[FERRY__CLOCKS];

int ferry__clock_take(void)
{
    int i;

    for (i = 0; i < FERRY__CLOCKS && used[i]; i++)
        ;
    if (i == FERRY__CLOCKS)
        return -1;
    used[i] = true;
    host.at[i] = count[i]; /* work of another queue that precedes it */
    return i;
}

void ferry__clock_give_back(int clock)
{
    if (clock < 0)
        return;
    used[clock] = false;
    host.at[clock] = count[clock];
}

static void merge(struct ferry__vector *into, const struct ferry__vector *from)
{
    for (int i = 0; i < FERRY__CLOCKS; i++)
        if (into->at[i] < from->at[i])
            into->at[i] = from->at[i];
}

void ferry__order_submit(struct ferry__tracked_queue *q)
{
    if (q->clock < 0)
        return;
    merge(&q->vector, &host);
    q->vector.at[q->clock] = ++count[q->clock];
}

void ferry__order_wait(const struct ferry__vector *done)
{
    merge(&host, done);
}

bool ferry__order_is_done(const struct ferry__vector *work)
{
    for (int i = 0; i < FERRY__CLOCKS; i++)
        if (host.at[i] < work->at[i])
            return false;
    return true;
}

void ferry__order_note(const struct ferry__tracked_queue *q, struct ferry__vector *work)
{
    if (q->clock >= 0)
        work->at[q->clock] = q->vector.at[q->clock];
}

void ferry__order_join(struct ferry__tracked_queue *q, const struct ferry__vector *done)
{
    merge(&q->vector, done);
}

static bool is_behind(const struct ferry__access *a, const struct ferry__vector *now)
{
    return now->at[a->queue] >= a->when;
}

bool ferry__order_access(struct ferry__tracked_block *b, const struct ferry__tracked_queue *q,
                         uint64_t from, uint64_t bytes, bool writes)
{
    struct ferry__access now = { from, from + bytes, 0, q->clock, writes };
    bool ordered = true;

    if (q->clock < 0 || !bytes)
        return true;
    now.when = q->vector.at[q->clock];
    for (unsigned i = 0; i < FERRY__ACCESSES; i++) {
        const struct ferry__access *a = &b->accesses[i];

        if (a->to && (writes || a->writes) && a->from < now.to && now.from < a->to &&
            !is_behind(a, &q->vector))
            ordered = false;
    }
    b->accesses[b->latest++ % FERRY__ACCESSES] = now;
    return ordered;
}

bool ferry__order_is_idle(const struct ferry__tracked_block *b)
{
    for (unsigned i = 0; i < FERRY__ACCESSES; i++)
        if (b->accesses[i].to && !is_behind(&b->accesses[i], &host))
            return false;
    return true;
}
