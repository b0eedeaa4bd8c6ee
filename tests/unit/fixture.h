/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_FIXTURE_H
#define FERRY_TEST_FIXTURE_H

#include "ferry-test.h"
#include <ferry/ferry.h>
#include <stdbool.h>

/*
 * Functions that the black-box tests share: a device of the backend under test, its counters, and
 * elements of any dtype written and read without ferry.
 */

/*
 * The selected device of the backend under test, in a runtime that is open until the backend
 * changes or the program ends. If it cannot be opened, the case ends. Records the live bytes for
 * fx_end.
 */
ferry_device *fx_device(void);

/* The runtime of that device. */
ferry_runtime *fx_runtime(void);

/* Asserts that the case freed every byte that it allocated since fx_device. */
void fx_end(void);

/* Whether copies to and from the device are real, and therefore counted. */
bool fx_discrete(void);

/* Whether the backend computes prepared operations itself. */
bool fx_has_operations(void);

/*
 * sim's control table for one of its devices (backends/sim/control.h); the case ends on another
 * plugin.
 */
struct sim_control;
void fx_sim(ferry_device *dev, const struct sim_control **out_control, void **out_sim);

/* The device's statistics between the last fx_mark and now. */
void fx_mark(void);
ferry_device_stats fx_since(void);

/* Copies in either direction since fx_mark; bytes likewise. */
uint64_t fx_copies(void);
uint64_t fx_bytes(void);

/* `copies` on a discrete device, 0 on one whose memory is the host's. */
uint64_t fx_price(uint64_t copies);

/* Element i of an array of any dtype, as a double. Writing rounds to nearest even. */
double fx_get(ferry_dtype dtype, const void *array, int64_t i);
void fx_set(ferry_dtype dtype, void *array, int64_t i, double value);

/* Converts a double to binary16 or bfloat16, rounded to nearest even, and back. */
uint16_t fx_encode16(ferry_dtype dtype, double value);
double fx_decode16(ferry_dtype dtype, uint16_t bits);

/* Relative error of the dtype's own rounding. */
double fx_epsilon(ferry_dtype dtype);

/* The dtypes with arithmetic, and their number. */
extern const ferry_dtype fx_floats[4];

/* A blob on the device; fails the case on error. */
ferry_blob *fx_blob(ferry_dtype dtype, int rank, const int64_t *shape);
#define FX_BLOB(dtype, ...)                                                       \
    fx_blob((dtype), (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), \
            (const int64_t[]){ __VA_ARGS__ })

/* A memory on the device; fails the case on error. */
ferry_memory *fx_memory(size_t bytes);

/* Sets `bytes` bytes at `ref` of the device to `value`, in queue order. */
void fx_device_set(ferry_ref ref, size_t bytes, unsigned char value);

/* Bytes at a device reference, read through a memory of the fixture. */
void fx_device_get(ferry_cref ref, size_t bytes, void *out);

/* A deleter that counts its calls in an int. */
void fx_count_call(void *arg);

/* A memory of FX_BYTES bytes in some state contains FX_OLD; new contents of a test are FX_NEW. */
#define FX_BYTES 4096
#define FX_OLD   0x5a
#define FX_NEW   0x77

/* A memory in state `head`; `warm`: both copies have been allocated before. */
ferry_memory *fx_memory_in(ferry_memory_head_state head, bool warm);

/* The head, and both bits from which it is derived. */
void fx_check_head(const ferry_memory *m, ferry_memory_head_state head);

/* Whether the bytes in use of a memory all equal `value`. */
bool fx_is_filled(const ferry_memory *m, unsigned char value);

/* Writes numbers from -1 to 1, which repeat after 101 elements, into an F32 blob. */
void fx_fill(ferry_blob *b);

/* Whether FX_BYTES bytes all equal `value`. */
bool fx_all_equal(const unsigned char *bytes, unsigned char value);

/*
 * Whether every valid copy contains `value` throughout. Reads only valid copies, so that the head
 * does not move.
 */
void fx_check_contents(const ferry_memory *m, unsigned char value);

#define FX_OK(call)          CU_ASSERT_EQUAL((call), FERRY_OK)
#define FX_OK_FATAL(call)    CU_ASSERT_EQUAL_FATAL((call), FERRY_OK)
#define FX_FAILS(code, call) CU_ASSERT_EQUAL((call), (code))

/* For calls that report their code by ferry_last_error_code. */
#define FX_FAILED(code, is_null)                          \
    do {                                                  \
        CU_ASSERT_TRUE(is_null);                          \
        CU_ASSERT_EQUAL(ferry_last_error_code(), (code)); \
        CU_ASSERT_NOT_EQUAL(ferry_last_error()[0], '\0'); \
    } while (0)

#endif
