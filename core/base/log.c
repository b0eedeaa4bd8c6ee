/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/env.h"
#include "core/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE 4096

#define MOST_WAITING 1024 /* lines; further ones are dropped and counted */
#define MOST_OTHERS  16   /* lines of other threads that one call writes at most */

/* A line that cannot be written at once: its thread holds a lock, or another thread is writing. */
struct line {
    struct line *next;
    int level;
    char text[];
};

struct line_list {
    struct line *first;
    struct line **end; /* NULL while empty and untouched */
    unsigned count;
    unsigned lost; /* lines dropped for lack of memory or room */
};

/*
 * A thread that finds no writer becomes the writer, and writes up to a bound of the lines that
 * other threads put into `waiting` meanwhile; the next caller writes the rest. No thread waits for
 * a callback, so a callback may wait for any other thread; and other threads' lines do not keep a
 * thread busy without end.
 */
static struct {
    pthread_mutex_t lock;
    bool busy;
    struct line_list waiting;
    void (*fn)(void *arg, int level, const char *line);
    void *arg;
} sink = { .lock = PTHREAD_MUTEX_INITIALIZER };

atomic_bool ferry__log_left;

_Thread_local struct ferry__log_regions ferry__log_regions;

static _Thread_local struct {
    bool in_callback;
    struct line_list kept;
} mine;

static atomic_int threshold = -1; /* -1: FERRY_LOG not read yet */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static const char *const level_names[] = { "error", "warn", "info", "debug" };

/* ---- lists of lines ------------------------------------------------------------------------- */

static void list_append(struct line_list *list, unsigned most, int level, const char *text)
{
    size_t size = strlen(text) + 1;
    struct line *line = list->count < most ? malloc(sizeof(*line) + size) : NULL;

    if (!line) {
        list->lost++;
        return;
    }
    line->next = NULL;
    line->level = level;
    memcpy(line->text, text, size);
    if (!list->first)
        list->end = &list->first;
    *list->end = line;
    list->end = &line->next;
    list->count++;
}

static struct line *list_take(struct line_list *list)
{
    struct line *line = list->first;

    if (line) {
        list->first = line->next;
        list->count--;
    }
    return line;
}

/* ---- fork ----------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&sink.lock);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&sink.lock);
}

/*
 * The thread that was writing does not exist in the child; the lines that it had taken belong to
 * the parent.
 */
