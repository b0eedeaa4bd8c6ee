/* SPDX-License-Identifier: BSD-2-Clause */
#define _XOPEN_SOURCE 700
#include "tool.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `ferry new-plugin`: copies the plugin template under another name, ready to build. */

/* A text of the template and its replacement. */
struct edit {
    const char *from, *to;
};

struct project {
    const char *name, *from; /* the plugin's name; the folder of the template */
    char folder[PATH_MAX];
    char text[48], source[48], in_list[48], main_file[48];
    char module[48], canonical[48], package[48];
};

static bool is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

    return name[0] >= 'a' && name[0] <= 'z' && !name[n] && n < 32;
}

/* Replaces characters as automake does in a library's name. */
static void canonical(char *name)
{
    for (; *name; name++)
        if (*name == '-')
            *name = '_';
}

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
    char path[PATH_MAX + 64];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, mode);
    if (!f)
        tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    return f;
}

static int close_written(FILE *f, const struct project *p, const char *name)
{
    bool good = !ferror(f);

    if (fclose(f) == 0 && good)
        return TOOL_OK;
    return tool_error(TOOL_FAILURE, "%s/%s: %s", p->folder, name, strerror(errno));
}

/* Writes a line with its replacements; the first that matches at a position is applied. */
static void write_line(FILE *to, const char *line, const struct edit *edits)
{
    while (*line) {
        const struct edit *e = edits;

        while (e->from && strncmp(line, e->from, strlen(e->from)) != 0)
            e++;
        if (e->from) {
            fputs(e->to, to);
            line += strlen(e->from);
        } else {
            fputc(*line++, to);
        }
    }
}

/* Copies one file without the lines of the template's second plugin. */
static int copy(const struct project *p, const char *from, const char *to, const struct edit *edits)
{
    FILE *in = open_in(p->from, from, "r"), *out;
    char *line = NULL;
    size_t room = 0;

    if (!in)
        return TOOL_FAILURE;
    out = open_in(p->folder, to, "w");
    while (out && getline(&line, &room, in) > 0)
        if (!strstr(line, "acme_queues") && !strstr(line, "drop the other"))
            write_line(out, line, edits);
    free(line);
    fclose(in);
    return out ? close_written(out, p, to) : TOOL_FAILURE;
}

static int write_conf(const struct project *p)
{
    FILE *f = open_in(p->folder, "plugins.conf", "w");
    char whole[PATH_MAX];

    if (!f)
        return TOOL_FAILURE;
    fprintf(f,
            "; For FERRY_CONF, to try it with nothing installed.\n[plugin %s]\nlibrary = "
            "%s/.libs/%s.so\n",
            p->name, realpath(p->folder, whole) ? whole : p->folder, p->module);
    return close_written(f, p, "plugins.conf");
}

static int write_readme(const struct project *p)
{
    FILE *f = open_in(p->folder, "README.md", "w");

    if (!f)
        return TOOL_FAILURE;
    fprintf(
        f,
        "# %s\n\nA plugin for ferry.\n\n    $ autoreconf -fi && ./configure && make && make check\n"
        "    $ FERRY_CONF=$PWD/plugins.conf FERRY_BACKEND=%s ferry devices\n\n"
        "`grep -n yours: %s` lists the lines to change; acme_driver.[ch] pretend to be a vendor's\n"
        "driver, and go.\n",
        p->package, p->name, p->source);
    return close_written(f, p, "README.md");
}

static int make(const struct project *p, bool cxx)
{
    const struct edit code[] = { { "\"acme\"", p->text }, { "\"Acme\"", p->text }, { NULL, NULL } };
    const struct edit build[] = { { "ferry_acme_la", p->canonical },
                                  { "ferry_acme", p->module },
                                  { " acme.c", p->in_list },
                                  { NULL, NULL } };
    const struct edit configuration[] = { { "[acme.c]", p->main_file },
                                          { "ferry-acme", p->package },
                                          { "dnl AC_PROG_CXX dnl yours: for C++",
                                            cxx ? "AC_PROG_CXX" : "dnl AC_PROG_CXX" },
                                          { NULL, NULL } };
    const struct edit none[] = { { NULL, NULL } };
    int status = copy(p, "acme.c", p->source, code);

    if (!status)
        status = copy(p, "acme_driver.c", "acme_driver.c", none);
    if (!status)
        status = copy(p, "acme_driver.h", "acme_driver.h", none);
    if (!status)
        status = copy(p, "Makefile.am", "Makefile.am", build);
    if (!status)
        status = copy(p, "configure.ac", "configure.ac", configuration);
    if (!status)
        status = write_conf(p);
    return status ? status : write_readme(p);
}

/* Removes the files made so far and their folder, which was created for them. */
static void unmake(const struct project *p)
{
    const char *const names[] = { p->source,      "acme_driver.c", "acme_driver.h", "Makefile.am",
                                  "configure.ac", "plugins.conf",  "README.md" };
    char path[PATH_MAX + 64];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", p->folder, names[i]);
        unlink(path);
    }
    rmdir(p->folder);
}

/* Fills the list of replacements for the name. */
static void spell(struct project *p, const char *name, bool cxx)
{
    const char *suffix = cxx ? "cc" : "c";

    p->name = name;
    snprintf(p->text, sizeof(p->text), "\"%s\"", name);
    snprintf(p->source, sizeof(p->source), "%s.%s", name, suffix);
    snprintf(p->in_list, sizeof(p->in_list), " %s.%s", name, suffix);
    snprintf(p->main_file, sizeof(p->main_file), "[%s.%s]", name, suffix);
    snprintf(p->module, sizeof(p->module), "ferry_%s", name);
    snprintf(p->canonical, sizeof(p->canonical), "ferry_%s_la", name);
    canonical(p->canonical);
    snprintf(p->package, sizeof(p->package), "ferry-%s", name);
}

int cmd_new_plugin(const struct tool_command *self, int argc, char **argv)
{
    struct project p = { .from = FERRY_TEMPLATEDIR };
    bool cxx = false;
    const struct tool_option options[] = { { "--cxx", NULL, &cxx, NULL },
                                           { "--template", NULL, NULL, &p.from },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 2), status;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 1)
        return tool_error(TOOL_USAGE, "%s: expected the plugin's name", self->name);
    if (!is_name(argv[0]))
        return tool_error(TOOL_USAGE,
                          "%s: \"%s\" is not a valid plugin name: [a-z][a-z0-9_-]*, up to 31 "
                          "letters",
                          self->name, argv[0]);
    spell(&p, argv[0], cxx);
    snprintf(p.folder, sizeof(p.folder), "%s", n > 1 ? argv[1] : p.package);
    if (mkdir(p.folder, 0777) != 0)
        return tool_error(TOOL_FAILURE, "%s: %s", p.folder, strerror(errno));
    status = make(&p, cxx);
    if (status)
        unmake(&p);
    else
        tool_printf("%s: autoreconf -fi && ./configure && make && make check\n", p.folder);
    return status;
}
