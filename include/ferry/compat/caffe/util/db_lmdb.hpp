/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/util/db_lmdb.hpp LMDB, with liblmdb. See util/db.hpp. */
#ifdef USE_LMDB
#ifndef FERRY_COMPAT_CAFFE_UTIL_DB_LMDB_HPP
#define FERRY_COMPAT_CAFFE_UTIL_DB_LMDB_HPP

#include <ferry/compat/caffe/detail/db_base.hpp>

#include <lmdb.h>
#include <sys/stat.h>

namespace caffe
{
namespace db
{

/** FATAL, with LMDB's message, if a call failed. */
inline void MDB_CHECK(int mdb_status)
{
    CHECK_EQ(mdb_status, MDB_SUCCESS) << mdb_strerror(mdb_status);
}

class LMDBCursor : public Cursor
{
  public:
    /** Takes ownership of both. */
    LMDBCursor(MDB_txn *txn, MDB_cursor *cursor) : txn_(txn), cursor_(cursor), valid_(false)
    {
        SeekToFirst();
    }
    virtual ~LMDBCursor()
    {
        mdb_cursor_close(cursor_);
        mdb_txn_abort(txn_);
    }
    virtual void SeekToFirst()
    {
        go(MDB_FIRST);
    }
    virtual void Next()
    {
        go(MDB_NEXT);
    }
    virtual string key()
    {
        return string(static_cast<const char *>(key_.mv_data), key_.mv_size);
    }
    virtual string value()
    {
        return string(static_cast<const char *>(value_.mv_data), value_.mv_size);
    }
    virtual bool valid()
    {
        return valid_;
    }

  private:
    void go(MDB_cursor_op where)
    {
        const int err = mdb_cursor_get(cursor_, &key_, &value_, where);

        valid_ = err != MDB_NOTFOUND;
        if (valid_)
            MDB_CHECK(err);
    }

    MDB_txn *txn_;
    MDB_cursor *cursor_;
    MDB_val key_, value_;
    bool valid_;
};

/** Keeps records until Commit, which enlarges the map if they do not fit. */
class LMDBTransaction : public Transaction
{
  public:
    explicit LMDBTransaction(MDB_env *env) : env_(env)
    {
    }
    virtual void Put(const string &key, const string &value)
    {
        records_.push_back(make_pair(key, value));
    }
    virtual void Commit()
    {
        int err = write();

        while (err == MDB_MAP_FULL) {
            grow();
            err = write();
        }
        MDB_CHECK(err);
        records_.clear();
    }

  private:
    int write()
    {
        MDB_txn *txn;
        MDB_dbi dbi;
        int err = mdb_txn_begin(env_, nullptr, 0, &txn);

        if (err)
            return err;
        err = mdb_dbi_open(txn, nullptr, 0, &dbi);
        for (size_t i = 0; !err && i < records_.size(); i++) {
            MDB_val key = val(records_[i].first), value = val(records_[i].second);

            err = mdb_put(txn, dbi, &key, &value, 0);
        }
        if (err)
            mdb_txn_abort(txn);
        return err ? err : mdb_txn_commit(txn);
    }
    void grow()
    {
        MDB_envinfo info;

        MDB_CHECK(mdb_env_info(env_, &info));
        MDB_CHECK(mdb_env_set_mapsize(env_, info.me_mapsize * 2));
    }
    static MDB_val val(string &bytes)
    {
        MDB_val out;

        out.mv_size = bytes.size();
        out.mv_data = &bytes[0];
        return out;
    }

    MDB_env *env_;
    vector<pair<string, string>> records_;
};

class LMDB : public DB
{
  public:
    LMDB() : env_(nullptr)
    {
    }
    virtual ~LMDB()
    {
        Close();
    }
    virtual void Open(const string &source, Mode mode)
    {
        const unsigned flags = mode == READ ? MDB_RDONLY | MDB_NOTLS : 0;

        if (mode == NEW)
            CHECK_EQ(mkdir(source.c_str(), 0744), 0) << "mkdir " << source << " failed";
        MDB_CHECK(mdb_env_create(&env_));
        int err = mdb_env_open(env_, source.c_str(), flags, 0664);
        if (err == EACCES && mode == READ) { /* the lock file cannot be created there */
            mdb_env_close(env_);
            MDB_CHECK(mdb_env_create(&env_));
            err = mdb_env_open(env_, source.c_str(), flags | MDB_NOLOCK, 0664);
        }
        MDB_CHECK(err);
    }
    virtual void Close()
    {
        if (env_)
            mdb_env_close(env_);
        env_ = nullptr;
    }
    virtual Cursor *NewCursor()
    {
        MDB_cursor *cursor;
        MDB_txn *txn;
        MDB_dbi dbi;

        MDB_CHECK(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn));
        MDB_CHECK(mdb_dbi_open(txn, nullptr, 0, &dbi));
        MDB_CHECK(mdb_cursor_open(txn, dbi, &cursor));
        return new LMDBCursor(txn, cursor);
    }
    virtual Transaction *NewTransaction()
    {
        return new LMDBTransaction(env_);
    }

  private:
    MDB_env *env_;
};

} // namespace db
} // namespace caffe

#endif
#endif
