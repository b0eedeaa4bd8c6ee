/* SPDX-License-Identifier: BSD-2-Clause */
#include "ferry-test.h"
#include "oom.h"

#include "op/host.h"
#include "op/target.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdio.h>
#include <string.h>

/* Descriptions that ferry_op_desc_check rejects; each differs in one respect from a valid one. */

static ferry_operand plain(int rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t shape[4] = { a, b, c, d };

    return ferry_operand_make(FERRY_F32, shape, rank, NULL);
}

/* x (2, 4, 9, 7) → y (2, 6, 5, 4) by 3 × 3 kernels in 2 groups, stride 2, pad 1, and a bias. */
static ferry_op_desc convolution(void)
{
    ferry_op_desc op;
    int i;

    ferry_op_desc_init(&op, FERRY_OP_CONVOLUTION);
    op.n_in = 3;
    op.n_out = 1;
    op.in[0] = plain(4, 2, 4, 9, 7);
    op.in[1] = plain(4, 6, 2, 3, 3);
    op.in[2] = plain(1, 6, 0, 0, 0);
    op.out[0] = plain(4, 2, 6, 5, 4);
    op.constants = 6;
    op.params.window.group = 2;
    for (i = 0; i < 2; i++) {
        op.params.window.kernel[i] = 3;
        op.params.window.stride[i] = 2;
        op.params.window.pad[i] = op.params.window.pad_end[i] = 1;
    }
    return op;
}

static void add_step(ferry_op_desc *op, uint32_t step, ferry_operand o)
{
    ferry_op_step *s = &op->epilogue[op->n_epilogue++];

    s->step = step;
    if (step == FERRY_STEP_UNARY)
        return;
    s->operand = op->n_in;
    op->in[op->n_in++] = o;
}

/* Checks that the message contains that text, and that no memory is allocated. */
static void refused_as(int code, const ferry_op_desc *op, const char *says)
{
    oom_arm(1);
    CU_ASSERT_EQUAL(ferry_op_desc_check(op), code);
    CU_ASSERT(!oom_disarm());
    if (!strstr(ferry_last_error(), says))
        printf("\"%s\" is not in \"%s\"\n", says, ferry_last_error());
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), says));
}

static void refused(int code, const ferry_op_desc *op, const char *says)
{
    refused_as(code, op, says);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "convolution"));
}

static void matching_weights_are_accepted(void)
{
    ferry_op_desc op = convolution();

    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
    add_step(&op, FERRY_STEP_ADD, op.out[0]);
    add_step(&op, FERRY_STEP_PRELU, plain(1, 6, 0, 0, 0));
    add_step(&op, FERRY_STEP_UNARY, plain(0, 0, 0, 0, 0));
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
}

static void a_null_or_sizeless_operation_is_refused(void)
{
    ferry_op_desc op = convolution();

    CU_ASSERT_EQUAL(ferry_op_desc_check(NULL), FERRY_EINVAL);
    op.struct_size = 8;
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), FERRY_EINVAL);
}

static void invalid_numbers_are_refused(void)
{
    ferry_op_desc op = convolution();

    op.kind = 31;
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), FERRY_EINVAL);
    op = convolution();
    op.pass = 77;
    refused(FERRY_EINVAL, &op, "the pass is 77, must be 0 to 3");
    op = convolution();
    op.math = 64;
    refused(FERRY_EINVAL, &op, "math is 64, must be 0 to 63");
    op = convolution();
    op.in[1].dtype = 99;
    refused(FERRY_EINVAL, &op, "99 is not a dtype, 0 to 8 are");
    op = convolution();
    op.in[0].rank = 9;
    refused(FERRY_EINVAL, &op, "9 axes, the limit is 8");
}

static void a_wrong_number_of_operands_is_refused(void)
{
    ferry_op_desc op = convolution();

    op.n_in = 1;
    op.constants = 0;
    refused(FERRY_EINVAL, &op, "inputs is 1, must be 2 to 3");
    op = convolution();
    op.n_in = 4;
    refused(FERRY_EINVAL, &op, "inputs is 4, must be 2 to 3");
    op = convolution();
    op.n_in = 7;
    refused(FERRY_EINVAL, &op, "inputs is 7, must be 0 to 6");
    op = convolution();
    op.n_out = 0;
    refused(FERRY_EINVAL, &op, "outputs is 0, must be 1");
    op = convolution();
    op.constants = 8;
    refused(FERRY_EINVAL, &op, "constants is 8, must be 0 to 7");
}

