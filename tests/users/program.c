/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the first device that it may, in the role of a program with more privileges than its
 * caller. Prints "PLUGIN works", or for each candidate the stage that it reached.
 */
#include <ferry/ferry.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    const ferry_runtime_candidate_info *line;
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;

    if (ferry_runtime_open(NULL, &rt) != 0) {
        printf("no runtime: %s\n", ferry_last_error());
        return 1;
    }
    if (ferry_runtime_get_device(rt, NULL, &dev) == 0 && ferry_device_synchronize(dev) == 0)
        printf("%s works\n", ferry_device_get_properties(dev)->plugin);
    for (int i = 0; !dev && i < ferry_runtime_candidate_count(rt); i++)
        if (ferry_runtime_candidate_at(rt, i, &line) == 0)

            printf("%s: %s: %s\n", line->name, line->stage, line->reason);
    ferry_runtime_close(rt);
    return dev ? 0 : 1;
}
