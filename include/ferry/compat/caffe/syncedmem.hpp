/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/syncedmem.hpp
 * Caffe's SyncedMemory: a ferry_memory. See ferry/caffe.hpp, ferry/memory.h.
 */
#ifndef FERRY_COMPAT_CAFFE_SYNCEDMEM_HPP
#define FERRY_COMPAT_CAFFE_SYNCEDMEM_HPP

#include <ferry/compat/caffe/common.hpp>

namespace caffe
{

namespace detail
{

/**
 * Converts a reference to device memory to a pointer; an Error (FERRY_EUNSUPPORTED) if the device's
 * handles are not pointers.
 */
inline void *pointer(ferry_device *device, ferry_ref ref)
{
    checked(ref.handle);
    return checked(ferry_device_pointer(device, ref));
}
inline const void *pointer(ferry_device *device, ferry_cref ref)
{
    checked(ref.handle);
    return checked(ferry_device_const_pointer(device, ref));
}

} // namespace detail

/**
 * A coherent memory: host and device copies of the same bytes, synchronized on access. Its device
 * is the mode's device at construction; gpu_data returns a pointer on that device, if its handles
 * are pointers.
 */
class SyncedMemory
{
  public:
    enum SyncedHead { UNINITIALIZED, HEAD_AT_CPU, HEAD_AT_GPU, SYNCED };

    SyncedMemory() : SyncedMemory(size_t(0))
    {
    }
    explicit SyncedMemory(size_t size) : memory_(nullptr)
    {
        detail::checked(ferry_memory_create(Caffe::device(), size, &memory_));
    }
    /** Not in Caffe: adds a reference to a ferry_memory. */
    explicit SyncedMemory(ferry_memory *memory) : memory_(ferry_memory_retain(memory))
    {
    }
    ~SyncedMemory()
    {
        ferry_memory_release(memory_);
    }
    SyncedMemory(const SyncedMemory &) = delete;
    SyncedMemory &operator=(const SyncedMemory &) = delete;

    const void *cpu_data()
    {
        return detail::checked(ferry_memory_host_data(memory_));
    }
    void *mutable_cpu_data()
    {
        return detail::checked(ferry_memory_mutable_host_data(memory_));
    }
    const void *gpu_data()
    {
        return detail::pointer(ferry_memory_home(memory_), ferry_memory_device_data(memory_));
    }
    void *mutable_gpu_data()
    {
        return detail::pointer(ferry_memory_home(memory_),
                               ferry_memory_mutable_device_data(memory_));
    }
    /**
     * Uses the caller's memory of size() bytes, borrowed until another is set or this object is
     * destroyed.
     */
    void set_cpu_data(void *data)
    {
        adopt(nullptr, data);
    }
    void set_gpu_data(void *data)
    {
        adopt(ferry_memory_home(memory_), data);
    }
    SyncedHead head() const
    {
        switch (ferry_memory_head(memory_)) {
        case FERRY_HEAD_AT_HOST:
            return HEAD_AT_CPU;
        case FERRY_HEAD_AT_DEVICE:
            return HEAD_AT_GPU;
        case FERRY_HEAD_SYNCED:
            return SYNCED;
        default:
            return UNINITIALIZED;
        }
    }
    size_t size() const
    {
        return ferry_memory_size(memory_);
    }
    /** Not in Caffe: the wrapped ferry_memory, borrowed. */
    ferry_memory *memory() const
    {
        return memory_;
    }

  private:
    void adopt(ferry_device *where, void *data)
    {
        const ferry_ref ref = { data, 0 };

        CHECK(data);
        detail::checked(ferry_memory_adopt(memory_, where, ref, size(), 0, nullptr, nullptr));
    }

    ferry_memory *memory_;
};

} // namespace caffe

#endif
