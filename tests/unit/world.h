/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_WORLD_H
#define FERRY_TEST_WORLD_H

#include "fixture.h"
#include "backends/sim/control.h"
#include <ferry/plugin.h>

/*
 * Tests of several devices. A world is a set of simulated devices with their options. A plugin is
 * opened once per process, so every world runs in a process of its own.
 *
 * Devices of the CUDA double can form a world too, for tests that do not need sim's clock: their
 * streams do not advance until a call waits. In such a world the calls of wx_fail_next are the
 * vendor's calls for memory and work, counted for all devices together as device 0's, and OP out of
 * memory is the first use of cuBLAS; no command fails later, and no device is lost.
 */

#define WX_DEVICES 2
#define WX_BYTES   4096

struct wx_world {
    const char *name;
    const char *const
        *options; /* of sim: key, value, …, NULL; "plugin", "cuda" first: the doubles */
    const ferry_test_case *cases;
    size_t ncases;
};

/* The world that is running. */
const struct wx_world *wx_running(void);

/* Runs the cases of each world; the suite reports as "SUITE, NAME". Returns main's exit status. */
int wx_main(int argc, char **argv, const char *suite, const struct wx_world *worlds, size_t n);

/*
 * Opens the devices of the running world. Each case starts with it and ends with wx_end, which
 * asserts that every byte, queue and event was given back, according to ferry's and sim's counters.
 */
void wx_begin(void);
void wx_end(void);

/*
 * As wx_begin, for programs without cases: opens devices with these options; returns false, after
 * printing the reason, on failure.
 */
bool wx_open(const char *const *options);
void wx_close(void);

ferry_runtime *wx_runtime(void);
ferry_device *wx_dev(int i);
ferry_queue *wx_queue(int i); /* its default queue */

/* A further queue of device i, or a failed case. */
ferry_queue *wx_queue_create(int i);

/* ---- sim's side of device i ---- */

void wx_fail_next(int i, uint32_t call, uint64_t nth, int code);
void wx_fail_later(int i, uint32_t call, uint64_t nth, int code);
void wx_lose(int i);
/* Stops the device's work, on the real clock, until it is released: waits for it block. */
void wx_hold(int i);
void wx_let_go(int i);
uint64_t wx_calls(int i, uint32_t call);
uint64_t wx_pending(int i);
uint64_t wx_run_all(void); /* Runs all work on every device, until none is left. */
/* Runs the work of that queue that can run without steps of others. */
uint64_t wx_run_queue(ferry_queue *q);
ferry_plugin_counters wx_counters(int i);

/* ---- statistics of device i since wx_mark ---- */

void wx_mark(void);
ferry_device_stats wx_since(int i);

/* ---- memories of WX_BYTES bytes, all of one value ---- */

ferry_memory *wx_memory(int home);
/*
 * A memory whose only valid copy is on the host, or on device i, and holds `value`; no work is
 * pending.
 */
ferry_memory *wx_memory_at_host(unsigned char value);
ferry_memory *wx_memory_at(int i, unsigned char value);

/* access, with the queue's device for `where`; a failed case if it fails. */
ferry_ref wx_access(ferry_memory *m, ferry_queue *q, unsigned access);
/*
 * Access on that queue and the work that belongs to it: write `value`, or copy into another memory.
 */
void wx_write_on(ferry_queue *q, ferry_memory *m, unsigned char value);
void wx_read_on(ferry_queue *q, ferry_memory *m, ferry_memory *into);
void wx_write_host(ferry_memory *m, unsigned char value);
/* Whether the host reads `value` in every byte. */
bool wx_host_reads(ferry_memory *m, unsigned char value);
/* Whether a kernel on that queue reads `value` in every byte. */
bool wx_reads_on(ferry_queue *q, ferry_memory *m, unsigned char value);
/* Which copies are valid: bit 0 the host, bit 1 + i device i. */
unsigned wx_valid(const ferry_memory *m);
#define WX_HOST   1u
#define WX_DEV(i) (2u << (i))

/* ---- blobs of F32 of device 0 ---- */

/* A blob of one axis, not yet written. */
ferry_blob *wx_blob(int64_t count);
void wx_reshape(ferry_blob *b, int64_t count);
/*
 * The first writes first, first + 1, … on the host; the second checks these values in a range of
 * elements.
 */
void wx_put(ferry_blob *b, float first);
bool wx_holds(ferry_blob *b, int64_t from, int64_t to, float first);

/*
 * Runs the work of that queue that can run without steps of other queues; returns whether none is
 * left.
 */
bool wx_idle(ferry_queue *q);

#endif
