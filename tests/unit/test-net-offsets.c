/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The offsets of values in an arena. The library exports none of their functions, so their source
 * file is compiled in.
 */
#include "net/passes/offsets.c"

#include "fixture.h"

#include <string.h>

#define MOST 64

/* A program of n values on the host, with their order. */
struct plan {
    struct ferry__program program;
    struct ferry__value values[MOST];
    int order[MOST];
    uint64_t end;
};

/* Adds a value of `count` floats that items `first` to `end` use. */
static void add(struct plan *p, int64_t count, int first, int end)
{
    int i = p->program.n_values++;

    p->program.values = p->values;
    p->values[i] =
        (struct ferry__value){ .count = count, .dtype = FERRY_F32, .first = first, .end = end };
    p->order[i] = i;
}

static void place(struct plan *p)
{
    CU_ASSERT_EQUAL(ferry__offsets_assign(&p->program, p->order, p->program.n_values, &p->end), 0);
}

static uint64_t centre_of(const struct ferry__value *v)
{
    return v->offset + ferry__placed_bytes(v) / 2;
}

static bool overlap(const struct ferry__value *a, const struct ferry__value *b)
{
    return a->part == b->part && a->offset < b->offset + ferry__placed_bytes(b) &&
           b->offset < a->offset + ferry__placed_bytes(a);
}

/* As layers that each halve the size of their input: values 0, 2, … and 1, 3, … take turns. */
static void the_values_of_a_chain_have_two_centres(void)
{
    struct plan p = { .end = 0 };

    for (int i = 0; i < 8; i++)
        add(&p, INT64_C(65536) >> i, i, i + 1);
    place(&p);
    for (int i = 2; i < 8; i++)
        CU_ASSERT_EQUAL(centre_of(&p.values[i]), centre_of(&p.values[i % 2]));
    CU_ASSERT_FALSE(overlap(&p.values[0], &p.values[1]));
    CU_ASSERT_EQUAL(p.end, p.values[1].offset + 4 * 32768);
}

/* A value in the centre of another leaves two gaps, of which none has room for the third. */
static void centres_that_take_memory_are_not_used(void)
{
    struct plan p = { .end = 0 };

    add(&p, 4000, 0, 0);
    add(&p, 2000, 1, 1);
    add(&p, 1900, 1, 1);
    place(&p);
    CU_ASSERT_EQUAL(p.values[1].offset, 0);
    CU_ASSERT(p.end <= 4 * 4000);
    CU_ASSERT_FALSE(overlap(&p.values[1], &p.values[2]));
}

/* A value is not centred in a smaller one, which sorting by elements puts before it. */
static void a_larger_dtype_is_not_centred_in_a_smaller_value(void)
{
    struct plan p = { .end = 0 };

    add(&p, 1100, 0, 0);
    add(&p, 1000, 1, 1);
    p.values[1].dtype = FERRY_F64;
    add(&p, 500, 2, 2);
    place(&p);
    CU_ASSERT_EQUAL(p.values[1].offset, 0);
    CU_ASSERT(p.values[2].offset > 0); /* in the centre of the first */
    CU_ASSERT_EQUAL(p.end, 8000);
}

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* A program with values on the host and on the device. */
static void make_random(struct plan *p, ferry_device *device, uint64_t *state)
{
    int n = 1 + (int)(next(state) % MOST);

    for (int i = 0; i < n; i++) {
        int first = (int)(next(state) % 40);
        int64_t count = (int64_t)(next(state) % 3 ? 1 + next(state) % 5000
                                                  : 1024 * (1 + next(state) % 4));

        add(p, count, first, first + (int)(next(state) % 6));
        p->values[i].device = next(state) % 3 ? NULL : device;
    }
}

/* The end of the last value on a device, in the last of its parts. */
static uint64_t end_on(const struct plan *p, const ferry_device *device)
{
    uint64_t end = 0;

    for (int i = 0; i < p->program.n_values; i++) {
        const struct ferry__value *v = &p->values[i];
        uint64_t its = v->part * block_of(v) + v->offset + ferry__placed_bytes(v);

        end = v->device == device && its > end ? its : end;
    }
    return end;
}

/* Values that live at the same time share no bytes, and centres never take memory. */
static void values_of_random_programs_are_apart(void)
{
    ferry_device *device = fx_device();
    uint64_t state = 1;

    for (int trial = 0; trial < 300; trial++) {
        struct plan p = { .end = 0 };
        uint64_t without[2];

        make_random(&p, device, &state);
        sort(&p.program, p.order, p.program.n_values);
        without[0] = assign(&p.program, p.order, p.program.n_values, NULL, false);
        without[1] = assign(&p.program, p.order, p.program.n_values, device, false);
        place(&p);
        CU_ASSERT(end_on(&p, NULL) <= without[0]);
        CU_ASSERT(end_on(&p, device) <= without[1]);
        for (int i = 0; i < p.program.n_values; i++) {
            CU_ASSERT_EQUAL(p.values[i].offset % unit_of(&p.values[i]), 0);
            for (int k = 0; k < i; k++)
                CU_ASSERT_FALSE(meet(&p.values[i], &p.values[k]) &&
                                overlap(&p.values[i], &p.values[k]));
        }
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_values_of_a_chain_have_two_centres),
    FERRY_TEST(centres_that_take_memory_are_not_used),
    FERRY_TEST(a_larger_dtype_is_not_centred_in_a_smaller_value),
    FERRY_TEST(values_of_random_programs_are_apart),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net offsets", cases, FERRY_TEST_COUNT(cases));
}
