/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <dlfcn.h>

/*
 * Forbidden uses of cuBLAS and libnvrtc, by the list of tests/doubles/README.md, once each: their
 * doubles must detect them.
 */

#define BLAS_ON_DEVICE       1
#define F32_TYPE             0
#define F64_TYPE             1
#define F16_TYPE             2
#define I8_TYPE              3
#define BF16_TYPE            14
#define COMPUTE_32F          68
#define COMPUTE_64F          70
#define NVRTC_INVALID_OPTION 5

#define CALLS(X)                                                                                  \
    X("libcublas", blas_create, cublasCreate_v2, void **)                                         \
    X("libcublas", blas_destroy, cublasDestroy_v2, void *)                                        \
    X("libcublas", blas_mode, cublasSetPointerMode_v2, void *, int)                               \
    X("libcublas", sscal, cublasSscal_v2, void *, int, const float *, float *, int)               \
    X("libcublas", sdot, cublasSdot_v2, void *, int, const float *, int, const float *, int,      \
      float *)                                                                                    \
    X("libcublas", axpy_ex, cublasAxpyEx, void *, int, const void *, int, const void *, int, int, \
      void *, int, int, int)                                                                      \
    X("libcublas", scal_ex, cublasScalEx, void *, int, const void *, int, void *, int, int, int)  \
    X("libcublas", gemm_ex, cublasGemmEx, void *, int, int, int, int, int, const void *,          \
      const void *, int, int, const void *, int, int, const void *, void *, int, int, int, int)   \
    X("libcublas", sgemm, cublasSgemm_v2, void *, int, int, int, int, int, const float *,         \
      const float *, int, const float *, int, const float *, float *, int)                        \
    X("libcublas", sgemv, cublasSgemv_v2, void *, int, int, int, const float *, const float *,    \
      int, const float *, int, const float *, float *, int)

#define MEMBER(library, member, name, ...) int (*member)(__VA_ARGS__);
static struct {
    CALLS(MEMBER)
} call;

static bool begin(void)
{
    if (!cuda_misuse_begin())
        return false;
#define BIND(library, member, name, ...) \
    *(void **)(void *)&call.member = dlsym(cuda_library(library), #name);
    CALLS(BIND)
    return true;
}

/* ---- libnvrtc ------------------------------------------------------------------------------- */

static struct {
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*cubin_size)(void *, size_t *), (*ptx_size)(void *, size_t *);
    int (*cubin)(void *, char *), (*destroy)(void **);
} nvrtc;

static int compile(void *program, const char *option)
{
    return nvrtc.compile(program, 1, &option);
}

static void break_nvrtc(void)
{
    void *program = NULL;
    size_t size = 1;
    char image[1];

    CU_ASSERT_NOT_EQUAL(nvrtc.create(&program, "\n#include \"x.h\"\n", "x", 0, NULL, NULL), 0);
    CU_ASSERT(cuda_said("a source that includes files"));
    CU_ASSERT_EQUAL_FATAL(nvrtc.create(&program, "\nKERNEL(x)\n", "x", 0, NULL, NULL), 0);
    CU_ASSERT(nvrtc.cubin_size(program, &size) != 0 && cuda_said("GetCUBIN: nothing was compiled"));
    CU_ASSERT(nvrtc.ptx_size(program, &size) != 0 && cuda_said("GetPTX: nothing was compiled"));
    CU_ASSERT_EQUAL(compile(program, "--make-it-fast"), NVRTC_INVALID_OPTION);
    CU_ASSERT_EQUAL(compile(program, "--gpu-architecture=sm_42"), NVRTC_INVALID_OPTION);
    CU_ASSERT_EQUAL(compile(program, "--gpu-architecture=compute_90"), 0);
    CU_ASSERT(nvrtc.cubin_size(program, &size) == 0 && size == 0);
    CU_ASSERT(nvrtc.cubin(program, image) != 0 && cuda_said("nvrtcGetCUBIN: there is none"));
    CU_ASSERT_EQUAL(nvrtc.destroy(&program), 0);
    CU_ASSERT_EQUAL_FATAL(nvrtc.create(&program, "\nKERNEL(x)\n", "x", 0, NULL, NULL), 0);
    CU_ASSERT_EQUAL(compile(program, "--gpu-architecture=sm_90"), 0);
    CU_ASSERT(nvrtc.ptx_size(program, &size) != 0 && cuda_said("nvrtcGetPTX: there is none"));
    CU_ASSERT_EQUAL(nvrtc.destroy(&program), 0);
    CU_ASSERT(nvrtc.destroy(&program) != 0 && cuda_said("no program"));
}

