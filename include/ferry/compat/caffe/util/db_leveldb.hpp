/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/util/db_leveldb.hpp LevelDB, with libleveldb. See util/db.hpp. */
#ifdef USE_LEVELDB
#ifndef FERRY_COMPAT_CAFFE_UTIL_DB_LEVELDB_HPP
#define FERRY_COMPAT_CAFFE_UTIL_DB_LEVELDB_HPP

#include <ferry/compat/caffe/detail/db_base.hpp>

#include <leveldb/db.h>
#include <leveldb/write_batch.h>

namespace caffe
{
namespace db
{

class LevelDBCursor : public Cursor
{
  public:
    /** Takes ownership. */
    explicit LevelDBCursor(leveldb::Iterator *iter) : iter_(iter)
    {
        SeekToFirst();
        CHECK(iter_->status().ok()) << iter_->status().ToString();
    }
    virtual void SeekToFirst()
    {
        iter_->SeekToFirst();
    }
    virtual void Next()
    {
        iter_->Next();
    }
    virtual string key()
    {
        return iter_->key().ToString();
    }
    virtual string value()
    {
        return iter_->value().ToString();
    }
    virtual bool valid()
    {
        return iter_->Valid();
    }

  private:
    const std::unique_ptr<leveldb::Iterator> iter_;
};

class LevelDBTransaction : public Transaction
{
  public:
    explicit LevelDBTransaction(leveldb::DB *db) : db_(db)
    {
    }
    virtual void Put(const string &key, const string &value)
    {
        batch_.Put(key, value);
    }
    virtual void Commit()
    {
        const leveldb::Status status = db_->Write(leveldb::WriteOptions(), &batch_);

        CHECK(status.ok()) << "Failed to write batch to leveldb " << status.ToString();
    }

  private:
    leveldb::DB *db_;
    leveldb::WriteBatch batch_;
};

class LevelDB : public DB
{
  public:
    virtual ~LevelDB()
    {
        Close();
    }
    virtual void Open(const string &source, Mode mode)
    {
        leveldb::DB *opened = nullptr;
        leveldb::Options options;

        options.block_size = 65536;
        options.write_buffer_size = 268435456;
        options.max_open_files = 100;
        options.error_if_exists = mode == NEW;
        options.create_if_missing = mode != READ;
        const leveldb::Status status = leveldb::DB::Open(options, source, &opened);
        CHECK(status.ok()) << "Failed to open leveldb " << source << " " << status.ToString();
        db_.reset(opened);
    }
    virtual void Close()
    {
        db_.reset();
    }
    virtual Cursor *NewCursor()
    {
        return new LevelDBCursor(db_->NewIterator(leveldb::ReadOptions()));
    }
    virtual Transaction *NewTransaction()
    {
        return new LevelDBTransaction(db_.get());
    }

  private:
    std::unique_ptr<leveldb::DB> db_;
};

} // namespace db
} // namespace caffe

#endif
#endif