static void shapes_that_do_not_fit_name_both_numbers(void)
{
    ferry_op_desc op = convolution();

    op.out[0] = plain(4, 2, 6, 6, 4);
    refused(FERRY_ESHAPE, &op, "axis 0 of y is 6, must be 5");
    op = convolution();
    op.in[1] = plain(4, 6, 4, 3, 3);
    refused(FERRY_ESHAPE, &op, "weights is 4, must be 2");
    op = convolution();
    op.in[2] = plain(1, 5, 0, 0, 0);
    refused(FERRY_ESHAPE, &op, "bias is 5, must be 6");
    op = convolution();
    op.params.window.group = 3;
    refused(FERRY_ESHAPE, &op, "4 channels to 6 in 3 groups");
    op = convolution();
    op.params.window.kernel[0] = 12;
    op.in[1] = plain(4, 6, 2, 12, 3);
    refused(FERRY_ESHAPE, &op, "covers 12 elements of spatial axis 0, which has 11");
    op = convolution();
    op.in[0] = plain(3, 2, 4, 9, 0);
    refused(FERRY_ESHAPE, &op, "image is 3, must be 4");
}

static void a_window_out_of_range_is_refused(void)
{
    ferry_op_desc op = convolution();

    op.params.window.pad[1] = -1;
    refused(FERRY_EINVAL, &op, "axis 1 is -1, must be 0 to 2147483647");
    op = convolution();
    op.params.window.stride[0] = 0;
    refused(FERRY_EINVAL, &op, "stride of spatial axis 0 is 0, must be 1 to 2147483647");
    op = convolution();
    op.params.window.dilation[0] = 0;
    refused(FERRY_EINVAL, &op, "dilation of spatial axis 0 is 0");
    op = convolution();
    op.params.window.axes = 4;
    refused(FERRY_EINVAL, &op, "axes is 4, must be 1 to 3");
    op = convolution();
    op.params.window.group = 0;
    refused(FERRY_EINVAL, &op, "group is 0");
}

static void overlapping_strides_of_outputs_are_refused(void)
{
    ferry_op_desc op = convolution();

    op.out[0].stride[0] = 1;
    refused(FERRY_EINVAL, &op, "axis 3 has stride 1, 2 elements are within it");
    op = convolution();
    op.out[0].stride[3] = 0;
    refused(FERRY_EINVAL, &op, "axis 3 of 4 has stride 0");
    op = convolution();
    op.in[0].stride[1] = -63;
    refused(FERRY_EINVAL, &op, "axis 1 of 4 has stride -63");
    op = convolution(); /* channels-last elements do not overlap */
    op.out[0] = ferry_operand_make(FERRY_F32, op.out[0].shape, 4, (uint8_t[]){ 0, 2, 3, 1 });
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
    CU_ASSERT_EQUAL(ferry_operand_is_plain(&op.out[0]), 0);
    op.out[0].stride[0] *= 3; /* a slice does not overlap either */
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
}

static void products_that_overflow_are_found_in_any_order(void)
{
    int64_t huge = INT64_C(1) << 40;
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = plain(2, huge, huge, 0, 0);
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), FERRY_EOVERFLOW);
    op.in[0] = op.out[0] = plain(3, 0, huge, huge, 0);
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), FERRY_EOVERFLOW);
    op.in[0] = op.out[0] = plain(3, huge, huge, 0, 0);
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), FERRY_EOVERFLOW);
    op = convolution(); /* values derived from valid parameters */
    op.params.window.transposed = 1;
    op.params.window.stride[0] = INT32_MAX;
    op.in[0] = plain(4, 2, 4, huge, 7);
    op.in[1] = plain(4, 4, 3, 3, 3);
    refused(FERRY_EOVERFLOW, &op, "1099511627776 elements, stride 2147483647, kernel 3");
}

/* Checks that `op`, made for `most` rows, is accepted with them and refused with one more. */
static void accepted_up_to(ferry_op_desc *op, int64_t most, ferry_operand *x, ferry_operand *y,
                           const char *says)
{
    int i;

    for (i = 0; i < 2; i++) {
        x->shape[0] = y->shape[0] = most + i;
        if (i)
            refused_as(FERRY_EOVERFLOW, op, says);
        else
            CU_ASSERT_EQUAL(ferry_op_desc_check(op), 0);
    }
}

