/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dnn/types.hpp
 * Matrices, rectangles and errors: OpenCV's types, or the ones defined here. See ferry/dnn.hpp.
 */
#ifndef FERRY_DNN_TYPES_HPP
#define FERRY_DNN_TYPES_HPP

#include <ferry/ferry.h>
#include <ferry/net.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

/*
 * There are two namespaces, so that files with OpenCV and files without it can be linked into one
 * program.
 */
#ifdef OPENCV_CORE_HPP
#include <opencv2/core/async.hpp>
#include <opencv2/core/detail/async_promise.hpp>
#define FERRY_DNN_TYPES with_opencv
#else
#define FERRY_DNN_TYPES with_pointers
#endif

// clang-format off
#define FERRY_DNN_BEGIN namespace ferry { namespace dnn { inline namespace FERRY_DNN_TYPES {
#define FERRY_DNN_END   } } }
// clang-format on

FERRY_DNN_BEGIN

/** The sizes of the axes of a blob. */
typedef std::vector<int> MatShape;

#ifdef OPENCV_CORE_HPP

using cv::Exception;
using cv::InputArray;
using cv::InputArrayOfArrays;
using cv::Mat;
using cv::OutputArray;
using cv::OutputArrayOfArrays;
using cv::Point2f;
using cv::Ptr;
using cv::Rect;
using cv::Rect2d;
using cv::Scalar;
using cv::Size;
using cv::String;

#else

typedef std::string String;
template <typename T> using Ptr = std::shared_ptr<T>;

#ifndef CV_8U
/** The element types of Mat, with OpenCV's numbers. */
enum { CV_8U = 0, CV_8S, CV_16U, CV_16S, CV_32S, CV_32F, CV_64F };
/** A type of several channels. */
constexpr int CV_MAKETYPE(int depth, int channels)
{
    return depth + (channels - 1) * 8;
}
enum { CV_8UC1 = CV_8U, CV_8UC3 = 16, CV_8UC4 = 24, CV_32FC1 = CV_32F, CV_32FC3 = 21 };
#endif

/** Errors, with the members of cv::Exception: `code` has OpenCV's numbers, `err` is the message. */
class Exception : public std::exception
{
  public:
    Exception(int code_, const String &err_, const String &func_, const String &file_, int line_)
        : msg(file_ + ": error: (" + std::to_string(code_) + ") " + err_ + " in function '" +
              func_ + "'\n"),
          code(code_), err(err_), func(func_), file(file_), line(line_)
    {
    }
    const char *what() const noexcept override
    {
        return msg.c_str();
    }
    String msg;
    int code;
    String err, func, file;
    int line;
};

struct Size {
    Size() : width(0), height(0)
    {
    }
    Size(int width_, int height_) : width(width_), height(height_)
    {
    }
    int width, height;
};

/** Up to four numbers; missing ones are 0. */
struct Scalar {
    Scalar(double a = 0, double b = 0, double c = 0, double d = 0) : val{ a, b, c, d }
    {
    }
    /** The same number four times. */
    static Scalar all(double value)
    {
        return Scalar(value, value, value, value);
    }
    double operator[](int k) const
    {
        return val[k];
    }
    double &operator[](int k)
    {
        return val[k];
    }
    double val[4];
};

template <typename T> struct Rect_ {
    Rect_() : x(), y(), width(), height()
    {
    }
    Rect_(T x_, T y_, T width_, T height_) : x(x_), y(y_), width(width_), height(height_)
    {
    }
    T x, y, width, height;
};
typedef Rect_<int> Rect;
typedef Rect_<double> Rect2d;

struct Point2f {
    Point2f(float x_ = 0, float y_ = 0) : x(x_), y(y_)
    {
    }
    float x, y;
};

/** The sizes of a matrix, by axis. */
struct MatSize : MatShape {
    explicit MatSize(const MatShape &sizes) : MatShape(sizes)
    {
    }
    const int &operator[](int axis) const
    {
        return at(static_cast<size_t>(axis));
    }
};

/**
 * A dense array with the members of cv::Mat that this header needs. Either it refers to the
 * caller's memory, which then has to outlive it and all of its copies, or it shares its own, which
 * the last copy frees.
 */
