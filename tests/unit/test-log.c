/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "core/base/log.h"
#include "fakes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_level(const char *level)
{
    setenv("FERRY_LOG", level, 1);
    ferry__log_configure();
}

static void lines_below_the_level_are_not_written(void)
{
    set_level("info");
    fakes_log();
    ferry__log(FERRY_LOG_DEBUG, "too much");
    ferry__log(FERRY_LOG_INFO, "a %d", 1);
    ferry__log(FERRY_LOG_ERROR, "b");
    CU_ASSERT_STRING_EQUAL(fakes_logged(), "info: a 1\nerror: b\n");
    CU_ASSERT(ferry__log_enabled(FERRY_LOG_INFO));
    CU_ASSERT_FALSE(ferry__log_enabled(FERRY_LOG_DEBUG));
}

static void an_invalid_level_is_logged_and_warn_is_used(void)
{
    fakes_log();
    set_level("verbose");
    CU_ASSERT_STRING_EQUAL(
        fakes_logged(),
        "warn: FERRY_LOG=verbose: not one of error, warn, info, debug; warn is used\n");
    CU_ASSERT_FALSE(ferry__log_enabled(FERRY_LOG_INFO));
}

static void a_line_logged_under_a_lock_waits_for_the_outermost_release(void)
{
    set_level("warn");
    fakes_log();
    ferry__log_hold();
    ferry__log_hold();
    ferry__log(FERRY_LOG_WARN, "one");
    ferry__log(FERRY_LOG_WARN, "two");
    ferry__log_release();
    CU_ASSERT_STRING_EQUAL(fakes_logged(), "");
    ferry__log_release();
    CU_ASSERT_STRING_EQUAL(fakes_logged(), "warn: one\nwarn: two\n");
}

static unsigned calls;

static void log_again(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
    calls++;
    ferry__log(FERRY_LOG_WARN, "from the callback");
}

static void lines_logged_by_a_callback_are_dropped(void)
{
    set_level("warn");
    calls = 0;
    ferry_log_set_handler(log_again, NULL);
    ferry__log(FERRY_LOG_WARN, "once");
    CU_ASSERT_EQUAL(calls, 1);
}

/* ---- threads -------------------------------------------------------------------------------- */

#define THREADS 4
#define LINES   200

static atomic_int inside, most, seen;

static void count_callers(void *arg, int level, const char *line)
{
    int now = atomic_fetch_add(&inside, 1) + 1;

    (void)arg;
    (void)level;
    (void)line;
    if (now > atomic_load(&most))
        atomic_store(&most, now);
    atomic_fetch_add(&seen, 1);
    atomic_fetch_sub(&inside, 1);
}

static void *say_much(void *arg)
{
    for (int i = 0; i < LINES; i++)
        ferry__log(FERRY_LOG_WARN, "line %d", i);
    return arg;
}

/* Logs nothing, but delivers pending lines, like any call that takes a lock. */
static void come_by(void)
{
    ferry__log_hold();
    ferry__log_release();
}

static void callbacks_run_one_at_a_time_and_no_line_is_lost(void)
{
    pthread_t threads[THREADS];

    set_level("warn");
    ferry_log_set_handler(count_callers, NULL);
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, say_much, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < LINES && atomic_load(&seen) < THREADS * LINES; i++)
        come_by();
    CU_ASSERT_EQUAL(atomic_load(&most), 1);
    CU_ASSERT_EQUAL(atomic_load(&seen), THREADS * LINES);
}

static void *say_one(void *arg)
{
    (void)arg;
    ferry__log(FERRY_LOG_WARN, "from the other thread");
    return NULL;
}

/* A callback that waits for another thread, which logs meanwhile. */
static void wait_for_another(void *arg, int level, const char *line)
{
    pthread_t thread;

    (void)level;
    if (strcmp(line, "first") == 0) {
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, say_one, NULL), 0);
        pthread_join(thread, NULL);
    }
    strcat(arg, line);
    strcat(arg, ";");
}

static void no_thread_waits_for_a_callback(void)
{
    char text[100] = "";

    set_level("warn");
    ferry_log_set_handler(wait_for_another, text);
    ferry__log(FERRY_LOG_WARN, "first");
    CU_ASSERT_STRING_EQUAL(text, "first;from the other thread;");
    ferry_log_set_handler(NULL, NULL);
}

/* ---- slow callbacks ------------------------------------------------------------------------- */

#define TALKERS  3
#define SAID     5000
/* a line of the thread's own, a few of others', and the note of dropped lines */
#define MOST_OWN 20

static _Thread_local unsigned handed; /* number of lines that this thread's current call has
                                       * delivered */
static atomic_uint most_handed, heard, dropped;
static atomic_bool inside_first, hush;

static void note_line(const char *line)
{
    unsigned n, so_far = atomic_load(&most_handed);

    if (sscanf(line, "%u log lines dropped", &n) == 1)
        atomic_fetch_add(&dropped, n);
    else
        atomic_fetch_add(&heard, 1);
    handed++;
    while (handed > so_far && !atomic_compare_exchange_weak(&most_handed, &so_far, handed))
        ;
}

static void hear_slowly(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    note_line(line);
    usleep(200);
}

static void *talk(void *arg)
{
    for (int i = 0; i < SAID; i++) {
        handed = 0;
        ferry__log(FERRY_LOG_WARN, "line %d", i);
    }
    return arg;
}

