/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "foreign.h"

#include "foreign_magic.h"
#include "foreign_proto.h"

#include <ferry/status.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- text ------------------------------------------------------------------------------------ */

/* The number of leading bytes of a text that are examined. */
#define TEXT_BYTES 512

static bool begins(const struct ferry__io_file *file, uint64_t at, const char *word)
{
    return file->size - at >= strlen(word) &&
           strncasecmp((const char *)file->bytes + at, word, strlen(word)) == 0;
}

/*
 * Refuses a web page that a server sent instead of the file, and a net's description without its
 * weights.
 */
static int by_markup(const struct ferry__io_file *file)
{
    uint64_t at = 0, n = file->size < TEXT_BYTES ? file->size : TEXT_BYTES;

    while (at < file->size && file->bytes[at] && strchr(" \t\r\n", file->bytes[at]))
        at++;
    if (begins(file, at, "<!doctype html") || begins(file, at, "<html"))
        return ferry__foreign_is(file, "a web page (HTML)", ": the download went wrong");
    if (begins(file, at, "<svg"))
        return ferry__foreign_is(file, "a picture (SVG)", ", not a file of weights");
    if (!begins(file, at, "<?xml") && !begins(file, at, "<net "))
        return 0;
    if (memmem(file->bytes, n, "<net ", 5))
        return ferry__foreign_is(file, "OpenVINO's .xml, a net without its weights",
                                 ": they are in the .bin beside it, without names");
    return ferry__foreign_is(file, "XML", ", not a file of weights");
}

/* ---- pickles --------------------------------------------------------------------------------- */

/*
 * Whether the file is a pickle of protocol 0 or 1. These have no magic number: they begin with a
 * dictionary, a list or a call.
 */
static bool is_old_pickle(const struct ferry__io_file *file)
{
    static const char *const calls[] = { "ccopy_reg\n",    "ccopyreg\n", "c__builtin__\n",
                                         "ccollections\n", "cnumpy",     "ctorch",
                                         "c__main__\n" };
    const unsigned char *b = file->bytes;

    if (file->size < 5 || b[file->size - 1] != '.')
        return false;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (ferry__foreign_has(file, 0, calls[i], (unsigned)strlen(calls[i])))
            return true;
    if ((b[0] == '}' || b[0] == ']') && b[1] == 'q' && b[2] <= 1)
        return true;
    return b[0] == '(' && strchr("dlt", b[1]) && b[1] && b[2] == 'p' &&
           (b[3] == '0' || b[3] == '1') && b[4] == '\n';
}

/*
 * Whether the file is a pickle: it begins with PROTO of 2 or more, followed by a frame or with STOP
 * at the end of the file.
 */
static bool is_pickle(const struct ferry__io_file *file)
{
    const unsigned char *b = file->bytes;

    return file->size >= 4 && b[0] == 0x80 && b[1] >= 2 && b[1] <= 5 &&
           (b[2] == 0x95 || b[file->size - 1] == '.');
}

static int by_pickle(const struct ferry__io_file *file)
{
    static const char safe[] = ": save its contents as safetensors or .npz";
    uint64_t n = file->size < TEXT_BYTES ? file->size : TEXT_BYTES;

    if (ferry__foreign_has(file, 0, "\x80\2\x8a\n\x6c\xfc\x9c\x46\xf9", 9))
        return ferry__foreign_is(file, "a PyTorch file from before version 1.6",
                                 ": save it as safetensors, or again with torch.save");
    if (!is_pickle(file) && !is_old_pickle(file))
        return 0;
    if (memmem(file->bytes, n, "joblib.numpy_pickle", 19))
        return ferry__foreign_is(file, "a Python pickle of joblib's, which can execute any code",
                                 safe);
    return ferry__foreign_is(file, "a Python pickle, which can execute any code", safe);
}

/*
 * Detects files of Flax and similar libraries: they begin with a map of one or a few keys, the
 * first of which is a name.
 */