/* Operands of 2⁴⁸ elements and less, but products and windows of more than 2⁵⁶. */
static void more_work_than_plugins_count_is_refused(void)
{
    const int64_t most = INT64_C(1) << 56, wide = INT64_C(1) << 15;
    const ferry_op_desc forward = convolution();
    ferry_op_desc op = forward;

    accepted_up_to(&op, most / (120 * 18), &op.in[0], &op.out[0],
                   "convolution: 4003199668773840 elements of 18 steps each");
    op.n_in = 2;
    op.constants = 0;
    op.pass = FERRY_PASS_BACKWARD_WEIGHTS;
    op.in[0] = forward.out[0];
    op.in[1] = forward.in[0];
    op.out[0] = forward.in[1];
    accepted_up_to(&op, most / (120 * 18), &op.in[0], &op.in[1], "backward weights: 4003199668773");
    ferry_op_desc_init(&op, FERRY_OP_INNER_PRODUCT);
    op.n_in = 2;
    op.n_out = 1;
    op.in[0] = op.in[1] = op.out[0] = plain(2, wide, wide, 0, 0);
    accepted_up_to(&op, most / wide / wide - 1, &op.in[0], &op.out[0], "of 32768 steps each");
    ferry_op_desc_init(&op, FERRY_OP_BATCHED_GEMM);
    op.n_in = 2;
    op.n_out = 1;
    op.in[0] = op.in[1] = op.out[0] = plain(3, 1, wide, wide, 0);
    op.in[1].shape[0] = 1;
    accepted_up_to(&op, most / wide / wide / wide - 1, &op.in[0], &op.out[0], "of 32768 steps");
    ferry_op_desc_init(&op, FERRY_OP_POOL);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = plain(4, 1, 1, 1, 1);
    op.params.window.kernel[0] = op.params.window.kernel[1] = wide;
    op.params.window.pad[0] = op.params.window.pad_end[0] = wide - 1;
    op.params.window.pad[1] = op.params.window.pad_end[1] = wide - 1;
    accepted_up_to(&op, most / wide / wide - 1, &op.in[0], &op.out[0], "of 1073741824 steps");
}

/* Two dimensions and two strides that each fit, but whose sum does not. */
static void strides_beyond_63_bits_are_refused(void)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_STRIDED_COPY);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = plain(2, 2, 3, 0, 0);
    op.in[0].stride[0] = INT64_MAX / 4 - 8;
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), FERRY_EOVERFLOW);
    op.in[0].stride[0] = INT64_C(1) << 59;
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
    op.in[0].shape[0] = op.out[0].shape[0] = 0;
    op.in[0].stride[0] = INT64_MAX;
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), FERRY_EOVERFLOW);
    op.in[0].shape[0] = op.out[0].shape[0] = 1; /* where a dimension of 1 makes the stride
                                                 * irrelevant */
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
}

static void integers_can_be_copied_but_not_computed(void)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = ferry_operand_make(FERRY_I32, (int64_t[]){ 3 }, 1, NULL);
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), FERRY_EUNSUPPORTED);
    op.kind = FERRY_OP_STRIDED_COPY;
    op.out[0].dtype = FERRY_F64;
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
}

static void an_epilogue_that_does_not_fit_is_refused(void)
{
    ferry_op_desc op = convolution();
    char says[64];

    add_step(&op, FERRY_STEP_ADD, plain(4, 2, 6, 5, 5));
    refused(FERRY_ESHAPE, &op, "adds is 300, must be 240");
    op = convolution();
    add_step(&op, FERRY_STEP_SCALE, plain(1, 5, 0, 0, 0));
    refused(FERRY_ESHAPE, &op, "operand is 5, must be 6");
    op = convolution();
    add_step(&op, 9, plain(1, 6, 0, 0, 0));
    refused(FERRY_EINVAL, &op, "step is 9, must be 0 to 4");
    op = convolution();
    add_step(&op, FERRY_STEP_UNARY, plain(0, 0, 0, 0, 0));
    op.epilogue[0].function = 50;
    snprintf(says, sizeof says, "function is 50, must be 0 to %u", FERRY_UNARY_COUNT - 1);
    refused(FERRY_EINVAL, &op, says);
    op = convolution();
    op.n_epilogue = 5;
    refused(FERRY_EINVAL, &op, "steps is 5, must be 0 to 4");
}

/*
 * Additional inputs of a kind, such as a mask or an index, have a dtype of their own; inputs of a
 * step do not.
 */
