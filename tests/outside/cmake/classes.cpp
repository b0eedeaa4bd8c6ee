// SPDX-License-Identifier: BSD-2-Clause
#include <caffe/caffe.hpp>

int main()
{
    caffe::Blob<float> blob(1, 2, 3, 4);
    return blob.count() == 24 ? 0 : 1;
}
