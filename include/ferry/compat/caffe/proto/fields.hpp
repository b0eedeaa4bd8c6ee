/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/proto/fields.hpp
 * The fields of ferry's own message classes (caffe.pb.h), with the accessors that protobuf would
 * generate, and the conversion of messages to text, which ferry reads. Not for programs.
 */
#ifndef FERRY_COMPAT_CAFFE_PROTO_FIELDS_HPP
#define FERRY_COMPAT_CAFFE_PROTO_FIELDS_HPP

#include <ferry/compat/caffe/detail/runtime.hpp>
#include <ferry/proto.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace caffe
{

class Message;

namespace detail
{

class PartList;

/** A field of a message, by its name. */
class Field
{
  public:
    Field(Message *message, const char *name);
    virtual ~Field()
    {
    }
    Field(const Field &) = delete;
    Field &operator=(const Field &) = delete;
    virtual void clear() = 0;
    /** Copies the same field of another message of this class. */
    virtual void copy(const Field &from) = 0;
    virtual void write(std::string *text, const char *type) const = 0;
    virtual void read(const ferry_proto *from) = 0;

  protected:
    const char *const name_;
};

} // namespace detail

/** The base class of messages. */
class Message
{
  public:
    Message()
    {
    }
    virtual ~Message()
    {
    }
    /** "LayerParameter". */
    virtual const char *message_type() const = 0;
    void Clear()
    {
        for (detail::Field *field : fields_)
            field->clear();
    }
    /** The text, as protobuf prints it. */
    std::string text() const
    {
        std::string text;

        for (const detail::Field *field : fields_)
            field->write(&text, message_type());
        return text;
    }
    std::string DebugString() const
    {
        return text();
    }
    /** Reads the fields of this class from a message in a tree. */
    void read(const ferry_proto *from)
    {
        for (detail::Field *field : fields_)
            field->read(from);
    }

  protected:
    Message(const Message &)
    {
    }
    void copy(const Message &from)
    {
        for (size_t i = 0; this != &from && i < fields_.size(); i++)
            fields_[i]->copy(*from.fields_[i]);
    }

  private:
    friend class detail::Field;
    friend class detail::PartList;

    std::vector<detail::Field *> fields_;
};

namespace detail
{

inline Field::Field(Message *message, const char *name) : name_(name)
{
    message->fields_.push_back(this);
}

/* ---- values as text, and from a tree ---- */

inline std::string value_text(double value, int digits)
{
    char text[40];

    std::snprintf(text, sizeof text, "%.*g", digits, value);
    return text;
}
inline std::string value_text(float value)
{
    return value_text(static_cast<double>(value), 9);
}
inline std::string value_text(double value)
{
    return value_text(value, 17);
}
inline std::string value_text(bool value)
{
    return value ? "true" : "false";
}
template <typename T> std::string value_text(T value)
{
    return std::to_string(value);
}
/** In quotes; bytes other than printable ASCII become octal escapes. */
inline std::string value_text(const std::string &value)
{
    std::string text = "\"";

    for (const char c : value) {
        char octal[8];

        std::snprintf(octal, sizeof octal, "\\%03o",
                      static_cast<unsigned>(static_cast<unsigned char>(c)));
        if (c < ' ' || c > '~' || c == '"' || c == '\\')
            text += octal;
        else
            text += c;
    }
    return text + "\"";
}
/** The name of an enum's value. */
inline std::string choice_text(const char *type, const char *field, int number)
{
    ferry_proto_field found = ferry_proto_field();
    const char *name = nullptr;
    int one = 0;

    found.struct_size = sizeof found;
    for (int64_t i = 0; i < ferry_proto_schema_field_count(type); i++) {
        checked(ferry_proto_schema_field_at(type, i, &found));
        for (int64_t k = 0; std::string(field) == found.name && k < found.choice_count; k++) {
            checked(ferry_proto_schema_choice_at(type, i, k, &name, &one));
            if (one == number)
                return name;
        }
    }
    return std::to_string(number);
}

inline void get(const ferry_proto *from, const char *name, int64_t index, bool *out)
{
    *out = ferry_proto_boolean(from, name, index) != 0;
}
inline void get(const ferry_proto *from, const char *name, int64_t index, float *out)
{
    *out = static_cast<float>(ferry_proto_real(from, name, index));
}
inline void get(const ferry_proto *from, const char *name, int64_t index, double *out)
{
    *out = ferry_proto_real(from, name, index);
}
inline void get(const ferry_proto *from, const char *name, int64_t index, std::string *out)
{
    size_t size = 0;
    const char *const bytes = ferry_proto_string(from, name, index, &size);

    out->assign(bytes, size);
}
template <typename T> void get(const ferry_proto *from, const char *name, int64_t index, T *out)
{
    *out = static_cast<T>(ferry_proto_integer(from, name, index));
}

/* ---- kinds of fields ---- */

/** One number or string. */
template <typename T> class One : public Field
{
  public:
    One(Message *message, const char *name, const T &standard)
        : Field(message, name), has(false), value(standard), standard_(standard)
    {
    }
    void set(const T &to)
    {
        value = to;
        has = true;
    }
    virtual void clear()
    {
        value = standard_;
        has = false;
    }
    virtual void copy(const Field &from)
    {
        value = static_cast<const One &>(from).value;
        has = static_cast<const One &>(from).has;
    }
    virtual void write(std::string *text, const char *) const
    {
        if (has)
            *text += std::string(name_) + ": " + value_text(value) + "\n";
    }
    virtual void read(const ferry_proto *from)
    {
        clear();
        if (!ferry_proto_value_count(from, name_))
            return;
        get(from, name_, 0, &value);
        has = true;
    }

    bool has;
    T value;

  private:
    const T standard_;
};

/** One value of an enum. */
template <typename T> class Choice : public One<T>
{
  public:
    Choice(Message *message, const char *name, T standard) : One<T>(message, name, standard)
    {
    }
    virtual void write(std::string *text, const char *type) const
    {
        if (this->has)
            *text += std::string(this->name_) + ": " +
                     choice_text(type, this->name_, static_cast<int>(this->value)) + "\n";
    }
};

/** Many numbers or strings. */
template <typename T> class Many : public Field
{
  public:
    Many(Message *message, const char *name) : Field(message, name)
    {
    }
    virtual void clear()
    {
        values.clear();
    }
    virtual void copy(const Field &from)
    {
        values = static_cast<const Many &>(from).values;
    }
    virtual void write(std::string *text, const char *) const
    {
        for (size_t i = 0; i < values.size(); i++)
            *text +=
                std::string(name_) + ": " + value_text(static_cast<const T &>(values[i])) + "\n";
    }
    virtual void read(const ferry_proto *from)
    {
        values.clear();
        for (int64_t i = 0; i < ferry_proto_value_count(from, name_); i++) {
            T value = T();

            get(from, name_, i, &value);
            values.push_back(value);
        }
    }

    std::vector<T> values;
};

/** Many values of an enum. */
template <typename T> class Choices : public Many<T>
{
  public:
    Choices(Message *message, const char *name) : Many<T>(message, name)
    {
    }
    virtual void write(std::string *text, const char *type) const
    {
        for (T value : this->values)
            *text += std::string(this->name_) + ": " +
                     choice_text(type, this->name_, static_cast<int>(value)) + "\n";
    }
};

/**
 * Messages: one, created when it is accessed, or many, whose addresses do not change. Only Parts
 * knows their class, so that a compiler sees this code once, not for each class.
 */
class PartList : public Field
{
  public:
    PartList(Message *message, const char *name) : Field(message, name)
    {
    }
    bool empty() const
    {
        return parts_.empty();
    }
    int size() const
    {
        return static_cast<int>(parts_.size());
    }
    virtual void clear()
    {
        parts_.clear();
    }
    virtual void copy(const Field &from)
    {
        parts_.clear();
        for (const auto &one : static_cast<const PartList &>(from).parts_)
            add_part()->copy(*one);
    }
    virtual void write(std::string *text, const char *) const
    {
        for (const auto &one : parts_)
            *text += std::string(name_) + " {\n" + one->text() + "}\n";
    }
    virtual void read(const ferry_proto *from)
    {
        parts_.clear();
        for (int64_t i = 0; i < ferry_proto_value_count(from, name_); i++)
            add_part()->read(ferry_proto_message(from, name_, i));
    }

  protected:
    Message *add_part()
    {
        parts_.push_back(std::unique_ptr<Message>(fresh()));
        return parts_.back().get();
    }
    Message *part_at(int index) const
    {
        return parts_.at(static_cast<std::size_t>(index)).get();
    }

  private:
    virtual Message *fresh() const = 0;

    std::vector<std::unique_ptr<Message>> parts_;
};

template <typename T> class Parts : public PartList
{
  public:
    Parts(Message *message, const char *name) : PartList(message, name)
    {
    }
    T *add()
    {
        return static_cast<T *>(add_part());
    }
    T *first()
    {
        return empty() ? add() : at(0);
    }
    T *at(int index) const
    {
        return static_cast<T *>(part_at(index));
    }
    const T &seen() const
    {
        return empty() ? T::default_instance() : *at(0);
    }

  private:
    virtual Message *fresh() const
    {
        return new T();
    }
};

} // namespace detail
} // namespace caffe

