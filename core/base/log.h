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
#include <stdbool.h>

/* The log's last lines are written by a destructor of that priority; those before it may log. */
#define FERRY__LOG_END 200

/* Whether lines of that level are wanted (FERRY_LOG); cheap. */
bool ferry__log_enabled(int level);

/* One line, without a newline. */
void ferry__log(int level, const char *fmt, ...) FERRY_PRINTF(2, 3);
void ferry__log_va(int level, const char *fmt, va_list args) FERRY_PRINTF(2, 0);

/*
 * Called around every region that holds a core lock; nests. Lines logged inside are written by the
 * outermost release, together with a few that other threads have left.
 */
void ferry__log_hold(void);
void ferry__log_release(void);

/* Whether this thread is inside such a region. */
bool ferry__log_is_held(void);

/* Reads FERRY_LOG again; an invalid level is logged. */
void ferry__log_configure(void);

#endif
