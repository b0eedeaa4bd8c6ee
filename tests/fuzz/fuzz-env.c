/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "core/conf/choice.h"
#include "core/base/env.h"
#include "core/base/text.h"
#include "fuzz.h"

#include <ferry/runtime.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_name[] = "env";

static const char *const variables[] = { "FERRY_BACKEND", "FERRY_STRICT", "FERRY_LOG",
                                         "FERRY_PLUGIN_PATH" };

/* Calls the parsers of words that a variable's value can contain. */
static void read_words(const char *text)
{
    struct ferry__choice choice;
    struct ferry__choice_item item;
    char why[128];
    uint64_t size;
    bool is;

    if (!ferry__choice_parse(text, &choice, why))
        fuzz_use(ferry__choice_allows(&choice, "cpu"));
    fuzz_use(ferry__choice_parse_item(text, strlen(text), &item, why) == NULL);
    fuzz_use(ferry__text_size(text, &size));
    fuzz_use(ferry__text_bool(text, &is));
    fuzz_use(ferry__env_is_unknown(text));
    fuzz_use(ferry__text_nearest(text, variables, 4) != NULL);
}

/*
 * The first four lines are the values of the variables above, with which a runtime is opened.
 * Existing folders may be listed, but no file of them is loaded.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    ferry_runtime *rt = NULL;
    char *text = size < 65536 ? strndup((const char *)bytes, size) : NULL;
    char *rest = text;

    fuzz_quiet();
    setenv("FERRY_CONF", "/dev/null", 1);
    for (size_t i = 0; rest && i < 4; i++) {
        char *line = strsep(&rest, "\n");

        read_words(line);
        setenv(variables[i], line, 1);
    }
    if (text && ferry_runtime_open(NULL, &rt) == 0)
        ferry_runtime_close(rt);
    for (size_t i = 0; i < 4; i++)
        unsetenv(variables[i]);
    free(text);
    return 0;
}
