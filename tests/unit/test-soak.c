/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Random operations over many blobs, two devices, and a budget for a tenth of the data. The same
 * operations are applied to plain arrays, and the results are compared. FERRY_TEST_SEED repeats a
 * run, FERRY_TEST_OPS sets the number of operations; FERRY_TEST_QUICK divides it by three, `make
 * check-random` runs a million.
 */

#define BLOBS   200
#define COUNT   256
#define LARGEST (1 << 22) /* integers up to this one are exact in F32, and so are sums of two */

struct pair {
    ferry_blob *blob;
    int64_t count; /* in use, of COUNT */
    float data[COUNT], diff[COUNT];
};

static struct pair pairs[BLOBS];
static uint64_t state;
static unsigned long done, wrong;
static unsigned adopted, deleted;

/* xorshift64*: the same on all machines. */
static unsigned roll(unsigned n)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (unsigned)((state * UINT64_C(2685821657736338717)) >> 33) % n;
}

static void expect(bool condition, const char *what)
{
    if (!condition && ++wrong <= 10)
        printf("     operation %lu: %s: %s\n", done, what, ferry_last_error());
}

#define EXPECT(condition) expect((condition), #condition)

static bool equal(const float *p, const float *q, int64_t n)
{
    return p && memcmp(p, q, (size_t)n * sizeof(*p)) == 0;
}

static float largest(const float *p, int64_t n)
{
    float most = 0;

    for (int64_t i = 0; i < n; i++) {
        if (p[i] > most)
            most = p[i];
        if (-p[i] > most)
            most = -p[i];
    }
    return most;
}

/* ---- operations, each on a blob and its array ------------------------------------------------ */

static void read_host(struct pair *p)
{
    EXPECT(equal(ferry_blob_host_data(p->blob), p->data, p->count));
}

static void read_host_diff(struct pair *p)
{
    EXPECT(equal(ferry_blob_host_diff(p->blob), p->diff, p->count));
}

static void mutate_host(struct pair *p)
{
    float *data = ferry_blob_mutable_host_data(p->blob);

    EXPECT(data != NULL);
    for (int64_t i = roll(5); data && i < p->count; i += 5)
        data[i] = p->data[i] = (float)roll(1000);
}

static void overwrite_host(struct pair *p)
{
    float *data = ferry_blob_overwrite_host_data(p->blob);

    EXPECT(data != NULL);
    for (int64_t i = 0; data && i < p->count; i++)
        data[i] = p->data[i] = (float)roll(1000);
}

static void overwrite_host_diff(struct pair *p)
{
    float *diff = ferry_blob_overwrite_host_diff(p->blob);

    EXPECT(diff != NULL);
    for (int64_t i = 0; diff && i < p->count; i++)
        diff[i] = p->diff[i] = (float)roll(100);
}

static void fill_device(struct pair *p)
{
    ferry_ref ref = ferry_blob_overwrite_device_data(p->blob);
    float value = (float)roll(1000);

    EXPECT(ref.handle != NULL);
    EXPECT(!ferry_math_fill(ferry_device_queue(ferry_blob_home(p->blob)), FERRY_F32, p->count,
                            value, ref));
    for (int64_t i = 0; i < p->count; i++)
        p->data[i] = value;
}

static void negate_device(struct pair *p)
{
    ferry_ref ref = ferry_blob_mutable_device_data(p->blob);

    EXPECT(ref.handle != NULL);
    EXPECT(!ferry_math_scal(ferry_device_queue(ferry_blob_home(p->blob)), FERRY_F32, p->count, -1,
                            ref));
    for (int64_t i = 0; i < p->count; i++)
        p->data[i] = -p->data[i];
}

static void update(struct pair *p)
{
    if (ferry_memory_head(ferry_blob_data_memory(p->blob)) == FERRY_HEAD_UNINITIALIZED ||
        largest(p->data, p->count) + largest(p->diff, p->count) > LARGEST)
        return;
    EXPECT(!ferry_blob_update(p->blob));
    for (int64_t i = 0; i < p->count; i++)
        p->data[i] -= p->diff[i];
}

static void sum(struct pair *p)
{
    double is = -1, should = 0;

    for (int64_t i = 0; i < p->count; i++)
        should += p->data[i] < 0 ? -(double)p->data[i] : (double)p->data[i];
    EXPECT(!ferry_blob_asum_data(p->blob, &is));
    EXPECT(is <= should * (1 + 1e-6) && is >= should * (1 - 1e-6));
}

static void prefetch(struct pair *p)
{
    unsigned where = roll(3);
    ferry_memory *m = ferry_blob_data_memory(p->blob);

    EXPECT(!ferry_memory_prefetch(m, where == 2 ? NULL : wx_dev((int)where), NULL));
}

static void move_home(struct pair *p)
{
    EXPECT(!ferry_blob_move_to(p->blob, wx_dev((int)roll(2))));
}

static void forget(struct pair *p)
{
    EXPECT(!ferry_memory_discard(ferry_blob_data_memory(p->blob)));
    memset(p->data, 0, sizeof(p->data));
}

/* Elements beyond a smaller count have unknown values, so they are written before they are read. */
static void reshape(struct pair *p)
{
    bool grew = true;
    int64_t before = p->count;

    p->count = roll(2) ? COUNT : 1 + roll(COUNT);
    EXPECT(!ferry_blob_reshape(p->blob, &p->count, 1, &grew));
    EXPECT(!grew);
    if (p->count > before) {
        overwrite_host(p);
        overwrite_host_diff(p);
    }
}

