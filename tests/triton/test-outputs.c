/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Outputs that are the input's memory, or that are not entries of a batch; the names of model
 * folders.
 */

static void send_all(TRITONBACKEND_Request **all, uint32_t n, const char *output)
{
    for (uint32_t k = 0; k < n; k++) {
        all[k]->outputs[0] = output;
        all[k]->output_count = 1;
    }
    double_execute(&instances[0], all, n);
}

/* The output is the input under another name: both have the request's numbers. */
static void an_output_that_is_the_input_is_answered(void)
{
    static const char *const names[] = { "flat", "data" };
    float *pixels = pixels_of(4, PIXELS);
    TRITONBACKEND_Request r, *all[1] = { &r };

    for (int k = 0; k < 4; k++) {
        char rest[100];

        snprintf(rest, sizeof(rest), ", \"output\": [{\"name\": \"%s\", \"dims\": %s}]",
                 names[k % 2], k % 2 ? "[3, 12, 12]" : "[432]");
        open_model(NET_FLAT, config_of(4, rest), 1);
        for (int n = 0; n < 3; n++) {
            ask(&r, pixels, 1, SIDE, SIDE);
            send_all(all, 1, names[k % 2]);
            CU_ASSERT_PTR_NOT_NULL_FATAL(output_of(&r, names[k % 2]));
            CU_ASSERT_EQUAL(memcmp(r.response.outputs[0].data, pixels, PIXELS * sizeof(float)), 0);
            double_reset(&r);
        }
        close_model(1);
    }
    free(pixels);
}

/* Axis 0 of the output is the batch for the definition's shape, and not for this request's. */
static void an_output_with_other_entries_than_the_batch_is_refused(void)
{
    float *pixels = pixels_of(6, 4 * PIXELS);
    TRITONBACKEND_Request r[2], *all[2] = { &r[0], &r[1] };

    open_model(NET_ROWS, config_of(4, ", \"input\": [{\"name\": \"data\", \"dims\": [3, -1, -1]}]"),
               1);
    for (int k = 0; k < 2; k++)
        ask(&r[k], pixels, 1, k ? SIDE : 2 * SIDE, k ? SIDE : 2 * SIDE);
    send_all(all, 2, "ip");
    CU_ASSERT_PTR_NOT_NULL(strstr(r[0].response.error, "\"ip\" has 4 entries for a batch of 1"));
    CU_ASSERT(nearly_answered(&r[1], NET_ROWS));
    double_reset(&r[0]);
    double_reset(&r[1]);
    close_model(1);
    free(pixels);
}

/* How many entries the net selects is known after the pass: the others' entries are not mixed. */
static void requests_whose_entries_the_net_drops_are_refused_alone(void)
{
    float *pixels = pixels_of(8, PIXELS), wanted[2] = { 0, 1 };
    TRITONBACKEND_Request r[2], *all[2] = { &r[0], &r[1] };
    uint64_t size;

    open_model(NET_SELECTED, config_of(4, ""), 1);
    for (int k = 0; k < 2; k++) {
        ask(&r[k], pixels, 1, SIDE, SIDE);
        r[k].input_count = 2;
        r[k].inputs[1] = r[k].inputs[0];
        r[k].inputs[1].name = "wanted";
        r[k].inputs[1].rank = 1;
        r[k].inputs[1].buffers[0].data = &wanted[k];
        r[k].inputs[1].buffers[0].size = sizeof(float);
    }
    send_all(all, 2, "selected");
    CU_ASSERT_PTR_NOT_NULL(strstr(r[0].response.error, "has 0 entries for a batch of 1"));
    size = r[1].response.count ? r[1].response.outputs[0].size : 0;
    CU_ASSERT(!*r[1].response.error && size == 4 * sizeof(float));
    double_reset(&r[0]);
    double_reset(&r[1]);
    close_model(1);
    free(pixels);
}

/* Axis 0 of a recurrent layer is the time: a pass has the steps of one request. */
static void sequences_are_not_joined(void)
{
    const char *error;

    open_model(NET_SEQUENCE, config_of(0, ""), 1);
    CU_ASSERT(strstr(model.config, "\"max_batch_size\":4") == NULL);
    close_model(1);
    model = (TRITONBACKEND_Model){ .complete = true };
    CU_ASSERT_PTR_NULL_FATAL(double_open(&backend));
    error = double_load(&backend, &model, folder_of(NET_SEQUENCE), config_of(4, ""), instances, 1);
    CU_ASSERT(error && strstr(error, "max_batch_size is 4"));
    double_close(&backend);
}

/* "REPOSITORY/.." would put the version beside the repository. */
static void a_model_folder_has_a_name(void)
{
    static const char *const names[] = { ".", "..", "good" };
    const char *command = getenv("FERRY_TEST_COMMAND");
    char line[1200];

    if (!command) {
        ferry_test_skip("FERRY_TEST_COMMAND is not set");
        return;
    }
    for (int k = 0; k < 3; k++) {
        snprintf(line, sizeof(line), "%s triton-model %s/1/net.prototxt %s/%s >/dev/null 2>&1",
                 command, folder_of(NET_FLAT), folder_of(NET_FLAT), names[k]);
        CU_ASSERT_EQUAL(system(line) == 0, k == 2);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_output_that_is_the_input_is_answered),
    FERRY_TEST(an_output_with_other_entries_than_the_batch_is_refused),
    FERRY_TEST(requests_whose_entries_the_net_drops_are_refused_alone),
    FERRY_TEST(sequences_are_not_joined),
};

/* Runs once: the program's folders are used by all sets. */
static const ferry_test_case commands[] = {
    FERRY_TEST(a_model_folder_has_a_name),
};

int main(int argc, char **argv)
{
    const ferry_test_set sets[] = {
        { "cpu", cases, FERRY_TEST_COUNT(cases) },
        { "sim", cases, FERRY_TEST_COUNT(cases) },
        { "cpu", commands, FERRY_TEST_COUNT(commands) },
    };

    return fixture_main(argc, argv, "triton, outputs", sets, FERRY_TEST_COUNT(sets));
}
