/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The offsets of values in an arena. The library exports none of their functions, so their source
 * file is compiled in.
 */
#include "net/passes/place.c"

#include "ferry-test.h"

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
    CU_ASSERT_EQUAL(ferry__place(&p->program, p->order, p->program.n_values, &p->end), 0);
}

static uint64_t middle_of(const struct ferry__value *v)
{
    return v->offset + ferry__placed_bytes(v) / 2;
}

static bool overlap(const struct ferry__value *a, const struct ferry__value *b)
{
    return a->offset < b->offset + ferry__placed_bytes(b) &&
           b->offset < a->offset + ferry__placed_bytes(a);
}

/* As layers that each halve the size of their input: values 0, 2, … and 1, 3, … take turns. */
static void the_values_of_a_chain_have_two_middles(void)
{
    struct plan p = { .end = 0 };

    for (int i = 0; i < 8; i++)
        add(&p, INT64_C(65536) >> i, i, i + 1);
    place(&p);
    for (int i = 2; i < 8; i++)
        CU_ASSERT_EQUAL(middle_of(&p.values[i]), middle_of(&p.values[i % 2]));
    CU_ASSERT_FALSE(overlap(&p.values[0], &p.values[1]));
    CU_ASSERT_EQUAL(p.end, p.values[1].offset + 4 * 32768);
}

/* A value about the middle of another leaves two gaps, of which none has room for the third. */
static void middles_that_take_memory_are_not_used(void)
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

/* A value is not placed about a smaller one, which sorting by elements puts before it. */
static void a_larger_dtype_is_not_placed_about_a_smaller_value(void)
{
    struct plan p = { .end = 0 };

    add(&p, 1100, 0, 0);
    add(&p, 1000, 1, 1);
    p.values[1].dtype = FERRY_F64;
    add(&p, 500, 2, 2);
    place(&p);
    CU_ASSERT_EQUAL(p.values[1].offset, 0);
    CU_ASSERT(p.values[2].offset > 0); /* about the middle of the first */
    CU_ASSERT_EQUAL(p.end, 8000);
}

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* No bytes are shared by values that live at the same time, and middles never take memory. */
static void values_of_random_programs_are_apart(void)
{
    uint64_t state = 1;

    for (int trial = 0; trial < 300; trial++) {
        struct plan p = { .end = 0 };
        uint64_t without;
        int n = 1 + (int)(next(&state) % MOST);

        for (int i = 0; i < n; i++) {
            int first = (int)(next(&state) % 40);
            int64_t count = (int64_t)(next(&state) % 3 ? 1 + next(&state) % 5000
                                                       : 1024 * (1 + next(&state) % 4));

            add(&p, count, first, first + (int)(next(&state) % 6));
        }
        sort(&p.program, p.order, n);
        place_each(&p.program, p.order, n, false);
        without = total_of(&p.program, p.order, n);
        place(&p);
        CU_ASSERT(p.end <= without);
        for (int i = 0; i < n; i++) {
            CU_ASSERT_EQUAL(p.values[i].offset % ALIGNMENT, 0);
            for (int k = 0; k < i; k++)
                CU_ASSERT_FALSE(meet(&p.values[i], &p.values[k]) &&
                                overlap(&p.values[i], &p.values[k]));
        }
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_values_of_a_chain_have_two_middles),
    FERRY_TEST(middles_that_take_memory_are_not_used),
    FERRY_TEST(a_larger_dtype_is_not_placed_about_a_smaller_value),
    FERRY_TEST(values_of_random_programs_are_apart),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "net-place", cases, FERRY_TEST_COUNT(cases));
}
