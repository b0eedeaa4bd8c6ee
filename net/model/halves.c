/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/model/halves.h"

#include "common/half.h"
#include "op/origin.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

/* ---- conversion ------------------------------------------------------------------------------ */

static void widen_f16(const uint16_t *from, int64_t n, float *to)
{
    int64_t i;

    for (i = 0; i < n; i++)
        to[i] = ferry__f16_to_float(from[i]);
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) static void widen_by_f16c(const uint16_t *from, int64_t n,
                                                              float *to)
{
    int64_t i;

    for (i = 0; i + 8 <= n; i += 8) {
        const void *at = from + i;

        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(at)));
    }
    widen_f16(from + i, n - i, to + i);
}

static bool has_f16c(void)
{
    unsigned eax, ebx, ecx = 0, edx;

    __builtin_cpu_init();
    return __builtin_cpu_supports("avx") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) &&
           (ecx & bit_F16C);
}
#endif

static void widen_bf16(const uint16_t *from, int64_t n, float *to)
{
    int64_t i;

    for (i = 0; i < n; i++)
        to[i] = ferry__bf16_to_float(from[i]);
}

static void widen(ferry_dtype dtype, const uint16_t *from, int64_t n, float *to)
{
    if (dtype == FERRY_BF16) {
        widen_bf16(from, n, to);
        return;
    }
#if defined(__x86_64__)
    if (has_f16c()) {
        widen_by_f16c(from, n, to);
        return;
    }
#endif
    widen_f16(from, n, to);
}

/* ---- the origin ------------------------------------------------------------------------------ */

/* Fills the F32 form of `arg`, a blob of halves, which may themselves be read from their file. */
static int fill(void *arg, void *bytes)
{
    const ferry_blob *halves = arg;
    struct ferry__origin *origin;
    const uint16_t *from;
    int err = ferry__origin_begin(ferry_blob_data_memory(halves), &origin);

    if (err)
        return err;
    from = ferry_blob_host_data(halves);
    if (from)
        widen(ferry_blob_dtype(halves), from, ferry_blob_element_count(halves), bytes);
    else
        err = ferry_last_error_code();
    ferry__origin_end(origin);
    return err;
}

static void end(void *arg)
{
    ferry_blob_destroy(arg);
}

/* A blob that shares the memory of another. NULL: no memory. */
static ferry_blob *another(const ferry_blob *halves)
{
    ferry_blob *b = NULL;

    if (ferry_blob_create(ferry_blob_home(halves), ferry_blob_dtype(halves),
                          ferry_blob_shape(halves), ferry_blob_rank(halves), &b))
        return NULL;
    if (ferry_blob_share_data(b, halves)) {
        ferry_blob_destroy(b);
        return NULL;
    }
    return b;
}

/* ---- parameters ------------------------------------------------------------------------------ */

bool ferry__is_product(const ferry_layer *layer)
{
    static const char *const types[] = { "Convolution", "Deconvolution", "InnerProduct" };
    size_t i;

    for (i = 0; i < sizeof types / sizeof types[0]; i++)
        if (!strcmp(layer->type->name, types[i]))
            return true;
    return false;
}

bool ferry__halves_fit(const ferry_net *net, const ferry_io_entry *entry, const ferry_layer *layer,
                       int index)
{
    return index == 0 && ferry__is_product(layer) && net->phase == FERRY_PHASE_TEST &&
           !net->backward && (entry->dtype == FERRY_F16 || entry->dtype == FERRY_BF16) &&
           ferry_device_get_properties(ferry_blob_home(layer->params[0].blob))->host_memory &&
           (uint64_t)entry->count * sizeof(float) >= FERRY__ORIGIN_BYTES;
}

static uint64_t contents_of(const struct ferry__net_param *p)
{
    return ferry__contents(1, p->blob);
}

int ferry__halves_bind(ferry_net *net, struct ferry__net_param *p, const ferry_blob *halves)
{
    ferry_blob *own = another(halves), *source = another(halves);
    ferry_memory *memory = ferry_blob_data_memory(p->blob);
    ferry_dtype dtype = ferry_blob_dtype(halves);
    int err = own && source && memory ? 0 : ferry_last_error_code();

    if (!err && dtype != FERRY_F16 && dtype != FERRY_BF16)
        err = ferry_error_set(FERRY_EINVAL, "halves of %s", ferry_dtype_name(dtype));
    if (!err)
        err = ferry__origin_create(memory, fill, end, source);
    if (err) {
        ferry_blob_destroy(own);
        ferry_blob_destroy(source);
        return err;
    }
    ferry__halves_end(p);
    p->halves = own;
    p->halved = contents_of(p);
    net->lazy = net->renew = true;
    return 0;
}

int ferry__halves_share(ferry_net *net, struct ferry__net_param *to,
                        const struct ferry__net_param *from)
{
    ferry_blob *own;

    net->renew = net->renew || to->halves;
    ferry__halves_end(to);
    if (!net->lazy || !from->halves || from->halved != contents_of(from) ||
        ferry__origin_is_kept(ferry_blob_data_memory(from->blob)))
        return 0;
    own = another(from->halves);
    if (!own)
        return ferry_last_error_code();
    to->halves = own;
    to->halved = contents_of(to);
    net->renew = true;
    return 0;
}

void ferry__halves_end(struct ferry__net_param *p)
{
    ferry_blob_destroy(p->halves);
    p->halves = NULL;
}

bool ferry__halves_drop(ferry_net *net)
{
    bool dropped = net->renew;
    int i, k;

    net->renew = false;
    for (i = 0; i < net->n_layers && net->lazy; i++)
        for (k = 0; k < net->layers[i].n_params; k++) {
            struct ferry__net_param *p = &net->layers[i].params[k];

            if (p->halves && p->halved != contents_of(p)) {
                ferry__halves_end(p);
                dropped = true;
            }
        }
    return dropped;
}

ferry_blob *ferry__halves_of(const ferry_layer *layer, const ferry_blob *blob)
{
    int i;

    for (i = 0; i < layer->n_params; i++)
        if (layer->params[i].blob == blob)
            return layer->params[i].halves;
    return NULL;
}