static void forget_what_was_heard(void)
{
    atomic_store(&most_handed, 0);
    atomic_store(&heard, 0);
    atomic_store(&dropped, 0);
    handed = 0;
}

static void a_thread_delivers_only_a_few_lines_of_other_threads(void)
{
    pthread_t threads[TALKERS];

    set_level("warn");
    forget_what_was_heard();
    ferry_log_set_handler(hear_slowly, NULL);
    for (int i = 0; i < TALKERS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, talk, NULL), 0);
    for (int i = 0; i < TALKERS; i++)
        pthread_join(threads[i], NULL);
    CU_ASSERT(atomic_load(&most_handed) > 1);
    CU_ASSERT(atomic_load(&most_handed) <= MOST_OWN);
    for (int i = 0; i < SAID && heard + dropped < TALKERS * SAID; i++)
        come_by();
    CU_ASSERT_EQUAL(heard + dropped, TALKERS * SAID);
    ferry_log_set_handler(NULL, NULL);
}

/* The first line's callback returns after all lines were logged. */
static void hear_late(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    atomic_store(&inside_first, true);
    while (!atomic_load(&hush))
        usleep(100);
    note_line(line);
}

static void *say_first(void *arg)
{
    ferry__log(FERRY_LOG_WARN, "first");
    return arg;
}

/* Another thread is in the callback while this thread logs all of its lines. */
static void leave_many_lines(void)
{
    pthread_t thread;

    set_level("warn");
    forget_what_was_heard();
    atomic_store(&inside_first, false);
    atomic_store(&hush, false);
    ferry_log_set_handler(hear_late, NULL);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, say_first, NULL), 0);
    while (!atomic_load(&inside_first))
        usleep(100);
    for (int i = 0; i < SAID; i++)
        ferry__log(FERRY_LOG_WARN, "line %d", i);
    atomic_store(&hush, true);
    pthread_join(thread, NULL);
}

static void the_number_of_waiting_lines_is_limited_and_dropped_ones_are_counted(void)
{
    leave_many_lines();
    for (int i = 0; i < SAID && heard + dropped < SAID + 1; i++)
        come_by();
    CU_ASSERT_EQUAL(heard + dropped, SAID + 1);
    CU_ASSERT(heard >= 1000 && heard <= 1100);
    ferry_log_set_handler(NULL, NULL);
}

static void releasing_many_held_lines_delivers_few_lines_of_other_threads(void)
{
    leave_many_lines();
    handed = 0;
    ferry__log_hold();
    for (int i = 0; i < 30; i++)
        ferry__log(FERRY_LOG_WARN, "held line %d", i);
    ferry__log_release();
    CU_ASSERT(handed > 0 && handed <= 30 + MOST_OWN);
    for (int i = 0; i < SAID && heard + dropped < SAID + 31; i++)
        come_by();
    CU_ASSERT_EQUAL(heard + dropped, SAID + 31);
    ferry_log_set_handler(NULL, NULL);
}

/* ---- processes ------------------------------------------------------------------------------ */

static void fork_and_log(void *arg, int level, const char *line)
{
    int status = 0;
    pid_t child;

    (void)level;
    if (strcmp(line, "before") != 0)
        return;
    child = fork();
    if (child == 0) {
        ferry_log_set_handler(NULL, NULL);
        _exit(7);
    }
    waitpid(child, &status, 0);
    *(int *)arg = WEXITSTATUS(status);
}

static void a_child_forked_during_logging_does_not_deadlock(void)
{
    int status = 0;

    set_level("warn");
    ferry_log_set_handler(fork_and_log, &status);
    ferry__log(FERRY_LOG_WARN, "before");
    CU_ASSERT_EQUAL(status, 7);
    ferry_log_set_handler(NULL, NULL);
}

static void without_a_callback_lines_are_written_to_standard_error(void)
{
    int ends[2], saved = dup(STDERR_FILENO);
    char text[100] = "";

    set_level("warn");
    ferry_log_set_handler(NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    ferry__log(FERRY_LOG_WARN, "two\nlines");
    dup2(saved, STDERR_FILENO);
    close(ends[1]);
    CU_ASSERT(read(ends[0], text, sizeof(text) - 1) > 0);
    CU_ASSERT_STRING_EQUAL(text, "ferry: warn: two lines\n");
    close(ends[0]);
    close(saved);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(lines_below_the_level_are_not_written),
    FERRY_TEST(an_invalid_level_is_logged_and_warn_is_used),
    FERRY_TEST(a_line_logged_under_a_lock_waits_for_the_outermost_release),
    FERRY_TEST(lines_logged_by_a_callback_are_dropped),
    FERRY_TEST(callbacks_run_one_at_a_time_and_no_line_is_lost),
    FERRY_TEST(no_thread_waits_for_a_callback),
    FERRY_TEST(a_thread_delivers_only_a_few_lines_of_other_threads),
    FERRY_TEST(the_number_of_waiting_lines_is_limited_and_dropped_ones_are_counted),
    FERRY_TEST(releasing_many_held_lines_delivers_few_lines_of_other_threads),
    FERRY_TEST(a_child_forked_during_logging_does_not_deadlock),
    FERRY_TEST(without_a_callback_lines_are_written_to_standard_error),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "log", cases, FERRY_TEST_COUNT(cases));
}
