/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "export_check.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/*
 * The exit statuses of the script: a difference is too large, no runtime was found, or the script
 * failed.
 */
#define DIFFERS    1
#define NO_RUNTIME 3

/*
 * The script. Its arguments are the model; a .npz with in0, in1 … and out0, out1 … in the model's
 * order; and the inputs' names.
 */
static const char script[] =
    "import importlib.util as util, sys\n"
    "import numpy as np\n"
    "path, data = sys.argv[1:3]\n"
    "data = np.load(data)\n"
    "def listed(what):\n"
    "    return [data[what + str(i)] for i in range(sum(k.startswith(what) for k in data.files))]\n"
    "def onnxruntime(feeds):\n"
    "    import onnxruntime as ort\n"
    "    s = ort.InferenceSession(path, providers=['CPUExecutionProvider'])\n"
    "    names = [o.name for o in s.get_outputs()]\n"
    "    fed = dict(zip((i.name for i in s.get_inputs()), feeds))\n"
    "    return ort.__version__, names, s.run(None, fed)\n"
    "def openvino(feeds):\n"
    "    import openvino as ov\n"
    "    hint = {'INFERENCE_PRECISION_HINT': 'f32'}\n"
    "    m = ov.Core().compile_model(path, 'CPU', hint)\n"
    "    r = m(feeds)\n"
    "    return ov.__version__, [o.any_name for o in m.outputs], [r[o] for o in m.outputs]\n"
    "def cv2(feeds):\n"
    "    import cv2 as cv\n"
    "    n = cv.dnn.readNetFromONNX(path)\n"
    "    for i, x in enumerate(feeds):\n"
    "        n.setInput(x, sys.argv[3 + i])\n"
    "    names = n.getUnconnectedOutLayersNames()\n"
    "    return cv.__version__, names, n.forward(names)\n"
    "found = [f for f in (onnxruntime, openvino, cv2) if util.find_spec(f.__name__)]\n"
    "if not found:\n"
    "    sys.exit(3)\n"
    "version, names, have = found[0](listed('in'))\n"
    "bad = 0\n"
    "for name, x, y in zip(names, have, listed('out')):\n"
    "    x = np.asarray(x)\n"
    "    most = np.abs(y).max(initial=0)\n"
    "    apart = np.abs(x.reshape(y.shape) - y).max(initial=0) if x.size == y.size else np.inf\n"
    "    bad |= not apart <= 1e-4 * most\n"
    "    print('%s: largest difference %.2g of %.3g (%s %s)'\n"
    "          % (name, apart, most, found[0].__name__, version))\n"
    "sys.exit(int(bad))\n";

/* ---- numbers -------------------------------------------------------------------------------- */

int export_check_fill(ferry_net *net)
{
    uint32_t state = 1;

    for (int i = 0; i < ferry_net_input_count(net); i++) {
        ferry_blob *b = ferry_net_input_at(net, i);
        float *values = ferry_blob_overwrite_host_data(b);

        if (!values && ferry_blob_element_count(b) > 0)
            return tool_ferry_error();
        for (int64_t k = 0; k < ferry_blob_element_count(b); k++) {
            state = state * 1664525u + 1013904223u;
            values[k] = (float)(state >> 8) / (float)(1 << 23) - 1;
        }
    }
    return TOOL_OK;
}

/*
 * Writes blob `index` of the inputs or outputs to the file, in two rounds: it is declared, then
 * written.
 */
static int put(ferry_io_writer *w, const char *what, int index, const ferry_blob *b, bool declare)
{
    ferry_io_entry entry = { .struct_size = sizeof(entry) };
    char name[32];

    snprintf(name, sizeof(name), "%s%d", what, index);
    entry.name = name;
    entry.dtype = FERRY_F32;
    entry.rank = ferry_blob_rank(b);
    entry.shape = ferry_blob_shape(b);
    return declare ? ferry_io_writer_declare(w, &entry) : ferry_io_writer_write(w, name, b, false);
}

