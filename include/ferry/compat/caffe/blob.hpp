/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/blob.hpp
 * Caffe's Blob: a ferry_blob of float, double or an integer. See ferry/caffe.hpp, ferry/blob.h.
 */
#ifndef FERRY_COMPAT_CAFFE_BLOB_HPP
#define FERRY_COMPAT_CAFFE_BLOB_HPP

#include <ferry/compat/caffe/common.hpp>
#include <ferry/compat/caffe/messages.hpp>
#include <ferry/compat/caffe/syncedmem.hpp>

/** The limit of a blob's axes, as in Caffe. */
const int kMaxBlobAxes = FERRY_MAX_AXES;

namespace caffe
{

/**
 * An N-dimensional array of data and diff. A blob that a program creates is on the device of the
 * thread's mode when device memory is first requested, and moves when the mode's device has
 * changed; a blob of a net is on the net's device.
 */
template <typename Dtype> class Blob
{
  public:
    Blob() : blob_(nullptr)
    {
        make(FERRY_UNSHAPED, nullptr);
    }
    explicit Blob(int num, int channels, int height, int width) : blob_(nullptr)
    {
        const int64_t dims[] = { num, channels, height, width };

        make(4, dims);
    }
    explicit Blob(const vector<int> &shape) : blob_(nullptr)
    {
        const vector<int64_t> dims(shape.begin(), shape.end());

        make(static_cast<int>(dims.size()), dims.data());
    }
    /**
     * Not in Caffe: wraps a ferry_blob, which `owner` keeps alive as long as this object. If its
     * element type differs, this object is a copy, which fetch and send synchronize: a net of
     * floats seen as a net of doubles.
     */
    Blob(ferry_blob *blob, const shared_ptr<void> &owner) : blob_(blob), owner_(owner)
    {
        if (ferry_blob_dtype(detail::checked(blob)) == detail::dtype_of<Dtype>::value)
            return;
        source_ = blob;
        make(ferry_blob_rank(blob), ferry_blob_shape(blob));
        fetch();
    }
    ~Blob()
    {
        if (!owner_ || source_)
            ferry_blob_destroy(blob_);
    }
    Blob(const Blob &) = delete;
    Blob &operator=(const Blob &) = delete;

    /* ---- the shape ---- */

    void Reshape(int num, int channels, int height, int width)
    {
        detail::checked(ferry_blob_reshape4(blob_, num, channels, height, width));
    }
    void Reshape(const vector<int> &shape)
    {
        const vector<int64_t> dims(shape.begin(), shape.end());

        reshape(dims);
    }
    /** The shape of a message with dim_size() and dim(i), such as BlobShape. */
    template <typename Shape> auto Reshape(const Shape &shape) -> decltype(shape.dim_size(), void())
    {
        reshape(dims_of(shape));
    }
    void ReshapeLike(const Blob &other)
    {
        detail::checked(ferry_blob_reshape_like(blob_, other.blob_));
    }
    string shape_string() const
    {
        char text[32 * FERRY_MAX_AXES];

        detail::checked(ferry_blob_shape_string(blob_, text, sizeof text));
        return text;
    }
    const vector<int> &shape() const
    {
        const int64_t *dims = ferry_blob_shape(blob_);
        const size_t axes = static_cast<size_t>(num_axes());

        shape_.resize(axes);
        for (size_t i = 0; i < axes; i++)
            shape_[i] = detail::narrowed(dims[i]);
        return shape_;
    }
    int shape(int index) const
    {
        return detail::narrowed(ferry_blob_dim(blob_, index));
    }
    int num_axes() const
    {
        return ferry_blob_rank(blob_);
    }
    int count() const
    {
        return detail::narrowed(ferry_blob_element_count(blob_));
    }
    int count(int start_axis, int end_axis) const
    {
        return detail::narrowed(ferry_blob_element_count_range(blob_, start_axis, end_axis));
    }
    int count(int start_axis) const
    {
        return count(start_axis, num_axes());
    }
    int CanonicalAxisIndex(int axis_index) const
    {
        return detail::checked(ferry_blob_canonical_axis(blob_, axis_index));
    }
    int LegacyShape(int index) const
    {
        return detail::narrowed(ferry_blob_legacy_dim(blob_, index));
    }
    int num() const
    {
        return LegacyShape(0);
    }
    int channels() const
    {
        return LegacyShape(1);
    }
    int height() const
    {
        return LegacyShape(2);
    }
    int width() const
    {
        return LegacyShape(3);
    }
    int offset(int n, int c = 0, int h = 0, int w = 0) const
    {
        return detail::narrowed(ferry_blob_offset4(blob_, n, c, h, w));
    }
    int offset(const vector<int> &indices) const
    {
        const vector<int64_t> index(indices.begin(), indices.end());

        return detail::narrowed(
            ferry_blob_offset(blob_, index.data(), static_cast<int>(index.size())));
    }

    /* ---- the values ---- */

    const Dtype *cpu_data() const
    {
        return static_cast<const Dtype *>(detail::checked(ferry_blob_host_data(blob_)));
    }
    const Dtype *cpu_diff() const
    {
        return static_cast<const Dtype *>(detail::checked(ferry_blob_host_diff(blob_)));
    }
    Dtype *mutable_cpu_data()
    {
        wrote_data_ = true;
        return static_cast<Dtype *>(detail::checked(ferry_blob_mutable_host_data(blob_)));
    }
    Dtype *mutable_cpu_diff()
    {
        wrote_diff_ = true;
        return static_cast<Dtype *>(detail::checked(ferry_blob_mutable_host_diff(blob_)));
    }
    /**
     * A pointer on the device; an Error (FERRY_EUNSUPPORTED) if the device's handles are not
     * pointers (OpenCL's buffers).
     */
    const Dtype *gpu_data() const
    {
        come_here();
        return static_cast<const Dtype *>(
            detail::pointer(ferry_blob_home(blob_), ferry_blob_device_data(blob_)));
    }
    const Dtype *gpu_diff() const
    {
        come_here();
        return static_cast<const Dtype *>(
            detail::pointer(ferry_blob_home(blob_), ferry_blob_device_diff(blob_)));
    }
    Dtype *mutable_gpu_data()
    {
        wrote_data_ = true;
        come_here();
        return static_cast<Dtype *>(
            detail::pointer(ferry_blob_home(blob_), ferry_blob_mutable_device_data(blob_)));
    }
    Dtype *mutable_gpu_diff()
    {
        wrote_diff_ = true;
        come_here();
        return static_cast<Dtype *>(
            detail::pointer(ferry_blob_home(blob_), ferry_blob_mutable_device_diff(blob_)));
    }
    /** The dims as ints on the device. */
    const int *gpu_shape() const
    {
        come_here();
        return static_cast<const int *>(
            detail::pointer(ferry_blob_home(blob_), ferry_blob_device_shape(blob_)));
    }
    /**
     * Uses the caller's count() values, borrowed until the blob gets other values, grows, or is
     * destroyed.
     */
    void set_cpu_data(Dtype *data)
    {
        adopt(nullptr, data);
    }
    void set_gpu_data(Dtype *data)
    {
        come_here();
        adopt(ferry_blob_home(blob_), data);
    }
    Dtype data_at(int n, int c, int h, int w) const
    {
        return cpu_data()[offset(n, c, h, w)];
    }
    Dtype data_at(const vector<int> &index) const
    {
        return cpu_data()[offset(index)];
    }
    Dtype diff_at(int n, int c, int h, int w) const
    {
        return cpu_diff()[offset(n, c, h, w)];
    }
    Dtype diff_at(const vector<int> &index) const
    {
        return cpu_diff()[offset(index)];
    }

    /* ---- arithmetic, on the device of the values ---- */

    /** data −= diff. */
    void Update()
    {
        wrote_data_ = true;
        detail::checked(ferry_blob_update(blob_));
    }
    Dtype asum_data() const
    {
        return reduced(ferry_blob_asum_data);
    }
    Dtype asum_diff() const
    {
        return reduced(ferry_blob_asum_diff);
    }
    Dtype sumsq_data() const
    {
        return reduced(ferry_blob_sumsq_data);
    }
    Dtype sumsq_diff() const
    {
        return reduced(ferry_blob_sumsq_diff);
    }
    void scale_data(Dtype scale_factor)
    {
        wrote_data_ = true;
        detail::checked(ferry_blob_scale_data(blob_, static_cast<double>(scale_factor)));
    }
    void scale_diff(Dtype scale_factor)
    {
        wrote_diff_ = true;
        detail::checked(ferry_blob_scale_diff(blob_, static_cast<double>(scale_factor)));
    }

    /* ---- other blobs, and messages ---- */

    void CopyFrom(const Blob &source, bool copy_diff = false, bool reshape = false)
    {
        const unsigned flags =
            (copy_diff ? FERRY_COPY_DIFF : 0) | (reshape ? FERRY_COPY_RESHAPE : 0);

        (copy_diff ? wrote_diff_ : wrote_data_) = true;
        detail::checked(ferry_blob_copy_from(blob_, source.blob_, flags));
    }
    void ShareData(const Blob &other)
    {
        detail::checked(ferry_blob_share_data(blob_, other.blob_));
    }
    void ShareDiff(const Blob &other)
    {
        detail::checked(ferry_blob_share_diff(blob_, other.blob_));
    }
    /**
     * Whether a BlobProto has this shape; a BlobProto with the four old fields is compared with
     * LegacyShape.
     */
    template <typename Proto> bool ShapeEquals(const Proto &other) const
    {
        if (is_legacy(other))
            return num_axes() <= 4 && LegacyShape(-4) == other.num() &&
                   LegacyShape(-3) == other.channels() && LegacyShape(-2) == other.height() &&
                   LegacyShape(-1) == other.width();
        return dims_of(other.shape()) == dims_of_own();
    }
    /** Copies a BlobProto: its shape if `reshape`, its data, and its diff if it has one. */
    template <typename Proto> void FromProto(const Proto &proto, bool reshape = true)
    {
        if (reshape && is_legacy(proto))
            Reshape(proto.num(), proto.channels(), proto.height(), proto.width());
        else if (reshape)
            Reshape(proto.shape());
        else
            CHECK(ShapeEquals(proto)) << "shape mismatch (reshape not set)";
        if (proto.double_data_size() > 0)
            take(proto.double_data(), proto.double_data_size(), mutable_cpu_data());
        else
            take(proto.data(), proto.data_size(), mutable_cpu_data());
        if (proto.double_diff_size() > 0)
            take(proto.double_diff(), proto.double_diff_size(), mutable_cpu_diff());
        else if (proto.diff_size() > 0)
            take(proto.diff(), proto.diff_size(), mutable_cpu_diff());
    }
    /** Writes a BlobProto: shape, data in the field of this type, and diff if `write_diff`. */
    template <typename Proto> void ToProto(Proto *proto, bool write_diff = false) const
    {
        proto->Clear();
        for (int64_t dim : dims_of_own())
            proto->mutable_shape()->add_dim(dim);
        proto->mutable_shape();
        give(proto, cpu_data(), false);
        if (write_diff)
            give(proto, cpu_diff(), true);
    }

    const shared_ptr<SyncedMemory> &data() const
    {
        return wrapped(data_, detail::checked(ferry_blob_data_memory(blob_)));
    }
    const shared_ptr<SyncedMemory> &diff() const
    {
        return wrapped(diff_, detail::checked(ferry_blob_diff_memory(blob_)));
    }
    /** Not in Caffe: the wrapped ferry_blob, borrowed. */
    ferry_blob *blob() const
    {
        return blob_;
    }
    /**
     * Not in Caffe: the ferry_blob that this one is a copy of, borrowed; without a copy the wrapped
     * one.
     */
    ferry_blob *source() const
    {
        return source_ ? source_ : blob_;
    }
    /** Not in Caffe: updates a copy from its source: shape, data, and diff if there is one. */
    void fetch()
    {
        if (!source_)
            return;
        detail::checked(ferry_blob_copy_from(blob_, source_, FERRY_COPY_RESHAPE));
        if (ferry_memory_head(ferry_blob_diff_memory(source_)) != FERRY_HEAD_UNINITIALIZED)
            detail::checked(ferry_blob_copy_from(blob_, source_, FERRY_COPY_DIFF));
    }
    /** Not in Caffe: updates the source of a copy: the shape, and the halves that were written. */
    void send() const
    {
        if (!source_)
            return;
        if (!ferry_blob_shape_equals(source_, blob_))
            detail::checked(ferry_blob_reshape_like(source_, blob_));
        if (wrote_data_)
            detail::checked(ferry_blob_copy_from(source_, blob_, 0));
        if (wrote_diff_)
            detail::checked(ferry_blob_copy_from(source_, blob_, FERRY_COPY_DIFF));
    }

  private:
    void make(int rank, const int64_t *dims)
    {
        detail::checked(
            ferry_blob_create(Caffe::device(), detail::dtype_of<Dtype>::value, dims, rank, &blob_));
    }
    void reshape(const vector<int64_t> &dims)
    {
        detail::checked(
            ferry_blob_reshape(blob_, dims.data(), static_cast<int>(dims.size()), nullptr));
    }
    vector<int64_t> dims_of_own() const
    {
        const int64_t *dims = ferry_blob_shape(blob_);

        return vector<int64_t>(dims, dims + num_axes());
    }
    template <typename Shape> static vector<int64_t> dims_of(const Shape &shape)
    {
        vector<int64_t> dims;

        for (int i = 0; i < shape.dim_size(); i++)
            dims.push_back(shape.dim(i));
        return dims;
    }
    template <typename Proto> static bool is_legacy(const Proto &proto)
    {
        return proto.has_num() || proto.has_channels() || proto.has_height() || proto.has_width();
    }

    /** Moves a blob that the program created to the mode's device. */
    void come_here() const
    {
        if (!owner_ && ferry_blob_home(blob_) != Caffe::device())
            detail::checked(ferry_blob_move_to(blob_, Caffe::device()));
    }
    void adopt(ferry_device *where, Dtype *data)
    {
        const ferry_ref ref = { data, 0 };

        wrote_data_ = true;

        CHECK(data);
        detail::checked(ferry_memory_adopt(detail::checked(ferry_blob_data_memory(blob_)), where,
                                           ref, static_cast<size_t>(count()) * sizeof(Dtype), 0,
                                           nullptr, nullptr));
    }
    Dtype reduced(int (*function)(const ferry_blob *, double *)) const
    {
        double sum = 0;

        detail::checked(function(blob_, &sum));
        return static_cast<Dtype>(sum);
    }

    template <typename Values> void take(const Values &values, int size, Dtype *to)
    {
        CHECK_EQ(count(), size);
        for (int i = 0; i < size; i++)
            to[i] = static_cast<Dtype>(*(values.begin() + i));
    }
    template <typename Proto> void give(Proto *proto, const int *values, bool diff) const
    {
        for (int i = 0; i < count(); i++)
            diff ? proto->add_diff(static_cast<float>(values[i]))
                 : proto->add_data(static_cast<float>(values[i]));
    }
    template <typename Proto> void give(Proto *proto, const float *values, bool diff) const
    {
        for (int i = 0; i < count(); i++)
            diff ? proto->add_diff(values[i]) : proto->add_data(values[i]);
    }
    template <typename Proto> void give(Proto *proto, const double *values, bool diff) const
    {
        for (int i = 0; i < count(); i++)
            diff ? proto->add_double_diff(values[i]) : proto->add_double_data(values[i]);
    }
    static const shared_ptr<SyncedMemory> &wrapped(shared_ptr<SyncedMemory> &kept,
                                                   ferry_memory *memory)
    {
        if (!kept || kept->memory() != memory)
            kept.reset(new SyncedMemory(memory));
        return kept;
    }

    ferry_blob *blob_;
    ferry_blob *source_ = nullptr; /* the original of blob_, which is then a copy owned by this
                                    * object */
    bool wrote_data_ = false, wrote_diff_ = false;
    shared_ptr<void> owner_; /* keeps a wrapped blob alive */
    mutable vector<int> shape_;
    mutable shared_ptr<SyncedMemory> data_, diff_;
};

} // namespace caffe

#endif
