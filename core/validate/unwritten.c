/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Elements of a plain output that a run leaves unwritten. The output gets a pattern before the run,
 * which depends on the run and on the element's index, and is read back afterwards. Floating-point
 * elements get signalling NaNs, which no arithmetic yields; integers get any value.
 */
#include "config.h"

#include "core/validate/track.h"

#include "core/base/dtype.h"

#include <stdlib.h>
#include <string.h>

/* Per dtype: the bits of infinity, and the mantissa's bit that marks a quiet NaN; 0: integers. */
static const struct {
    uint64_t infinity, quiet;
} formats[FERRY_DTYPE_COUNT] = {
    [FERRY_F32] = { 0x7f800000, 0x400000 },
    [FERRY_F64] = { UINT64_C(0x7ff0000000000000), UINT64_C(0x8000000000000) },
    [FERRY_F16] = { 0x7c00, 0x200 },
    [FERRY_BF16] = { 0x7f80, 0x40 },
};

/* A contiguous output, and the number of its run. */
struct patterned {
    unsigned dtype;
    size_t size;
    uint64_t n, run;
};

static bool patterned(const ferry_operand *o, uint64_t run, struct patterned *out)
{
    uint64_t bytes = ferry__operand_bytes(o);

    out->dtype = o->dtype;
    out->size = ferry__dtype_size(o->dtype);
    out->n = bytes / out->size;
    out->run = run;
    return bytes && bytes <= FERRY__READ_BACK;
}

/* A hash of the run and the index, by SplitMix64's function. */
static uint64_t hash(uint64_t run, uint64_t index)
{
    uint64_t h = (run << 32 ^ index) + UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

/* The pattern of element `i`, as the bits of an integer of the element's size. */
static uint64_t pattern(const struct patterned *p, uint64_t i)
{
    uint64_t h = hash(p->run, i), quiet = formats[p->dtype].quiet;
    unsigned bits = 8 * (unsigned)p->size;

    if (quiet)
        return formats[p->dtype].infinity | h >> 63 << (bits - 1) | (1 + h % (quiet - 1));
    return bits < 64 ? h >> (64 - bits) : h;
}

static uint64_t load(const unsigned char *from, size_t size)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    if (size == 1)
        return *from;
    if (size == 2)
        return memcpy(&two, from, size), two;
    if (size == 4)
        return memcpy(&four, from, size), four;
    return memcpy(&eight, from, size), eight;
}

static void store(uint64_t value, size_t size, unsigned char *to)
{
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;

    if (size == 1)
        *to = (unsigned char)value;
    else if (size == 2)
        memcpy(to, &two, size);
    else if (size == 4)
        memcpy(to, &four, size);
    else
        memcpy(to, &value, size);
}

/* ---- before the run ----------------------------------------------------------------------- */

bool ferry__poison(const struct ferry__tracked_device *d, void *queue, const ferry_operand *o,
                   ferry_ref to, uint64_t run)
{
    struct patterned p;
    unsigned char *from = patterned(o, run, &p) ? malloc(p.n * p.size) : NULL;
    ferry_cref host = { from, 0 };
    bool done;

    if (!from)
        return false;
    for (uint64_t i = 0; i < p.n; i++)
        store(pattern(&p, i), p.size, from + i * p.size);
    done = !d->ops->memcpy(d->dev, queue, FERRY_MEMCPY_H2D, to, host, p.n * p.size);
    done = !d->ops->synchronize(d->dev) && done; /* the copy reads `from` until this wait ends */
    free(from);
    return done;
}

/* ---- after the run ------------------------------------------------------------------------ */

static bool is_left(const struct patterned *p, const unsigned char *at, uint64_t i)
{
    return load(at + i * p->size, p->size) == pattern(p, i);
}

/*
 * Whether results of this run may equal the pattern by chance: integers, and copies of such NaNs.
 */
static bool may_be_chance(const struct patterned *p, const unsigned char *at)
{
    uint64_t infinity = formats[p->dtype].infinity, quiet = formats[p->dtype].quiet, bits;

    for (uint64_t i = 0; quiet && i < p->n; i++) {
        bits = load(at + i * p->size, p->size);
        if ((bits & (infinity | quiet)) == infinity && bits & (quiet - 1) && !is_left(p, at, i))
            return true;
    }
    return !quiet;
}

/*
 * The number of adjacent elements that must equal the pattern to be reported. By chance 1 element
 * of 256, or fewer, equals the pattern; if far more do, a single element is reported.
 */
static uint64_t neighbours_needed(const struct patterned *p, const unsigned char *at)
{
    uint64_t left = 0;

    for (uint64_t i = 0; i < p->n; i++)
        left += is_left(p, at, i);
    return !left || left > p->n / 64 + 16 || !may_be_chance(p, at) ? 1 : 8 / p->size;
}

/*
 * The index of the first unwritten element, or `n`. At the end of the output half of the adjacent
 * elements suffice.
 */
static uint64_t first_left(const struct patterned *p, const unsigned char *at)
{
    uint64_t needed = neighbours_needed(p, at), left = 0, i;

    for (i = 0; i < p->n && left < needed; i++)
        left = is_left(p, at, i) ? left + 1 : 0;
    return left && left >= (i < p->n ? needed : (needed + 1) / 2) ? i - left : p->n;
}

void ferry__check_written(struct ferry__tracked_device *d, void *queue, const ferry_op_desc *op,
                          ferry_ref out, uint32_t k, uint64_t run)
{
    struct patterned p;
    unsigned char *at;
    uint64_t i;

    if (!patterned(&op->out[k], run, &p))
        return;
    at = ferry__read_back(d, queue, ferry_ref_const(out), p.n * p.size);
    i = at ? first_left(&p, at) : p.n;
    if (i < p.n)
        ferry__broken(d, 62, "run", "kind %u left element %llu of out[%u] unwritten", op->kind,
                      (unsigned long long)i, k);
    free(at);
}
