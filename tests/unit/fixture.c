/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char backend[64];
    ferry_runtime *rt;
    ferry_device *dev;
    uint64_t live_before;
    ferry_device_stats mark;
} fx;

const ferry_dtype fx_floats[4] = { FERRY_F32, FERRY_F64, FERRY_F16, FERRY_BF16 };

static void close_runtime(void)
{
    ferry_runtime_close(fx.rt);
    fx.rt = NULL;
    fx.dev = NULL;
}

static void open_runtime(const char *backend)
{
    static bool registered;
    ferry_runtime_options options = { .struct_size = sizeof(options), .backend = backend };
    int err;

    if (!registered)
        atexit(close_runtime);
    registered = true;
    snprintf(fx.backend, sizeof(fx.backend), "%s", backend);
    err = ferry_runtime_open(&options, &fx.rt);
    if (!err)
        err = ferry_runtime_get_device(fx.rt, NULL, &fx.dev);
    if (err)
        printf("     no device of %s: %s\n", backend, ferry_last_error());
}

static ferry_device_stats stats_now(void)
{
    ferry_device_stats now = { .struct_size = sizeof now };

    CU_ASSERT_EQUAL(ferry_device_get_stats(fx.dev, &now), FERRY_OK);
    return now;
}

ferry_device *fx_device(void)
{
    const char *backend = ferry_test_backend();

    CU_ASSERT_PTR_NOT_NULL_FATAL(backend);
    if (fx.rt && strcmp(fx.backend, backend) != 0)
        close_runtime();
    if (!fx.rt)
        open_runtime(backend);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fx.dev);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ferry_device_queue(fx.dev));
    fx.live_before = stats_now().live_bytes;
    fx_mark();
    return fx.dev;
}

ferry_runtime *fx_runtime(void)
{
    return fx.rt;
}

void fx_end(void)
{
    CU_ASSERT_EQUAL(stats_now().live_bytes, fx.live_before);
}

bool fx_has_operations(void)
{
    const char *said = getenv("FERRY_TEST_OPERATIONS");

    return !said || strcmp(said, "none") != 0;
}

bool fx_discrete(void)
{
    return ferry_device_get_properties(fx.dev)->discrete != 0;
}

void fx_mark(void)
{
    fx.mark = stats_now();
}

ferry_device_stats fx_since(void)
{
    ferry_device_stats now = stats_now();

    now.copies_h2d -= fx.mark.copies_h2d;
    now.copies_d2h -= fx.mark.copies_d2h;
    now.copies_d2d -= fx.mark.copies_d2d;
    now.bytes_h2d -= fx.mark.bytes_h2d;
    now.bytes_d2h -= fx.mark.bytes_d2h;
    now.bytes_d2d -= fx.mark.bytes_d2d;
    now.maps -= fx.mark.maps;
    now.allocs -= fx.mark.allocs;
    now.frees -= fx.mark.frees;
    now.pool_hits -= fx.mark.pool_hits;
    now.fallbacks -= fx.mark.fallbacks;
    return now;
}

uint64_t fx_copies(void)
{
    ferry_device_stats s = fx_since();

    return s.copies_h2d + s.copies_d2h;
}

uint64_t fx_bytes(void)
{
    ferry_device_stats s = fx_since();

    return s.bytes_h2d + s.bytes_d2h;
}

uint64_t fx_price(uint64_t copies)
{
    return fx_discrete() ? copies : 0;
}

/* ---- elements ------------------------------------------------------------------------------- */

static void layout16(ferry_dtype dtype, int *mantissa, int *min_exponent, int *max_exponent)
{
    *mantissa = dtype == FERRY_F16 ? 10 : 7;
    *min_exponent = dtype == FERRY_F16 ? -14 : -126;
    *max_exponent = dtype == FERRY_F16 ? 15 : 127;
}

