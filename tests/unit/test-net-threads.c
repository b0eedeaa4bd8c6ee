/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nets of several threads that share the parameters of one source net while no thread has filled
 * them yet.
 */
#define _GNU_SOURCE
#include "fixture.h"

#include <ferry/net.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define THREADS 8
#define INPUTS  5
#define OUTPUTS 3

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 5 } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param { "
    "num_output: 3 "
    "weight_filler { type: 'xavier' } bias_filler { type: 'constant' value: 0.5 } } }\n";

static pthread_barrier_t barrier;
static atomic_int wrong; /* CUnit's assertions are not thread-safe */
static ferry_device *device;
static ferry_net *source;
static float results[THREADS][OUTPUTS];

static ferry_net *open_one(void)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    return ferry_net_open(device, "net.prototxt", &o, &net) ? NULL : net;
}

static float input_of(size_t thread, int i)
{
    return (float)((int)thread - i) / 4;
}

static bool compute(size_t thread, ferry_net *net)
{
    float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));
    const float *y;

    for (int i = 0; x && i < INPUTS; i++)
        x[i] = input_of(thread, i);
    if (!x || ferry_net_forward(net, NULL))
        return false;
    y = ferry_blob_host_data(ferry_net_output_at(net, 0));
    if (y)
        memcpy(results[thread], y, sizeof results[thread]);
    return y != NULL;
}

static void *share_and_compute(void *arg)
{
    size_t thread = (size_t)arg;
    ferry_net *net = open_one();

    pthread_barrier_wait(&barrier);
    if (!net || ferry_net_share(net, source) || !compute(thread, net))
        atomic_fetch_add(&wrong, 1);
    ferry_net_close(net);
    return NULL;
}

static void check_results(void)
{
    const float *w = ferry_blob_host_data(ferry_net_param_at(source, 1, 0));
    const float *bias = ferry_blob_host_data(ferry_net_param_at(source, 1, 1));

    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bias);
    for (size_t thread = 0; thread < THREADS; thread++)
        for (int o = 0; o < OUTPUTS; o++) {
            double sum = (double)bias[o];

            for (int i = 0; i < INPUTS; i++)
                sum += (double)w[o * INPUTS + i] * (double)input_of(thread, i);
            CU_ASSERT_DOUBLE_EQUAL(results[thread][o], sum, 1e-5);
        }
    CU_ASSERT(w[0] != w[1]);
}

static void threads_share_parameters_that_one_of_them_fills(void)
{
    pthread_t threads[THREADS];

    device = fx_device();
    for (int round = 0; round < 4; round++) {
        atomic_store(&wrong, 0);
        source = open_one();
        CU_ASSERT_PTR_NOT_NULL_FATAL(source);
        CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&barrier, NULL, THREADS), 0);
        for (size_t i = 0; i < THREADS; i++)
            CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, share_and_compute, (void *)i),
                                  0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&barrier);
        CU_ASSERT_EQUAL(atomic_load(&wrong), 0);
        check_results();
        ferry_net_close(source);
    }
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(threads_share_parameters_that_one_of_them_fills),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net threads", cases, FERRY_TEST_COUNT(cases));
}
