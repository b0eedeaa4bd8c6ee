/* SPDX-License-Identifier: BSD-2-Clause */
/* Linked into Caffe's own tests: FERRY_TEST_CPU_DEVICE names the device of their mode CPU. */
#include <caffe/common.hpp>

#include <cstdlib>

namespace
{

struct Chosen {
    Chosen()
    {
        if (const char *name = std::getenv("FERRY_TEST_CPU_DEVICE"))
            caffe::Caffe::set_cpu_device(name);
    }
} chosen;

} // namespace
