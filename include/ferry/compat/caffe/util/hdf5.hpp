/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/util/hdf5.hpp
 * Arrays of an HDF5 file that the program has opened; with USE_HDF5 defined, for programs that link
 * libhdf5 and libhdf5_hl. See ferry/caffe.hpp; ferry/io.h reads and writes such files without them.
 */
#ifdef USE_HDF5
#ifndef FERRY_COMPAT_CAFFE_UTIL_HDF5_HPP
#define FERRY_COMPAT_CAFFE_UTIL_HDF5_HPP

#include <ferry/compat/caffe/blob.hpp>

#include <hdf5.h>
#include <hdf5_hl.h>

namespace caffe
{

namespace detail
{
inline herr_t read_dataset(hid_t file, const char *name, float *to)
{
    return H5LTread_dataset_float(file, name, to);
}
inline herr_t read_dataset(hid_t file, const char *name, double *to)
{
    return H5LTread_dataset_double(file, name, to);
}
inline herr_t make_dataset(hid_t file, const char *name, int naxes, const hsize_t *dims,
                           const float *from)
{
    return H5LTmake_dataset_float(file, name, naxes, dims, from);
}
inline herr_t make_dataset(hid_t file, const char *name, int naxes, const hsize_t *dims,
                           const double *from)
{
    return H5LTmake_dataset_double(file, name, naxes, dims, from);
}
} // namespace detail

/**
 * Reads an array of min_dim to max_dim axes into a blob of the same shape, or, with `reshape`, into
 * any blob.
 */
template <typename Dtype>
void hdf5_load_nd_dataset(hid_t file_id, const char *dataset_name_, int min_dim, int max_dim,
                          Blob<Dtype> *blob, bool reshape = false)
{
    H5T_class_t kind;
    vector<int> shape;
    int naxes = 0;

    CHECK(H5LTfind_dataset(file_id, dataset_name_))
        << "Failed to find HDF5 dataset " << dataset_name_;
    CHECK_GE(H5LTget_dataset_ndims(file_id, dataset_name_, &naxes), 0)
        << "Failed to get the axes of " << dataset_name_;
    CHECK_GE(naxes, min_dim);
    CHECK_LE(naxes, max_dim);
    vector<hsize_t> dims(static_cast<size_t>(naxes));
    CHECK_GE(H5LTget_dataset_info(file_id, dataset_name_, dims.data(), &kind, nullptr), 0)
        << "Failed to get dataset info for " << dataset_name_;
    CHECK(kind == H5T_FLOAT || kind == H5T_INTEGER)
        << "Unsupported datatype class of " << dataset_name_;
    for (hsize_t dim : dims)
        shape.push_back(detail::narrowed(static_cast<int64_t>(dim)));
    if (reshape)
        blob->Reshape(shape);
    else if (shape != blob->shape())
        detail::fail(FERRY_ESHAPE, "Cannot load blob from HDF5; shape mismatch. Target shape is " +
                                       blob->shape_string());
    CHECK_GE(detail::read_dataset(file_id, dataset_name_, blob->mutable_cpu_data()), 0)
        << "Failed to read dataset " << dataset_name_;
}
/** Writes a blob's data, or with `write_diff` its diff. */
template <typename Dtype>
void hdf5_save_nd_dataset(hid_t file_id, const string &dataset_name, const Blob<Dtype> &blob,
                          bool write_diff = false)
{
    const vector<hsize_t> dims(blob.shape().begin(), blob.shape().end());

    CHECK_GE(detail::make_dataset(file_id, dataset_name.c_str(), blob.num_axes(), dims.data(),
                                  write_diff ? blob.cpu_diff() : blob.cpu_data()),
             0)
        << "Failed to make dataset " << dataset_name;
}
inline int hdf5_load_int(hid_t loc_id, const string &dataset_name)
{
    int value = 0;

    CHECK_GE(H5LTread_dataset_int(loc_id, dataset_name.c_str(), &value), 0)
        << "Failed to load int dataset " << dataset_name;
    return value;
}
inline void hdf5_save_int(hid_t loc_id, const string &dataset_name, int i)
{
    const hsize_t one = 1;

    CHECK_GE(H5LTmake_dataset_int(loc_id, dataset_name.c_str(), 1, &one, &i), 0)
        << "Failed to save int dataset " << dataset_name;
}
inline string hdf5_load_string(hid_t loc_id, const string &dataset_name)
{
    size_t size = 0;
    H5T_class_t kind;

    CHECK_GE(H5LTget_dataset_info(loc_id, dataset_name.c_str(), nullptr, &kind, &size), 0)
        << "Failed to get dataset info for " << dataset_name;
    vector<char> text(size + 1);
    CHECK_GE(H5LTread_dataset_string(loc_id, dataset_name.c_str(), text.data()), 0)
        << "Failed to load string dataset " << dataset_name;
    return string(text.data());
}
inline void hdf5_save_string(hid_t loc_id, const string &dataset_name, const string &s)
{
    CHECK_GE(H5LTmake_dataset_string(loc_id, dataset_name.c_str(), s.c_str()), 0)
        << "Failed to save string dataset " << dataset_name;
}
inline int hdf5_get_num_links(hid_t loc_id)
{
    H5G_info_t info;

    CHECK_GE(H5Gget_info(loc_id, &info), 0) << "Error while counting HDF5 links.";
    return detail::narrowed(static_cast<int64_t>(info.nlinks));
}
inline string hdf5_get_name_by_idx(hid_t loc_id, int idx)
{
    const hsize_t at = static_cast<hsize_t>(idx);
    const ssize_t size =
        H5Lget_name_by_idx(loc_id, ".", H5_INDEX_NAME, H5_ITER_NATIVE, at, nullptr, 0, H5P_DEFAULT);

    CHECK_GE(size, 0) << "Error retrieving HDF5 dataset at index " << idx;
    vector<char> name(static_cast<size_t>(size) + 1);
    CHECK_GE(H5Lget_name_by_idx(loc_id, ".", H5_INDEX_NAME, H5_ITER_NATIVE, at, name.data(),
                                name.size(), H5P_DEFAULT),
             0);
    return string(name.data());
}

} // namespace caffe

#endif
#endif
