/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_PROGRESS_H
#define FERRY_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far a long command is, and whether it is to stop. */

/* A bar on standard error where that is a terminal and it takes more than a second, otherwise nothing. */
struct progress {
    bool shown, quiet;       /* quiet: --quiet was given */
    const char *what, *unit; /* "merging"; "passes", NULL: bytes */
    uint64_t total, done;
    double begin, last; /* seconds: of the first step, of the line that is shown; 0: none is */
};

/* p->quiet is the caller's; all else is set here. */
void progress_begin(struct progress *p, const char *what, const char *unit, uint64_t total);
void progress_step(struct progress *p, uint64_t done);
void progress_end(struct progress *p);

/*
 * "merging [###   ]  50%  512.0 MiB/s  0:07 left": the line after `elapsed` seconds, more than 0. Where `room`
 * characters are too few for it the bar is shorter, or left out, and then the line is cut; 0: there is room.
 */
void progress_text(const struct progress *p, double elapsed, int room, char *buf, size_t size);

/* From here on an interrupt is a request, which the loops ask about. */
void catch_interrupts(void);
bool is_interrupted(void);

/* Where one was asked for: dies of it, as a shell expects. */
void die_if_interrupted(void);

#endif
