/* SPDX-License-Identifier: BSD-2-Clause */
#include "net-data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const ferry_io_entry *nd_find(ferry_io *io, const char *name)
{
    const ferry_io_entry *entry = NULL;

    CU_ASSERT_EQUAL(ferry_io_entry_find(io, name, &entry), FERRY_OK);
    return entry;
}

/* An entry's values, which the caller frees. */
static float *values_of(ferry_io *io, const ferry_io_entry *entry)
{
    float *values = malloc((size_t)entry->count * sizeof(*values) + 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    CU_ASSERT_EQUAL_FATAL(entry->dtype, FERRY_F32);
    CU_ASSERT_EQUAL(ferry_io_read_values(io, entry, 0, entry->count, values), FERRY_OK);
    return values;
}

void nd_fill(ferry_io *io, const ferry_io_entry *entry, ferry_blob *b)
{
    float *values = values_of(io, entry), *to;

    CU_ASSERT_EQUAL(ferry_blob_reshape(b, entry->shape, entry->rank, NULL), FERRY_OK);
    to = ferry_blob_overwrite_host_data(b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    memcpy(to, values, (size_t)entry->count * sizeof(*values));
    free(values);
}

static bool same_shape(const ferry_io_entry *entry, const ferry_blob *b, const char *what)
{
    char shape[128] = "";

    if (ferry_blob_rank(b) == entry->rank &&
        (!entry->rank ||
         !memcmp(ferry_blob_shape(b), entry->shape, (size_t)entry->rank * sizeof(int64_t))))
        return true;
    ferry_blob_shape_string(b, shape, sizeof(shape));
    printf("     %s: %s is %s here, %d axes and %lld elements there\n", what, entry->name, shape,
           entry->rank, (long long)entry->count);
    return false;
}

static double worst_seen;

double nd_worst(void)
{
    double worst = worst_seen;

    worst_seen = 0;
    return worst;
}

/* Their distance; infinite if only one is NaN. */
static double apart(float a, float b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : INFINITY;
    return a == b ? 0 : fabs((double)a - (double)b);
}

static bool same(ferry_io *io, const ferry_io_entry *entry, const float *got, double tolerance,
                 const char *what)
{
    double worst = 0, largest = 0;
    int64_t at = 0;
    float *expected;

    if (!got) {
        printf("     %s: %s: %s\n", what, entry->name, ferry_last_error());
        return false;
    }
    expected = values_of(io, entry);
    for (int64_t i = 0; i < entry->count; i++) {
        double distance = apart(got[i], expected[i]);

        if (isfinite(expected[i]) && fabs((double)expected[i]) > largest)
            largest = fabs((double)expected[i]);
        if (distance > worst) {
            worst = distance;
            at = i;
        }
    }
    if (worst > 0 && worst / largest > worst_seen)
        worst_seen = worst / largest;
    if (worst > tolerance * largest)
        printf("     %s: %s[%lld] is %.9g, not %.9g: %.2g of the largest, %.9g\n", what,
               entry->name, (long long)at, (double)got[at], (double)expected[at],
               largest > 0 ? worst / largest : INFINITY, largest);
    free(expected);
    return worst <= tolerance * largest;
}

bool nd_same(ferry_io *io, const ferry_io_entry *entry, const ferry_blob *b, double tolerance,
             const char *what)
{
    return same_shape(entry, b, what) && same(io, entry, ferry_blob_host_data(b), tolerance, what);
}

bool nd_same_diff(ferry_io *io, const ferry_io_entry *entry, const ferry_blob *b, double tolerance,
                  const char *what)
{
    return same_shape(entry, b, what) && same(io, entry, ferry_blob_host_diff(b), tolerance, what);
}

void nd_fill_diff(ferry_io *io, const ferry_io_entry *entry, ferry_blob *b)
{
    float *values = values_of(io, entry), *to;

    CU_ASSERT_EQUAL_FATAL(ferry_blob_element_count(b), entry->count);
    to = ferry_blob_overwrite_host_diff(b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    memcpy(to, values, (size_t)entry->count * sizeof(*values));
    free(values);
}

static int64_t largest_of(const float *row, int64_t n)
{
    int64_t best = 0;

    for (int64_t i = 1; i < n; i++)
        if (row[i] > row[best])
            best = i;
    return best;
}

bool nd_same_argmax(ferry_io *io, const ferry_io_entry *entry, const ferry_blob *b,
                    const char *what)
{
    int64_t n = entry->rank ? entry->shape[entry->rank - 1] : 1, row;
    const float *got = ferry_blob_host_data(b);
    float *expected = values_of(io, entry);
    bool same = got != NULL;

    for (row = 0; same && n > 0 && row < entry->count / n; row++)
        same = largest_of(&got[row * n], n) == largest_of(&expected[row * n], n);
    if (!same)
        printf("     %s: %s: the largest of row %lld is another one\n", what, entry->name,
               (long long)row - 1);
    free(expected);
    return same;
}

int nd_layer(const ferry_net *net, const char *name)
{
    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof(info) };

        if (!ferry_net_get_layer_info(net, i, &info) && !strcmp(info.name, name))
            return i;
    }
    return -1;
}
