/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "train.h"

#include <errno.h>
#include <string.h>

static int fail(const struct train_log *log)
{
    return tool_error(TOOL_FAILURE, "%s: %s", log->path, strerror(errno));
}

int train_log_open(struct train_log *log, const char *path, bool appends)
{
    log->path = path;
    log->file = fopen(path, appends ? "a" : "w");
    return log->file ? TOOL_OK : fail(log);
}

/* A list with one object per test net; NULL if there was no test. */
static json_t *scores_of(const ferry_solver_iteration *e)
{
    json_t *nets = e->score_count ? json_array() : NULL, *net = NULL;

    for (size_t i = 0; nets && i < e->score_count; i++) {
        if (i == 0 || e->scores[i].net != e->scores[i - 1].net) {
            net = json_pack("{s:i}", "iter", e->iter);
            json_array_append_new(nets, net);
        }
        if (!tool_json_add(net, e->scores[i].name, tool_json_real(e->scores[i].value))) {
            json_decref(nets);
            return NULL;
        }
    }
    return nets;
}

/* Appends the tests to those that the line already has. */
static bool add_tests(json_t *of, json_t *tests)
{
    json_t *old = json_object_get(of, "test");
    bool good;

    if (!tests)
        return true;
    if (!old)
        return !json_object_set_new(of, "test", tests);
    good = !json_array_extend(old, tests);
    json_decref(tests);
    return good;
}

static int put(struct train_log *log, json_t *line)
{
    bool good = line && !json_dumpf(line, log->file, JSON_COMPACT | JSON_REAL_PRECISION(9)) &&
                fputc('\n', log->file) != EOF && fflush(log->file) == 0;

    json_decref(line);
    return good ? TOOL_OK : fail(log);
}

int train_log_write(struct train_log *log, const ferry_solver *s, const ferry_solver_iteration *e)
{
    json_t *line = NULL;

    if (!log->file)
        return TOOL_OK;
    if (e->is_last && !log->pending)
        line = json_pack("{s:i}", "iter", e->iter);
    else if (!e->is_last)
        line =
            json_pack("{s:i, s:o, s:o, s:o}", "iter", e->iter, "lr", tool_json_real(e->lr), "loss",
                      tool_json_real(e->loss), "smoothed_loss", tool_json_real(e->smoothed_loss));
    if (!add_tests(line ? line : log->pending, scores_of(e))) {
        json_decref(line);
        return tool_error(TOOL_FAILURE, "out of memory");
    }
    if (!line) {
        line = log->pending;
        log->pending = NULL;
    } else if (e->iter + 1 == ferry_solver_max_iter(s)) {
        log->pending = line;
        return TOOL_OK;
    }
    return put(log, line);
}

int train_log_close(struct train_log *log)
{
    int status = TOOL_OK;

    if (!log->file)
        return TOOL_OK;
    if (log->pending)
        status = put(log, log->pending);
    log->pending = NULL;
    if (fclose(log->file) && status == TOOL_OK)
        status = fail(log);
    log->file = NULL;
    return status;
}