static void the_double_refuses_programs_that_libnvrtc_refuses(void)
{
    void *library;

    if (!begin())
        return;
    library = cuda_library("libnvrtc");
    CU_ASSERT_PTR_NOT_NULL_FATAL(library);
    *(void **)(void *)&nvrtc.create = dlsym(library, "nvrtcCreateProgram");
    *(void **)(void *)&nvrtc.compile = dlsym(library, "nvrtcCompileProgram");
    *(void **)(void *)&nvrtc.cubin_size = dlsym(library, "nvrtcGetCUBINSize");
    *(void **)(void *)&nvrtc.ptx_size = dlsym(library, "nvrtcGetPTXSize");
    *(void **)(void *)&nvrtc.cubin = dlsym(library, "nvrtcGetCUBIN");
    *(void **)(void *)&nvrtc.destroy = dlsym(library, "nvrtcDestroyProgram");
    break_nvrtc();
    cuda_misuse_end();
}

/* ---- cuBLAS --------------------------------------------------------------------------------- */

static void break_scalars(void *blas, float *x)
{
    const float one = 1;
    float sum;

    CU_ASSERT(call.sscal(blas, 4, x, x, 1) != 0 && cuda_said("a scalar on the device"));
    CU_ASSERT(call.sdot(blas, 4, x, 1, x, 1, x) != 0 && cuda_said("a result on the device"));
    CU_ASSERT_EQUAL(call.blas_mode(blas, BLAS_ON_DEVICE), 0);
    CU_ASSERT(call.sscal(blas, 4, &one, x, 1) != 0 &&
              cuda_said("the pointer mode is the device's"));
    CU_ASSERT(call.sdot(blas, 4, x, 1, x, 1, &sum) != 0 && cuda_said("is host memory"));
    CU_ASSERT_EQUAL(call.blas_mode(blas, 0), 0);
    CU_ASSERT(call.sscal(blas, 4, &one, &sum, 1) != 0 && cuda_said("is host memory"));
}

static void break_combinations(void *blas, float *x)
{
    static const struct {
        int ab, c, compute;
        bool good;
    } gemm[] = {
        { F32_TYPE, F32_TYPE, COMPUTE_32F, true },   { F16_TYPE, F16_TYPE, COMPUTE_32F, true },
        { F16_TYPE, F32_TYPE, COMPUTE_32F, true },   { BF16_TYPE, BF16_TYPE, COMPUTE_32F, true },
        { BF16_TYPE, F32_TYPE, COMPUTE_32F, true },  { F64_TYPE, F64_TYPE, COMPUTE_64F, true },
        { F16_TYPE, BF16_TYPE, COMPUTE_32F, false }, { F32_TYPE, F16_TYPE, COMPUTE_32F, false },
        { F64_TYPE, F64_TYPE, COMPUTE_32F, false },  { F64_TYPE, F32_TYPE, COMPUTE_32F, false },
        { F32_TYPE, F32_TYPE, COMPUTE_64F, false },
    };
    const double one = 1, zero = 0;
    const float f = 1;

    CU_ASSERT_NOT_EQUAL(
        call.axpy_ex(blas, 4, &one, F64_TYPE, x, F32_TYPE, 1, x, F32_TYPE, 1, F32_TYPE), 0);
    CU_ASSERT(cuda_said("cublasAxpyEx: an unsupported combination"));
    CU_ASSERT_NOT_EQUAL(call.scal_ex(blas, 4, &one, F64_TYPE, x, F32_TYPE, 1, F32_TYPE), 0);
    CU_ASSERT(cuda_said("cublasScalEx: an unsupported combination"));
    CU_ASSERT_NOT_EQUAL(call.gemm_ex(blas, 0, 0, 2, 2, 2, &f, x, F32_TYPE, 2, x, F64_TYPE, 2, &f, x,
                                     F32_TYPE, 2, 68, 0),
                        0);
    CU_ASSERT(cuda_said("cublasGemmEx: an unsupported combination"));
    for (size_t i = 0; i < FERRY_TEST_COUNT(gemm); i++) {
        int status = call.gemm_ex(
            blas, 0, 0, 2, 2, 2, gemm[i].ab == F64_TYPE ? (const void *)&one : &f, x, gemm[i].ab, 2,
            x, gemm[i].ab, 2, gemm[i].ab == F64_TYPE ? (const void *)&zero : &f, x, gemm[i].c, 2,
            gemm[i].compute, 0);

        CU_ASSERT_EQUAL(status == 0, gemm[i].good);
        CU_ASSERT(gemm[i].good || cuda_said("cublasGemmEx: an unsupported combination"));
    }
    CU_ASSERT_EQUAL(rt.stream_sync(NULL), 0);
}

