/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"

#include <ferry/onnx.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* libtriton_ferry.so in a double of the server. */

static const char any_input[] = ", \"input\": [{\"name\": \"data\", \"data_type\": \"TYPE_FP32\", "
                                "\"dims\": [3, -1, -1]}]";

/* ---- configurations -------------------------------------------------------------------------- */

static void an_empty_configuration_is_completed_from_the_net(void)
{
    open_model(NET_SCORES, config_of(0, ""), 1);
    CU_ASSERT(model.completed);
    CU_ASSERT_PTR_NOT_NULL(strstr(model.config, "\"max_batch_size\":4"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(model.config, "{\"name\":\"data\",\"data_type\":\"TYPE_FP32\",\"dims\":[3,12,12]}"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(model.config, "{\"name\":\"prob\",\"data_type\":\"TYPE_FP32\",\"dims\":[10]}"));
    CU_ASSERT_PTR_NOT_NULL(strstr(model.config, "\"dynamic_batching\":{}"));
    CU_ASSERT_EQUAL(model.usage, (8 * 3 * 9 + 8 + 800 * 10 + 10) * sizeof(float));
    close_model(1);
}

/* The server's name for a file that need not exist. */
static void a_model_file_of_the_default_name_needs_no_configuration(void)
{
    open_model(NET_SCORES, config_of(0, ", \"default_model_filename\": \"model.ferry\""), 1);
    CU_ASSERT(model.completed);
    close_model(1);
}

static void outputs_of_inputs_with_variable_dims_have_variable_dims(void)
{
    open_model(NET_ANY, config_of(2, any_input), 1);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(model.config, "{\"name\":\"map\",\"data_type\":\"TYPE_FP32\",\"dims\":[2,-1,-1]}"));
    close_model(1);
}

/* The message for a configuration that cannot be loaded; NULL if it can. */
static const char *refusal(int net, const char *config)
{
    static char text[2048];
    const char *error;

    backend = (TRITONBACKEND_Backend){ .config = "{\"cmdline\": {}}" };
    model = (TRITONBACKEND_Model){ .complete = true };
    instances[0] = (TRITONBACKEND_ModelInstance){ .kind = TRITONSERVER_INSTANCEGROUPKIND_MODEL };
    CU_ASSERT_PTR_NULL_FATAL(double_open(&backend));
    error = double_load(&backend, &model, folder_of(net), config, instances, 1);
    snprintf(text, sizeof(text), "%s", error ? error : "");
    if (!error)
        double_unload(&model, instances, 1);
    double_close(&backend);
    CU_ASSERT_EQUAL(double_live, 0);
    return error ? text : NULL;
}

static void an_error_names_the_mismatch_of_configuration_and_net(void)
{
    const struct {
        const char *rest, *first, *second;
    } table[] = {
        { "\"input\": [{\"name\": \"image\", \"dims\": [3, 12, 12]}]", "\"image\"",
          "which has data" },
        { "\"input\": [{\"name\": \"data\", \"dims\": [3, 12, 13]}]", "[3,12,13]", "[3,12,12]" },
        { "\"input\": [{\"name\": \"data\", \"dims\": [432]}]", "[432]", "[3,12,12]" },
        { "\"input\": [{\"name\": \"data\", \"data_type\": \"TYPE_UINT8\", \"dims\": [3, 12, 12]}]",
          "TYPE_UINT8", "TYPE_FP32" },
        { "\"input\": [{\"name\": \"data\", \"dims\": [3, 12, 12]}, "
          "{\"name\": \"data\", \"dims\": [3, 12, 12]}]",
          "\"data\" twice", "net.prototxt" },
        { "\"output\": [{\"name\": \"prob\", \"dims\": [11]}]", "[11]", "[10]" },
        { "\"output\": [{\"name\": \"prob\", \"dims\": [10]}, {\"name\": \"prob\"}]",
          "\"prob\" twice", "net.prototxt" },
        { "\"output\": [{\"name\": \"scores\", \"dims\": [10]}]", "scores", "net.prototxt" },
        { "\"sequence_batching\": {}", "sequence_batching", "no state" },
        { "\"model_transaction_policy\": {\"decoupled\": true}", "decoupled", "once" },
        { "\"parameters\": {\"devise\": {\"string_value\": \"cpu\"}}", "devise", "device" },
        { "\"parameters\": {\"device\": {\"string_value\": \"gpu9\"}}", "gpu9", "" },
        { "\"parameters\": {\"threads\": {\"string_value\": \"0\"}}", "threads", "1 to 1024" },
        { "\"parameters\": {\"threads\": {\"string_value\": \"2x\"}}", "2x", "1 to 1024" },
        { "\"parameters\": {\"threads\": {\"string_value\": \"2\"}, \"device\": "
          "{\"string_value\": \"sim\"}}",
          "threads", "sim" },
        { "\"parameters\": {\"weights\": {\"string_value\": \"../w.npz\"}}", "../w.npz", "/1" },
        { "\"default_model_filename\": \"other.prototxt\"", "other.prototxt", "/1" },
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char rest[512];
        const char *text;

        snprintf(rest, sizeof(rest), ", %s", table[i].rest);
        text = refusal(NET_SCORES, config_of(4, rest));
        if (!text || !strstr(text, table[i].first) || !strstr(text, table[i].second))
            printf("     %s: %s\n", rest, text ? text : "(loaded)");
        CU_ASSERT(text && strstr(text, table[i].first) && strstr(text, table[i].second));
    }
}

static void a_server_of_an_older_interface_is_refused(void)
{
    const char *error;

    backend = (TRITONBACKEND_Backend){ .config = "{}" };
    double_minor = 1;
    error = double_open(&backend);
    CU_ASSERT(error && strstr(error, "1.1") && strstr(error, "1.5"));
    double_close(&backend);
    double_minor = 19;
}

static void a_folder_with_invalid_files_gives_one_error(void)
{
    const char *const files[] = { "", "layer {", "\177ELF", "name: \"a\"",
                                  "layer { name: \"x\" type: \"Nonesuch\" }" };
    char path[300];
    const char *error;

    folder_of(NET_SCORES);
    mkdir(in_folder("garbage"), 0700);
    for (size_t i = 0; i <= sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s", in_folder("garbage"));
        backend = (TRITONBACKEND_Backend){ .config = "{\"cmdline\": {}}" };
        model = (TRITONBACKEND_Model){ .complete = true };
        CU_ASSERT_PTR_NULL_FATAL(double_open(&backend));
        if (i > 0) {
            mkdir(in_folder("garbage/1"), 0700);
            write_text(in_folder("garbage/1/net.prototxt"), files[i - 1]);
        }
        error = double_load(&backend, &model, path, config_of(0, ""), instances, 1);
        CU_ASSERT(error && error[0] && !strchr(error, '\n'));
        double_close(&backend);
        CU_ASSERT_EQUAL(double_live, 0);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static void send_one(TRITONBACKEND_Request *r, const char *output)
{
    r->outputs[0] = output;
    r->output_count = 1;
    double_execute(&instances[0], &r, 1);
}

static void a_single_request_has_the_same_bits_as_the_net(void)
{
    float *pixels = pixels_of(1, 2 * PIXELS + 1);
    TRITONBACKEND_Request r;

    open_model(NET_SCORES, config_of(4, ""), 1);
    for (int shift = 0; shift < 2; shift++) { /* aligned, and not */
        ask(&r, pixels + shift, 1, SIDE, SIDE);
        send_one(&r, "prob");
        CU_ASSERT(answered(&r, NET_SCORES));
        double_reset(&r);
    }
    ask(&r, pixels, 2, SIDE, SIDE);
    r.inputs[0].buffer_count = 2; /* in two pieces */
    r.inputs[0].buffers[0].size = 100;
    r.inputs[0].buffers[1].data = (char *)pixels + 100;
    r.inputs[0].buffers[1].size = 2 * PIXELS * sizeof(float) - 100;
    send_one(&r, "prob");
    CU_ASSERT(answered(&r, NET_SCORES));
    double_reset(&r);
    CU_ASSERT(instances[0].good == 3 && instances[0].passes == 3 && instances[0].entries == 4);
    close_model(1);
    free(pixels);
}

/* Writes a net with its stored weights as an ONNX model, the only file of a version's folder. */
static const char *onnx_folder_of(int net)
{
    static char folder[300];
    const ferry_runtime_options with = { .struct_size = sizeof(with), .backend = "cpu" };
    char text[400], weights[400], path[400];
    ferry_runtime *rt;
    ferry_device *dev;
    ferry_net *n;

    snprintf(text, sizeof(text), "%s/1/net.prototxt", folder_of(net));
    snprintf(weights, sizeof(weights), "%s/1/weights.npz", folder_of(net));
    snprintf(folder, sizeof(folder), "%s", in_folder("onnx"));
    mkdir(folder, 0700);
    snprintf(path, sizeof(path), "%s/1", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/1/model.onnx", folder);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_open(&with, &rt), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, NULL, &dev), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_net_open(dev, text, NULL, &n), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_net_load(n, weights, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_net_export_onnx(n, path, NULL), 0);
    ferry_net_close(n);
    ferry_runtime_close(rt);
    return folder;
}

static void an_onnx_model_is_served(void)
{
    float *pixels = pixels_of(11, 2 * PIXELS);
    TRITONBACKEND_Request r;

    backend = (TRITONBACKEND_Backend){ .config = "{\"cmdline\": {}}" };
    model = (TRITONBACKEND_Model){ .complete = true };
    instances[0] = (TRITONBACKEND_ModelInstance){ .kind = TRITONSERVER_INSTANCEGROUPKIND_MODEL };
    CU_ASSERT_PTR_NULL_FATAL(double_open(&backend));
    CU_ASSERT_PTR_NULL_FATAL(
        double_load(&backend, &model, onnx_folder_of(NET_SCORES), config_of(4, ""), instances, 1));
    ask(&r, pixels, 2, SIDE, SIDE);
    send_one(&r, "prob");
    CU_ASSERT_STRING_EQUAL(r.response.error, "");
    CU_ASSERT(nearly_answered(&r, NET_SCORES));
    double_reset(&r);
    close_model(1);
    free(pixels);
}

static void requests_are_joined_to_one_batch(void)
{
    TRITONBACKEND_Request r[3], *all[3];
    float *pixels[3];

    open_model(NET_SCORES, config_of(4, ""), 1);
    for (unsigned k = 0; k < 3; k++) {
        pixels[k] = pixels_of(k, 2 * PIXELS);
        ask(&r[k], pixels[k], k == 1 ? 2 : 1, SIDE, SIDE);
        r[k].outputs[0] = "prob";
        r[k].output_count = 1;
        all[k] = &r[k];
    }
    double_execute(&instances[0], all, 3);
    CU_ASSERT(instances[0].passes == 1 && instances[0].entries == 4);
    for (int k = 0; k < 3; k++) {
        CU_ASSERT(nearly_answered(&r[k], NET_SCORES));
        double_reset(&r[k]);
        free(pixels[k]);
    }
    close_model(1);
}

static void pictures_of_two_sizes_are_two_passes(void)
{
    TRITONBACKEND_Request r[4], *all[4];
    float *pixels = pixels_of(5, 3 * 40 * 40);

    open_model(NET_ANY, config_of(4, any_input), 1);
    for (int k = 0; k < 4; k++) {
        ask(&r[k], pixels, 1, k % 2 ? 17 : 40, 33);
        r[k].outputs[0] = "map";
        r[k].output_count = 1;
        all[k] = &r[k];
    }
    double_execute(&instances[0], all, 4);
    CU_ASSERT_EQUAL(instances[0].passes, 2);
    for (int k = 0; k < 4; k++) {
        CU_ASSERT(nearly_answered(&r[k], NET_ANY));
        double_reset(&r[k]);
    }
    close_model(1);
    free(pixels);
}

static void a_layer_in_place_does_not_change_the_request(void)
{
    float *pixels = pixels_of(3, PIXELS), *before = pixels_of(3, PIXELS);
    TRITONBACKEND_Request r;

    open_model(NET_INPLACE, config_of(4, ""), 1);
    for (int k = 0; k < 3; k++) {
        ask(&r, pixels, 1, SIDE, SIDE);
        send_one(&r, "conv");
        CU_ASSERT(answered(&r, NET_INPLACE));
        CU_ASSERT_EQUAL(memcmp(pixels, before, PIXELS * sizeof(float)), 0);
        double_reset(&r);
    }
    close_model(1);
    free(pixels);
    free(before);
}

/*
 * The pixels are freed before the next request: the backend reads nothing of a request after its
 * answer.
 */
static void the_memory_of_a_request_is_not_used_after_the_response(void)
{
    TRITONBACKEND_Request r;

    open_model(NET_ANY, config_of(2, any_input), 1);
    for (unsigned k = 0; k < 6; k++) {
        int64_t side = 12 + 7 * (int64_t)(k % 3);
        float *pixels = pixels_of(k, (size_t)(3 * side * side));

        ask(&r, pixels, 1, side, side);
        send_one(&r, "map");
        CU_ASSERT(answered(&r, NET_ANY));
        double_reset(&r);
        memset(pixels, 0xff, (size_t)(3 * side * side) * sizeof(float));
        free(pixels);
    }
    close_model(1);
}

/* ---- hostile requests ------------------------------------------------------------------------ */

static unsigned draw(unsigned *seed, unsigned n)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 8) % n;
}

/* Damages one part; returns the expected message. */
static const char *spoil(TRITONBACKEND_Request *r, unsigned *seed)
{
    TRITONBACKEND_Input *i = &r->inputs[0];

    switch (draw(seed, 12)) {
    case 0:
        i->type = TRITONSERVER_TYPE_UINT8;
        return "FP32";
    case 1:
        i->shape[1 + draw(seed, 3)] = 1 + (int64_t)draw(seed, 2);
        return "shape";
    case 2:
        i->shape[draw(seed, 4)] = -1 - (int64_t)draw(seed, 9);
        return "data";
    case 3:
        i->shape[draw(seed, 4)] = INT64_MAX / (1 + draw(seed, 9));
        return "data";
    case 4:
        i->rank = draw(seed, 4);
        return "shape";
    case 5:
        i->rank = DOUBLE_RANK;
        return "axes";
    case 6:
        i->buffers[0].size = draw(seed, 1000);
        return "bytes";
    case 7:
        i->shape[0] = 0;
        i->buffers[0].size = 0;
        return "no elements";
    case 8:
        r->input_count = 0;
        return "input";
    case 9:
        r->outputs[0] = "nonesuch";
        return "nonesuch";
    case 10:
        r->cancelled = true;
        return "cancelled";
    default:
        i->memory = TRITONSERVER_MEMORY_GPU;
        i->id = 7;
        return "GPU";
    }
}

static void an_invalid_request_is_refused_without_affecting_others(void)
{
    unsigned seed = 7, rounds = ferry_test_is_slow() ? 200 : 2500;
    float *pixels = pixels_of(9, PIXELS);
    TRITONBACKEND_Request r[4], *all[4];

    open_model(NET_SCORES, config_of(4, ""), 1);
    for (unsigned round = 0; round < rounds; round++) {
        const char *about[4] = { NULL };

        for (int k = 0; k < 4; k++) {
            ask(&r[k], pixels, 1, SIDE, SIDE);
            r[k].outputs[0] = "prob";
            r[k].output_count = 1;
            about[k] = draw(&seed, 4) ? spoil(&r[k], &seed) : NULL;
            all[k] = &r[k];
        }
        double_execute(&instances[0], all, 4);
        for (int k = 0; k < 4; k++) {
            if (about[k] && !strstr(r[k].response.error, about[k]))
                printf("     \"%s\" lacks \"%s\"\n", r[k].response.error, about[k]);
            CU_ASSERT(about[k] ? strstr(r[k].response.error, about[k]) != NULL
                               : !r[k].response.error[0]);
            if (!about[k] && round % 100 == 0)
                CU_ASSERT(nearly_answered(&r[k], NET_SCORES));
            double_reset(&r[k]);
        }
    }
    close_model(1);
    free(pixels);
}

/* ---- instances, reloads, failures ------------------------------------------------------------ */

static void *keep_asking(void *arg)
{
    TRITONBACKEND_ModelInstance *i = arg;
    float *pixels = pixels_of(1, PIXELS);
    long bad = 0;

    for (int k = 0; k < 50; k++) {
        TRITONBACKEND_Request r, *all = &r;

        ask(&r, pixels, 1, SIDE, SIDE);
        r.outputs[0] = "prob";
        r.output_count = 1;
        double_execute(i, &all, 1);
        bad += r.response.error[0] != 0;
        double_reset(&r);
    }
    free(pixels);
    return (void *)bad;
}

static void instances_run_concurrently(void)
{
    pthread_t threads[4];

    open_model(NET_SCORES, config_of(4, ""), 4);
    for (int k = 0; k < 4; k++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[k], NULL, keep_asking, &instances[k]), 0);
    for (int k = 0; k < 4; k++) {
        void *bad;

        pthread_join(threads[k], &bad);
        CU_ASSERT_PTR_NULL(bad);
    }
    close_model(4);
}

static long resident_kib(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (f && fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void reloads_leave_nothing_behind(void)
{
    int rounds = ferry_test_is_slow() ? 20 : 200;
    TRITONBACKEND_Model other;
    TRITONBACKEND_ModelInstance its[2];
    pthread_t thread;
    long before = 0;
    void *bad;

    open_model(NET_SCORES, config_of(4, ""), 1);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, keep_asking, &instances[0]), 0);
    for (int k = 0; k < rounds; k++) {
        other = (TRITONBACKEND_Model){ .complete = true };
        for (int i = 0; i < 2; i++)
            its[i] = (TRITONBACKEND_ModelInstance){ .kind = TRITONSERVER_INSTANCEGROUPKIND_MODEL };
        CU_ASSERT_PTR_NULL_FATAL(
            double_load(&backend, &other, folder_of(NET_SCORES), config_of(4, ""), its, 2));
        CU_ASSERT_PTR_NULL(keep_asking(&its[1]));
        double_unload(&other, its, 2);
        if (k == rounds / 2)
            before = resident_kib();
    }
    pthread_join(thread, &bad);
    CU_ASSERT_PTR_NULL(bad);
    CU_ASSERT(ferry_test_is_slow() || resident_kib() < before + 4096);
    close_model(1);
}

/* The third operation fails on the simulated device: the requests run again, each alone. */
static void a_pass_that_fails_is_repeated_request_by_request(void)
{
    TRITONBACKEND_Request r[2], *all[2] = { &r[0], &r[1] };
    float *pixels = pixels_of(2, PIXELS);

    folder_of(NET_SCORES);
    backend = (TRITONBACKEND_Backend){ .config = "{\"cmdline\": {\"sim.fail_run\": \"3\"}}" };
    model = (TRITONBACKEND_Model){ .complete = true };
    instances[0] = (TRITONBACKEND_ModelInstance){ .kind = TRITONSERVER_INSTANCEGROUPKIND_MODEL };
    CU_ASSERT_PTR_NULL_FATAL(double_open(&backend));
    CU_ASSERT_PTR_NULL_FATAL(
        double_load(&backend, &model, folder_of(NET_SCORES), config_of(4, ""), instances, 1));
    for (int k = 0; k < 2; k++) {
        ask(&r[k], pixels, 1, SIDE, SIDE);
        r[k].outputs[0] = "prob";
        r[k].output_count = 1;
    }
    double_execute(&instances[0], all, 2);
    CU_ASSERT_EQUAL(instances[0].passes, 2);
    for (int k = 0; k < 2; k++) {
        CU_ASSERT_STRING_EQUAL(r[k].response.error, "");
        double_reset(&r[k]);
    }
    close_model(1);
    free(pixels);
}

/* From the fifth operation on the simulated device is lost; the server continues. */
static void a_lost_device_gives_one_error_for_each_request(void)
{
    TRITONBACKEND_Request r, *all[1] = { &r };
    float *pixels = pixels_of(2, PIXELS);
    bool good[4];

    folder_of(NET_SCORES);
    backend = (TRITONBACKEND_Backend){ .config = "{\"cmdline\": {\"sim.lose_run\": \"5\"}}" };
    model = (TRITONBACKEND_Model){ .complete = true };
    instances[0] = (TRITONBACKEND_ModelInstance){ .kind = TRITONSERVER_INSTANCEGROUPKIND_MODEL };
    CU_ASSERT_PTR_NULL_FATAL(double_open(&backend));
    CU_ASSERT_PTR_NULL_FATAL(
        double_load(&backend, &model, folder_of(NET_SCORES), config_of(4, ""), instances, 1));
    for (int k = 0; k < 4; k++) {
        ask(&r, pixels, 1, SIDE, SIDE);
        r.outputs[0] = "prob";
        r.output_count = 1;
        double_execute(&instances[0], all, 1);
        good[k] = !*r.response.error;
        CU_ASSERT(good[k] || strstr(r.response.error, "lost"));
        double_reset(&r);
    }
    CU_ASSERT(good[0]);
    CU_ASSERT(!good[2] && !good[3]);
    close_model(1);
    free(pixels);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_empty_configuration_is_completed_from_the_net),
    FERRY_TEST(a_model_file_of_the_default_name_needs_no_configuration),
    FERRY_TEST(outputs_of_inputs_with_variable_dims_have_variable_dims),
    FERRY_TEST(an_error_names_the_mismatch_of_configuration_and_net),
    FERRY_TEST(a_server_of_an_older_interface_is_refused),
    FERRY_TEST(a_folder_with_invalid_files_gives_one_error),
    FERRY_TEST(a_single_request_has_the_same_bits_as_the_net),
    FERRY_TEST(an_onnx_model_is_served),
    FERRY_TEST(requests_are_joined_to_one_batch),
    FERRY_TEST(pictures_of_two_sizes_are_two_passes),
    FERRY_TEST(a_layer_in_place_does_not_change_the_request),
    FERRY_TEST(the_memory_of_a_request_is_not_used_after_the_response),
    FERRY_TEST(an_invalid_request_is_refused_without_affecting_others),
    FERRY_TEST(instances_run_concurrently),
    FERRY_TEST(reloads_leave_nothing_behind),
};

/* Each runs in a process of its own, because options of a plugin are set before it is open. */
static const ferry_test_case faults[] = {
    FERRY_TEST(a_pass_that_fails_is_repeated_request_by_request),
};
static const ferry_test_case losses[] = {
    FERRY_TEST(a_lost_device_gives_one_error_for_each_request),
};

int main(int argc, char **argv)
{
    const ferry_test_set sets[] = {
        { "cpu", cases, FERRY_TEST_COUNT(cases) },
        { "sim", cases, FERRY_TEST_COUNT(cases) },
        { "sim", faults, FERRY_TEST_COUNT(faults) },
        { "sim", losses, FERRY_TEST_COUNT(losses) },
    };

    return fixture_main(argc, argv, "triton", sets, FERRY_TEST_COUNT(sets));
}
