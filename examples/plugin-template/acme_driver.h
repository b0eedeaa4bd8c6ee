/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ACME_DRIVER_H
#define ACME_DRIVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The simulated driver of a vendor, so that the template builds, runs and passes `ferry check`
 * unchanged. Delete acme_driver.[ch], and include and link your vendor's instead.
 *
 * Its accelerator has 256 MiB of memory and any number of streams. A thread executes the work of a
 * stream later, in order.
 */

enum { ACME_OK = 0, ACME_OUT_OF_MEMORY = 2, ACME_OUT_OF_THREADS = 5 };

typedef struct acme_stream acme_stream;
typedef struct acme_event acme_event;

const char *acme_error_name(int code); /* "ACME_OUT_OF_MEMORY" */

int acme_malloc(void **out, size_t bytes);
int acme_free(void *ptr);
size_t acme_size(const void *ptr); /* the requested size of a block */
void acme_memory_info(size_t *out_free, size_t *out_total);

/* Blocking. */
int acme_memcpy(void *dst, const void *src, size_t bytes);
int acme_memset(void *dst, int byte, size_t bytes);
int acme_saxpy(long n, float alpha, const float *x, float *y);
int acme_srelu(long n, float slope, const float *x, float *y); /* x may be y */

/* The same on a stream: they return at once. */
int acme_stream_create(acme_stream **out);
int acme_stream_destroy(acme_stream *stream); /* waits for its work */
int acme_stream_synchronize(acme_stream *stream);
int acme_device_synchronize(void); /* of all streams */
int acme_memcpy_async(acme_stream *stream, void *dst, const void *src, size_t bytes);
int acme_memset_async(acme_stream *stream, void *dst, int byte, size_t bytes);
int acme_saxpy_async(acme_stream *stream, long n, float alpha, const float *x, float *y);

/* An event is complete once all earlier work of its stream is complete. */
int acme_event_record(acme_stream *stream, acme_event **out);
int acme_event_is_done(acme_event *event);
int acme_event_synchronize(acme_event *event);
int acme_event_destroy(acme_event *event);
/* Later work of the stream waits for the event, which may be destroyed at once. */
int acme_stream_wait(acme_stream *stream, acme_event *event);

#ifdef __cplusplus
}
#endif

#endif
