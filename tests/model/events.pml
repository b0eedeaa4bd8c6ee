/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event rules of one memory: a copy on the host and on devices, whose queues run on their own
 * while one host thread submits work and hardly ever waits.
 *
 * Places: 0 the host, 1 and 2 devices. Queue q runs its commands in order; an event is a position
 * in a queue, and has happened once the queue has run that many commands. For each place the host
 * keeps, by queue, the position of the latest command that writes and of the latest that reads it.
 *
 * Nothing is lost if every read, on a queue or on the host, finds what was latest when the program
 * asked for it; the queues' assertions say so. Nothing deadlocks if the search finds no invalid end.
 *
 * One device each with a queue of its own, or, with TWO_QUEUES, one device with both. BROKEN_… each
 * leave a rule out, and must be found out.
 */

#ifndef STEPS
#define STEPS 4
#endif
#define PLACES 3
#define QUEUES 2
#define AT(table, p, q) latest_of[((table) * PLACES + (p)) * QUEUES + (q)]
#define WRITERS 0
#define READERS 1

mtype = { COPY, WRITE, READ, WAIT };

chan work[QUEUES] = [3] of { mtype, byte, byte };
byte sent[QUEUES], done[QUEUES];
byte data[PLACES];
bool valid[PLACES];
byte latest;
byte latest_of[2 * PLACES * QUEUES]; /* positions, by AT */

/* ---- a queue -------------------------------------------------------------------------------- */

proctype queue(byte me)
{
    mtype kind;
    byte a, b;

end:
    do
    :: work[me]?kind, a, b ->
        if
        :: kind == COPY -> data[b] = data[a]
        :: kind == WRITE -> data[a] = b
        :: kind == READ -> assert(data[a] == b)
        :: kind == WAIT -> done[a] >= b
        fi;
        done[me]++
    od
}

/* ---- what the host submits ------------------------------------------------------------------ */

inline submit(q, kind, a, b)
{
    work[q]!kind, a, b;
    sent[q]++
}

/* Later work on q waits for those positions of the other queue; its own it runs in order. */
inline order(q, table, p)
{
    if
    :: AT(table, p, 1 - q) > done[1 - q] -> submit(q, WAIT, 1 - q, AT(table, p, 1 - q))
    :: else
    fi
}

inline host_waits(table, p)
{
    done[0] >= AT(table, p, 0) && done[1] >= AT(table, p, 1)
}

inline note(table, p, q)
{
#ifdef BROKEN_EVENT
    AT(table, p, q) = sent[q] + 1
#else
    AT(table, p, q) = sent[q]
#endif
}

/* A copy waits for its source's writers and for everybody on its target, and reads its source. */
inline copy(from, to, q)
{
    order(q, WRITERS, from);
    order(q, WRITERS, to);
#ifndef BROKEN_STALE
    order(q, READERS, to);
#endif
    if
    :: to == 0 -> host_waits(WRITERS, to); host_waits(READERS, to)
    :: else
    fi;
    submit(q, COPY, from, to);
    note(WRITERS, to, q);
#ifndef BROKEN_SOURCE
    note(READERS, from, q)
#endif
}

/* Any valid copy will do as a source; the queue is the receiver's, or the source's to the host. */
inline bring(p, q)
{
    if
    :: valid[p]
    :: !valid[p] && valid[0] -> copy(0, p, q)
    :: !valid[p] && p == 2 && valid[1] -> copy(1, p, q)
    :: !valid[p] && p == 1 && valid[2] -> copy(2, p, q)
    :: !valid[p] && p == 0 && valid[1] -> choose_queue(1, q); copy(1, p, q)
    :: !valid[p] && p == 0 && valid[2] -> choose_queue(2, q); copy(2, p, q)
    fi;
    valid[p] = true
}

inline choose_queue(p, q)
{
#ifdef TWO_QUEUES
    if
    :: q = 0
    :: q = 1
    fi
#else
    q = (p == 2 -> 1 : 0)
#endif
}

/* ---- what the program asks for -------------------------------------------------------------- */

inline read_at(p, q)
{
    bring(p, q);
    if
    :: p == 0 ->
#ifndef BROKEN_HOST
        host_waits(WRITERS, 0);
#endif
        assert(data[0] == latest)
    :: else ->
        order(q, WRITERS, p);
        submit(q, READ, p, latest);
        note(READERS, p, q)
    fi
}

inline write_at(p, q)
{
    latest++;
    if
    :: p == 0 ->
        host_waits(WRITERS, 0);
        host_waits(READERS, 0);
        data[0] = latest
    :: else ->
        order(q, WRITERS, p);
#ifndef BROKEN_READERS
        order(q, READERS, p);
#endif
        submit(q, WRITE, p, latest);
        note(WRITERS, p, q)
    fi;
    valid[0] = false;
    valid[1] = false;
    valid[2] = false;
    valid[p] = true
}

init {
    byte step, p, q;

    valid[0] = true;
    run queue(0);
    run queue(1);
    do
    :: step < STEPS ->
        step++;
        if
        :: p = 0
        :: p = 1
#ifndef TWO_QUEUES
        :: p = 2
#endif
        fi;
        choose_queue(p, q);
        if
        :: read_at(p, q)
        :: write_at(p, q)
        :: bring(p, q) /* prefetch */
        fi
    :: else -> break
    od;
    p = 0;
    choose_queue(p, q);
    read_at(p, q) /* no update is lost */
}
