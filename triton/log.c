/* SPDX-License-Identifier: BSD-2-Clause */
#include "triton/backend.h"

#include <stdarg.h>
#include <stdio.h>

static void log_line(TRITONSERVER_LogLevel level, const char *line)
{
    TRITONSERVER_Error *error = TRITONSERVER_LogMessage(level, "ferry", 0, line);

    if (error)
        TRITONSERVER_ErrorDelete(error);
}

static void pass_on(void *arg, int level, const char *line)
{
    static const TRITONSERVER_LogLevel levels[] = {
        [FERRY_LOG_ERROR] = TRITONSERVER_LOG_ERROR,
        [FERRY_LOG_WARN] = TRITONSERVER_LOG_WARN,
        [FERRY_LOG_INFO] = TRITONSERVER_LOG_INFO,
        [FERRY_LOG_DEBUG] = TRITONSERVER_LOG_VERBOSE,
    };

    (void)arg;
    if (level >= FERRY_LOG_ERROR && level <= FERRY_LOG_DEBUG)
        log_line(levels[level], line);
}

void triton_log(bool on)
{
    ferry_log_set_handler(on ? pass_on : NULL, NULL);
}

void triton_warn(const char *fmt, ...)
{
    char line[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    log_line(TRITONSERVER_LOG_WARN, line);
}

/* The server's kind of a code of ferry. */
static TRITONSERVER_Error_Code code_of(int err)
{
    switch (err) {
    case FERRY_EINVAL:
    case FERRY_ESHAPE:
    case FERRY_EFORMAT:
    case FERRY_EOVERFLOW:
        return TRITONSERVER_ERROR_INVALID_ARG;
    case FERRY_ENOMEM:
    case FERRY_EBUSY:
    case FERRY_EDEVICE:
    case FERRY_ELOST:
    case FERRY_ENODEV:
        return TRITONSERVER_ERROR_UNAVAILABLE;
    case FERRY_EUNSUPPORTED:
        return TRITONSERVER_ERROR_UNSUPPORTED;
    case FERRY_EIO:
        return TRITONSERVER_ERROR_NOT_FOUND;
    default:
        return TRITONSERVER_ERROR_INTERNAL;
    }
}

TRITONSERVER_Error *triton_error(int err, const char *prefix)
{
    if (!prefix)
        return triton_error_new(code_of(err), "%s", ferry_last_error());
    return triton_error_new(code_of(err), "%s: %s", prefix, ferry_last_error());
}

TRITONSERVER_Error *triton_error_new(TRITONSERVER_Error_Code code, const char *fmt, ...)
{
    char line[2048];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    return TRITONSERVER_ErrorNew(code, line);
}
