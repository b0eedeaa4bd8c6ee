/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file that a trace is written to: JSON, event by event, so that the file stays readable after
 * the disk is full. Nothing here locks or logs; the caller does both.
 */
#ifndef FERRY_CORE_TRACE_FILE_H
#define FERRY_CORE_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Creates or truncates the file and begins the array of events. Returns NULL, or the reason of the
 * failure: it cannot be opened, or is neither a regular file nor a character device, so that
 * opening or writing might block.
 */
const char *ferry__trace_file_open(const char *path);

/* Write pieces of an event: plain text, a quoted string, a number, and microseconds from ns. */
void ferry__trace_put(const char *text);
void ferry__trace_put_string(const char *s);
void ferry__trace_put_number(uint64_t number);
void ferry__trace_put_time(uint64_t ns);

/* Called before and after each event; begin writes the comma. */
void ferry__trace_begin(void);
void ferry__trace_end(void);

/* Writes the buffer. */
void ferry__trace_file_flush(void);

/* Ends the array and closes the file. */
void ferry__trace_file_close(void);

/*
 * Whether writing has failed since the last call: then the file ends after *out_events complete
 * events, with its brackets closed, and nothing is written any more. `why` has room for `size`.
 */
bool ferry__trace_file_failed(uint64_t *out_events, char *why, size_t size);

#endif