/*
 * Every type of x, with that of the scalar and of the arithmetic: those of the table, and each with
 * an error.
 */
static void break_vectors(void *blas, float *x)
{
    static const int types[] = { F32_TYPE, F64_TYPE, F16_TYPE, BF16_TYPE, I8_TYPE };
    const double one = 1; /* its first bytes are a float 0 */

    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++) {
                bool good = types[i] != I8_TYPE && j == k && j == (types[i] == F64_TYPE);
                int status = call.scal_ex(blas, 4, &one, types[j], x, types[i], 1, types[k]);

                CU_ASSERT_EQUAL(status == 0, good);
                CU_ASSERT(good || cuda_said("cublasScalEx: an unsupported combination"));
                status =
                    call.axpy_ex(blas, 4, &one, types[j], x, types[i], 1, x, types[i], 1, types[k]);
                CU_ASSERT_EQUAL(status == 0, good);
                CU_ASSERT(good || cuda_said("cublasAxpyEx: an unsupported combination"));
            }
    CU_ASSERT_EQUAL(rt.stream_sync(NULL), 0);
}

static void the_double_refuses_the_calls_that_cublas_refuses(void)
{
    const float one = 1;
    void *blas = NULL;
    float *x = NULL;

    if (!begin())
        return;
    CU_ASSERT_EQUAL_FATAL(rt.malloc((void **)(void *)&x, 1024), 0);
    CU_ASSERT_EQUAL(rt.memset_async(x, 0, 1024, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(call.blas_create(&blas), 0);
    break_scalars(blas, x);
    break_combinations(blas, x);
    break_vectors(blas, x);
    CU_ASSERT_NOT_EQUAL(call.sgemm(blas, 0, 0, -1, 4, 4, &one, x, 4, x, 4, &one, x, 4), 0);
    CU_ASSERT(cuda_said("a negative number of rows"));
    CU_ASSERT_NOT_EQUAL(call.sgemm(blas, 0, 0, 4, 4, 4, &one, x, 3, x, 4, &one, x, 4), 0);
    CU_ASSERT(cuda_said("leading dimensions that are too short"));
    CU_ASSERT_NOT_EQUAL(call.sgemv(blas, 0, 4, 4, &one, x, 3, x, 1, &one, x, 1), 0);
    CU_ASSERT(cuda_said("a leading dimension that is too short"));
    CU_ASSERT_NOT_EQUAL(call.sgemv(blas, 0, 4, 4, &one, x, 4, x, 0, &one, x, 1), 0);
    CU_ASSERT(cuda_said("an increment of 0"));
    CU_ASSERT_EQUAL(rt.set_device(1), 0);
    CU_ASSERT(call.sscal(blas, 4, &one, x, 1) != 0 && cuda_said("belongs to another context"));
    CU_ASSERT_EQUAL(rt.set_device(0), 0);
    CU_ASSERT_EQUAL(control->live_handles(), 1);
    CU_ASSERT_EQUAL(call.blas_destroy(blas), 0);
    CU_ASSERT_EQUAL(control->live_handles(), 0);
    CU_ASSERT(call.sscal(NULL, 4, &one, x, 1) != 0 && cuda_said("no handle"));
    CU_ASSERT_EQUAL(rt.free(x), 0);
    cuda_misuse_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_double_refuses_programs_that_libnvrtc_refuses),
    FERRY_TEST(the_double_refuses_the_calls_that_cublas_refuses),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "cuda libraries (double)", cases, FERRY_TEST_COUNT(cases));
}
