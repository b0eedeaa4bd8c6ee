/* SPDX-License-Identifier: BSD-2-Clause */
#include "tiny-solver.h"

#include "ferry-test.h"

#include <stdio.h>
#include <string.h>

int tiny_try(ferry_device *dev, const char *text, ferry_solver **out)
{
    ferry_solver_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };

    *out = NULL;
    return ferry_solver_open(dev, "solver.prototxt", &o, out);
}

ferry_solver *tiny_open(ferry_device *dev, const char *text)
{
    ferry_solver *s;
    int err = tiny_try(dev, text, &s);

    if (err)
        printf("     %s\n", ferry_last_error());
    CU_ASSERT_EQUAL_FATAL(err, FERRY_OK);
    return s;
}
