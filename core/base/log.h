/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log. A line logged while this thread holds a core lock is kept and written once the lock is
 * released, so that a callback may call ferry. A call writes its own line, and a few that other
 * threads have left; lines beyond a bound are dropped, and a further line gives their number.
 */
#ifndef FERRY_CORE_LOG_H
#define FERRY_CORE_LOG_H

#include <ferry/status.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * The priority of the destructor that writes the log's last lines; destructors that run before it
 * may log.
 */
#define FERRY__LOG_END 200

/* Whether FERRY_LOG enables lines of that level; cheap. */
bool ferry__log_enabled(int level);

/* Logs one line; the text has no newline. */
void ferry__log(int level, const char *fmt, ...) FERRY_PRINTF(2, 3);
void ferry__log_va(int level, const char *fmt, va_list args) FERRY_PRINTF(2, 0);

/*
 * Internal to log.c: how many regions this thread is inside, and whether it has kept lines there.
 */
extern _Thread_local struct ferry__log_regions {
    unsigned held;
    bool has_kept;
} ferry__log_regions;

/*
 * Internal to log.c: lines of other threads, or a report of dropped ones, wait, and no thread
 * writes them.
 */
extern atomic_bool ferry__log_left;

/* Writes the lines that this thread has kept, and a few that other threads have left. */
void ferry__log_write_kept(void);

/*
 * Called around every region that holds a core lock; nests. Lines logged inside are written by the
 * outermost release, together with a few that other threads have left.
 */
static inline void ferry__log_hold(void)
{
    ferry__log_regions.held++;
}

static inline void ferry__log_release(void)
{
    struct ferry__log_regions *r = &ferry__log_regions;

    if (--r->held == 0 &&
        (r->has_kept || atomic_load_explicit(&ferry__log_left, memory_order_relaxed)))
        ferry__log_write_kept();
}

/* Whether this thread is inside a region that holds a core lock. */
static inline bool ferry__log_is_held(void)
{
    return ferry__log_regions.held > 0;
}

/* Reads FERRY_LOG again; an invalid level is logged. */
void ferry__log_configure(void);

#endif
