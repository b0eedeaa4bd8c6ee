/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

char out[1 << 18], err[65536];

static char folder[] = "/tmp/ferry-test-command-XXXXXX";

void slurp(const char *path, char *into, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(into, 1, size - 1, file) : 0;

    into[n] = '\0';
    if (file)
        fclose(file);
}

const char *in_folder(const char *name)
{
    static char path[4][256];
    static int turn;
    char *p = path[turn++ % 4];

    snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
    return p;
}

void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

/* NumPy's format, version 1: a header of 118 bytes after 10. */
void write_array(const char *name, const char *shape, const float *values, size_t count)
{
    FILE *file = fopen(in_folder(name), "wb");
    char header[118];

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }",
             shape);
    fwrite("\x93NUMPY\x01\0\x76\0", 1, 10, file);
    fprintf(file, "%-117s\n", header);
    CU_ASSERT_EQUAL(fwrite(values, sizeof *values, count, file), count);
    fclose(file);
}

/* Runs a shell command; its output is in `out` and `err` afterwards. Returns its exit status. */
int shell(const char *command)
{
    char line[8192];
    int status;

    snprintf(line, sizeof(line), "{ %s\n} >%s 2>%s </dev/null", command, in_folder("out"),
             in_folder("err"));
    status = system(line);
    slurp(in_folder("out"), out, sizeof(out));
    slurp(in_folder("err"), err, sizeof(err));
    CU_ASSERT_FATAL(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int ferry(const char *arguments)
{
    char line[4096];

    snprintf(line, sizeof(line), "\"$FERRY_TEST_COMMAND\" %s", arguments);
    return shell(line);
}

bool one_line_of_error(const char *about)
{
    const char *end = strchr(err, '\n');

    return strncmp(err, "ferry: ", 7) == 0 && end && end[1] == '\0' && strstr(err, about);
}

json_t *parse_output(void)
{
    json_error_t error;
    json_t *document = json_loads(out, 0, &error);

    CU_ASSERT_PTR_NOT_NULL_FATAL(document);
    return document;
}

const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    CU_ASSERT_PTR_NOT_NULL(text);
    return text ? text : "";
}

/*
 * FERRY_TEST_QUICK: each process of the command would compile the same kernels of OpenCL. The
 * commands run on the other devices, unless OpenCL is the only one.
 */
static void omit_opencl(void)
{
    const char *given = getenv("FERRY_TEST_BACKENDS");
    char text[1024], others[1024] = "", *rest = NULL;

    if (!getenv("FERRY_TEST_QUICK") || !given || strlen(given) >= sizeof(text))
        return;
    strcpy(text, given);
    for (char *name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        if (strncmp(name, "opencl", 6) != 0)
            strcat(strcat(others, *others ? " " : ""), name);
    if (*others)
        setenv("FERRY_TEST_BACKENDS", others, 1);
}

int command_main(int argc, char **argv, const char *name, const ferry_test_case *cases,
                 size_t count)
{
    int result;

    if (!getenv("FERRY_TEST_COMMAND") || !getenv("FERRY_TEST_BUILDDIR")) {
        puts("FERRY_TEST_COMMAND and FERRY_TEST_BUILDDIR say where the programs are");
        return 77;
    }
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    setenv("FERRY_TEST_FOLDER", folder, 1);
    omit_opencl();
    result = ferry_test_main_plain_backends(argc, argv, name, cases, count);
    if (system("rm -rf \"$FERRY_TEST_FOLDER\"") != 0)
        fprintf(stderr, "%s could not be removed\n", folder);
    return result;
}