static int put_all(ferry_io_writer *w, ferry_net *net, bool declare)
{
    int i, err = FERRY_OK;

    for (i = 0; i < ferry_net_input_count(net) && !err; i++)
        err = put(w, "in", i, ferry_net_input_at(net, i), declare);
    for (i = 0; i < ferry_net_output_count(net) && !err; i++)
        err = put(w, "out", i, ferry_net_output_at(net, i), declare);
    return err;
}

static int write_numbers(ferry_net *net, const char *path)
{
    ferry_io_writer *w;
    int err = ferry_io_writer_create(path, FERRY_IO_NPZ, &w);

    if (err)
        return tool_ferry_error();
    err = put_all(w, net, true);
    if (!err)
        err = put_all(w, net, false);
    if (!err)
        return ferry_io_writer_commit(w) ? tool_ferry_error() : TOOL_OK;
    (void)tool_ferry_error();
    ferry_io_writer_abort(w);
    return TOOL_FAILURE;
}

/* ---- the other runtime ---------------------------------------------------------------------- */

/* Starts python3; *out_from is the read end of a pipe from its output. Returns 0 or an errno. */
static int start(char **argv, pid_t *out_pid, int *out_from)
{
    posix_spawn_file_actions_t actions;
    int ends[2], error;

    if (pipe(ends) != 0)
        return errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    error = posix_spawnp(out_pid, "python3", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error)
        close(ends[0]);
    else
        *out_from = ends[0];
    return error;
}

/* Copies the script's output line by line. */
static void print_lines(int from)
{
    FILE *file = fdopen(from, "r");
    char line[1024];

    while (file && fgets(line, sizeof(line), file))
        tool_printf("%s", line);
    if (file)
        fclose(file);
    else
        close(from);
}

/* The arguments of the command line, an array that the caller frees; NULL if out of memory. */
static char **words_of(ferry_net *net, const char *model, const char *numbers)
{
    int n = ferry_net_input_count(net);
    const char **words = calloc((size_t)n + 6, sizeof(*words));

    if (!words)
        return NULL;
    words[0] = "python3";
    words[1] = "-c";
    words[2] = script;
    words[3] = model;
    words[4] = numbers;
    for (int i = 0; i < n; i++)
        words[5 + i] = ferry_blob_name(ferry_net_input_at(net, i));
    return (char **)words;
}

static int compare(ferry_net *net, const char *model, const char *numbers)
{
    char **argv = words_of(net, model, numbers);
    int from = -1, status = 0, error;
    pid_t pid;

    error = argv ? start(argv, &pid, &from) : ENOMEM;
    free(argv);
    if (error)
        return tool_error(TOOL_FAILURE, "--check: python3: %s", strerror(error));
    print_lines(from);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status))
        return tool_error(TOOL_FAILURE, "--check: python3 was ended by a signal");
    if (WEXITSTATUS(status) == NO_RUNTIME)
        return tool_error(TOOL_FAILURE,
                          "--check: python3 has no onnxruntime, openvino or cv2 to check with");
    if (WEXITSTATUS(status) == DIFFERS)
        return tool_error(TOOL_FAILURE,
                          "%s: differs from the net by more than 1e-4, or could not be run", model);
    return WEXITSTATUS(status) ? tool_error(TOOL_FAILURE, "--check: python3 failed") : TOOL_OK;
}

int export_check(ferry_net *net, const char *path)
{
    const char *folder = getenv("TMPDIR");
    char numbers[4096];
    int fd, status;

    if (ferry_net_forward(net, NULL))
        return tool_ferry_error();
    snprintf(numbers, sizeof(numbers), "%.4000s/ferry-check-XXXXXX", folder ? folder : "/tmp");
    fd = mkstemp(numbers);
    if (fd < 0)
        return tool_error(TOOL_FAILURE, "%s: %s", numbers, strerror(errno));
    close(fd);
    status = write_numbers(net, numbers);
    if (status == TOOL_OK)
        status = compare(net, path, numbers);
    unlink(numbers);
    return status;
}
