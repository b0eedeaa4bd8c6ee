/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dnn/resize.hpp
 * Resizing like OpenCV's INTER_LINEAR: with fixed-point numbers for bytes, as OpenCV does,
 * otherwise with floats.
 */
#ifndef FERRY_DNN_RESIZE_HPP
#define FERRY_DNN_RESIZE_HPP

#include <ferry/dnn/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

FERRY_DNN_BEGIN
namespace detail
{

/** Pixels with all their channels, row by row. */
template <typename Real> struct Picture {
    int rows, cols, channels;
    std::vector<Real> values;

    Real *row(int index)
    {
        return values.data() + static_cast<size_t>(index) * static_cast<size_t>(cols * channels);
    }
    const Real *row(int index) const
    {
        return const_cast<Picture *>(this)->row(index);
    }
};

template <typename Real> Picture<Real> blank(int rows, int cols, int channels)
{
    const size_t pixels = static_cast<size_t>(rows) * static_cast<size_t>(cols);

    return Picture<Real>{ rows, cols, channels,
                          std::vector<Real>(pixels * static_cast<size_t>(channels)) };
}

/**
 * The two source pixels of a new pixel along one axis, their weights, and the weights in 11 bits.
 */
struct Tap {
    int low, high;
    float low_part, high_part;
    int low_fixed, high_fixed;
};

/**
 * The taps of all `now` pixels of an axis that had `old`. Outside the image OpenCV uses only the
 * edge's pixel along a row, and mixes it with itself along a column, which rounds differently.
 */
inline std::vector<Tap> taps_of(int old, int now, double scale, bool across)
{
    std::vector<Tap> taps;

    for (int k = 0; k < now; k++) {
        const float at = static_cast<float>((k + 0.5) * scale - 0.5);
        const int low = static_cast<int>(std::floor(at));
        const bool outside = low < 0 || low >= old - 1;
        const float part = across && outside ? 0 : at - static_cast<float>(low);

        taps.push_back(Tap{ std::min(std::max(low, 0), old - 1),
                            std::min(std::max(low + 1, 0), old - 1), 1 - part, part,
                            static_cast<int>(std::lrint((1 - part) * 2048)),
                            static_cast<int>(std::lrint(part * 2048)) });
    }
    return taps;
}

/** A value as an element of type T: rounded and limited if that is an integer. */
template <typename T, typename Real> Real saturated(Real value)
{
    typedef std::numeric_limits<T> Limits;

    return !Limits::is_integer
               ? value
               : std::min(std::max(std::nearbyint(value), static_cast<Real>(Limits::min())),
                          static_cast<Real>(Limits::max()));
}

/** How pixels of type T are interpolated: along a row into Row, then along a column into Real. */
template <typename T, typename Real> struct Mixer {
    typedef Real Row;
    static Row along(T low, T high, const Tap &tap)
    {
        return static_cast<Real>(low) * tap.low_part + static_cast<Real>(high) * tap.high_part;
    }
    static Real down(Row upper, Row lower, const Tap &tap)
    {
        return saturated<T>(upper * tap.low_part + lower * tap.high_part);
    }
    /** The mean of four pixels. */
    static Real mean(T a, T b, T c, T d)
    {
        return saturated<T>((static_cast<Real>(a) + static_cast<Real>(b) + static_cast<Real>(c) +
                             static_cast<Real>(d)) *
                            Real(0.25));
    }
};
template <typename Real> struct Mixer<uint8_t, Real> {
    typedef int Row;
    static Row along(uint8_t low, uint8_t high, const Tap &tap)
    {
        return (low * tap.low_fixed + high * tap.high_fixed) >> 4;
    }
    static Real down(Row upper, Row lower, const Tap &tap)
    {
        return static_cast<Real>(
            (((tap.low_fixed * upper) >> 16) + ((tap.high_fixed * lower) >> 16) + 2) >> 2);
    }
    static Real mean(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
    {
        return static_cast<Real>((a + b + c + d + 2) >> 2);
    }
};

template <typename T, typename Real>
void mix_row(const T *from, int channels, const std::vector<Tap> &taps,
             std::vector<typename Mixer<T, Real>::Row> &row)
{
    row.clear();
    for (const Tap &tap : taps) {
        for (int c = 0; c < channels; c++)
            row.push_back(Mixer<T, Real>::along(from[tap.low * channels + c],
                                                from[tap.high * channels + c], tap));
    }
}

/** Interpolates by taps. Two rows are kept, since the next output row often uses the same ones. */
template <typename T, typename Real>
Picture<Real> mixed(const Mat &image, const std::vector<Tap> &down, const std::vector<Tap> &along)
{
    const int channels = image.channels();
    Picture<Real> out =
        blank<Real>(static_cast<int>(down.size()), static_cast<int>(along.size()), channels);
    std::vector<typename Mixer<T, Real>::Row> upper, lower;
    int upper_at = -1, lower_at = -1;
    Real *to = out.values.data();

    for (const Tap &tap : down) {
        if (tap.low == lower_at) {
            upper.swap(lower);
            std::swap(upper_at, lower_at);
        }
        if (tap.low != upper_at)
            mix_row<T, Real>(image.ptr<T>(tap.low), channels, along, upper);
        if (tap.high != lower_at)
            mix_row<T, Real>(image.ptr<T>(tap.high), channels, along, lower);
        upper_at = tap.low;
        lower_at = tap.high;
        for (size_t k = 0; k < upper.size(); k++)
            *to++ = Mixer<T, Real>::down(upper[k], lower[k], tap);
    }
    return out;
}

template <typename T, typename Real> Picture<Real> halved(const Mat &image)
{
    const int channels = image.channels();
    Picture<Real> out = blank<Real>(image.rows / 2, image.cols / 2, channels);
    Real *to = out.values.data();

    for (int row = 0; row < out.rows; row++) {
        const T *upper = image.ptr<T>(2 * row), *lower = image.ptr<T>(2 * row + 1);

        for (int k = 0; k < out.cols * channels; k++) {
            const int at = k / channels * 2 * channels + k % channels;

            *to++ = Mixer<T, Real>::mean(upper[at], upper[at + channels], lower[at],
                                         lower[at + channels]);
        }
    }
    return out;
}

/**
 * Resizes an image. Both sides are multiplied by `factor`; 0: by the ratio of the sizes.
 */
template <typename T, typename Real>
Picture<Real> resized(const Mat &image, int rows, int cols, double factor)
{
    const double down = factor > 0 ? 1 / factor : static_cast<double>(image.rows) / rows;
    const double across = factor > 0 ? 1 / factor : static_cast<double>(image.cols) / cols;
    const bool is_half = image.rows == 2 * rows && image.cols == 2 * cols;

    if (image.rows == rows && image.cols == cols) {
        Picture<Real> out = blank<Real>(rows, cols, image.channels());

        for (int row = 0; row < rows; row++)
            std::copy_n(image.ptr<T>(row), cols * image.channels(), out.row(row));
        return out;
    }
    /* OpenCV uses its area method at exactly half the size */
    if (is_half && down <= 2 && down >= 2 && across <= 2 && across >= 2)
        return halved<T, Real>(image);
    return mixed<T, Real>(image, taps_of(image.rows, rows, down, false),
                          taps_of(image.cols, cols, across, true));
}

} // namespace detail
FERRY_DNN_END

#endif