/* ---- in a class: the class itself, and one field with its accessors ---- */

#define FERRY_MESSAGE(T)                     \
    T()                                      \
    {                                        \
    }                                        \
    T(const T &from) : Message()             \
    {                                        \
        copy(from);                          \
    }                                        \
    T &operator=(const T &from)              \
    {                                        \
        copy(from);                          \
        return *this;                        \
    }                                        \
    void CopyFrom(const T &from)             \
    {                                        \
        copy(from);                          \
    }                                        \
    virtual const char *message_type() const \
    {                                        \
        return #T;                           \
    }                                        \
    static const T &default_instance()       \
    {                                        \
        static const T *const one = new T(); \
        return *one;                         \
    }

#define FERRY_ONE(kind, T, name, standard)            \
    bool has_##name() const                           \
    {                                                 \
        return name##_.has;                           \
    }                                                 \
    const T &name() const                             \
    {                                                 \
        return name##_.value;                         \
    }                                                 \
    void set_##name(const T &value)                   \
    {                                                 \
        name##_.set(value);                           \
    }                                                 \
    T *mutable_##name()                               \
    {                                                 \
        name##_.has = true;                           \
        return &name##_.value;                        \
    }                                                 \
    void clear_##name()                               \
    {                                                 \
        name##_.clear();                              \
    }                                                 \
                                                      \
  private:                                            \
    detail::kind<T> name##_{ this, #name, standard }; \
                                                      \
  public:
