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
    char main_source[48], entry[96]; /* the name "acme.c" in setup.py, and the entry point in
                                      * pyproject.toml */
    bool cxx, wheel, operations;
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

/* Writes a line with its replacements; at each position the first match is applied. */
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

static const char *how_to_build(const struct project *p)
{
    return p->wheel ? "pip install ." : "autoreconf -fi && ./configure && make && make check";
}

static int write_readme(const struct project *p)
{
    FILE *f = open_in(p->folder, "README.md", "w");

    if (!f)
        return TOOL_FAILURE;
    fprintf(
        f,
        "# %s\n\nA plugin for ferry.\n\n    $ %s\n"
        "    $ %sFERRY_BACKEND=%s ferry devices\n\n"
        "`grep -n yours: %s` lists the lines to change; acme_driver.[ch] pretend to be a vendor's\n"
        "driver, and go.\n",
        p->package, how_to_build(p), p->wheel ? "" : "FERRY_CONF=$PWD/plugins.conf ", p->name,
        p->source);
    return close_written(f, p, "README.md");
}

/* Copies a file that only plugins with all operations have. */
static int copy_own(const struct project *p, const char *from, const char *to,
                    const struct edit *edits)
{
    char own[48];

    snprintf(own, sizeof(own), "%s%s", p->operations ? "operations/" : "", from);
    return copy(p, own, to, edits);
}

/* Copies the files of a project that autotools builds. */
static int make_tools(const struct project *p)
{
    const struct edit build[] = { { "ferry_acme_la", p->canonical },
                                  { "ferry_acme", p->module },
                                  { " acme.c", p->in_list },
                                  { NULL, NULL } };
    const struct edit configuration[] = { { "[acme.c]", p->main_file },
                                          { "ferry-acme", p->package },
                                          { "dnl AC_PROG_CXX dnl yours: for C++",
                                            p->cxx ? "AC_PROG_CXX" : "dnl AC_PROG_CXX" },
                                          { NULL, NULL } };
    int status = copy_own(p, "Makefile.am", "Makefile.am", build);

    if (!status)
        status = copy_own(p, "configure.ac", "configure.ac", configuration);
    return status ? status : write_conf(p);
}

/* Copies the files of a project that pip builds. */
static int make_wheel(const struct project *p)
{
    const struct edit project[] = { { "acme = \"ferry_acme\"", p->entry },
                                    { "ferry-acme", p->package },
                                    { NULL, NULL } };
    const struct edit build[] = { { "\"acme\"", p->text },
                                  { "\"acme.c\"", p->main_source },
                                  { "ferry_acme/ferry_acme.so", "ferry_NAME/ferry_NAME.so" },
                                  { NULL, NULL } };
    int status = copy(p, "pyproject.toml", "pyproject.toml", project);

    return status ? status : copy(p, "setup.py", "setup.py", build);
}

static int make(const struct project *p)
{
    const struct edit code[] = { { "\"acme\"", p->text }, { "\"Acme\"", p->text }, { NULL, NULL } };
    const struct edit none[] = { { NULL, NULL } };
    int status = copy_own(p, "acme.c", p->source, code);

    if (!status)
        status = copy(p, "acme_driver.c", "acme_driver.c", none);
    if (!status)
        status = copy(p, "acme_driver.h", "acme_driver.h", none);
    if (!status && p->operations)
        status = copy_own(p, "acme_launch.c", "acme_launch.c", none);
    if (!status && p->operations)
        status = copy_own(p, "acme_launch.h", "acme_launch.h", none);
    if (!status)
        status = p->wheel ? make_wheel(p) : make_tools(p);
    return status ? status : write_readme(p);
}

/* Removes the files made so far and their folder, which was created for them. */
static void unmake(const struct project *p)
{
    const char *const names[] = { p->source,        "acme_driver.c", "acme_driver.h",
                                  "Makefile.am",    "configure.ac",  "plugins.conf",
                                  "pyproject.toml", "setup.py",      "README.md",
                                  "acme_launch.c",  "acme_launch.h" };
    char path[PATH_MAX + 64];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", p->folder, names[i]);
        unlink(path);
    }
    rmdir(p->folder);
}

/* Fills the list of replacements for the name. */
static void spell(struct project *p, const char *name)
{
    const char *suffix = p->cxx ? "cc" : "c";
    char package[40];

    p->name = name;
    snprintf(p->text, sizeof(p->text), "\"%s\"", name);
    snprintf(p->source, sizeof(p->source), "%s.%s", name, suffix);
    snprintf(p->in_list, sizeof(p->in_list), " %s.%s", name, suffix);
    snprintf(p->main_file, sizeof(p->main_file), "[%s.%s]", name, suffix);
    snprintf(p->module, sizeof(p->module), "ferry_%s", name);
    snprintf(p->canonical, sizeof(p->canonical), "ferry_%s_la", name);
    canonical(p->canonical);
    snprintf(p->package, sizeof(p->package), "ferry-%s", name);
    snprintf(p->main_source, sizeof(p->main_source), "\"%s.%s\"", name, suffix);
    snprintf(package, sizeof(package), "ferry_%s", name);
    canonical(package);
    snprintf(p->entry, sizeof(p->entry), "%s = \"%s\"", name, package);
}

/*
 * The installed template's folder; in a relocatable build, "$ORIGIN/…" is relative to the folder of
 * the command.
 */
static const char *installed_template(char out[PATH_MAX])
{
    static const char origin[] = "$ORIGIN/", configured[] = FERRY_TEMPLATEDIR;
    char self[PATH_MAX];
    ssize_t n;

    if (strncmp(configured, origin, strlen(origin)) != 0)
        return configured;
    n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    if (!strrchr(self, '/'))
        return configured;
    *strrchr(self, '/') = '\0';
    if (snprintf(out, PATH_MAX, "%s/%s", self, configured + strlen(origin)) >= PATH_MAX)
        return configured;
    return out;
}

static bool has_operations(const struct project *p)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s/operations", p->from);
    return access(path, R_OK) == 0;
}

int cmd_new_plugin(const struct tool_command *self, int argc, char **argv)
{
    char folder[PATH_MAX];
    struct project p = { .from = installed_template(folder) };
    const struct tool_option options[] = { { "--cxx", NULL, &p.cxx, NULL },
                                           { "--wheel", NULL, &p.wheel, NULL },
                                           { "--operations", NULL, &p.operations, NULL },
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
    if (p.operations && p.cxx)
        return tool_error(TOOL_USAGE, "%s: --operations makes a plugin in C, not C++", self->name);
    if (p.operations && !has_operations(&p))
        return tool_error(TOOL_FAILURE,
                          "%s: %s has no folder operations: --operations requires an installation "
                          "with libferrykernels",
                          self->name, p.from);
    spell(&p, argv[0]);
    snprintf(p.folder, sizeof(p.folder), "%s", n > 1 ? argv[1] : p.package);
    if (mkdir(p.folder, 0777) != 0)
        return tool_error(TOOL_FAILURE, "%s: %s", p.folder, strerror(errno));
    status = make(&p);
    if (status)
        unmake(&p);
    else
        tool_printf("%s: %s\n", p.folder, how_to_build(&p));
    return status;
}
