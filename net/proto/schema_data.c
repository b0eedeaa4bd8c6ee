/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/schema_tables.h"

static const struct ferry__proto_name db_names[] = {
    { "LEVELDB", 0 },
    { "LMDB", 1 },
};
ENUM(db, "DB");

static const struct ferry__proto_field transformation_fields[] = {
    WITH(1, FLOAT, "scale", 1),  ONE(2, BOOL, "mirror"),       ONE(3, UINT32, "crop_size"),
    ONE(4, STRING, "mean_file"), MANY(5, FLOAT, "mean_value"), ONE(6, BOOL, "force_color"),
    ONE(7, BOOL, "force_gray"),
};
DEFINE(TransformationParameter, transformation_fields);

static const struct ferry__proto_field data_fields[] = {
    ONE(1, STRING, "source"),
    ONE(4, UINT32, "batch_size"),
    ONE(7, UINT32, "rand_skip"),
    CHOICE(8, db, "backend", 0),
    WITH(2, FLOAT, "scale", 1),
    ONE(3, STRING, "mean_file"),
    ONE(5, UINT32, "crop_size"),
    ONE(6, BOOL, "mirror"),
    ONE(9, BOOL, "force_encoded_color"),
    WITH(10, UINT32, "prefetch", 4),
};
DEFINE(DataParameter, data_fields);

static const struct ferry__proto_field dummy_data_fields[] = {
    MESSAGES(1, FillerParameter, "data_filler"),
    MESSAGES(6, BlobShape, "shape"),
    MANY(2, UINT32, "num"),
    MANY(3, UINT32, "channels"),
    MANY(4, UINT32, "height"),
    MANY(5, UINT32, "width"),
};
DEFINE(DummyDataParameter, dummy_data_fields);

static const struct ferry__proto_field hdf5_data_fields[] = {
    ONE(1, STRING, "source"),
    ONE(2, UINT32, "batch_size"),
    ONE(3, BOOL, "shuffle"),
};
DEFINE(HDF5DataParameter, hdf5_data_fields);

static const struct ferry__proto_field hdf5_output_fields[] = {
    ONE(1, STRING, "file_name"),
};
DEFINE(HDF5OutputParameter, hdf5_output_fields);

static const struct ferry__proto_field image_data_fields[] = {
    ONE(1, STRING, "source"),      WITH(4, UINT32, "batch_size", 1), ONE(7, UINT32, "rand_skip"),
    ONE(8, BOOL, "shuffle"),       ONE(9, UINT32, "new_height"),     ONE(10, UINT32, "new_width"),
    WITH(11, BOOL, "is_color", 1), WITH(2, FLOAT, "scale", 1),       ONE(3, STRING, "mean_file"),
    ONE(5, UINT32, "crop_size"),   ONE(6, BOOL, "mirror"),           ONE(12, STRING, "root_folder"),
};
DEFINE(ImageDataParameter, image_data_fields);

static const struct ferry__proto_field input_fields[] = {
    MESSAGES(1, BlobShape, "shape"),
};
DEFINE(InputParameter, input_fields);

static const struct ferry__proto_field memory_data_fields[] = {
    ONE(1, UINT32, "batch_size"),
    ONE(2, UINT32, "channels"),
    ONE(3, UINT32, "height"),
    ONE(4, UINT32, "width"),
};
DEFINE(MemoryDataParameter, memory_data_fields);

static const struct ferry__proto_field window_data_fields[] = {
    ONE(1, STRING, "source"),
    WITH(2, FLOAT, "scale", 1),
    ONE(3, STRING, "mean_file"),
    ONE(4, UINT32, "batch_size"),
    ONE(5, UINT32, "crop_size"),
    ONE(6, BOOL, "mirror"),
    WITH(7, FLOAT, "fg_threshold", 0.5f),
    WITH(8, FLOAT, "bg_threshold", 0.5f),
    WITH(9, FLOAT, "fg_fraction", 0.25f),
    ONE(10, UINT32, "context_pad"),
    TEXT(11, "crop_mode", "warp"),
    ONE(12, BOOL, "cache_images"),
    ONE(13, STRING, "root_folder"),
};
DEFINE(WindowDataParameter, window_data_fields);

static const struct ferry__proto_field python_fields[] = {
    ONE(1, STRING, "module"),
    ONE(2, STRING, "layer"),
    ONE(3, STRING, "param_str"),
    ONE(4, BOOL, "share_in_parallel"),
};
DEFINE(PythonParameter, python_fields);

static const struct ferry__proto_field parameter_fields[] = {
    MESSAGE(1, BlobShape, "shape"),
};
DEFINE(ParameterParameter, parameter_fields);
