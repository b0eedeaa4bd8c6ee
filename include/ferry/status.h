/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file status.h
 * Error codes, this thread's latest error as one line, and the log.
 *
 * A function that can fail returns an int, 0 or one of the negative codes below (int64_t functions
 * return the code in place of a count); one that returns a pointer or a reference returns NULL, or
 * a NULL handle. The function that detected the error has recorded one line that names plugin,
 * device, operation, bytes and the vendor's own error. ferry never aborts, never exits, and prints
 * only through the log.
 */
#ifndef FERRY_STATUS_H
#define FERRY_STATUS_H

#include <ferry/types.h>

FERRY_BEGIN_DECLS

/**
 * Every code with its value and the general sentence that ferry_strerror returns. Values never
 * change.
 */
#define FERRY_STATUS_LIST(X)                                       \
    X(OK, 0, "success")                                            \
    X(EINVAL, -1, "invalid argument")                              \
    X(ENOMEM, -2, "out of memory")                                 \
    X(ENODEV, -3, "no such device")                                \
    X(EUNSUPPORTED, -4, "not supported")                           \
    X(EOVERFLOW, -5, "value too large")                            \
    X(ESHAPE, -6, "shapes do not match")                           \
    X(EUNINIT, -7, "never written")                                \
    X(EBUSY, -8, "work is pending")                                \
    X(EDEVICE, -9, "the device reported an error")                 \
    X(ELOST, -10, "the data, or the device that held it, is lost") \
    X(EPLUGIN, -11, "the plugin cannot be used")                   \
    X(EABI, -12, "the plugin was built for another interface")     \
    X(EPERM, -13, "not permitted")                                 \
    X(ECONF, -14, "configuration error")                           \
    X(EFORMAT, -15, "malformed file")                              \
    X(EIO, -16, "input/output error")                              \
    X(EFORKED, -17, "the device was opened before fork; this process cannot use it")

/** FERRY_OK and the FERRY_E… codes. Functions return them as int, so that they can grow. */
enum ferry_status {
#define FERRY_STATUS_ENUM(name, value, text) FERRY_##name = value,
    FERRY_STATUS_LIST(FERRY_STATUS_ENUM)
#undef FERRY_STATUS_ENUM
};

/**
 * The general sentence for a code, in static storage; "unknown error" for any other value. Callable
 * from any thread.
 */
FERRY_API const char *ferry_strerror(int code);

/**
 * This thread's latest failure in one line, without a newline, at most 1023 bytes; "" if none has
 * happened yet. Success does not clear it. The string belongs to ferry and stays as it is until
 * this thread's next failure.
 */
FERRY_API const char *ferry_last_error(void);

/** The code of that failure; FERRY_OK if none has happened on this thread yet. */
FERRY_API int ferry_last_error_code(void);

/**
 * Records "message" as this thread's latest failure and returns `code`, so that a failing function
 * may end in it. For libraries on top of ferry, such as libferryio; a program reads errors only.
 * One line of at most 1023 bytes: longer ones are cut, control characters become spaces. An
 * argument may be ferry_last_error() itself. Takes no lock, allocates nothing.
 */
FERRY_API int ferry_error_set(int code, const char *fmt, ...) FERRY_PRINTF(2, 3);

/**
 * "major.minor.patch" of the running library, or with "~rcN"; static storage. Callable from any
 * thread.
 */
FERRY_API const char *ferry_version(void);

/** Log levels, as FERRY_LOG names them: error, warn, info, debug. */
#define FERRY_LOG_ERROR 0
#define FERRY_LOG_WARN  1
#define FERRY_LOG_INFO  2
#define FERRY_LOG_DEBUG 3

/**
 * Sends the log to `fn` (level, and one line without its newline) in place of standard error; NULL
 * restores that.
 *
 * FERRY_LOG (error, warn, info or debug; warn if unset) sets the level. `fn` is called from any
 * thread that logs, never while ferry holds a lock, one call at a time; it has to return, and may
 * call ferry, but lines logged by these calls are dropped. No thread waits for another's call of
 * `fn`: it queues its line, and the thread in that call, or the next one that calls ferry, passes
 * on up to 16 lines of other threads. At most 1024 lines are queued; further ones are dropped, and
 * a line gives their number. Lines already on their way when this returns may still reach the
 * former function. Callable from any thread.
 */
FERRY_API void ferry_log_set_handler(void (*fn)(void *arg, int level, const char *line), void *arg);

/**
 * Writes a line to the log at FERRY_LOG_…, for libraries on top of ferry. Dropped where FERRY_LOG
 * asks for less. Callable from any thread.
 */
FERRY_API void ferry_log_write(int level, const char *fmt, ...) FERRY_PRINTF(2, 3);

FERRY_END_DECLS

#endif
