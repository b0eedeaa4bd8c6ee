/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/model/narrow.h"

#include "common/half.h"
#include "common/rows.h"
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

void ferry__narrow_destroy(struct ferry__narrow *s)
{
    ferry_blob_destroy(s->values);
    ferry_blob_destroy(s->magnitudes);
    *s = (struct ferry__narrow){ NULL, NULL };
}

static int widen_rows(const struct ferry__narrow *s, const int8_t *from, float *to)
{
    int64_t rows = ferry_blob_dim(s->values, 0), each, i;
    const float *magnitudes = ferry_blob_host_data(s->magnitudes);

    if (!magnitudes)
        return ferry_last_error_code();
    each = ferry_blob_element_count(s->values) / rows;
    for (i = 0; i < rows; i++)
        ferry__row_widen(from + i * each, each, magnitudes[i], to + i * each);
    return 0;
}

/* Fills the F32 form from narrow values, which may themselves be read from their file. */
static int fill(void *arg, void *bytes)
{
    const struct ferry__narrow *s = arg;
    struct ferry__origin *origin;
    const void *from;
    int err = ferry__origin_begin(ferry_blob_data_memory(s->values), &origin);

    if (err)
        return err;
    from = ferry_blob_host_data(s->values);
    if (!from)
        err = ferry_last_error_code();
    else if (s->magnitudes)
        err = widen_rows(s, from, bytes);
    else
        widen(ferry_blob_dtype(s->values), from, ferry_blob_element_count(s->values), bytes);
    ferry__origin_end(origin);
    return err;
}

static void end(void *arg)
{
    ferry__narrow_destroy(arg);
    free(arg);
}

/* A blob that shares the memory of another. NULL: no memory, or no blob. */
static ferry_blob *another(const ferry_blob *from)
{
    ferry_blob *b = NULL;

    if (!from || ferry_blob_create(ferry_blob_home(from), ferry_blob_dtype(from),
                                   ferry_blob_shape(from), ferry_blob_rank(from), &b))
        return NULL;
    if (ferry_blob_share_data(b, from)) {
        ferry_blob_destroy(b);
        return NULL;
    }
    return b;
}

static int copy(const struct ferry__narrow *from, struct ferry__narrow *out)
{
    *out = (struct ferry__narrow){ another(from->values), another(from->magnitudes) };
    if (out->values && (out->magnitudes || !from->magnitudes))
        return 0;
    ferry__narrow_destroy(out);
    return ferry_last_error_code();
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

static bool has_rows(const ferry_io_entry *entry)
{
    return !entry->unreadable && !strcmp(entry->storage, FERRY_IO_I8_ROWS);
}

/*
 * Whether an entry that fits a blob has a form that can stay. Axis 0 of an entry with the four axes
 * of early Caffe differs from the blob's, and with it the rows of integers.
 */
static bool can_stay(const ferry_io_entry *entry, const ferry_blob *b)
{
    return entry->dtype == FERRY_F16 || entry->dtype == FERRY_BF16 ||
           (has_rows(entry) && entry->rank == ferry_blob_rank(b));
}

bool ferry__narrow_fit(const ferry_net *net, const ferry_io_entry *entry, const ferry_layer *layer,
                       int index)
{
    return index == 0 && ferry__is_product(layer) && net->phase == FERRY_PHASE_TEST &&
           !net->backward && can_stay(entry, layer->params[0].blob) &&
           ferry_device_get_properties(ferry_blob_home(layer->params[0].blob))->host_memory &&
           (uint64_t)entry->count * sizeof(float) >= FERRY__ORIGIN_BYTES;
}

static int read_rows(ferry_io *io, const ferry_io_entry *entry, bool now,
                     const struct ferry__narrow *s)
{
    int8_t *integers = now ? ferry_blob_overwrite_host_data(s->values) : NULL;
    float *magnitudes = ferry_blob_overwrite_host_data(s->magnitudes);

    return magnitudes && (integers || !now)
               ? ferry_io_read_integers(io, entry, integers, magnitudes)
               : ferry_last_error_code();
}

int ferry__narrow_open(ferry_io *io, const ferry_io_entry *entry, ferry_device *device, bool now,
                       struct ferry__narrow *out)
{
    bool rows = has_rows(entry);
    struct ferry__narrow s = { NULL, NULL };
    int err = ferry_blob_create(device, rows ? FERRY_I8 : entry->dtype, entry->shape, entry->rank,
                                &s.values);

    if (!err && rows)
        err = ferry_blob_create(device, FERRY_F32, entry->shape, 1, &s.magnitudes);
    if (!err && rows)
        err = read_rows(io, entry, now, &s);
    else if (!err && now)
        err = ferry_io_read(io, entry, s.values);
    if (err)
        ferry__narrow_destroy(&s);
    *out = s;
    return err;
}

static uint64_t contents_of(const struct ferry__net_param *p)
{
    return ferry__contents(1, p->blob);
}

int ferry__narrow_bind(ferry_net *net, struct ferry__net_param *p, const struct ferry__narrow *s)
{
    struct ferry__narrow own = { NULL, NULL }, *source = calloc(1, sizeof *source);
    ferry_memory *memory = ferry_blob_data_memory(p->blob);
    int err = source && memory ? copy(s, source)
                               : ferry_error_set(FERRY_ENOMEM, "no memory for narrow weights");

    if (!err)
        err = copy(s, &own);
    if (!err)
        err = ferry__origin_create(memory, fill, end, source);
    if (err) {
        ferry__narrow_destroy(&own);
        if (source)
            end(source);
        return err;
    }
    ferry__narrow_end(p);
    p->narrow = own;
    p->narrow_version = contents_of(p);
    net->lazy = net->renew = true;
    return 0;
}

int ferry__narrow_share(ferry_net *net, struct ferry__net_param *to,
                        const struct ferry__net_param *from)
{
    struct ferry__narrow own;
    int err;

    net->renew = net->renew || to->narrow.values;
    ferry__narrow_end(to);
    if (!net->lazy || !from->narrow.values || from->narrow_version != contents_of(from) ||
        ferry__origin_is_kept(ferry_blob_data_memory(from->blob)))
        return 0;
    err = copy(&from->narrow, &own);
    if (err)
        return err;
    to->narrow = own;
    to->narrow_version = contents_of(to);
    net->renew = true;
    return 0;
}

void ferry__narrow_end(struct ferry__net_param *p)
{
    ferry__narrow_destroy(&p->narrow);
}

bool ferry__narrow_drop(ferry_net *net)
{
    bool dropped = net->renew;
    int i, k;

    net->renew = false;
    for (i = 0; i < net->n_layers && net->lazy; i++)
        for (k = 0; k < net->layers[i].n_params; k++) {
            struct ferry__net_param *p = &net->layers[i].params[k];

            if (p->narrow.values && p->narrow_version != contents_of(p)) {
                ferry__narrow_end(p);
                dropped = true;
            }
        }
    return dropped;
}

struct ferry__narrow ferry__narrow_of(const ferry_layer *layer, const ferry_blob *blob)
{
    int i;

    for (i = 0; i < layer->n_params; i++)
        if (layer->params[i].blob == blob)
            return layer->params[i].narrow;
    return (struct ferry__narrow){ NULL, NULL };
}
