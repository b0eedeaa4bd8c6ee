/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/proto/caffe.pb.h
 * Phase, BlobShape and BlobProto with the accessors that protobuf would generate, without protobuf. Blob's functions
 * take protobuf's own messages of these names as well, where a program has made them from caffe.proto under
 * another namespace. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_PROTO_HPP
#define FERRY_COMPAT_CAFFE_PROTO_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caffe
{

enum Phase { TRAIN = 0, TEST = 1 };

/** The dims of a blob. */
class BlobShape
{
  public:
    int dim_size() const
    {
        return static_cast<int>(dims_.size());
    }
    int64_t dim(int index) const
    {
        return dims_.at(static_cast<std::size_t>(index));
    }
    void add_dim(int64_t dim)
    {
        dims_.push_back(dim);
    }
    void set_dim(int index, int64_t dim)
    {
        dims_.at(static_cast<std::size_t>(index)) = dim;
    }
    void clear_dim()
    {
        dims_.clear();
    }

  private:
    std::vector<int64_t> dims_;
};

/** A blob's shape, in today's form or as four numbers, and its values, in float or double. */
class BlobProto
{
  public:
    BlobProto() : has_shape_(false), has_legacy_(0), legacy_()
    {
    }
    void Clear()
    {
        *this = BlobProto();
    }

    bool has_shape() const
    {
        return has_shape_;
    }
    const BlobShape &shape() const
    {
        return shape_;
    }
    BlobShape *mutable_shape()
    {
        has_shape_ = true;
        return &shape_;
    }
    void clear_shape()
    {
        has_shape_ = false;
        shape_ = BlobShape();
    }

/* The four numbers of Caffe's first form. */
#define FERRY_CAFFE_LEGACY(name, at)    \
    bool has_##name() const             \
    {                                   \
        return (has_legacy_ >> at) & 1; \
    }                                   \
    int name() const                    \
    {                                   \
        return legacy_[at];             \
    }                                   \
    void set_##name(int value)          \
    {                                   \
        has_legacy_ |= 1u << at;        \
        legacy_[at] = value;            \
    }
    FERRY_CAFFE_LEGACY(num, 0)
    FERRY_CAFFE_LEGACY(channels, 1)
    FERRY_CAFFE_LEGACY(height, 2)
    FERRY_CAFFE_LEGACY(width, 3)
#undef FERRY_CAFFE_LEGACY

/* A repeated field of numbers. */
#define FERRY_CAFFE_REPEATED(type, name)                     \
    int name##_size() const                                  \
    {                                                        \
        return static_cast<int>(name##_.size());             \
    }                                                        \
    type name(int index) const                               \
    {                                                        \
        return name##_.at(static_cast<std::size_t>(index));  \
    }                                                        \
    const std::vector<type> &name() const                    \
    {                                                        \
        return name##_;                                      \
    }                                                        \
    std::vector<type> *mutable_##name()                      \
    {                                                        \
        return &name##_;                                     \
    }                                                        \
    void set_##name(int index, type value)                   \
    {                                                        \
        name##_.at(static_cast<std::size_t>(index)) = value; \
    }                                                        \
    void add_##name(type value)                              \
    {                                                        \
        name##_.push_back(value);                            \
    }                                                        \
    void clear_##name()                                      \
    {                                                        \
        name##_.clear();                                     \
    }
    FERRY_CAFFE_REPEATED(float, data)
    FERRY_CAFFE_REPEATED(float, diff)
    FERRY_CAFFE_REPEATED(double, double_data)
    FERRY_CAFFE_REPEATED(double, double_diff)
#undef FERRY_CAFFE_REPEATED

  private:
    bool has_shape_;
    BlobShape shape_;
    unsigned has_legacy_; /* a bit for each that was set */
    int legacy_[4];
    std::vector<float> data_, diff_;
    std::vector<double> double_data_, double_diff_;
};

} // namespace caffe

#endif
