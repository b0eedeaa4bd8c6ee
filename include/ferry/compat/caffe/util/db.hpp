/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/util/db.hpp
 * Databases of records: LMDB with USE_LMDB defined, LevelDB with USE_LEVELDB, for programs that
 * link those libraries. ferry's layer Data reads LMDB without them. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_UTIL_DB_HPP
#define FERRY_COMPAT_CAFFE_UTIL_DB_HPP

#include <ferry/compat/caffe/detail/db_base.hpp>
#include <ferry/compat/caffe/messages.hpp>

#ifdef USE_LMDB
#include <ferry/compat/caffe/util/db_lmdb.hpp>
#endif
#ifdef USE_LEVELDB
#include <ferry/compat/caffe/util/db_leveldb.hpp>
#endif

namespace caffe
{
namespace db
{

/** Creates a database of the kind "lmdb" or "leveldb"; the caller deletes it. */
inline DB *GetDB(const string &backend)
{
#ifdef USE_LEVELDB
    if (backend == "leveldb")
        return new LevelDB();
#endif
#ifdef USE_LMDB
    if (backend == "lmdb")
        return new LMDB();
#endif
    LOG(FATAL) << "Unknown database backend: " << backend
               << " (lmdb and leveldb need USE_LMDB and USE_LEVELDB, and their libraries)";
    return nullptr;
}
inline DB *GetDB(DataParameter::DB backend)
{
    return GetDB(string(backend == DataParameter_DB_LEVELDB ? "leveldb" : "lmdb"));
}

} // namespace db
} // namespace caffe

#endif
