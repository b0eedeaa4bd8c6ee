/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/detail/db_base.hpp
 * The base classes of databases. Programs include <caffe/util/db.hpp>.
 */
#ifndef FERRY_COMPAT_CAFFE_DETAIL_DB_BASE_HPP
#define FERRY_COMPAT_CAFFE_DETAIL_DB_BASE_HPP

#include <ferry/compat/caffe/common.hpp>

namespace caffe
{
namespace db
{

/** READ: it must exist. WRITE: it is created if it does not exist. NEW: it must not exist. */
enum Mode { READ, WRITE, NEW };

/** Iterates over the records in the order of their keys. */
class Cursor
{
  public:
    Cursor()
    {
    }
    virtual ~Cursor()
    {
    }
    Cursor(const Cursor &) = delete;
    Cursor &operator=(const Cursor &) = delete;
    virtual void SeekToFirst() = 0;
    virtual void Next() = 0;
    virtual string key() = 0;
    virtual string value() = 0;
    virtual bool valid() = 0;
};

/** Collects records, which Commit writes at once. */
class Transaction
{
  public:
    Transaction()
    {
    }
    virtual ~Transaction()
    {
    }
    Transaction(const Transaction &) = delete;
    Transaction &operator=(const Transaction &) = delete;
    virtual void Put(const string &key, const string &value) = 0;
    virtual void Commit() = 0;
};

/** A database. The caller deletes its cursors and transactions before it is closed. */
class DB
{
  public:
    DB()
    {
    }
    virtual ~DB()
    {
    }
    DB(const DB &) = delete;
    DB &operator=(const DB &) = delete;
    virtual void Open(const string &source, Mode mode) = 0;
    virtual void Close() = 0;
    virtual Cursor *NewCursor() = 0;
    virtual Transaction *NewTransaction() = 0;
};

} // namespace db
} // namespace caffe

#endif
