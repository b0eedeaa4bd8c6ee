/* SPDX-License-Identifier: BSD-2-Clause */
#include "foreign_magic.h"

#include <ferry/status.h>

#include <string.h>

#define UNPACK   ": unpack it first"
#define SAVE     ": save its weights as safetensors or .npz in the program that reads it"
#define NO_NET   ", no file of weights"
#define NO_NAMES ", which has no names and no shapes" SAVE

/* Magic numbers from each format's specification, or from files that its writers produce. */
static const struct {
    unsigned at;
    unsigned size;
    const char *bytes;
    const char *name, *advice;
} magics[] = {
    /* Models. */
    { 0, 4, "GGUF", "a GGUF model (llama.cpp)", SAVE },
    { 0, 4, "lmgg", "a GGML model (llama.cpp, whisper.cpp)", SAVE },
    { 0, 4, "fmgg", "a GGML model (llama.cpp)", SAVE },
    { 0, 4, "tjgg", "a GGML model (llama.cpp)", SAVE },
    { 4, 4, "TFL3", "a TensorFlow Lite model", SAVE },
    { 4, 4, "PTMF", "a PyTorch Mobile model", ": save the state_dict that it was made from" },
    { 4, 4, "ET12", "an ExecuTorch model", ": save the state_dict that it was made from" },
    { 0, 4, "ftrt", "a TensorRT engine", ": the weights are in the model that it was built from" },
    { 0, 4, "ptrt", "a TensorRT engine", ": the weights are in the model that it was built from" },
    { 0, 8, "\x12\1\0\0\0\0\0\0", "MXNet's .params", SAVE },
    { 0, 15, "\4\0\0\0\1\0\0\0\3\0\0\0V 1", "a file of Torch7", SAVE },
    { 0, 7, "7767517", "ncnn's .param, which is text",
      ": its .bin has the weights, without names" },
    { 0, 4, "\xdd\x85\x76\0", "ncnn's binary .param", ": its .bin has the weights, without names" },
    { 0, 4, "\x47\x6b\x30\1", "ncnn's .bin", NO_NAMES },
    { 0, 4, "\x38\x4b\x0d\0", "ncnn's .bin", NO_NAMES },
    { 0, 8, "\0\0\0\0\1\0\0\0", "Darknet's .weights", NO_NAMES },
    { 0, 8, "\0\0\0\0\2\0\0\0", "Darknet's .weights", NO_NAMES },
    /* Data. */
    { 0, 17, "MATLAB 5.0 MAT-fi", "a MATLAB file (.mat)",
      ": save it there with -v7.3, which is HDF5" },
    { 0, 17, "MATLAB 7.3 MAT-fi", "a MATLAB file (.mat) without its HDF5 part", ": it is damaged" },
    { 0, 4, "PAR1", "a Parquet file", NO_NET },
    { 0, 6, "ARROW1", "an Arrow file", NO_NET },
    { 0, 4, "FEA1", "a Feather file", NO_NET },
    { 0, 4, "Obj\1", "an Avro file", NO_NET },
    { 0, 15, "SQLite format 3", "an SQLite database", NO_NET },
    { 16, 4, "\xde\xc0\xef\xbe", "an LMDB database", ": a Data layer reads its folder" },
    { 0, 4, "CDF\1", "a NetCDF file in the classic format",
      ": convert it to HDF5 with `nccopy -4`" },
    { 0, 4, "CDF\2", "a NetCDF file in the classic format",
      ": convert it to HDF5 with `nccopy -4`" },
    { 0, 4, "CDF\5", "a NetCDF file in the classic format",
      ": convert it to HDF5 with `nccopy -4`" },
    { 0, 4, "\x0e\3\x13\1", "an HDF4 file", ": convert it to HDF5 with `h4toh5`" },
    { 0, 5, "RDX2\n", "an RData file of R", SAVE },
    { 0, 5, "RDX3\n", "an RData file of R", SAVE },
    { 0, 5, "X\n\0\0\0", "an RDS file of R", SAVE },
    { 0, 8, "A\n2\n1968", "an RDS file of R", SAVE },
    { 0, 4, "A\n3\n", "an RDS file of R", SAVE },
    /* Compressed files. */
    { 0, 3, "\x1f\x8b\x08", "compressed by gzip", UNPACK },
    { 4, 6, "1AY&SY", "compressed by bzip2", UNPACK },
    { 0, 6, "\xfd\x37zXZ\0", "compressed by xz", UNPACK },
    { 0, 4, "\x28\xb5\x2f\xfd", "compressed by zstd", UNPACK },
    { 0, 4, "\4\x22\x4d\x18", "compressed by lz4", UNPACK },
    { 0, 4, "LZIP", "compressed by lzip", UNPACK },
    { 0, 2, "\x1f\x9d", "compressed by compress", UNPACK },
    { 0, 10, "\xff\6\0\0sNaPpY", "compressed by snappy", UNPACK },
    { 0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK },
    { 0, 6, "Rar!\x1a\7", "a RAR archive", UNPACK },
    { 257, 5, "ustar", "a tar archive", UNPACK },
    { 0, 8, "!<arch>\n", "an archive of ar (.a, .deb)", UNPACK },
    /* Programs, documents, pictures. */
    { 0, 4, "\x7f\x45LF", "a program or shared object (ELF)", NO_NET },
    { 0, 4, "\0asm", "a program (WebAssembly)", NO_NET },
    { 0, 4, "\xcf\xfa\xed\xfe", "a program or library (Mach-O)", NO_NET },
    { 0, 5, "%PDF-", "a PDF document", NO_NET },
    { 0, 8, "\x89PNG\r\n\x1a\n", "a picture (PNG)", NO_NET },
    { 0, 3, "\xff\xd8\xff", "a picture (JPEG)", NO_NET },
    { 0, 6, "GIF87a", "a picture (GIF)", NO_NET },
    { 0, 6, "GIF89a", "a picture (GIF)", NO_NET },
    { 0, 4, "II*\0", "a picture (TIFF)", NO_NET },
    { 0, 4, "MM\0*", "a picture (TIFF)", NO_NET },
    { 8, 4, "WEBP", "a picture (WebP)", NO_NET },
    { 8, 4, "WAVE", "a sound (WAV)", NO_NET },
    { 4, 4, "ftyp", "a video (MP4)", NO_NET },
    /* Pointers to the file. */
    { 0, 38, "version https://git-lfs.github.com/spec",
      "a pointer of Git LFS, not the file that it points to",
      ": run `git lfs pull` where it was cloned" },
    { 0, 15, "/annex/objects/", "a pointer of git-annex, not the file that it points to",
      ": run `git annex get` where it was cloned" },
};

int ferry__foreign_is(const struct ferry__io_file *file, const char *name, const char *advice)
{
    return ferry_error_set(FERRY_EFORMAT, "%s: format at byte 0: is %s%s", file->path, name,
                           advice);
}

bool ferry__foreign_has(const struct ferry__io_file *file, uint64_t at, const char *bytes,
                        unsigned size)
{
    return file->size >= at + size && memcmp(file->bytes + at, bytes, size) == 0;
}

/*
 * Whether the file ends with the magic number of a LevelDB table, which is also the format of
 * TensorFlow's checkpoint indices.
 */
static bool is_table(const struct ferry__io_file *file)
{
    return file->size >= 48 &&
           ferry__foreign_has(file, file->size - 8, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
}

int ferry__foreign_by_magic(const struct ferry__io_file *file)
{
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
        if (ferry__foreign_has(file, magics[i].at, magics[i].bytes, magics[i].size))
            return ferry__foreign_is(file, magics[i].name, magics[i].advice);
    if (is_table(file))
        return ferry__foreign_is(file, "the index of a TensorFlow checkpoint, or a LevelDB table",
                                 ": save its variables as .npz there");
    return 0;
}
