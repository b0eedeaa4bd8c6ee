/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "opencl-driver.h"

#include <ferry/op.h>
#include <ferry/op_plugin.h>

#include <clblast_c.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>

/*
 * CLBlast counts elements with ints. Larger operands are computed by the plugin's own kernels,
 * which cannot be tested with buffers of that size. The plugin therefore calls the functions below
 * instead of the ICD loader and CLBlast, and a buffer can pretend to have any size.
 */

static struct {
    bool on;
    uint64_t size;    /* the size that every buffer reports */
    unsigned clblast; /* calls of its axpy */
    CLBlastStatusCode answer;
    size_t group;     /* the maximum group size of every kernel; 0: the true one */
    size_t largest;   /* of the groups that were launched */
    unsigned kernels; /* the number of launches, none of which is executed */
    cl_ulong args[8]; /* of the last kernel; 0 for arguments of other types than cl_ulong */
} lie;

cl_int clGetMemObjectInfo(cl_mem mem, cl_mem_info what, size_t size, void *value,
                          size_t *value_size)
{
    cl_int (*next)(cl_mem, cl_mem_info, size_t, void *, size_t *);
    cl_int error;

    *(void **)&next = dlsym(RTLD_NEXT, "clGetMemObjectInfo");
    error = next(mem, what, size, value, value_size);
    if (lie.on && !error && what == CL_MEM_SIZE)
        *(size_t *)value = (size_t)lie.size;
    return error;
}

CLBlastStatusCode CLBlastSaxpy(const size_t n, const float alpha, const cl_mem x,
                               const size_t x_offset, const size_t x_inc, cl_mem y,
                               const size_t y_offset, const size_t y_inc, cl_command_queue *queue,
                               cl_event *event)
{
    (void)n, (void)alpha, (void)x, (void)x_offset, (void)x_inc, (void)y, (void)y_offset;
    (void)y_inc, (void)queue, (void)event;
    lie.clblast++;
    return lie.answer;
}

/* The other functions only fail. */
CLBlastStatusCode CLBlastSscal(const size_t n, const float alpha, cl_mem x, const size_t x_offset,
                               const size_t x_inc, cl_command_queue *queue, cl_event *event)
{
    (void)n, (void)alpha, (void)x, (void)x_offset, (void)x_inc, (void)queue, (void)event;
    lie.clblast++;
    return lie.answer;
}

CLBlastStatusCode CLBlastSgemv(const CLBlastLayout layout, const CLBlastTranspose trans,
                               const size_t m, const size_t n, const float alpha, const cl_mem a,
                               const size_t a_offset, const size_t a_ld, const cl_mem x,
                               const size_t x_offset, const size_t x_inc, const float beta,
                               cl_mem y, const size_t y_offset, const size_t y_inc,
                               cl_command_queue *queue, cl_event *event)
{
    (void)layout, (void)trans, (void)m, (void)n, (void)alpha, (void)a, (void)a_offset, (void)a_ld;
    (void)x, (void)x_offset, (void)x_inc, (void)beta, (void)y, (void)y_offset, (void)y_inc;
    (void)queue, (void)event;
    lie.clblast++;
    return lie.answer;
}

