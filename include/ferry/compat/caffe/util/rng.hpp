/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/util/rng.hpp
 * The thread's random number generator, and shuffling with it. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_UTIL_RNG_HPP
#define FERRY_COMPAT_CAFFE_UTIL_RNG_HPP

#include <ferry/compat/caffe/common.hpp>

#include <algorithm>
#include <iterator>
#include <random>

#ifdef FERRY_CAFFE_BOOST
#include <boost/random/bernoulli_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_int.hpp>
#include <boost/random/uniform_real.hpp>
#endif

namespace caffe
{
namespace detail
{

/*
 * Distributions; with Boost's, a seed gives the same random numbers as in Caffe with that version
 * of Boost.
 */
#ifdef FERRY_CAFFE_BOOST
template <typename T> using Uniform = boost::uniform_real<T>;
template <typename T> using Whole = boost::uniform_int<T>;
template <typename T> using Normal = boost::normal_distribution<T>;
template <typename T> using Bernoulli = boost::bernoulli_distribution<T>;
#else
template <typename T> using Uniform = std::uniform_real_distribution<T>;
template <typename T> using Whole = std::uniform_int_distribution<T>;
template <typename T> using Normal = std::normal_distribution<T>;
template <typename T> using Bernoulli = std::bernoulli_distribution;
#endif

} // namespace detail

/** The thread's generator. */
inline rng_t *caffe_rng()
{
    return static_cast<rng_t *>(Caffe::rng_stream().generator());
}

/** Shuffles a range; all permutations are equally likely. */
template <typename Iterator, typename Generator>
void shuffle(Iterator begin, Iterator end, Generator *gen)
{
    typedef typename std::iterator_traits<Iterator>::difference_type Distance;

    for (Distance i = std::distance(begin, end) - 1; i > 0; i--)
        std::iter_swap(begin + i, begin + detail::Whole<Distance>(0, i)(*gen));
}
template <typename Iterator> void shuffle(Iterator begin, Iterator end)
{
    shuffle(begin, end, caffe_rng());
}

} // namespace caffe

#endif