#define FERRY_MANY(kind, T, name)                                   \
    int name##_size() const                                         \
    {                                                               \
        return static_cast<int>(name##_.values.size());             \
    }                                                               \
    T name(int index) const                                         \
    {                                                               \
        return name##_.values.at(static_cast<std::size_t>(index));  \
    }                                                               \
    const std::vector<T> &name() const                              \
    {                                                               \
        return name##_.values;                                      \
    }                                                               \
    std::vector<T> *mutable_##name()                                \
    {                                                               \
        return &name##_.values;                                     \
    }                                                               \
    void set_##name(int index, const T &value)                      \
    {                                                               \
        name##_.values.at(static_cast<std::size_t>(index)) = value; \
    }                                                               \
    void add_##name(const T &value)                                 \
    {                                                               \
        name##_.values.push_back(value);                            \
    }                                                               \
    void clear_##name()                                             \
    {                                                               \
        name##_.clear();                                            \
    }                                                               \
                                                                    \
  private:                                                          \
    detail::kind<T> name##_{ this, #name };                         \
                                                                    \
  public:
#define FERRY_PART(T, name)                  \
    bool has_##name() const                  \
    {                                        \
        return !name##_.empty();             \
    }                                        \
    const T &name() const                    \
    {                                        \
        return name##_.seen();               \
    }                                        \
    T *mutable_##name()                      \
    {                                        \
        return name##_.first();              \
    }                                        \
    void clear_##name()                      \
    {                                        \
        name##_.clear();                     \
    }                                        \
                                             \
  private:                                   \
    detail::Parts<T> name##_{ this, #name }; \
                                             \
  public:
#define FERRY_PARTS(T, name)                 \
    int name##_size() const                  \
    {                                        \
        return name##_.size();               \
    }                                        \
    const T &name(int index) const           \
    {                                        \
        return *name##_.at(index);           \
    }                                        \
    T *mutable_##name(int index)             \
    {                                        \
        return name##_.at(index);            \
    }                                        \
    T *add_##name()                          \
    {                                        \
        return name##_.add();                \
    }                                        \
    void clear_##name()                      \
    {                                        \
        name##_.clear();                     \
    }                                        \
                                             \
  private:                                   \
    detail::Parts<T> name##_{ this, #name }; \
                                             \
  public:

#endif