uint16_t fx_encode16(ferry_dtype dtype, double value)
{
    int mantissa, emin, emax, e;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double units;

    layout16(dtype, &mantissa, &emin, &emax);
    if (isnan(value))
        return (uint16_t)(sign | (unsigned)((emax * 2 + 1) << mantissa) | 1u << (mantissa - 1));
    value = fabs(value);
    if (value == 0)
        return sign;
    if (isinf(value))
        return (uint16_t)(sign | (unsigned)((emax * 2 + 1) << mantissa));
    frexp(value, &e);
    e = e - 1 < emin ? emin : e - 1;
    units = nearbyint(ldexp(value, mantissa - e)); /* in units of the last place; rounds to even */
    if (units >= ldexp(1, mantissa + 1)) {
        units /= 2;
        e++;
    }
    if (e > emax)
        return (uint16_t)(sign | (unsigned)((emax * 2 + 1) << mantissa));
    if (units < ldexp(1, mantissa))
        return (uint16_t)(sign | (unsigned)units); /* subnormal */
    return (uint16_t)(sign | (unsigned)((e - emin + 1) << mantissa) |
                      ((unsigned)units & ((1u << mantissa) - 1)));
}

double fx_decode16(ferry_dtype dtype, uint16_t bits)
{
    int mantissa, emin, emax, e;
    double sign = bits & 0x8000 ? -1 : 1;
    unsigned fraction;

    layout16(dtype, &mantissa, &emin, &emax);
    fraction = bits & ((1u << mantissa) - 1);
    e = (bits & 0x7fff) >> mantissa;
    if (e == emax * 2 + 1)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    if (e == 0)
        return sign * ldexp(fraction, emin - mantissa);
    return sign * ldexp(fraction + (1u << mantissa), e - 1 + emin - mantissa);
}

double fx_get(ferry_dtype dtype, const void *array, int64_t i)
{
    switch (dtype) {
    case FERRY_F32:
        return ((const float *)array)[i];
    case FERRY_F64:
        return ((const double *)array)[i];
    case FERRY_F16:
    case FERRY_BF16:
        return fx_decode16(dtype, ((const uint16_t *)array)[i]);
    case FERRY_I8:
        return ((const int8_t *)array)[i];
    case FERRY_U8:
        return ((const uint8_t *)array)[i];
    case FERRY_I32:
        return ((const int32_t *)array)[i];
    case FERRY_I64:
        return (double)((const int64_t *)array)[i];
    case FERRY_U32:
        return ((const uint32_t *)array)[i];
    }
    return (double)NAN;
}

void fx_set(ferry_dtype dtype, void *array, int64_t i, double value)
{
    switch (dtype) {
    case FERRY_F32:
        ((float *)array)[i] = (float)value;
        break;
    case FERRY_F64:
        ((double *)array)[i] = value;
        break;
    case FERRY_F16:
    case FERRY_BF16:
        ((uint16_t *)array)[i] = fx_encode16(dtype, value);
        break;
    case FERRY_I8:
        ((int8_t *)array)[i] = (int8_t)value;
        break;
    case FERRY_U8:
        ((uint8_t *)array)[i] = (uint8_t)value;
        break;
    case FERRY_I32:
        ((int32_t *)array)[i] = (int32_t)value;
        break;
    case FERRY_I64:
        ((int64_t *)array)[i] = (int64_t)value;
        break;
    case FERRY_U32:
        ((uint32_t *)array)[i] = (uint32_t)value;
        break;
    }
}

double fx_epsilon(ferry_dtype dtype)
{
    switch (dtype) {
    case FERRY_F32:
        return ldexp(1, -23);
    case FERRY_F64:
        return ldexp(1, -52);
    case FERRY_F16:
        return ldexp(1, -10);
    case FERRY_BF16:
        return ldexp(1, -7);
    default:
        return 0;
    }
}

/* ---- objects -------------------------------------------------------------------------------- */

ferry_blob *fx_blob(ferry_dtype dtype, int rank, const int64_t *shape)
{
    ferry_blob *b = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_blob_create(fx.dev, dtype, shape, rank, &b), FERRY_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    return b;
}

