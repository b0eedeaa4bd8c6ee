/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin opened in a child process, which may crash or hang.
 */
#ifndef FERRY_CORE_PLUGIN_PROBE_H
#define FERRY_CORE_PLUGIN_PROBE_H

#include "core/load/loader.h"
#include "core/plugin/options.h"

/* The verdict. With code 0 the refusal's text may name a device that did not open. */
struct ferry__verdict {
    int code; /* 0, or refusal.code */
    uint32_t count;
    char stage[16];
    struct ferry__refusal refusal;
};

/*
 * Opens the candidate's plugin and each of its devices in a child process, within `timeout_ms`;
 * processes that it starts are killed with it. Takes over `settings`. 0, with the verdict in *out,
 * or FERRY_EIO and a message if no child could be created.
 */
int ferry__plugin_probe(const struct ferry__candidate *candidate, struct ferry__settings *settings,
                        int timeout_ms, struct ferry__verdict *out);

#endif
