/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <dlfcn.h>
#include <string.h>

/*
 * The double of cuDNN detects forbidden uses. tests/doubles/README.md lists the rules and their
 * sources.
 */

#define IMAGES   2
#define CHANNELS 6
#define OUTPUTS  8
#define SIDE     9

struct blocks {
    void *dev, *x, *w, *bias, *y, *room;
};

static void open_blocks(struct blocks *r)
{
    const uint64_t plane = SIDE * SIDE * sizeof(float);

    r->dev = cuda_open(0);
    r->x = cuda_block(r->dev, IMAGES * CHANNELS * plane);
    r->w = cuda_block(r->dev, OUTPUTS * CHANNELS * 9 * sizeof(float));
    r->bias = cuda_block(r->dev, OUTPUTS * sizeof(float));
    r->y = cuda_block(r->dev, IMAGES * OUTPUTS * plane);
    r->room = cuda_block(r->dev, 4096);
}

static void close_blocks(struct blocks *r)
{
    cuda_free_block(r->dev, r->x);
    cuda_free_block(r->dev, r->w);
    cuda_free_block(r->dev, r->bias);
    cuda_free_block(r->dev, r->y);
    cuda_free_block(r->dev, r->room);
    cuda_close(r->dev);
    CU_ASSERT_EQUAL(control->live_handles(), 0); /* including descriptors */
}

struct library {
    int (*tensor)(void **), (*filter)(void **), (*window)(void **), (*handle)(void **);
    int (*end_tensor)(void *), (*end_filter)(void *), (*end_window)(void *), (*end_handle)(void *);
    int (*set)(void *, int, int, const int *, const int *);
    int (*set_filter)(void *, int, int, int, const int *);
    int (*set_window)(void *, int, const int *, const int *, const int *, int, int);
    int (*forward)(void *, const void *, void *, const void *, void *, const void *, void *, int,
                   void *, size_t, const void *, void *, void *);
};

static void bind_library(struct library *l)
{
    static const char *const names[] = {
        "cudnnCreateTensorDescriptor",       "cudnnCreateFilterDescriptor",
        "cudnnCreateConvolutionDescriptor",  "cudnnCreate",
        "cudnnDestroyTensorDescriptor",      "cudnnDestroyFilterDescriptor",
        "cudnnDestroyConvolutionDescriptor", "cudnnDestroy",
        "cudnnSetTensorNdDescriptor",        "cudnnSetFilterNdDescriptor",
        "cudnnSetConvolutionNdDescriptor",   "cudnnConvolutionForward"
    };
    void **at = (void **)(void *)l;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        at[i] = dlsym(cuda_library("libcudnn"), names[i]);
}

static bool is_found(int status, const char *what)
{
    return status == 2000 && strstr(control->misuse(), what);
}

/* x and y of equal numbers of rows, w of 3 × 3. */
static void describe(const struct library *l, void *x, void *w, void *v, void *y)
{
    static const int ones[] = { 1, 1 };
    const int of_x[] = { IMAGES, CHANNELS, SIDE, SIDE }, of_y[] = { IMAGES, OUTPUTS, SIDE, SIDE };
    const int of_w[] = { OUTPUTS, CHANNELS, 3, 3 };
    const int steps_x[] = { CHANNELS * SIDE * SIDE, SIDE * SIDE, SIDE, 1 };
    const int steps_y[] = { OUTPUTS * SIDE * SIDE, SIDE * SIDE, SIDE, 1 };

    CU_ASSERT_EQUAL(l->set(x, 0, 4, of_x, steps_x), 0);
    CU_ASSERT_EQUAL(l->set(y, 0, 4, of_y, steps_y), 0);
    CU_ASSERT_EQUAL(l->set_filter(w, 0, 0, 4, of_w), 0);
    CU_ASSERT_EQUAL(l->set_window(v, 2, ones, ones, ones, 1, 0), 0);
}