CLBlastStatusCode CLBlastSgemm(const CLBlastLayout layout, const CLBlastTranspose trans_a,
                               const CLBlastTranspose trans_b, const size_t m, const size_t n,
                               const size_t k, const float alpha, const cl_mem a,
                               const size_t a_offset, const size_t a_ld, const cl_mem b,
                               const size_t b_offset, const size_t b_ld, const float beta, cl_mem c,
                               const size_t c_offset, const size_t c_ld, cl_command_queue *queue,
                               cl_event *event)
{
    (void)layout, (void)trans_a, (void)trans_b, (void)m, (void)n, (void)k, (void)alpha, (void)a;
    (void)a_offset, (void)a_ld, (void)b, (void)b_offset, (void)b_ld, (void)beta, (void)c;
    (void)c_offset, (void)c_ld, (void)queue, (void)event;
    lie.clblast++;
    return lie.answer;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    cl_int (*next)(cl_kernel, cl_uint, size_t, const void *);

    if (lie.on && index < FERRY_TEST_COUNT(lie.args)) {
        lie.args[index] = 0;
        if (size == sizeof(lie.args[0]) && value)
            memcpy(&lie.args[index], value, size);
    }
    *(void **)&next = dlsym(RTLD_NEXT, "clSetKernelArg");
    return next(kernel, index, size, value);
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                cl_kernel_work_group_info what, size_t size, void *value,
                                size_t *value_size)
{
    cl_int (*next)(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void *, size_t *);
    cl_int error;

    *(void **)&next = dlsym(RTLD_NEXT, "clGetKernelWorkGroupInfo");
    error = next(kernel, device, what, size, value, value_size);
    if (lie.group && !error && what == CL_KERNEL_WORK_GROUP_SIZE)
        *(size_t *)value = lie.group;
    return error;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel kernel, cl_uint shape,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint events, const cl_event *wait_list, cl_event *event)
{
    cl_int (*next)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                   const size_t *, cl_uint, const cl_event *, cl_event *);

    if (lie.on) {
        lie.kernels++;
        return clEnqueueMarkerWithWaitList(q, 0, NULL, event);
    }
    if (local && local[0] > lie.largest)
        lie.largest = local[0];
    if (lie.group && local && local[0] * (shape > 1 ? local[1] : 1) > lie.group)
        return CL_INVALID_WORK_GROUP_SIZE;
    *(void **)&next = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    return next(q, kernel, shape, offset, global, local, events, wait_list, event);
}

/* An axpy of n floats at these elements of x and y, in the order of the kernel arguments. */
enum { ARG_N = 0, ARG_X = 3, ARG_Y = 5 };

static int axpy(void *block, int64_t n, uint64_t x, uint64_t y)
{
    lie.clblast = lie.kernels = 0;
    return ocl->axpy(dev, NULL, FERRY_F32, n, 1, driver_cref(block, 4 * x),
                     driver_ref(block, 4 * y));
}

static void clblast_runs_operations_up_to_int_max_elements(void)
{
    const uint64_t last = INT32_MAX;
    void *block;

    if (!ocl_open(0, "arithmetic", "clblast", NULL))
        return;
    block = ocl_block(64);
    lie.on = true;
    lie.size = UINT64_C(1) << 40;
    lie.answer = 0;
    CU_ASSERT_EQUAL(axpy(block, 8, last - 8, 0), 0);
    CU_ASSERT(lie.clblast == 1 && lie.kernels == 0);
    CU_ASSERT_EQUAL(axpy(block, 8, last - 7, 0), 0);
    CU_ASSERT(lie.clblast == 0 && lie.kernels == 1);
    CU_ASSERT_EQUAL(axpy(block, 8, 0, last - 7), 0);
    CU_ASSERT(lie.clblast == 0 && lie.kernels == 1);
    CU_ASSERT_EQUAL(axpy(block, 8, UINT64_C(5) << 32, UINT64_C(7) << 33), 0);
    CU_ASSERT(lie.clblast == 0 && lie.kernels == 1);
    CU_ASSERT_EQUAL(lie.args[ARG_N], 8);
    CU_ASSERT_EQUAL(lie.args[ARG_X], UINT64_C(5) << 32);
    CU_ASSERT_EQUAL(lie.args[ARG_Y], UINT64_C(7) << 33);
    lie.on = false;
    ocl_free_block(block);
    ocl_close();
}

