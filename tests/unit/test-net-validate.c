/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <ferry/net.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A net on sim with FERRY_VALIDATE=1: neither ferry nor sim breaks a rule, and the results equal
 * those of the cpu plugin. FERRY_VALIDATE with another value is an error.
 */

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 9 dim: 9 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 6 "
    "kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { kernel_size: 2 stride: "
    "2 } }\n"
    "layer { name: 'f' type: 'InnerProduct' bottom: 'p' top: 'f' inner_product_param { num_output: "
    "5 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 's' type: 'Softmax' bottom: 'f' top: 'y' }\n";

#define VALUES 10

static int broken;

static void count_lines(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    if (strstr(line, "validate: ") && strstr(line, ": rule ")) {
        printf("     %s\n", line);
        broken++;
    }
}

static void run_on(ferry_device *dev, int passes, float *out)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;
    const float *y;

    CU_ASSERT_EQUAL_FATAL(ferry_net_open(dev, "net.prototxt", &o, &net), 0);
    for (int i = 0; i < passes; i++) {
        float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));

        CU_ASSERT_PTR_NOT_NULL_FATAL(x);
        for (int k = 0; k < 2 * 3 * 9 * 9; k++)
            x[k] = (float)((k * 7 + i) % 23) / 5 - 2;
        FX_OK(ferry_net_forward(net, NULL));
    }
    y = ferry_blob_host_data(ferry_net_output_at(net, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    memcpy(out, y, VALUES * sizeof *y);
    ferry_net_close(net);
}

static void running_a_net_breaks_no_rule(void)
{
    float got[VALUES], wanted[VALUES];
    ferry_device *cpu;

    broken = 0;
    ferry_log_set_handler(count_lines, NULL);
    wx_begin();
    run_on(wx_dev(0), 3, got);
    if (!ferry_runtime_get_device(wx_runtime(), "cpu", &cpu)) {
        run_on(cpu, 3, wanted);
        for (int i = 0; i < VALUES; i++)
            CU_ASSERT(fabsf(got[i] - wanted[i]) <= 1e-6f);
    }
    wx_end();
    ferry_log_set_handler(NULL, NULL);
    CU_ASSERT_EQUAL(broken, 0);
}

static void an_invalid_value_of_ferry_validate_is_an_error(void)
{
    ferry_runtime_options o = { .struct_size = sizeof o, .backend = "sim" };
    ferry_device *dev = NULL;
    ferry_runtime *rt;

    setenv("FERRY_VALIDATE", "maybe", 1);
    FX_OK(ferry_runtime_open(&o, &rt));
    FX_FAILS(FERRY_ECONF, ferry_runtime_get_device(rt, "sim", &dev));
    CU_ASSERT(strstr(ferry_last_error(), "FERRY_VALIDATE=maybe") != NULL);
    ferry_runtime_close(rt);
}

static int checked;

static void count_checked(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    checked += strstr(line, "the rules of plugins are checked for sim") != NULL;
}

static void open_sim(const char *conf_path)
{
    ferry_runtime_options o = { .struct_size = sizeof o, .backend = "sim" };
    ferry_device *dev = NULL;
    ferry_runtime *rt;

    setenv("FERRY_CONF", conf_path, 1);
    FX_OK(ferry_runtime_open(&o, &rt));
    FX_OK(ferry_runtime_get_device(rt, "sim", &dev));
    ferry_runtime_close(rt);
}

/* Opens sim with that configuration. */
static void open_configured(const char *text_of_conf)
{
    char path[] = "/tmp/ferry-validate-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text_of_conf, f);
    CU_ASSERT_EQUAL(fclose(f), 0);
    unsetenv("FERRY_VALIDATE");
    setenv("FERRY_LOG", "info", 1);
    ferry_log_set_handler(count_checked, NULL);
    open_sim(path);
    ferry_log_set_handler(NULL, NULL);
    unlink(path);
}

static void the_key_of_a_section_selects_it(void)
{
    open_configured("[plugin sim]\nvalidate = yes\n");
    CU_ASSERT_EQUAL(checked, 1);
}

static void the_section_validate_selects_all_plugins(void)
{
    open_configured("[validate]\nenabled = yes\n");
    CU_ASSERT_EQUAL(checked, 1);
}

static void the_key_of_a_section_overrides_the_section_validate(void)
{
    open_configured("[plugin sim]\nvalidate = no\n[validate]\nenabled = yes\n");
    CU_ASSERT_EQUAL(checked, 0);
}

static const ferry_test_case clean[] = { FERRY_TEST(running_a_net_breaks_no_rule) };
static const ferry_test_case bad[] = { FERRY_TEST(an_invalid_value_of_ferry_validate_is_an_error) };
static const ferry_test_case key[] = { FERRY_TEST(the_key_of_a_section_selects_it) };
static const ferry_test_case all[] = { FERRY_TEST(the_section_validate_selects_all_plugins) };
static const ferry_test_case but[] = {
    FERRY_TEST(the_key_of_a_section_overrides_the_section_validate)
};

int main(int argc, char **argv)
{
    static const char *const sync[] = { "clock", "sync", NULL }, *const real[] = { NULL },
                             *const lists[] = { "lists", "on", NULL };
    static const struct wx_world worlds[] = {
        { "sync clock", sync, clean, FERRY_TEST_COUNT(clean) },
        { "real clock", real, clean, FERRY_TEST_COUNT(clean) },
        { "lists", lists, clean, FERRY_TEST_COUNT(clean) },
        { "another value", real, bad, FERRY_TEST_COUNT(bad) },
        { "key of a section", real, key, FERRY_TEST_COUNT(key) },
        { "section", real, all, FERRY_TEST_COUNT(all) },
        { "section and key", real, but, FERRY_TEST_COUNT(but) },
    };

    setenv("FERRY_VALIDATE", "1", 1);
    return wx_main(argc, argv, "net validate", worlds, FERRY_TEST_COUNT(worlds));
}