static void the_double_finds_forbidden_uses_of_cudnn(void)
{
    const float one = 1, zero = 0;
    static const int wrong[] = { 1, 0, 1, 1 }, two[] = { 2, 2, 2, 2 };
    void *x = NULL, *w = NULL, *v = NULL, *y = NULL, *h = NULL;
    struct library l;
    struct blocks r;

    if (!cuda_load(1, true))
        return;
    open_blocks(&r);
    bind_library(&l);
    CU_ASSERT_EQUAL(rt.set_device(0), 0);
    CU_ASSERT_EQUAL_FATAL(
        l.tensor(&x) || l.filter(&w) || l.window(&v) || l.tensor(&y) || l.handle(&h), 0);
    control->tolerate(1);
#define FORWARD(to, room, bytes) l.forward(h, &one, x, r.x, w, r.w, v, 1, room, bytes, &zero, y, to)
    /* no descriptor is set */
    CU_ASSERT(is_found(FORWARD(r.y, r.room, 4096), "shapes that do not match"));
    CU_ASSERT(is_found(l.set(x, 0, 3, two, two), "fewer than four dimensions"));
    CU_ASSERT(is_found(l.set(x, 0, 4, wrong, two), "a dimension or a stride below 1"));
    CU_ASSERT(is_found(l.set_window(v, 2, two, wrong, two, 1, 0), "a stride below 1"));
    describe(&l, x, w, v, y);
    CU_ASSERT(is_found(FORWARD(r.y, NULL, 0), "a workspace smaller"));
    CU_ASSERT(is_found(FORWARD(r.y, (char *)r.room + 8, 4096), "not aligned"));
    CU_ASSERT(is_found(FORWARD(r.x, r.room, 4096), "an output over an input"));
    CU_ASSERT(is_found(l.end_tensor(w), "no such descriptor"));
    CU_ASSERT_EQUAL(l.set(y, 0, 4, two, two), 0);
    CU_ASSERT(is_found(FORWARD(r.y, r.room, 4096), "shapes that do not match"));
#undef FORWARD
    control->tolerate(0);
    CU_ASSERT_EQUAL(l.end_tensor(x) || l.end_filter(w) || l.end_window(v) || l.end_tensor(y) ||
                        l.end_handle(h),
                    0);
    close_blocks(&r);
}

