/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_PROGRESS_H
#define FERRY_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The progress of a long command, and its interruption. */

/* A bar on standard error, shown if that is a terminal and the command takes more than a second. */
struct progress {
    bool shown, quiet;       /* quiet: --quiet was given */
    const char *what, *unit; /* for example "merging"; for example "passes", NULL: bytes */
    uint64_t total, done;
    double begin, last; /* time in seconds of the first step, and of the line shown; 0 if none is
                         * shown */
};

/* The caller sets p->quiet; this sets all other members. */
void progress_begin(struct progress *p, const char *what, const char *unit, uint64_t total);
void progress_step(struct progress *p, uint64_t done);
void progress_end(struct progress *p);

/*
 * Formats "merging [### ] 50% 512.0 MiB/s 0:07 left" after `elapsed` seconds, more than 0. If the
 * line exceeds `room` characters, the bar is shortened, then left out, then the line is cut; 0
 * means unlimited room.
 */
void progress_text(const struct progress *p, double elapsed, int room, char *buf, size_t size);

/* From here on an interrupt only sets a flag, which the loops check. */
void catch_interrupts(void);
bool is_interrupted(void);

/* If an interrupt was requested, ends the process by its signal, as a shell expects. */
void die_if_interrupted(void);

#endif