class Mat
{
  public:
    Mat() : dims(0), rows(0), cols(0), data(nullptr), size(MatShape()), type_(CV_8U)
    {
    }
    /**
     * Refers to an image in the caller's memory, or allocates one: rows × columns, with the
     * channels of a pixel together.
     */
    Mat(int rows_, int cols_, int type, void *pixels = nullptr)
        : Mat(MatShape{ rows_, cols_ }, type, pixels)
    {
    }
    /** Refers to, or allocates, an array of any number of axes; the last one is contiguous. */
    Mat(const MatShape &shape, int type, void *values = nullptr)
        : dims(static_cast<int>(shape.size())), rows(-1), cols(-1), size(shape), type_(type)
    {
        if (dims == 2) {
            rows = shape[0];
            cols = shape[1];
        }
        if (!values) {
            held_.reset(new std::vector<uint8_t>(total() * elemSize()));
            values = held_->data();
        }
        data = static_cast<uint8_t *>(values);
    }
    Mat(int axes, const int *sizes, int type, void *values = nullptr)
        : Mat(MatShape(sizes, sizes + axes), type, values)
    {
    }
    int type() const
    {
        return type_;
    }
    int depth() const
    {
        return type_ & 7;
    }
    int channels() const
    {
        return (type_ >> 3) + 1;
    }
    size_t elemSize() const
    {
        static const size_t bytes[] = { 1, 1, 2, 2, 4, 4, 8, 2 };

        return bytes[depth()] * static_cast<size_t>(channels());
    }
    size_t total() const
    {
        size_t n = dims ? 1 : 0;

        for (int dim : size)
            n *= static_cast<size_t>(dim);
        return n;
    }
    bool empty() const
    {
        return !total();
    }
    bool isContinuous() const
    {
        return true;
    }
    Mat clone() const
    {
        Mat copy(size, type_);

        std::copy(data, data + total() * elemSize(), copy.data);
        return copy;
    }
    /** A pointer to index `i` of the first axis and `j` of the second. */
    template <typename T> T *ptr(int i = 0, int j = 0)
    {
        return const_cast<T *>(static_cast<const Mat *>(this)->ptr<T>(i, j));
    }
    template <typename T> const T *ptr(int i = 0, int j = 0) const
    {
        size_t bytes = total() * elemSize() / (empty() ? 1 : static_cast<size_t>(size[0]));
        size_t inner = dims > 1 && size[1] ? bytes / static_cast<size_t>(size[1]) : 0;

        return reinterpret_cast<const T *>(data + static_cast<size_t>(i) * bytes +
                                           static_cast<size_t>(j) * inner);
    }

    int dims, rows, cols; /* rows and cols are −1 unless there are two axes */
    uint8_t *data;
    MatSize size;

  private:
    int type_;
    std::shared_ptr<std::vector<uint8_t>> held_;
};

typedef const Mat &InputArray;
typedef const std::vector<Mat> &InputArrayOfArrays;
typedef Mat &OutputArray;
typedef std::vector<Mat> &OutputArrayOfArrays;

#endif

/** The implementation. Not for programs. */
namespace detail
{

/** OpenCV's numbers of errors. */
enum {
    FAILED = -2,
    NO_MEMORY = -4,
    BAD_ARGUMENT = -5,
    BAD_SIZE = -201,
    NOT_FOUND = -204,
    UNMATCHED = -209,
    BAD_FORMAT = -210,
    NOT_IMPLEMENTED = -213,
    ASSERTION = -215
};

[[noreturn]] inline void fail(int code, const std::string &line, const char *function)
{
    throw Exception(code, line, function, "ferry.dnn", 0);
}

inline void require(bool holds, const char *what, const char *function)
{
    if (!holds)
        fail(ASSERTION, what, function);
}

/** Throws the latest failure of a call of ferry, with that code. */
[[noreturn]] inline void fail_as_ferry(int code, const char *function)
{
    const int of = code == FERRY_ENOMEM         ? NO_MEMORY
                   : code == FERRY_EUNSUPPORTED ? NOT_IMPLEMENTED
                   : code == FERRY_ESHAPE       ? UNMATCHED
                   : code == FERRY_EINVAL       ? BAD_ARGUMENT
                                                : FAILED;

    fail(of, ferry_last_error(), function);
}

inline void checked(int result, const char *function)
{
    if (result < 0)
        fail_as_ferry(result, function);
}

template <typename T> T *checked(T *pointer, const char *function)
{
    if (!pointer)
        fail_as_ferry(ferry_last_error_code(), function);
    return pointer;
}

#ifdef OPENCV_CORE_HPP

inline Mat matrix(InputArray array)
{
    return array.getMat();
}

inline std::vector<Mat> matrices(InputArrayOfArrays arrays)
{
    std::vector<Mat> out;

    arrays.getMatVector(out);
    return out;
}

inline void give(OutputArray to, const Mat &one)
{
    to.assign(one);
}

/** Gives a matrix the first of several results, and a vector all of them. */
inline void give(OutputArrayOfArrays to, const std::vector<Mat> &all)
{
    if (to.isMatVector()) {
        *static_cast<std::vector<Mat> *>(to.getObj()) = all;
    } else if (to.isUMatVector()) {
        std::vector<cv::UMat> &out = *static_cast<std::vector<cv::UMat> *>(to.getObj());

        out.resize(all.size());
        for (size_t i = 0; i < all.size(); i++)
            all[i].copyTo(out[i]);
    } else {
        to.assign(all.at(0));
    }
}

#else

inline const Mat &matrix(const Mat &array)
{
    return array;
}

inline const std::vector<Mat> &matrices(const std::vector<Mat> &arrays)
{
    return arrays;
}

inline void give(Mat &to, const Mat &one)
{
    to = one;
}

inline void give(std::vector<Mat> &to, const std::vector<Mat> &all)
{
    to = all;
}

#endif

inline MatShape shape_of(const Mat &array)
{
    MatShape shape;

    for (int k = 0; k < array.dims; k++)
        shape.push_back(array.size[k]);
    return shape;
}

inline size_t count_of(const MatShape &shape)
{
    size_t n = 1;

    for (int dim : shape)
        n *= static_cast<size_t>(dim);
    return n;
}

inline Mat made(const MatShape &shape, int type)
{
    return Mat(static_cast<int>(shape.size()), shape.data(), type);
}

} // namespace detail

FERRY_DNN_END

#endif
