/* SPDX-License-Identifier: BSD-2-Clause */
#include "ferry-test.h"

#include <ferry/kernels.h>
#include <ferry/status.h>

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

/* libferrykernels by its header alone: targets, plans, launches, texts. */

static const ferry_kernels_target good = { .struct_size = sizeof good,
                                           .vec = 4,
                                           .group = 64,
                                           .busy = 8,
                                           .flags = FERRY_KERNELS_EMPTY_INPUTS };

static void describe(ferry_op_desc *op, uint32_t kind)
{
    memset(op, 0, sizeof *op);
    op->struct_size = sizeof *op;
    op->kind = kind;
    op->n_in = op->n_out = 1;
    op->params.unary.function = FERRY_UNARY_RELU;
    op->in[0] =
        (ferry_operand){ .dtype = FERRY_F32, .rank = 1, .shape = { 1000 }, .stride = { 1 } };
    op->out[0] = op->in[0];
}

static void targets_are_checked(void)
{
    ferry_kernels_target bad[7];
    ferry_kernels_plan *plan = NULL;
    ferry_op_answer answer = { .struct_size = sizeof answer, .epilogue = 77 };
    ferry_op_desc op;

    describe(&op, FERRY_OP_UNARY);
    for (int i = 0; i < 7; i++)
        bad[i] = good;
    bad[0].struct_size = 4;
    bad[1].vec = 3;
    bad[2].vec = 32;
    bad[3].vec = 0;
    bad[4].group = 0;
    bad[5].busy = 0;
    bad[6].flags = 4; /* unknown */
    for (int i = 0; i < 7; i++) {
        CU_ASSERT_EQUAL(ferry_kernels_query(&bad[i], &op, &answer), FERRY_EINVAL);
        CU_ASSERT_EQUAL(ferry_kernels_plan_create(&bad[i], &op, &plan), FERRY_EINVAL);
    }
    CU_ASSERT_EQUAL(ferry_kernels_query(NULL, &op, &answer), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_kernels_query(&good, NULL, &answer), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_kernels_query(&good, &op, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_kernels_plan_create(&good, &op, NULL), FERRY_EINVAL);
    describe(&op, 9999);
    CU_ASSERT_EQUAL(ferry_kernels_query(&good, &op, &answer), FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(ferry_kernels_plan_create(&good, &op, &plan), FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(answer.epilogue, 77);
    CU_ASSERT_PTR_NULL(plan);
    CU_ASSERT_EQUAL(ferry_kernels_plan_kernels(NULL, NULL), 0);
    CU_ASSERT_EQUAL(ferry_kernels_run(NULL, NULL, NULL, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_kernels_pack(NULL, NULL, (ferry_ref){ 0 }, NULL, NULL), FERRY_EINVAL);
    ferry_kernels_plan_destroy(NULL);
}

/* ---- launches -------------------------------------------------------------------------------- */

struct seen {
    ferry_kernels_launch launch;
    int count, answer;
};

static int see(void *user, const ferry_kernels_launch *l)
{
    struct seen *s = user;

    s->launch = *l;
    s->count++;
    return s->answer;
}

static void a_launch_lists_its_buffers_and_marks_the_written_ones(void)
{
    static char x, y;
    ferry_cref in = { &x, 256 };
    ferry_ref out = { &y, 512 };
    ferry_op_run_args args = { .struct_size = sizeof args, .in = &in, .out = &out };
    uint32_t kernels[FERRY_KERNELS_LAUNCHES];
    struct seen s = { .count = 0 };
    ferry_kernels_plan *plan = NULL;
    int used = 0;
    ferry_op_desc op;

    describe(&op, FERRY_OP_UNARY);
    CU_ASSERT_EQUAL_FATAL(ferry_kernels_plan_create(&good, &op, &plan), 0);
    memset(&op, 0x5a, sizeof op); /* the plan has its own copy */
    CU_ASSERT_EQUAL_FATAL(ferry_kernels_plan_kernels(plan, kernels), 1);
    CU_ASSERT_STRING_EQUAL(ferry_kernels_name(kernels[0]), "unary");
    CU_ASSERT_EQUAL(ferry_kernels_run(plan, &args, see, &s), 0);
    CU_ASSERT_EQUAL_FATAL(s.count, 1);
    CU_ASSERT_EQUAL(s.launch.struct_size, sizeof s.launch);
    CU_ASSERT_EQUAL(s.launch.kernel, kernels[0]);
    CU_ASSERT(s.launch.groups > 0 && s.launch.args_bytes > 0 && s.launch.args);
    for (unsigned i = 0; i < FERRY_KERNELS_BUFFERS; i++) {
        const ferry_kernels_buffer *b = &s.launch.buffer[i];

        used += b->what != NULL;
        if (b->what) {
            CU_ASSERT_EQUAL(b->bytes, 4000);
            CU_ASSERT(b->is_written ? b->ref.handle == &y && b->ref.offset == 512
                                    : b->ref.handle == &x && b->ref.offset == 256);
        } else {
            CU_ASSERT(!b->ref.handle && !b->is_written);
        }
    }
    CU_ASSERT_EQUAL(used, 2);
    s.answer = -42; /* the launcher's own */
    CU_ASSERT_EQUAL(ferry_kernels_run(plan, &args, see, &s), -42);
    CU_ASSERT_EQUAL(ferry_kernels_pack(plan, &in, out, see, &s), 0); /* nothing is packed */
    CU_ASSERT_EQUAL(s.count, 2);
    ferry_kernels_plan_destroy(plan);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bool has(const char *const *lines, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(lines[i], word))
            return true;
    return false;
}

static void the_text_of_a_program_is_complete(void)
{
    for (uint32_t p = 0; p < (uint32_t)ferry_kernels_program_count(); p++) {
        size_t n = ferry_kernels_text(p, NULL, 0);
        const char **lines = calloc(n + 1, sizeof *lines);

        CU_ASSERT_FATAL(n > 100 && lines);
        CU_ASSERT_EQUAL(ferry_kernels_text(p, lines, n - 1), n);
        CU_ASSERT_PTR_NULL(lines[0]); /* there was too little room */
        CU_ASSERT_EQUAL(ferry_kernels_text(p, lines, n), n);
        CU_ASSERT_PTR_NULL(lines[n]);
        for (size_t i = 0; i < n; i++)
            CU_ASSERT(lines[i][0] && lines[i][strlen(lines[i]) - 1] == '\n');
        CU_ASSERT(!has(lines, n, "#include \"") && has(lines, n, "KERNEL("));
        free(lines);
    }
    CU_ASSERT_EQUAL(ferry_kernels_text((uint32_t)ferry_kernels_program_count(), NULL, 0), 0);
}

static void every_kernel_has_a_name_and_a_program(void)
{
    uint32_t count = (uint32_t)ferry_kernels_count();

    CU_ASSERT(count > 0);
    for (uint32_t k = 0; k < count; k++) {
        CU_ASSERT_PTR_NOT_NULL(ferry_kernels_name(k));
        CU_ASSERT(ferry_kernels_program(k) < (uint32_t)ferry_kernels_program_count());
    }
    CU_ASSERT_PTR_NULL(ferry_kernels_name(count));
    CU_ASSERT_EQUAL(ferry_kernels_program(count), (uint32_t)ferry_kernels_program_count());
    CU_ASSERT_NOT_EQUAL(ferry_kernels_fingerprint(), 0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(targets_are_checked),
    FERRY_TEST(a_launch_lists_its_buffers_and_marks_the_written_ones),
    FERRY_TEST(the_text_of_a_program_is_complete),
    FERRY_TEST(every_kernel_has_a_name_and_a_program),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "kernels library", cases, FERRY_TEST_COUNT(cases));
}