static void after_fork_child(void)
{
    struct line *line;

    while ((line = list_take(&sink.waiting)))
        free(line);
    sink.busy = false;
    atomic_store(&ferry__log_left, false);
    pthread_mutex_unlock(&sink.lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- writing -------------------------------------------------------------------------------- */

/*
 * Writes the program's name before the text, unless the text begins with it, as Caffe's lines do.
 */
static void write_stderr(int level, const char *text)
{
    char line[LINE_SIZE + 32];
    bool is_named = strncmp(text, "ferry: ", 7) == 0;
    int length = snprintf(line, sizeof(line), "ferry: %s: %s\n", level_names[level],
                          is_named ? text + 7 : text);

    if (length > 0)
        fwrite(line, 1, strlen(line), stderr);
}

/* Writes one line; called with sink.lock held, and releases it during the write. */
static void write_unlocked(int level, const char *text)
{
    void (*fn)(void *, int, const char *) = sink.fn;
    void *arg = sink.arg;

    pthread_mutex_unlock(&sink.lock);
    mine.in_callback = true;
    if (fn)
        fn(arg, level, text);
    else
        write_stderr(level, text);
    mine.in_callback = false;
    pthread_mutex_lock(&sink.lock);
}

static void write_lost(struct line_list *list)
{
    char text[64];

    snprintf(text, sizeof(text), "%u log lines dropped: too many, or no memory", list->lost);
    list->lost = 0;
    write_unlocked(FERRY_LOG_WARN, text);
}

/*
 * Writes up to *most of the waiting lines; called and returns with sink.lock held, but releases it
 * meanwhile.
 */
static void write_waiting(unsigned *most)
{
    struct line *line;

    for (; *most && (line = list_take(&sink.waiting)); --*most) {
        write_unlocked(line->level, line->text);
        free(line);
    }
    if (sink.waiting.lost)
        write_lost(&sink.waiting);
}

/*
 * Writes a line of this thread, unless `text` is NULL, and up to *others of the lines that other
 * threads have left.
 */
static void write_line(int level, const char *text, unsigned *others)
{
    pthread_once(&fork_once, watch_forks);
    pthread_mutex_lock(&sink.lock);
    if (text && (sink.busy || sink.waiting.first)) {
        list_append(&sink.waiting, MOST_WAITING, level, text);
        ++*others; /* the thread that has the other lines writes this line after them */
    }
    if (!sink.busy) {
        sink.busy = true;
        if (text && !sink.waiting.first)
            write_unlocked(level, text);
        write_waiting(others);
        sink.busy = false;
        atomic_store(&ferry__log_left, sink.waiting.first || sink.waiting.lost);
    }
    pthread_mutex_unlock(&sink.lock);
}

/* ---- logging -------------------------------------------------------------------------------- */

static void say(int level, const char *text)
{
    unsigned others = MOST_OTHERS;

    if (mine.in_callback)
        return; /* otherwise a callback that logs a line itself would be called without end */
    if (ferry__log_is_held()) {
        list_append(&mine.kept, MOST_WAITING, level, text);
        ferry__log_regions.has_kept = true;
    } else {
        write_line(level, text, &others);
    }
}

void ferry__log_configure(void)
{
    const char *text = ferry__env_get("FERRY_LOG");
    int level = FERRY_LOG_WARN;
    bool known = !text || !*text;

    for (int i = 0; text && i <= FERRY_LOG_DEBUG; i++)
        if (strcmp(text, level_names[i]) == 0) {
            level = i;
            known = true;
        }
    atomic_store(&threshold, level);
    if (!known)
        ferry__log(FERRY_LOG_WARN,
                   "FERRY_LOG=%s: not one of error, warn, info, debug; warn is used", text);
}

bool ferry__log_enabled(int level)
{
    if (atomic_load_explicit(&threshold, memory_order_relaxed) < 0)
        ferry__log_configure();
    return level <= atomic_load_explicit(&threshold, memory_order_relaxed);
}

void ferry__log_va(int level, const char *fmt, va_list args)
{
    char text[LINE_SIZE];

    if (level < FERRY_LOG_ERROR)
        level = FERRY_LOG_ERROR;
    if (level > FERRY_LOG_DEBUG)
        level = FERRY_LOG_DEBUG;
    if (!ferry__log_enabled(level) || vsnprintf(text, sizeof(text), fmt, args) < 0)
        return;
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    say(level, text);
}

void ferry__log(int level, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    ferry__log_va(level, fmt, args);
    va_end(args);
}

void ferry__log_write_kept(void)
{
    struct line_list kept;
    struct line *line;
    unsigned others = MOST_OTHERS;

    if (atomic_load_explicit(&ferry__log_left, memory_order_relaxed) && !mine.in_callback)
        write_line(0, NULL, &others);
    if (!mine.kept.first && !mine.kept.lost)
        return;
    kept = mine.kept;
    mine.kept = (struct line_list){ 0 };
    ferry__log_regions.has_kept = false;
    while ((line = list_take(&kept))) {
        write_line(line->level, line->text, &others);
        free(line);
    }
    if (kept.lost)
        ferry__log(FERRY_LOG_WARN, "%u log lines dropped: too many, or no memory", kept.lost);
}

/*
 * The callback belongs to the program, which has ended: later lines are written to standard error.
 */
static void __attribute__((destructor)) leave_callback(void)
{
    ferry_log_set_handler(NULL, NULL);
}

/* Writes the lines that are still waiting at the end of the process. */
static void __attribute__((destructor(FERRY__LOG_END))) write_the_rest(void)
{
    while (atomic_load(&ferry__log_left)) {
        unsigned others = MOST_OTHERS;

        write_line(0, NULL, &others);
    }
}

void ferry_log_write(int level, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    ferry__log_va(level, fmt, args);
    va_end(args);
}

void ferry_log_set_handler(void (*fn)(void *arg, int level, const char *line), void *arg)
{
    pthread_mutex_lock(&sink.lock);
    sink.fn = fn;
    sink.arg = fn ? arg : NULL;
    pthread_mutex_unlock(&sink.lock);
}
