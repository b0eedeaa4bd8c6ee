/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fake-entries.h"
#include "ferry-test.h"
#include "rule-lines.h"

#include "core/validate/validate.h"

#include <ferry/blob.h>
#include <ferry/status.h>

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Elements that a run leaves unwritten are reported, and right values are not. The plugin copies
 * its input to its output, with elements of any type, except for the elements of a hole.
 */

/* ---- the plugin ------------------------------------------------------------------------------ */

#define MOST (1 << 18) /* bytes of an operand */

static struct {
    int64_t from, to, step; /* elements that are left out; step 0: no element */
} hole;
static size_t size; /* of an element */
static int64_t count;
static char memory[2 * MOST] __attribute__((aligned(64)));
static size_t taken;

static int alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out,
                 uint32_t *out_flags)
{
    (void)dev, (void)queue, (void)flags, (void)out_flags;
    *out = memory + taken;
    taken += (size_t)bytes;
    return 0;
}

static int op_query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev, (void)op, (void)out;
    return 0;
}

static int op_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const char *x = args->in[0].handle;
    char *y = args->out[0].handle;

    (void)dev, (void)queue, (void)prepared;
    for (int64_t i = 0; i < count; i++)
        if (!hole.step || i < hole.from || i >= hole.to || (i - hole.from) % hole.step)
            memcpy(y + (size_t)i * size, x + (size_t)i * size, size);
    return 0;
}

static const ferry_plugin_ops own = {
    .struct_size = sizeof own,
    .device_open = fake_device_open,
    .device_close = fake_device_close,
    .properties = fake_properties,
    .alloc = alloc,
    .free = fake_free,
    .memcpy = fake_copy,
    .memset = fake_set,
    .synchronize = fake_synchronize,
    .extension = fake_extension,
};

/* ---- runs ------------------------------------------------------------------------------------ */

static void run_copies(ferry_plugin_ops *ops, void *dev, ferry_dtype dtype, const void *values,
                       int runs)
{
    ferry_operand o = { .dtype = dtype, .rank = 1, .shape = { count }, .stride = { 1 } };
    ferry_op_desc op = { .struct_size = sizeof op, .kind = FERRY_OP_STRIDED_COPY };
    ferry_op_run_args args = { .struct_size = sizeof args };
    const ferry_op_table *table;
    const void *found;
    void *prepared, *x, *y;
    uint32_t flags = 0;
    ferry_cref in;
    ferry_ref out;

    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = o;
    CU_ASSERT_EQUAL_FATAL(ops->alloc(dev, NULL, MOST, 0, &x, &flags), 0);
    CU_ASSERT_EQUAL_FATAL(ops->alloc(dev, NULL, MOST, 0, &y, &flags), 0);
    memcpy(x, values, (size_t)count * size);
    in = (ferry_cref){ x, 0 };
    out = (ferry_ref){ y, 0 };
    args.in = &in;
    args.out = &out;
    CU_ASSERT_EQUAL_FATAL(ops->extension(dev, FERRY_OP_EXTENSION, &found), 0);
    table = found;
    CU_ASSERT_EQUAL_FATAL(table->create(dev, &op, &prepared), 0);
    for (int i = 0; i < runs; i++)
        CU_ASSERT_EQUAL(table->run(dev, NULL, prepared, &args), 0);
    table->destroy(dev, prepared);
    ops->free(dev, NULL, x);
    ops->free(dev, NULL, y);
}

/* The element that the log reports as unwritten after these runs; −1: no line, −2: another line. */
static long long left_by(ferry_dtype dtype, int64_t n, const void *values, int runs)
{
    static ferry_plugin_ops wrapped;
    const char *at;
    void *dev;

    if (!wrapped.struct_size) {
        wrapped = own;
        CU_ASSERT_EQUAL_FATAL(ferry__validate_wrap("fake", true, &wrapped), 0);
        ferry_log_set_handler(rule_keep, NULL);
    }
    size = ferry_dtype_size(dtype);
    count = n;
    fake_operations.query = op_query;
    fake_operations.run = op_run;
    taken = 0;
    rule_lines = 0;
    CU_ASSERT_EQUAL_FATAL(wrapped.device_open(wrapped.plugin, 0, &dev), 0);
    run_copies(&wrapped, dev, dtype, values, runs);
    wrapped.device_close(dev);
    if (!rule_lines)
        return -1;
    at = strstr(rule_line, "rule 62: run: ");
    at = at ? strstr(at, "left element ") : NULL;
    return rule_lines == 1 && at ? strtoll(at + strlen("left element "), NULL, 10) : -2;
}