static void copy_another(struct pair *p)
{
    struct pair *q = &pairs[roll(BLOBS)];

    if (q->count != p->count)
        return;
    EXPECT(!ferry_blob_copy_from(p->blob, q->blob, 0));
    memmove(p->data, q->data, (size_t)p->count * sizeof(p->data[0]));
}

static void free_own(void *arg)
{
    deleted++;
    free(arg);
}

static void adopt(struct pair *p)
{
    float *own = malloc(COUNT * sizeof(*own));
    ferry_ref ref = { own, 0 };

    if (!own)
        return;
    for (int i = 0; i < COUNT; i++)
        own[i] = p->data[i] = (float)roll(1000);
    adopted++;
    EXPECT(!ferry_memory_adopt(ferry_blob_data_memory(p->blob), NULL, ref, COUNT * sizeof(*own), 0,
                               free_own, own));
}

static void write_slice(struct pair *p)
{
    ferry_blob *slice = NULL;
    int64_t start, n;
    float *data;

    start = roll((unsigned)p->count);
    n = 1 + roll((unsigned)(p->count - start));
    EXPECT(!ferry_blob_slice(p->blob, start, n, &slice));
    data = ferry_blob_overwrite_host_data(slice);
    EXPECT(data != NULL);
    for (int64_t i = 0; data && i < n; i++)
        data[i] = p->data[start + i] = (float)roll(1000);
    ferry_blob_destroy(slice);
}

static void renew(struct pair *p)
{
    ferry_blob_destroy(p->blob);
    p->blob = NULL;
    p->count = COUNT;
    memset(p->data, 0, sizeof(p->data));
    memset(p->diff, 0, sizeof(p->diff));
    EXPECT(!ferry_blob_create(wx_dev((int)roll(2)), FERRY_F32, &p->count, 1, &p->blob));
}

static void synchronize(struct pair *p)
{
    (void)p;
    EXPECT(!ferry_device_synchronize(wx_dev((int)roll(2))));
}

/* Operations that make many later operations cheap or trivial are rare. */
static const struct {
    void (*run)(struct pair *p);
    unsigned weight;
} operations[] = {
    { read_host, 12 },   { read_host_diff, 4 },
    { mutate_host, 10 }, { overwrite_host, 6 },
    { fill_device, 10 }, { negate_device, 15 },
    { update, 8 },       { sum, 4 },
    { prefetch, 12 },    { move_home, 6 },
    { forget, 1 },       { reshape, 2 },
    { copy_another, 4 }, { adopt, 1 },
    { write_slice, 1 },  { renew, 1 },
    { synchronize, 2 },  { overwrite_host_diff, 3 },
};

static void one_operation(void)
{
    unsigned n = sizeof(operations) / sizeof(operations[0]), total = 0, i = 0, which;
    struct pair *p = &pairs[roll(BLOBS)];

    for (unsigned k = 0; k < n; k++)
        total += operations[k].weight;
    which = roll(total);
    while (which >= operations[i].weight)
        which -= operations[i++].weight;
    operations[i].run(p);
    EXPECT(!ferry_memory_allow_eviction(ferry_blob_data_memory(p->blob)));
    EXPECT(!ferry_memory_allow_eviction(ferry_blob_diff_memory(p->blob)));
    done++;
}

/* ---- the run -------------------------------------------------------------------------------- */

static unsigned long number(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text ? strtoul(text, NULL, 10) : otherwise;
}

static void budgets(uint64_t bytes)
{
    for (int i = 0; i < WX_DEVICES; i++)
        FX_OK(ferry_device_set_budget(wx_dev(i), bytes));
}

static void report(double seconds)
{
    uint64_t evictions = wx_since(0).evictions + wx_since(1).evictions;

    printf("     %lu operations in %.1f s, %llu evictions, %u adoptions\n", done, seconds,
           (unsigned long long)evictions, adopted);
    CU_ASSERT(evictions > done / 100);
}

static void blobs_equal_arrays_after_many_operations(void)
{
    unsigned long most = ferry_test_is_slow()         ? 20000
                         : getenv("FERRY_TEST_QUICK") ? 100000
                                                      : 300000;
    unsigned long n = number("FERRY_TEST_OPS", most);
    bool direct = !strcmp(wx_running()->options[1], "on");
    unsigned long seed = number("FERRY_TEST_SEED", (unsigned long)time(NULL));
    struct timespec start, stop;

    printf("     FERRY_TEST_SEED=%lu\n", seed);
    n = direct ? n : n / 10; /* with the other option most of the code is the same */
    state = seed * 2 + 1;
    wx_begin();
    budgets(BLOBS * COUNT * sizeof(float) / 10);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < BLOBS; i++)
        renew(&pairs[i]);
    while (done < n && wrong == 0)
        one_operation();
    for (int i = 0; i < BLOBS; i++) {
        read_host(&pairs[i]);
        read_host_diff(&pairs[i]);
        ferry_blob_destroy(pairs[i].blob);
    }
    clock_gettime(CLOCK_MONOTONIC, &stop);
    report((double)(stop.tv_sec - start.tv_sec) + 1e-9 * (double)(stop.tv_nsec - start.tv_nsec));
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(adopted, deleted);
    budgets(0);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(blobs_equal_arrays_after_many_operations),
};

int main(int argc, char **argv)
{
    static const char *const direct[] = { "peer", "on", NULL };
    static const char *const staged[] = { "peer", "off", NULL };
    static const struct wx_world worlds[] = {
        { "peer copies", direct, cases, FERRY_TEST_COUNT(cases) },
        { "through the host", staged, cases, FERRY_TEST_COUNT(cases) },
    };

    return wx_main(argc, argv, "soak", worlds, FERRY_TEST_COUNT(worlds));
}
