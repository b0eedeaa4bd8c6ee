/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "foreign.h"

#include "wire.h"

#include <ferry/status.h>

#include <string.h>
#include <strings.h>

/* ---- by what they begin with ------------------------------------------------------------------ */

/* From each format's specification, or what its writers write. */
static const struct {
    unsigned at;
    unsigned size;
    const char *bytes;
    const char *name, *advice;
} beginnings[] = {
    { 0, 4, "GGUF", "a GGUF model (llama.cpp)", "" },
    { 4, 4, "TFL3", "a TensorFlow Lite model", "" },
    { 0, 3, "\x1f\x8b\x08", "compressed by gzip", ": unpack it first" },
    { 4, 6, "1AY&SY", "compressed by bzip2", ": unpack it first" },
    { 0, 6,
      "\xfd"
      "7zXZ\0",
      "compressed by xz", ": unpack it first" },
    { 0, 4, "\x28\xb5\x2f\xfd", "compressed by zstd", ": unpack it first" },
    { 0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive", ": unpack it first" },
    { 257, 5, "ustar", "a tar archive", ": unpack it first" },
    { 0, 8, "7767517\n", "ncnn's .param, which is text", "" },
    { 0, 5, "<?xml", "XML", "" },
    { 0, 38, "version https://git-lfs.github.com/spec",
      "a pointer of Git LFS, not the file it points at",
      ": run `git lfs pull` where it was cloned" },
};

static int refuse(const struct ferry__io_file *file, const char *name, const char *advice)
{
    return ferry_error_set(FERRY_EFORMAT, "%s: format at byte 0: is %s%s", file->path, name,
                           advice);
}

static int by_beginning(const struct ferry__io_file *file)
{
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (file->size >= beginnings[i].at + beginnings[i].size &&
            memcmp(file->bytes + beginnings[i].at, beginnings[i].bytes, beginnings[i].size) == 0)
            return refuse(file, beginnings[i].name, beginnings[i].advice);
    return 0;
}

/* A page that a server sent in place of the file. */
static int by_page(const struct ferry__io_file *file)
{
    static const char *const tags[] = { "<!doctype html", "<html" };
    uint64_t at = 0;

    while (at < file->size && strchr(" \t\r\n", file->bytes[at]) && file->bytes[at])
        at++;
    for (int i = 0; i < 2; i++)
        if (file->size - at >= strlen(tags[i]) &&
            strncasecmp((const char *)file->bytes + at, tags[i], strlen(tags[i])) == 0)
            return refuse(file, "a web page (HTML)", ": the download went wrong");
    return 0;
}

/* ---- PyTorch and Keras ------------------------------------------------------------------------ */

/* PROTO of 2 or more at the front, and STOP at the end. */
static int by_pickle(const struct ferry__io_file *file)
{
    static const unsigned char torch[] = { 0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9 };
    static const char safe[] = ": save it as safetensors";

    if (file->size >= sizeof(torch) && memcmp(file->bytes, torch, sizeof(torch)) == 0)
        return refuse(file, "a PyTorch file of before 1.6", safe);
    if (file->size >= 4 && file->bytes[0] == 0x80 && file->bytes[1] >= 2 && file->bytes[1] <= 5 &&
        file->bytes[file->size - 1] == '.')
        return refuse(file, "a Python pickle, which may run anything", safe);
    return 0;
}

/* The bytes of the archive's last part, where its table lies, that are looked at for names. */
#define TABLE_BYTES 65536

static int by_archive(const struct ferry__io_file *file)
{
    uint64_t tail = file->size < TABLE_BYTES ? file->size : TABLE_BYTES;
    const unsigned char *table = file->bytes + file->size - tail;

    if (file->size < 4 || memcmp(file->bytes, "PK\3\4", 4) != 0)
        return 0;
    if (memmem(table, tail, "model.weights.h5", 16))
        return refuse(file, "a Keras archive", ": its model.weights.h5 is HDF5, and can be read");
    return 0;
}

/* ---- protobuf of others ----------------------------------------------------------------------- */

/*
 * ONNX's ModelProto has ir_version (1, a number) and graph (7) with opset_import (8); CoreML's Model
 * has specificationVersion (1, a number), description (2) and one model, whose field is 200 or more.
 */
static int by_fields(const struct ferry__io_file *file)
{
    static const struct ferry__wire_names names = { "message", { { 0, NULL } } };
    struct ferry__wire wire = { file, &names, file->bytes, file->bytes + file->size, true };
    bool version = false, description = false, graph = false, opset = false, model = false;
    struct ferry__field field;

    while (ferry__wire_next(&wire, &field) > 0) {
        bool bytes = field.type == FERRY__WIRE_BYTES;

        version |= field.number == 1 && field.type == FERRY__WIRE_VARINT;
        description |= field.number == 2 && bytes;
        graph |= field.number == 7 && bytes;
        opset |= field.number == 8 && bytes;
        model |= field.number >= 200 && bytes;
    }
    if (version && graph && opset)
        return refuse(file, "an ONNX model", "");
    if (version && description && model)
        return refuse(file, "a Core ML model", "");
    return 0;
}

int ferry__foreign_refuse(const struct ferry__io_file *file)
{
    static int (*const ways[])(const struct ferry__io_file *) = { by_beginning, by_page, by_pickle,
                                                                  by_archive, by_fields };
    int err = 0;

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !err; i++)
        err = ways[i](file);
    return err;
}