/* As left_by, for one run without the elements `from`, `from` + `step`, … before `to`. */
static long long left_with(ferry_dtype dtype, int64_t n, const void *values, int64_t from,
                           int64_t to, int64_t step)
{
    long long found;

    hole.from = from;
    hole.to = to;
    hole.step = step;
    found = left_by(dtype, n, values, 1);
    hole.step = 0;
    return found;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static uint16_t halves[65536];
static uint32_t words[65536];

/* Every value of 16 bits, 65536 of them, and again by other runs; none is reported as unwritten. */
static void right_values_are_not_reported(void)
{
    for (int i = 0; i < 65536; i++) {
        halves[i] = (uint16_t)i;
        words[i] = 0xa5a5a5a5u;
    }
    for (unsigned dtype = 0; dtype < FERRY_DTYPE_COUNT; dtype++) {
        int64_t n = 2 * 65536 / (int64_t)ferry_dtype_size((ferry_dtype)dtype);

        CU_ASSERT_EQUAL(left_by((ferry_dtype)dtype, n, halves, 8), -1);
        CU_ASSERT_EQUAL(left_by((ferry_dtype)dtype, n, words, 8), -1);
    }
}

/* A half of −0.02205, 0xa5a5, as results of TANH have it among 20,000. */
static void an_f16_value_with_equal_bytes_is_not_reported(void)
{
    for (int i = 0; i < 20000; i++)
        halves[i] = (uint16_t)(0xa000 + i % 0x1c00);
    CU_ASSERT_EQUAL(left_by(FERRY_F16, 20000, halves, 50), -1);
    halves[7] = 0xa5a5;
    CU_ASSERT_EQUAL(left_by(FERRY_F16, 8, halves, 50), -1);
}

static void single_elements_of_floating_point_are_reported(void)
{
    static const ferry_dtype dtypes[] = { FERRY_F32, FERRY_F64, FERRY_F16, FERRY_BF16 };

    memset(words, 0, sizeof words);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        CU_ASSERT_EQUAL(left_with(dtypes[i], 999, words, 0, 1, 1), 0);
        CU_ASSERT_EQUAL(left_with(dtypes[i], 999, words, 500, 501, 1), 500);
        CU_ASSERT_EQUAL(left_with(dtypes[i], 999, words, 998, 999, 1), 998);
        CU_ASSERT_EQUAL(left_with(dtypes[i], 1, words, 0, 1, 1), 0);
    }
}

/* A row of 8, a tail of 4, every second element of a part, and the whole. */
static void parts_of_integers_are_reported(void)
{
    static const ferry_dtype dtypes[] = { FERRY_I8, FERRY_U8, FERRY_I32, FERRY_I64, FERRY_U32 };

    memset(words, 1, sizeof words);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        CU_ASSERT_EQUAL(left_with(dtypes[i], 999, words, 400, 408, 1), 400);
        CU_ASSERT_EQUAL(left_with(dtypes[i], 999, words, 995, 999, 1), 995);
        CU_ASSERT_EQUAL(left_with(dtypes[i], 999, words, 0, 999, 1), 0);
        CU_ASSERT_NOT_EQUAL(left_with(dtypes[i], 999, words, 400, 500, 2), -1);
    }
}

/* Results with NaNs that only a copy keeps: rows are seen, and single elements not. */
static void parts_beside_signalling_nans_are_reported(void)
{
    for (int i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    CU_ASSERT_EQUAL(left_with(FERRY_F16, 65536, halves, 4096, 4100, 1), 4096);
    CU_ASSERT_EQUAL(left_with(FERRY_BF16, 65536, halves, 65534, 65536, 1), 65534);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(right_values_are_not_reported),
    FERRY_TEST(an_f16_value_with_equal_bytes_is_not_reported),
    FERRY_TEST(single_elements_of_floating_point_are_reported),
    FERRY_TEST(parts_of_integers_are_reported),
    FERRY_TEST(parts_beside_signalling_nans_are_reported),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "validate-unwritten", cases, FERRY_TEST_COUNT(cases));
}
