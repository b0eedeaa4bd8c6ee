/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Outputs that are the input's memory. */

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

static const ferry_test_case cases[] = {
    FERRY_TEST(an_output_that_is_the_input_is_answered),
};

int main(int argc, char **argv)
{
    const ferry_test_set sets[] = {
        { "cpu", cases, FERRY_TEST_COUNT(cases) },
        { "sim", cases, FERRY_TEST_COUNT(cases) },
    };

    return fixture_main(argc, argv, "triton, outputs", sets, FERRY_TEST_COUNT(sets));
}