static void steps_have_the_dtype_of_the_result(void)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_POOL);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = plain(4, 1, 2, 3, 3);
    add_step(&op, FERRY_STEP_ADD, op.out[0]);
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
    op.in[1].dtype = FERRY_F16;
    refused_as(FERRY_EINVAL, &op, "in[1], of an epilogue step, has dtype 2, must be 0");
    ferry_op_desc_init(&op, FERRY_OP_STRIDED_COPY);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = ferry_operand_make(FERRY_I32, (int64_t[]){ 3 }, 1, NULL);
    add_step(&op, FERRY_STEP_ADD, op.out[0]);
    refused_as(FERRY_EUNSUPPORTED, &op, "integers (dtype 6) have no arithmetic; dtypes 0 to 3 do");
}

static void the_extent_of_an_operand_includes_its_strides(void)
{
    ferry_operand o = plain(4, 2, 3, 4, 5);

    CU_ASSERT_EQUAL(ferry_operand_extent(&o), 480);
    o.stride[0] = 1000;
    CU_ASSERT_EQUAL(ferry_operand_extent(&o), 4 * (1000 + 60));
    o.shape[2] = 0;
    CU_ASSERT_EQUAL(ferry_operand_extent(&o), 0);
    CU_ASSERT_EQUAL(ferry_operand_extent(NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_operand_is_plain(NULL), 0);
}

static void an_axis_order_with_a_duplicate_axis_is_refused(void)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.n_in = op.n_out = 1;
    op.in[0] = plain(2, 3, 4, 0, 0);
    op.out[0] = ferry_operand_make(FERRY_F32, op.in[0].shape, 2, (uint8_t[]){ 1, 1 });
    CU_ASSERT_NOT_EQUAL(ferry_op_desc_check(&op), 0);
    op.out[0] = ferry_operand_make(FERRY_F32, op.in[0].shape, 2, (uint8_t[]){ 1, 7 });
    CU_ASSERT_NOT_EQUAL(ferry_op_desc_check(&op), 0);
}

/*
 * If the cpu plugin cannot be opened for lack of memory, this is an error and the plugin is not
 * ignored.
 */
static void the_host_target_without_memory_is_an_error(void)
{
    const char *name = ferry_test_is_built("sim") ? "sim" : "cpu";
    struct ferry__target host;
    unsigned n, failed = 0;
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    bool is_reached;

    if (!ferry_test_is_built("cpu"))
        return;
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_open(NULL, &rt), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, name, &dev), 0);
    for (n = 1; n < 100; n++) {
        int err;

        oom_arm(n);
        err = ferry__target_host(dev, &host);
        is_reached = oom_disarm();
        CU_ASSERT(!err || err == FERRY_ENOMEM);
        if (!err)
            ferry__target_release_host(&host);
        if (!is_reached)
            break;
        failed += err != 0;
    }
    CU_ASSERT(failed > 0);
    CU_ASSERT_EQUAL_FATAL(ferry__target_host(dev, &host), 0);
    CU_ASSERT(host.host);
    CU_ASSERT(host.table != &ferry__host_table);
    ferry__target_release_host(&host);
    ferry_runtime_close(rt);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(matching_weights_are_accepted),
    FERRY_TEST(a_null_or_sizeless_operation_is_refused),
    FERRY_TEST(invalid_numbers_are_refused),
    FERRY_TEST(a_wrong_number_of_operands_is_refused),
    FERRY_TEST(shapes_that_do_not_fit_name_both_numbers),
    FERRY_TEST(a_window_out_of_range_is_refused),
    FERRY_TEST(overlapping_strides_of_outputs_are_refused),
    FERRY_TEST(products_that_overflow_are_found_in_any_order),
    FERRY_TEST(integers_can_be_copied_but_not_computed),
    FERRY_TEST(an_epilogue_that_does_not_fit_is_refused),
    FERRY_TEST(more_work_than_plugins_count_is_refused),
    FERRY_TEST(strides_beyond_63_bits_are_refused),
    FERRY_TEST(steps_have_the_dtype_of_the_result),
    FERRY_TEST(the_host_target_without_memory_is_an_error),
    FERRY_TEST(the_extent_of_an_operand_includes_its_strides),
    FERRY_TEST(an_axis_order_with_a_duplicate_axis_is_refused),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "op check", cases, FERRY_TEST_COUNT(cases));
}
