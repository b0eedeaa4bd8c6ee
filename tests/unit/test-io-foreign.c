/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "io-build.h"
#include "io-zip.h"

#include <ferry/io.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Files of other programs: each is identified, and none is taken by chance for a supported format.
 */

struct foreign {
    const char *says;
    size_t size;
    const char *bytes;
};

/* A line of a table: the message for the bytes of a string literal. */
#define F(says, text)                    \
    {                                    \
        (says), sizeof(text) - 1, (text) \
    }

static void check(const struct foreign *f, const char *says)
{
    unsigned char *bytes =
        calloc(1, f->size); /* a separate block, so that a sanitizer detects each overrun */
    ferry_io *io = NULL;
    int err;

    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    memcpy(bytes, f->bytes, f->size);
    err = ferry_io_open_bytes(bytes, f->size, "bad", &io);
    if (err != FERRY_EFORMAT || !strstr(ferry_last_error(), says)) {
        CU_FAIL("another code or message");
        printf("  wanted \"%s\", got %d \"%s\"\n", says, err, ferry_last_error());
    }
    CU_ASSERT_PTR_NULL(io);
    free(bytes);
}

static void check_all(const struct foreign *files, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(&files[i], files[i].says);
}

static void other_files_are_named_by_their_first_bytes(void)
{
    static const struct foreign files[] = {
        F("a GGUF model (llama.cpp): save", "GGUF\3\0\0\0"),
        F("a GGML model", "lmgg\1\0\0\0"),
        F("a TensorFlow Lite model", "\x1c\0\0\0TFL3"),
        F("a PyTorch Mobile model", "\x1c\0\0\0PTMF"),
        F("a TensorRT engine", "ftrt\0\0\0\0"),
        F("MXNet's .params", "\x12\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        F("ncnn's .param", "7767517\n2 "),
        F("ncnn's .bin, which has no names", "\x47\x6b\x30\1\0\0\0\0"),
        F("Darknet's .weights, which has no names", "\0\0\0\0\2\0\0\0\5\0\0\0\0\0\0\0\0\0\0\0"),
        F("a MATLAB file", "MATLAB 5.0 MAT-file,"),
        F("a Parquet file", "PAR1\x15\4\x15\x10"),
        F("an SQLite database", "SQLite format 3"),
        F("an RDS file of R", "X\n\0\0\0\3\0\4\1\2\0\3\5\0"),
        F("compressed by gzip: unpack it first", "\x1f\x8b\x08\0\0\0\0\0\0\3"),
        F("compressed by bzip2", "BZh91AY&SY"),
        F("compressed by xz", "\xfd\x37zXZ\0\0"),
        F("compressed by zstd", "\x28\xb5\x2f\xfd\4\0"),
        F("compressed by lz4", "\4\x22\x4d\x18\x64\x40"),
        F("a 7z archive", "7z\xbc\xaf\x27\x1c\0\4"),
        F("a program or shared object", "\x7f\x45LF\2\1\1\0"),
        F("a PDF document", "%PDF-1.7"),
        F("a picture (PNG)", "\x89PNG\r\n\x1a\n\0\0\0\r"),
        F("a picture (JPEG)", "\xff\xd8\xff\xe0\0\x10"),
        F("git lfs pull", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n"),
        F("git annex get", "/annex/objects/SHA256E-s6--4d7a.weights\n"),
        F("the download went wrong", "\n <!DOCTYPE html><html>\n"),
        F("OpenVINO's .xml", "<?xml version=\"1.0\"?>\n<net name=\"a\"></n>"),
        F("a picture (SVG)",
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"740\">\xe2\x96\x88"),
        F("is text", "# Gr\xc3\xbc\xc3\x9f\x65 an alle\n"),
        F("not a format of", "# Gr\xfc\xdf\x65 an alle\n"),
        F("is XML", "<?xml version=\"1.0\"?>\n<Error></Error>  "),
        F("MessagePack", "\x82\xa6params\x81\xa6"
                         "Dense_"),
        F("a LevelDB table", "................................................"
                             "\x57\xfb\x80\x8b\x24\x75\x47\xdb"),
    };

    check_all(files, FERRY_TEST_COUNT(files));
}

static void pickles_are_named_in_all_their_protocols(void)
{
    static const struct foreign files[] = {
        F("a PyTorch file from before version 1.6", "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19"),
        F("a Python pickle, which can execute any code", "(dp0\nVa\np1\ns."),
        F("a Python pickle", "(lp1\nI1\nas."),
        F("a Python pickle", "cnumpy.core.multiarray\n_reco\n."),
        F("a Python pickle", "}q\0(U\1aK\1u."),
        F("a Python pickle", "\x80\4}q."),
        F("a Python pickle", "\x80\4\x95\xff\0\0\0\0\0\0\0}\x94(\x8c\1"),
        F("of joblib's", "\x80\4\x95\x20\0\0\0\0\0\0\0\x8c\x13joblib.numpy_pickle\x94\x8c\3abc."),
    };
    static const struct foreign text = F("is text", "(dp0 and d");

    check_all(files, FERRY_TEST_COUNT(files));
    check(&text, text.says);
}

static void protobuf_messages_of_other_frameworks_are_named(void)
{
    static const struct foreign files[] = {
        F("an ONNX model", "\x08\x07\x12\x02pt\x3a\x04\x0a\x02\x0a\x00\x42\x00\x42\0"),
        F("a Core ML model", "\x08\x04\x12\x02\x0a\x00\xa2\x1f\x02\x08\x01\0"),
        /* dims 3, FLOAT, name and raw data as long as a BlobProto's doubles */
        F("a tensor of ONNX's", "\x08\3\x10\1\x42\10weight_0\x4a\10\0\0\0\0\0\0\0\0"),
        F("a tensor of ONNX's", "\x08\1\x10\1\x42\1w\x4a\4\0\0\x80\x3f\x08\1\x08\1\x08\1"),
        F("a TensorFlow SavedModel",
          "\x08\x01\x12\x17\x0a\x09\x22\x05serve*\0\x12\x0a\x0a\x08\x0a\x01x\x12\x03NoO"),
        F("a TensorFlow graph", "\x0a\x0d\x0a\x05node0\x12\x04NoOp\x22\x03\x08\xf3\x0a"),
        F("a Caffe2 net", "\x0a\1n\x12\x13\x12\1w\x22\x0aGivenTenso\x2a\2\x0a\0"),
    };
    /*
     * truncated ONNX and Core ML, a state with a field that SolverState lacks; TensorFlow's Example
     */
    static const struct foreign others[] = {
        F("", "\x08\x07\x12\x02pt\x3a\x04\x0a\x02\x0a"),
        F("", "\x08\x07\x1a\x00\x28\x01"),
        F("", "\x0a\x0d\x0a\x0b\x0a\x01"
              "f\x12\x06\x1a\x04\x0a\x02\x01\x02"),
        /* Paddle's ProgramDesc; numbers, the beginning of a shape */
        F("", "\x0a\x0a\x08\0\x10\x01\x1a\x03\x0a\x01w\x22\x22\x02\x08\x03"),
        F("", "\x20\x0f"),
        F("", "\x08\x01\x10\x02"),
        F("", "\x2d\x01\x02\x03\x04"),
        F("", "\x1a\x06\x0a\x04\x0a\x02\x08\x01"),
    };

    check_all(files, FERRY_TEST_COUNT(files));
    for (size_t i = 0; i < FERRY_TEST_COUNT(others); i++)
        check(&others[i], "not a format of");
}

/* The name is where other formats have their magic bytes. */
static void a_net_name_may_equal_the_magic_bytes_of_another_format(void)
{
    static const char *const names[] = { "v1TFL3", "myftyp", "mobileWAVE", "googleWEBP" };

    for (size_t i = 0; i < FERRY_TEST_COUNT(names); i++) {
        struct msg net = { .size = 0 }, layer = { .size = 0 };
        ferry_io *io = NULL;

        put_string(&net, 1, names[i]);
        put_string(&layer, 1, "conv");
        put_blob(&layer, 7, 3, 1);
        put_bytes(&net, 100, layer.at, layer.size);
        FX_OK(ferry_io_open_bytes(net.at, net.size, "net", &io));
        CU_ASSERT_EQUAL(ferry_io_get_format(io), FERRY_IO_CAFFEMODEL);
        CU_ASSERT_EQUAL(ferry_io_entry_count(io), 1);
        ferry_io_close(io);
    }
}

/* ---- folders --------------------------------------------------------------------------------- */

static void folders_are_named_by_their_contents(void)
{
    static const struct {
        const char *member, *says;
    } folders[] = {
        { "saved_model.pb", "is a directory: a TensorFlow SavedModel" },
        { "CURRENT", "is a directory: a LevelDB database" },
        { "data.mdb", "is a directory: an LMDB database" },
        { "zarr.json", "is a directory: a Zarr store" },
        { "model.safetensors.index.json", "is a directory: name its model.safetensors.index.json" },
        { "other", "is a directory" },
    };
    char folder[] = "/tmp/ferry-test-io-XXXXXX", path[96];
    ferry_io *io = NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    for (size_t i = 0; i < FERRY_TEST_COUNT(folders); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, folders[i].member);
        fclose(fopen(path, "w"));
        FX_FAILS(FERRY_EIO, ferry_io_open(folder, &io));
        if (!strstr(ferry_last_error(), folders[i].says)) {
            CU_FAIL("another message");
            printf("  wanted \"%s\", got \"%s\"\n", folders[i].says, ferry_last_error());
        }
        unlink(path);
    }
    rmdir(folder);
}

/* ---- archives -------------------------------------------------------------------------------- */

static struct zip zip;

static void check_zip(const struct member *members, int n, const char *says)
{
    struct foreign f = { says, 0, NULL };

    make_zip(&zip, members, n);
    f.size = zip.size;
    f.bytes = (const char *)zip.at;
    check(&f, says);
}

static void archives_are_named_by_their_contents(void)
{
    static const struct member keras[] = { { "config.json", "{}", 2 },
                                           { "model.weights.h5", "\x89HDF", 4 } },
                               torch[] = { { "a/version", "3\n", 2 },
                                           { "a/.data/serialization_id", "1", 1 } },
                               exported[] = { { "a/archive_format", "pt2", 3 },
                                              { "a/model.pt", "a/data.pkl", 10 } },
                               other[] = { { "a.txt", "text", 4 }, { "b/", "", 0 } };

    check_zip(keras, 2, "a Keras archive: unpack its model.weights.h5");
    check_zip(torch, 2, "a PyTorch archive without a data.pkl");
    check_zip(exported, 2, "a PyTorch export");
    check_zip(other, 2, "a zip archive without NumPy arrays");
}

/* A text beside the arrays of a .npz does not make it invalid; an array may lack its suffix. */
static void non_arrays_in_an_archive_are_marked(void)
{
    static const float two[] = { 1, 2 };
    unsigned char npy[256];
    size_t size = make_npy(npy, 1, SHAPED("(2,)"), ELEMENTS(two));
    const struct member members[] = { { "README.txt", "weights of a net", 16 },
                                      { "a.npy", npy, size },
                                      { "b", npy, size },
                                      { "d/", "", 0 } };
    const ferry_io_entry *entry = NULL;
    float values[2] = { 0 };
    ferry_io *io = NULL;

    make_zip(&zip, members, 4);
    FX_OK_FATAL(ferry_io_open_bytes(zip.at, zip.size, "a.npz", &io));
    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 3);
    FX_OK_FATAL(ferry_io_entry_find(io, "README.txt", &entry));
    CU_ASSERT_STRING_EQUAL(entry->unreadable, "is not a .npy array");
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_read_values(io, entry, 0, 0, values));
    for (int i = 0; i < 2; i++) {
        FX_OK_FATAL(ferry_io_entry_find(io, i ? "b" : "a", &entry));
        FX_OK(ferry_io_read_values(io, entry, 0, 2, values));
        CU_ASSERT_EQUAL(memcmp(values, two, sizeof(two)), 0);
    }
    ferry_io_close(io);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(other_files_are_named_by_their_first_bytes),
    FERRY_TEST(pickles_are_named_in_all_their_protocols),
    FERRY_TEST(protobuf_messages_of_other_frameworks_are_named),
    FERRY_TEST(a_net_name_may_equal_the_magic_bytes_of_another_format),
    FERRY_TEST(folders_are_named_by_their_contents),
    FERRY_TEST(archives_are_named_by_their_contents),
    FERRY_TEST(non_arrays_in_an_archive_are_marked),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "io-foreign", cases, FERRY_TEST_COUNT(cases));
}