ferry_memory *fx_memory(size_t bytes)
{
    ferry_memory *m = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(fx.dev, bytes, &m), FERRY_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

void fx_device_set(ferry_ref ref, size_t bytes, unsigned char value)
{
    CU_ASSERT_EQUAL_FATAL(
        ferry_math_fill(ferry_device_queue(fx.dev), FERRY_U8, (int64_t)bytes, value, ref),
        FERRY_OK);
}

void fx_device_get(ferry_cref ref, size_t bytes, void *out)
{
    ferry_memory *m = fx_memory(bytes);
    ferry_ref to = ferry_memory_overwrite_device_data(m);
    const void *there;

    CU_ASSERT_EQUAL_FATAL(
        ferry_math_copy(ferry_device_queue(fx.dev), FERRY_U8, (int64_t)bytes, ref, to), FERRY_OK);
    there = ferry_memory_host_data(m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(there);
    memcpy(out, there, bytes);
    ferry_memory_release(m);
}

void fx_count_call(void *arg)
{
    ++*(int *)arg;
}

/* ---- memories in a state -------------------------------------------------------------------- */

static void write_host(ferry_memory *m)
{
    void *p = ferry_memory_mutable_host_data(m);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    memset(p, FX_OLD, FX_BYTES);
}

ferry_memory *fx_memory_in(ferry_memory_head_state head, bool warm)
{
    ferry_memory *m = fx_memory(FX_BYTES);

    if (warm || head == FERRY_HEAD_SYNCED) {
        write_host(m);
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
    }
    if (warm && head == FERRY_HEAD_UNINITIALIZED)
        FX_OK(ferry_memory_discard(m));
    if (head == FERRY_HEAD_AT_HOST)
        write_host(m);
    if (head == FERRY_HEAD_AT_DEVICE)
        fx_device_set(ferry_memory_mutable_device_data(m), FX_BYTES, FX_OLD);
    CU_ASSERT_EQUAL(ferry_memory_head(m), head);
    return m;
}

static bool host_in(ferry_memory_head_state head)
{
    return head == FERRY_HEAD_AT_HOST || head == FERRY_HEAD_SYNCED;
}

static bool device_in(ferry_memory_head_state head)
{
    return head == FERRY_HEAD_AT_DEVICE || head == FERRY_HEAD_SYNCED;
}

void fx_check_head(const ferry_memory *m, ferry_memory_head_state head)
{
    CU_ASSERT_EQUAL(ferry_memory_head(m), head);
    CU_ASSERT_EQUAL(ferry_memory_is_valid_at(m, NULL), host_in(head));
    CU_ASSERT_EQUAL(ferry_memory_is_valid_at(m, ferry_memory_home(m)), device_in(head));
}

bool fx_is_filled(const ferry_memory *m, unsigned char value)
{
    const unsigned char *p = ferry_memory_host_data(m);

    for (size_t i = 0; p && i < ferry_memory_used(m); i++)
        if (p[i] != value)
            return false;
    return p != NULL;
}

void fx_fill(ferry_blob *b)
{
    float *x = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t k = 0; k < ferry_blob_element_count(b); k++)
        x[k] = (float)(k * 7919 % 101) / 50 - 1;
}

bool fx_all_equal(const unsigned char *bytes, unsigned char value)
{
    for (size_t i = 0; i < FX_BYTES; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

void fx_check_contents(const ferry_memory *m, unsigned char value)
{
    unsigned char bytes[FX_BYTES];

    if (ferry_memory_is_valid_at(m, ferry_memory_home(m))) {
        fx_device_get(ferry_memory_device_data(m), FX_BYTES, bytes);
        CU_ASSERT(fx_all_equal(bytes, value));
    }
    if (ferry_memory_is_valid_at(m, NULL))
        CU_ASSERT(fx_all_equal(ferry_memory_host_data(m), value));
}

void fx_sim(ferry_device *dev, const struct sim_control **out_control, void **out_sim)
{
    FX_OK_FATAL(ferry_device_native(dev, "sim_control", (void *)out_control, sizeof(*out_control)));
    FX_OK_FATAL(ferry_device_native(dev, "sim_device", out_sim, sizeof(*out_sim)));
}