static void break_groups(const struct library *l, void *h, const struct blocks *r, void **shape)
{
    static const int of_w[] = { OUTPUTS, 4, 3, 3 }, many[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    int (*group)(void *, int);
    const float one = 1, zero = 0;

    *(void **)(void *)&group = dlsym(cuda_library("libcudnn"), "cudnnSetConvolutionGroupCount");
    describe(l, shape[0], shape[1], shape[2], shape[3]);
    CU_ASSERT(is_found(l->set(shape[0], 0, 9, many, many), "or more than eight"));
    describe(l, shape[0], shape[1], shape[2], shape[3]);
    CU_ASSERT(is_found(group(shape[2], 0), "below 1"));
    CU_ASSERT_EQUAL(group(shape[2], 3), 0); /* of 6 channels and 8 outputs */
    CU_ASSERT_EQUAL(l->set_filter(shape[1], 0, 0, 4, of_w), 0);
    CU_ASSERT(is_found(l->forward(h, &one, shape[0], r->x, shape[1], r->w, shape[2], 1, r->room,
                                  4096, &zero, shape[3], r->y),
                       "shapes that do not match"));
    CU_ASSERT_EQUAL(group(shape[2], 1), 0);
}

/* A window larger than its padded image: with a stride of two there would still be one position. */
static void break_windows(const struct library *l, void *h, const struct blocks *r, void **shape)
{
    static const int small[] = { 1, CHANNELS, 2, 2 }, one_place[] = { 1, OUTPUTS, 1, 1 };
    static const int steps_x[] = { 4 * CHANNELS, 4, 2, 1 }, steps_y[] = { OUTPUTS, 1, 1, 1 };
    static const int none[] = { 0, 0 }, ones[] = { 1, 1 }, twos[] = { 2, 2 };
    const float one = 1, zero = 0;

    describe(l, shape[0], shape[1], shape[2], shape[3]);
    CU_ASSERT_EQUAL(l->set(shape[0], 0, 4, small, steps_x), 0);
    CU_ASSERT_EQUAL(l->set(shape[3], 0, 4, one_place, steps_y), 0);
    CU_ASSERT_EQUAL(l->set_window(shape[2], 2, none, twos, ones, 1, 0), 0);
    CU_ASSERT(is_found(l->forward(h, &one, shape[0], r->x, shape[1], r->w, shape[2], 1, r->room,
                                  4096, &zero, shape[3], r->y),
                       "shapes that do not match"));
}

/* There are descriptors of four spatial axes, but no convolutions. */
static void break_axes(const struct library *l, void *h, const struct blocks *r, void **shape)
{
    static const int size[] = { 1, 1, 1, 1, 1, 1 }, none[] = { 0, 0, 0, 0 };
    const float one = 1, zero = 0;

    CU_ASSERT(!l->set(shape[0], 0, 6, size, size) && !l->set(shape[3], 0, 6, size, size));
    CU_ASSERT_EQUAL(l->set_filter(shape[1], 0, 0, 6, size), 0);
    CU_ASSERT_EQUAL(l->set_window(shape[2], 4, none, size, size, 1, 0), 0);
    CU_ASSERT(is_found(l->forward(h, &one, shape[0], r->x, shape[1], r->w, shape[2], 1, r->room,
                                  4096, &zero, shape[3], r->y),
                       "shapes that do not match"));
}

/* A bias with as many channels as outputs, and no output that overlaps an input. */
static void break_ways(const struct library *l, void *h, const struct blocks *r, void **shape)
{
    static const int of_bias[] = { 1, OUTPUTS - 1, 1, 1 }, steps[] = { OUTPUTS, 1, 1, 1 };
    int (*add)(void *, const void *, void *, const void *, const void *, void *, void *);
    int (*back)(void *, const void *, void *, const void *, void *, const void *, void *, int,
                void *, size_t, const void *, void *, void *);
    const float one = 1, zero = 0;
    void *bias = NULL;

    *(void **)(void *)&add = dlsym(cuda_library("libcudnn"), "cudnnAddTensor");
    describe(l, shape[0], shape[1], shape[2], shape[3]);
    CU_ASSERT_EQUAL_FATAL(l->tensor(&bias), 0);
    CU_ASSERT_EQUAL(control->live_handles(), 6); /* each is counted */
    CU_ASSERT_EQUAL(l->set(bias, 0, 4, of_bias, steps), 0);
    CU_ASSERT(is_found(add(h, &one, bias, r->bias, &one, shape[3], r->y), "not a bias"));
    *(void **)(void *)&back = dlsym(cuda_library("libcudnn"), "cudnnConvolutionBackwardData");
    CU_ASSERT(is_found(back(h, &one, shape[1], r->w, shape[3], r->y, shape[2], 1, r->room, 4096,
                            &zero, shape[0], r->w),
                       "an output over an input"));
    *(void **)(void *)&back = dlsym(cuda_library("libcudnn"), "cudnnConvolutionBackwardFilter");
    CU_ASSERT(is_found(back(h, &one, shape[0], r->x, shape[3], r->y, shape[2], 1, r->room, 4096,
                            &zero, shape[1], r->y),
                       "an output over an input"));
    CU_ASSERT_EQUAL(l->end_tensor(bias), 0);
}

static void the_double_finds_further_forbidden_uses_of_cudnn(void)
{
    void *shape[4] = { NULL }, *h = NULL;
    struct library l;
    struct blocks r;

    if (!cuda_load(1, true))
        return;
    open_blocks(&r);
    bind_library(&l);
    CU_ASSERT_EQUAL(rt.set_device(0), 0);
    CU_ASSERT_EQUAL_FATAL(l.tensor(&shape[0]) || l.filter(&shape[1]) || l.window(&shape[2]) ||
                              l.tensor(&shape[3]) || l.handle(&h),
                          0);
    control->tolerate(1);
    break_groups(&l, h, &r, shape);
    break_windows(&l, h, &r, shape);
    break_axes(&l, h, &r, shape);
    break_ways(&l, h, &r, shape);
    control->tolerate(0);
    CU_ASSERT_EQUAL(l.end_tensor(shape[0]) || l.end_filter(shape[1]) || l.end_window(shape[2]) ||
                        l.end_tensor(shape[3]) || l.end_handle(h),
                    0);
    close_blocks(&r);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_double_finds_forbidden_uses_of_cudnn),
    FERRY_TEST(the_double_finds_further_forbidden_uses_of_cudnn),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "cuda, cudnn's rules (double)", cases,
                           FERRY_TEST_COUNT(cases));
}
