/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "array-files.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The progress line of a long command on a terminal, here one of the test. */

/* Each input has 1 MiB; a simulated device copies so few bytes per second that it takes long. */
#define ARRAYS 64
#define EACH   (4 << 10) /* elements */
#define SLOW   "FERRY_BACKEND=sim FERRY_CONF=slow.conf TERM=xterm"
#define DUMB   "FERRY_BACKEND=sim FERRY_CONF=slow.conf TERM=dumb"

struct session {
    pid_t child;
    int terminal;
    char said[4096];
    size_t size;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * Runs ferry with its standard error on a terminal of its own with that many columns; 0: unknown.
 */
static struct session begin(const char *variables, unsigned short columns, const char *arguments)
{
    struct winsize window = { .ws_row = 24, .ws_col = columns };
    struct session s = { .terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC) };
    char line[1024];
    int other;

    CU_ASSERT_FATAL(s.terminal >= 0 && grantpt(s.terminal) == 0 && unlockpt(s.terminal) == 0);
    other = open(ptsname(s.terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    CU_ASSERT_FATAL(other >= 0);
    CU_ASSERT_EQUAL(ioctl(other, TIOCSWINSZ, &window), 0);
    snprintf(line, sizeof(line), "cd %s && %s exec \"$FERRY_TEST_COMMAND\" %s >/dev/null", folder,
             variables, arguments);
    s.child = fork();
    if (s.child == 0) {
        signal(SIGINT, SIG_DFL); /* a job in the background inherits SIG_IGN */
        dup2(other, STDERR_FILENO);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    close(other);
    return s;
}

/* Reads its output until `text` appears; false after that many seconds, or at its end. */
static bool wait_for(struct session *s, const char *text, double seconds)
{
    double end = now() + seconds;

    while (!strstr(s->said, text)) {
        struct pollfd poller = { .fd = s->terminal, .events = POLLIN };
        double left = end - now();
        ssize_t n;

        if (left <= 0 || poll(&poller, 1, (int)(left * 1000) + 1) < 1)
            return false;
        n = read(s->terminal, s->said + s->size, sizeof(s->said) - 1 - s->size);
        if (n <= 0)
            return false;
        s->size += (size_t)n;
        s->said[s->size] = '\0';
    }
    return true;
}

/* Interrupts it, and reads the rest. */
static void end(struct session *s)
{
    int status = 0;

    kill(s->child, SIGINT);
    (void)wait_for(s, "nothing that it says", 30);
    CU_ASSERT_EQUAL(waitpid(s->child, &status, 0), s->child);
    CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    close(s->terminal);
}

/*
 * "merging [### ] 12% 40.0 KiB/s 0:22 left": the numbers are consistent with each other and with
 * the clock.
 */
static void check_line(const char *line, double elapsed)
{
    int percent, minutes, seconds, end = 0;
    const char *bar = strchr(line, '[');
    double rate, left;

    CU_ASSERT_PTR_NOT_NULL_FATAL(bar);
    CU_ASSERT_EQUAL(strncmp(line, "\rmerging [", 10), 0);
    CU_ASSERT_EQUAL_FATAL(strcspn(bar, "]"), 31);
    CU_ASSERT_EQUAL_FATAL(sscanf(bar + 32, "%d%% %lf KiB/s %d:%d left\033[K%n", &percent, &rate,
                                 &minutes, &seconds, &end),
                          4);
    CU_ASSERT(end > 0);
    CU_ASSERT_EQUAL(strspn(bar + 1, "#"), (size_t)percent * 30 / 100);
    CU_ASSERT(percent > 0 && percent < 90);
    /* finished after at least a second, and no later than the test has waited */
    CU_ASSERT(rate <= (percent + 1) * 10.24 / 1.0 + 1);
    CU_ASSERT(rate >= percent * 10.24 / elapsed - 1);
    left = (100 - percent) * 10.24 / rate;
    CU_ASSERT(minutes * 60 + seconds >= left * 0.9 - 2 && minutes * 60 + seconds <= left * 1.1 + 2);
}

static void make_input(size_t n, int count)
{
    struct array arrays[ARRAYS];
    char names[ARRAYS][16];

    for (size_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof(names[i]), "x%zu", i);
        arrays[i] = (struct array){ names[i], FERRY_F32, count, (double)i, false };
    }
    make("a.npz", arrays, n);
}

static void the_progress_line_has_share_rate_and_remaining_time(void)
{
    struct session s, quiet, narrow, narrower, dumb;
    double start;

    if (!strstr(getenv("FERRY_TEST_PLUGINS"), "sim")) {
        ferry_test_skip("the sim plugin, whose copies can be slow, was not built");
        return;
    }
    fx_device();
    CU_ASSERT_EQUAL(shell("printf '[plugin sim]\\noption.bandwidth = 200KiB/s\\n' > slow.conf"), 0);
    make_input(ARRAYS, EACH);
    start = now();
    quiet = begin(SLOW, 80, "merge --quiet -o b.npz a.npz a.npz");
    dumb = begin(DUMB, 80, "merge -o c.npz a.npz a.npz");
    s = begin(SLOW, 0, "merge -o m.npz a.npz a.npz");
    narrow = begin(SLOW, 50, "merge -o n.npz a.npz a.npz");
    narrower = begin(SLOW, 20, "merge -o o.npz a.npz a.npz");
    CU_ASSERT(wait_for(&s, "left\033[K", 60));
    check_line(s.said, now() - start);
    CU_ASSERT(wait_for(&narrow, "left\033[K", 60));
    CU_ASSERT_EQUAL(strcspn(narrow.said + 1, "\033"), 49);
    CU_ASSERT_PTR_NOT_NULL(strstr(narrow.said, "merging ["));
    CU_ASSERT(wait_for(&narrower, "\033[K", 60));
    CU_ASSERT_EQUAL(strcspn(narrower.said + 1, "\033"), 19);
    CU_ASSERT_EQUAL(strncmp(narrower.said, "\rmerging  ", 10), 0);
    CU_ASSERT(!wait_for(&quiet, "\r", 0.2));
    CU_ASSERT(!wait_for(&dumb, "\r", 0.1));
    end(&s);
    end(&quiet);
    end(&narrow);
    end(&narrower);
    end(&dumb);
    CU_ASSERT(quiet.size == 0 && dumb.size == 0);
    /* the line is removed at the end, and so is the file */
    CU_ASSERT(s.size > 4 && strcmp(s.said + s.size - 4, "\r\033[K") == 0);
    CU_ASSERT(!is_there("m.npz") && !is_there("b.npz"));
    clean();
    fx_end();
}

static void inspect_shows_a_progress_line(void)
{
    struct session s;

    if (!strstr(getenv("FERRY_TEST_PLUGINS"), "sim")) {
        ferry_test_skip("the sim plugin, whose copies can be slow, was not built");
        return;
    }
    fx_device();
    CU_ASSERT_EQUAL(shell("printf '[plugin sim]\\noption.bandwidth = 200KiB/s\\n' > slow.conf"), 0);
    make_input(12, 70000); /* of 16 s; it checks for an interrupt after each array */
    s = begin(SLOW, 80, "inspect a.npz");
    CU_ASSERT(wait_for(&s, "left\033[K", 60));
    CU_ASSERT_EQUAL(strncmp(s.said, "\rmeasuring [", 12), 0);
    end(&s);
    clean();
    fx_end();
}

static void an_ignored_signal_stays_ignored(void)
{
    struct session s;

    if (!strstr(getenv("FERRY_TEST_PLUGINS"), "sim")) {
        ferry_test_skip("the sim plugin, whose copies can be slow, was not built");
        return;
    }
    fx_device();
    CU_ASSERT_EQUAL(shell("printf '[plugin sim]\\noption.bandwidth = 200KiB/s\\n' > slow.conf"), 0);
    make_input(ARRAYS, EACH);
    s = begin("trap '' HUP; " SLOW, 80, "merge -o m.npz a.npz a.npz");
    CU_ASSERT(wait_for(&s, "left\033[K", 60));
    kill(s.child, SIGHUP);
    CU_ASSERT(!wait_for(&s, "nothing that it says", 1));
    CU_ASSERT_EQUAL(waitpid(s.child, NULL, WNOHANG), 0);
    end(&s);
    clean();
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_ignored_signal_stays_ignored),
    FERRY_TEST(inspect_shows_a_progress_line),
    FERRY_TEST(the_progress_line_has_share_rate_and_remaining_time),
};

int main(int argc, char **argv)
{
    return array_files_main(argc, argv, "command-progress", cases, FERRY_TEST_COUNT(cases), NULL,
                            0);
}