static int by_map(const struct ferry__io_file *file)
{
    const unsigned char *b = file->bytes;
    unsigned size;

    if (file->size < 16 || b[0] < 0x81 || b[0] > 0x8f || b[1] < 0xa1 || b[1] > 0xbf)
        return 0;
    size = b[1] & 31;
    for (unsigned i = 0; i < size && i + 2 < 16; i++)
        if (b[i + 2] <= ' ' || b[i + 2] > '~')
            return 0;
    return ferry__foreign_is(file, "MessagePack, as Flax writes it", ": save it as safetensors");
}

/* ---- archives -------------------------------------------------------------------------------- */

/* The number of bytes at the end of an archive, with its directory, that are searched for names. */
#define TABLE_BYTES 65536

static int by_archive(const struct ferry__io_file *file)
{
    static const struct {
        const char *member, *name, *advice;
    } archives[] = {
        { "model.weights.h5", "a Keras archive",
          ": unpack its model.weights.h5, which is HDF5, and can be read" },
        { "/.data/serialization_id", "a PyTorch archive without a data.pkl",
          ": save the state_dict with torch.save, or as safetensors" },
        { "com.apple.CoreML", "a Core ML package", ": save its weights as safetensors or .npz" },
        { "word/document.xml", "a document of Word's", ", not a file of weights" },
        { "xl/workbook.xml", "a spreadsheet of Excel's", ", not a file of weights" },
        { "META-INF/MANIFEST.MF", "a Java archive", ", not a file of weights" },
    };
    uint64_t tail = file->size < TABLE_BYTES ? file->size : TABLE_BYTES;
    const unsigned char *table = file->bytes + file->size - tail;

    if (!ferry__foreign_has(file, 0, "PK\3\4", 4))
        return 0;
    for (size_t i = 0; i < sizeof(archives) / sizeof(archives[0]); i++)
        if (memmem(table, tail, archives[i].member, strlen(archives[i].member)))
            return ferry__foreign_is(file, archives[i].name, archives[i].advice);
    return 0;
}

int ferry__foreign_refuse(const struct ferry__io_file *file)
{
    static int (*const ways[])(const struct ferry__io_file *) = {
        ferry__foreign_by_magic, by_markup, by_pickle, by_map, by_archive, ferry__foreign_by_fields
    };
    int err = 0;

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !err; i++)
        err = ways[i](file);
    return err;
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool has_member(const char *path, const char *name)
{
    char member[4096];
    struct stat info;
    int n = snprintf(member, sizeof(member), "%s/%s", path, name);

    return n > 0 && (size_t)n < sizeof(member) && stat(member, &info) == 0;
}

void ferry__foreign_folder(const char *path)
{
    static const struct {
        const char *member, *name;
    } folders[] = {
        { "model.safetensors.index.json", "name its model.safetensors.index.json" },
        { "model.safetensors", "name its model.safetensors" },
        { "pytorch_model.bin", "name its pytorch_model.bin" },
        { "pytorch_model.bin.index.json",
          "name the files that its pytorch_model.bin.index.json names" },
        { "saved_model.pb", "a TensorFlow SavedModel: save its variables as .npz in TensorFlow" },
        { "data.mdb", "an LMDB database, not a file of weights: a Data layer reads it" },
        { "CURRENT", "a LevelDB database, not a file of weights: a Data layer reads it" },
        { "Data/com.apple.CoreML", "a Core ML package: save its weights as safetensors or .npz" },
        { "coremldata.bin", "a compiled Core ML model: save its weights as safetensors or .npz" },
        { ".zgroup", "a Zarr store: save its arrays as .npz with Python's zarr" },
        { ".zarray", "a Zarr store: save its arrays as .npz with Python's zarr" },
        { "zarr.json", "a Zarr store: save its arrays as .npz with Python's zarr" },
        { "data.pkl", "an unpacked PyTorch file: name the original file" },
    };
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (has_member(path, folders[i].member)) {
            ferry_error_set(FERRY_EIO, "%.400s: is a directory: %s", path, folders[i].name);
            return;
        }
}
