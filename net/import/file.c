/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/import/file.h"

#include "net/proto/wire.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

int ferry__import_file_open(const char *path, struct ferry__import_file *out)
{
    struct ferry__import_file file = { .path = path, .source = { .path = path } };
    int err = ferry__proto_file_map(&file.source);

    if (!err)
        err = ferry__proto_create(&ferry__proto_ModelProto, path, &file.model);
    if (!err) {
        file.model->document->borrows = true;
        err = ferry__proto_from_wire(file.model, file.source.bytes, file.source.size);
    }
    if (err)
        ferry__import_file_close(&file);
    else
        *out = file;
    return err;
}

void ferry__import_file_close(struct ferry__import_file *file)
{
    ferry_proto_close(file->model);
    ferry__proto_file_unmap(&file->source);
    for (int i = 0; i < file->n_beside; i++) {
        free((char *)file->beside[i].path);
        ferry__proto_file_unmap(&file->beside[i]);
    }
}

/* Whether a path stays inside its folder: it is relative and has no part "..". */
static bool stays(const char *path)
{
    const char *part = path;

    if (!*path || *path == '/')
        return false;
    for (; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
            return false;
    return true;
}

/* Makes FOLDER-OF-MODEL/location, which the caller frees; NULL: no memory. */
static char *join(const char *model, const char *location)
{
    const char *slash = strrchr(model, '/');
    size_t folder = slash ? (size_t)(slash - model) + 1 : 0, rest = strlen(location);
    char *out = malloc(folder + rest + 1);

    if (!out)
        return NULL;
    memcpy(out, model, folder);
    memcpy(out + folder, location, rest + 1);
    return out;
}

static const struct ferry__proto_file *find(const struct ferry__import_file *file, const char *path)
{
    for (int i = 0; i < file->n_beside; i++)
        if (!strcmp(file->beside[i].path, path))
            return &file->beside[i];
    return NULL;
}

int ferry__import_file_beside(struct ferry__import_file *file, const char *location,
                              const struct ferry__proto_file **out)
{
    struct ferry__proto_file *next = &file->beside[file->n_beside];
    char *path;
    int err;

    if (!stays(location))
        return ferry_error_set(FERRY_EFORMAT,
                               "%.300s: external data in \"%.200s\", which is not below it",
                               file->path, location);
    path = join(file->path, location);
    if (!path)
        return ferry_error_set(FERRY_ENOMEM, "%.300s: no memory", file->path);
    *out = find(file, path);
    if (*out || file->n_beside == FERRY__IMPORT_FILES) {
        free(path);
        return *out ? 0
                    : ferry_error_set(FERRY_EUNSUPPORTED,
                                      "%.300s: more than %d files of external data", file->path,
                                      FERRY__IMPORT_FILES);
    }
    *next = (struct ferry__proto_file){ .path = path };
    err = ferry__proto_file_map(next);
    if (err) {
        free(path);
        return err;
    }
    file->n_beside++;
    *out = next;
    return 0;
}
