/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/conf/conf_file.h"
#include "fuzz.h"

const char fuzz_name[] = "conf";

/* Parses any bytes as plugins.conf. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct ferry__conf *conf = ferry__conf_create();

    fuzz_quiet();
    if (!conf)
        return 0;
    if (ferry__conf_parse(conf, "plugins.conf", (const char *)bytes, size) == 0) {
        for (const struct ferry__section *s = conf->sections; s; s = s->next) {
            fuzz_use(ferry__conf_enabled(s));
            fuzz_use(ferry__conf_size(&s->pool_limit, 1) == ferry__conf_size(&s->budget, 0));
        }
    }
    ferry__conf_destroy(conf);
    return 0;
}