static void an_error_of_clblast_is_named(void)
{
    void *block;

    if (!ocl_open(0, "arithmetic", "clblast", NULL))
        return;
    block = ocl_block(64);
    lie.on = true;
    lie.size = 64;
    lie.answer = CLBlastInsufficientMemoryY;
    CU_ASSERT(driver_failed(axpy(block, 8, 0, 8), FERRY_EDEVICE,
                            "CLBlastSaxpy: CLBlastInsufficientMemoryY"));
    lie.answer = CLBlastOpenCLOutOfHostMemory;
    CU_ASSERT(
        driver_failed(axpy(block, 8, 0, 8), FERRY_ENOMEM, "CLBlastSaxpy: CL_OUT_OF_HOST_MEMORY"));
    lie.on = false;
    ocl_free_block(block);
    ocl_close();
}

static const float eight[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

/* For CLBlast: eight floats followed by eight zeros; NULL where there is no OpenCL. */
static void *open_eight(void)
{
    const float none[8] = { 0 };
    void *block;

    if (!ocl_open(0, "arithmetic", "clblast", NULL))
        return NULL;
    block = ocl_block(64);
    ocl_put(block, 0, eight, sizeof(eight));
    ocl_put(block, 32, none, sizeof(none));
    return block;
}

/* Without CLBlast the plugin computes by its own kernels. */
static void operations_that_clblast_cannot_run_are_run_without_it(void)
{
    float y[8];
    void *block;

    block = open_eight();
    if (!block)
        return;
    lie.answer = CLBlastInvalidLocalNumDimensions;
    CU_ASSERT_EQUAL(axpy(block, 8, 0, 8), 0);
    CU_ASSERT_EQUAL(lie.clblast, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(driver_logged(), "ferry's own kernels replace it"));
    ocl_get(block, 32, y, sizeof(y));
    CU_ASSERT_EQUAL(memcmp(eight, y, sizeof(y)), 0);
    CU_ASSERT_EQUAL(axpy(block, 8, 0, 8), 0); /* CLBlast is not called a second time */
    CU_ASSERT_EQUAL(lie.clblast, 0);
    lie.answer = 0;
    ocl_free_block(block);
    ocl_close();
}

/*
 * The consequence of each error code of CLBlast: it is not called again, it is called again the
 * next time, or the call fails.
 */
static void each_error_code_of_clblast_is_handled(void)
{
    enum { FOR_GOOD = 1, ONCE = 2 };
    static const struct {
        int first, last, what;
    } codes[] = {
        { -4, -5, ONCE },           /* no device memory or resources */
        { -6, -6, FERRY_ENOMEM },   /* no host memory */
        { -11, -11, FOR_GOOD },     /* a build failed */
        { -30, -30, FERRY_EINVAL }, /* an invalid value */
        { -36, -36, FERRY_EDEVICE },
        { -38, -38, FERRY_EINVAL },
        { -42, -55, FOR_GOOD }, /* a program, a kernel or its groups */
        { -56, -56, ONCE },
        { -57, -59, FERRY_EDEVICE },
        { -61, -61, ONCE }, /* no scratch buffer */
        { -63, -63, ONCE },
        { -1007, -1022, FERRY_EDEVICE }, /* operands, which the plugin checks before */
        { -1024, -1024, FOR_GOOD },
        { -2039, -2046, FOR_GOOD },
        { -2047, -2050, FERRY_EDEVICE },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(codes); i++)
        for (int code = codes[i].first; code >= codes[i].last; code--) {
            int what = codes[i].what, err;
            float y[8];
            void *block;

            block = open_eight();
            if (!block)
                return;
            lie.answer = (CLBlastStatusCode)code;
            err = axpy(block, 8, 0, 8);
            if (err != (what > 0 ? 0 : what))
                CU_FAIL("the meaning of the code");
            ocl_get(block, 32, y, sizeof(y));
            CU_ASSERT_EQUAL(memcmp(eight, y, sizeof(y)) == 0, what > 0);
            lie.answer = 0;
            (void)axpy(block, 8, 0, 8);
            if (lie.clblast != (what != FOR_GOOD))
                CU_FAIL("whether it is asked again");
            ocl_free_block(block);
            ocl_close();
        }
}

/* (1 2 3 4) and (5 6), and the results, in floats from `at` on. */
static int compute(void *block, int way, float beta)
{
    const ferry_cref a = driver_cref(block, 0), x = driver_cref(block, 16);
    const ferry_ref y = driver_ref(block, 32);

    if (way == 0)
        return ocl->scal(dev, NULL, FERRY_F32, 2, 3, driver_ref(block, 16));
    if (way == 1)
        return ocl->gemv(dev, NULL, FERRY_F32, FERRY_NO_TRANS, 2, 2, 1, a, 2, x, 1, (double)beta, y,
                         1);
    return ocl->gemm(dev, NULL, FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS, 2, 1, 2, 1, a, 2, x, 1,
                     (double)beta, y, 1);
}

static void every_routine_of_clblast_has_a_replacement_kernel(void)
{
    static const float start[10] = { 1, 2, 3, 4, 5, 6, 0, 0, 7, 8 };
    static const int codes[] = { CLBlastInvalidLocalThreadsTotal, CLBlastInvalidBufferSize };

    for (int way = 0; way < 3; way++)
        for (int beta = 0; beta < 3; beta += 2)
            for (int code = 0; code < 2; code++) {
                float got[10] = { 0 };
                void *block;

                if (!ocl_open(0, "arithmetic", "clblast", NULL))
                    return;
                block = ocl_block(64);
                ocl_put(block, 0, start, sizeof(start));
                lie.clblast = 0;
                lie.answer = (CLBlastStatusCode)codes[code];
                CU_ASSERT_EQUAL(compute(block, way, (float)beta), 0);
                lie.answer = 0;
                CU_ASSERT_EQUAL(lie.clblast, 1);
                ocl_get(block, 0, got, sizeof(got));
                CU_ASSERT(way > 0 || (got[4] == 15 && got[5] == 18));
                CU_ASSERT(way == 0 ||
                          (got[8] == 17 + (float)beta * 7 && got[9] == 39 + (float)beta * 8));
                ocl_free_block(block);
                ocl_close();
            }
}

/*
 * Drivers take registers into account: a kernel's maximum group can be smaller than its device's.
 */
static void vector_groups_fit_the_limit_of_their_kernel(void)
{
    float ones[1000], sum = 0;
    void *block, *result;

    if (!ocl_open(0, "arithmetic", "own", "items", "many", NULL))
        return;
    for (int i = 0; i < 1000; i++)
        ones[i] = 1;
    block = ocl_block(sizeof(ones));
    result = ocl_block(64);
    ocl_put(block, 0, ones, sizeof(ones));
    lie.group = 24;
    lie.largest = 0;
    CU_ASSERT_EQUAL(ocl->scal(dev, NULL, FERRY_F32, 1000, 2, driver_ref(block, 0)), 0);
    CU_ASSERT_EQUAL(
        ocl->asum(dev, NULL, FERRY_F32, 1000, driver_cref(block, 0), driver_ref(result, 0)), 0);
    ocl_get(result, 0, &sum, sizeof(sum));
    CU_ASSERT_EQUAL(sum, 2000);
    CU_ASSERT_EQUAL(lie.largest, 16); /* the power of 2 */
    lie.group = 0;
    ocl_free_block(block);
    ocl_free_block(result);
    ocl_close();
}

/* A square of items is also a group. */
static void gemm_tiles_fit_the_limit_of_their_kernel(void)
{
    float ones[400], c[400] = { 0 };
    void *block;

    for (int i = 0; i < 400; i++)
        ones[i] = 1;
    for (size_t most = 1; most < 300; most = 2 * most + 3) {
        if (!ocl_open(0, "arithmetic", "own", "items", "many", NULL))
            return;
        block = ocl_block(3 * sizeof(ones));
        ocl_put(block, 0, ones, sizeof(ones));
        lie.group = most;
        CU_ASSERT_EQUAL(ocl->gemm(dev, NULL, FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS, 20, 20, 20,
                                  1, driver_cref(block, 0), 20, driver_cref(block, 0), 20, 0,
                                  driver_ref(block, sizeof(ones)), 20),
                        0);
        lie.group = 0;
        ocl_get(block, sizeof(ones), c, sizeof(c));
        for (int i = 0; i < 400; i++)
            CU_ASSERT_EQUAL(c[i], 20);
        ocl_free_block(block);
        ocl_close();
    }
}

/*
 * The kernels of operations are compiled for one group size: where the driver allows less, the
 * plugin refuses the operation.
 */
static void an_operation_whose_groups_are_too_large_is_refused(void)
{
    const void *found = NULL;
    const ferry_op_table *table;
    void *prepared = NULL;
    ferry_op_desc op;

    if (!ocl_open(0, "items", "many", NULL))
        return;
    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 100 }, 1, NULL);
    op.params.unary.function = FERRY_UNARY_ABS;
    CU_ASSERT_EQUAL_FATAL(ocl->extension(dev, FERRY_OP_EXTENSION, &found), 0);
    table = found;
    lie.group = 32;
    CU_ASSERT(driver_failed(table->create(dev, &op, &prepared), FERRY_EUNSUPPORTED,
                            "in groups of 32 here; 64 are required"));
    lie.group = 64;
    CU_ASSERT_EQUAL(table->create(dev, &op, &prepared), 0);
    lie.group = 0;
    table->destroy(dev, prepared);
    ocl_close();
}

