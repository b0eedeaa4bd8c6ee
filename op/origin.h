/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Origins of constants: functions that compute their bytes again. Their pages are given back to
 * the system while only packed forms of them are in use.
 *
 * The memory of such a constant stays valid on the host, with the same version, in spite of that:
 * its contents are those that `fill` computes. Code that reads the memory therefore brackets the
 * reads by ferry__origin_begin and _end, or calls ferry__origin_keep before. Both accept memories
 * without an origin, which they leave as they are.
 */
#ifndef FERRY_OP_ORIGIN_H
#define FERRY_OP_ORIGIN_H

#include <ferry/memory.h>

#include <stdbool.h>

struct ferry__origin;

/* The fewest bytes for which an origin is useful: smaller constants share pages with others. */
#define FERRY__ORIGIN_BYTES (64u * 1024)

/*
 * Writes the constant's bytes, always the same. Callable from any thread, one at a time. After a
 * failure, which it records, the bytes are undefined.
 */
typedef int (*ferry__origin_fill)(void *arg, void *bytes);

/*
 * Gives `memory`, whose home works in the program's memory, a host copy of all its bytes in use
 * that is computed when it is needed. A writing call on the memory. The origin lives as long as
 * this copy of the memory. Then, or when the bytes are kept or replaced, `end`, if it is not NULL,
 * is called once with `arg`. FERRY_ENOMEM, the errors of ferry_memory_adopt; nothing has then
 * changed, and `end` is not called.
 */
int ferry__origin_create(ferry_memory *memory, ferry__origin_fill fill, void (*end)(void *arg),
                         void *arg);

/*
 * Ends the origin of a memory that no thread reads, without a call of `end`. The contents are
 * undefined unless they were kept.
 */
void ferry__origin_forget(const ferry_memory *memory);

/*
 * Makes the bytes of a memory readable until ferry__origin_end(*out). *out is NULL if the memory
 * has no origin. Callable from any thread. The errors of `fill`.
 */
int ferry__origin_begin(const ferry_memory *memory, struct ferry__origin **out);
/* Ends the reads that ferry__origin_begin allowed, which are complete. NULL is accepted. */
void ferry__origin_end(struct ferry__origin *s);

/* Makes the bytes of a memory readable for its whole life. Callable from any thread. */
int ferry__origin_keep(const ferry_memory *memory);

/* Whether a memory has an origin and its bytes stay readable. Callable from any thread. */
bool ferry__origin_is_kept(const ferry_memory *memory);

/* The caller is going to write all bytes of a memory, which are readable from then on. */
void ferry__origin_replace(const ferry_memory *memory);

#endif