/* Uses the real device, at element numbers beyond 2^31, in I8, which needs the least memory. */
static void elements_beyond_2_to_the_31_are_accessed(void)
{
    static const signed char bytes[5] = { 1, -2, 3, -4, 5 };
    const uint64_t far = (UINT64_C(1) << 31) + 3, size = far + 4096;
    ferry_plugin_properties p = { .struct_size = sizeof(p) };
    float floats[5] = { 0 };
    void *there, *here;

    if (!ocl_open(0, NULL))
        return;
    CU_ASSERT_EQUAL(ocl->properties(ocl->plugin, 0, dev, &p), 0);
    if (p.max_alloc < size) {
        ferry_test_skip("the device's largest block is %" PRIu64 " bytes", p.max_alloc);
        ocl_close();
        return;
    }
    there = ocl_block(size);
    here = ocl_block(64);
    ocl_put(there, far, bytes, sizeof(bytes));
    CU_ASSERT_EQUAL(ocl->convert(dev, NULL, 5, FERRY_I8, driver_cref(there, far), FERRY_F32,
                                 driver_ref(here, 4)),
                    0);
    ocl_get(here, 4, floats, sizeof(floats));
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(floats[i], bytes[i]);
    CU_ASSERT_EQUAL(ocl->convert(dev, NULL, 2, FERRY_F32, driver_cref(here, 8), FERRY_I8,
                                 driver_ref(there, far + 100)),
                    0);
    CU_ASSERT_EQUAL(ocl->memcpy(dev, NULL, FERRY_MEMCPY_D2D, driver_ref(here, 0),
                                driver_cref(there, far + 100), 2),
                    0);
    ocl_get(here, 0, floats, 2);
    CU_ASSERT_EQUAL(memcmp(floats, bytes + 1, 2), 0);
    ocl_free_block(here);
    ocl_free_block(there);
    ocl_close();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(clblast_runs_operations_up_to_int_max_elements),
    FERRY_TEST(an_error_of_clblast_is_named),
    FERRY_TEST(operations_that_clblast_cannot_run_are_run_without_it),
    FERRY_TEST(each_error_code_of_clblast_is_handled),
    FERRY_TEST(every_routine_of_clblast_has_a_replacement_kernel),
    FERRY_TEST(vector_groups_fit_the_limit_of_their_kernel),
    FERRY_TEST(gemm_tiles_fit_the_limit_of_their_kernel),
    FERRY_TEST(an_operation_whose_groups_are_too_large_is_refused),
    FERRY_TEST(elements_beyond_2_to_the_31_are_accessed),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "opencl-limits", cases, FERRY_TEST_COUNT(cases));
}
