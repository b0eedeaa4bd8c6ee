/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dnn/text.hpp
 * Shapes of inputs that a prototxt leaves open: as in OpenCV, the first blob determines them.
 */
#ifndef FERRY_DNN_TEXT_HPP
#define FERRY_DNN_TEXT_HPP

#include <ferry/dnn/types.hpp>

#include <cstring>
#include <map>

FERRY_DNN_BEGIN
namespace detail
{

/**
 * A message of a text, parsed as far as braces require: its fields, each of which is a token or a
 * message.
 */
struct Part {
    struct Field {
        std::string name, token;
        std::shared_ptr<Part> part; /* NULL for a token */
    };
    std::vector<Field> fields;
    size_t end = 0; /* the position of its closing brace */

    const Field *first(const char *name) const
    {
        for (const Field &field : fields) {
            if (field.name == name)
                return &field;
        }
        return nullptr;
    }
};

/** The end of the token that begins at `at`, which is not a space. */
inline size_t token_end(const std::string &text, size_t at)
{
    const char first = text[at];
    size_t end = at + 1;

    if (first == '#')
        return std::min(text.find('\n', at), text.size());
    if (first == '"' || first == '\'') {
        while (end < text.size() && text[end] != first)
            end += text[end] == '\\' ? size_t(2) : size_t(1);
        return std::min(end + 1, text.size());
    }
    if (std::strchr("{}<>", first))
        return end;
    return std::min(text.find_first_of(" \t\r\n{}<>\"'#:;,", at), text.size());
}

/**
 * Adds a token to the innermost of the open messages. `name` is the field's name, "" before there
 * is one.
 */
inline void add_token(std::vector<std::shared_ptr<Part>> &open, std::string &name,
                      const std::string &token, size_t at)
{
    if (token == "{" || token == "<") {
        const std::shared_ptr<Part> part = std::make_shared<Part>();

        open.back()->fields.push_back(Part::Field{ name, "", part });
        open.push_back(part);
        name.clear();
    } else if (token == "}" || token == ">") {
        if (open.size() > 1) {
            open.back()->end = at;
            open.pop_back();
        }
        name.clear();
    } else if (name.empty()) {
        name = token;
    } else {
        open.back()->fields.push_back(Part::Field{ name, token, nullptr });
        name.clear();
    }
}

inline std::shared_ptr<Part> parsed(const std::string &text)
{
    std::vector<std::shared_ptr<Part>> open(1, std::make_shared<Part>());
    const std::shared_ptr<Part> root = open[0];
    std::string name;
    size_t at = 0;

    while ((at = text.find_first_not_of(" \t\r\n:;,", at)) != std::string::npos) {
        const size_t end = token_end(text, at);

        if (text[at] != '#')
            add_token(open, name, text.substr(at, end - at), at);
        at = end;
    }
    root->end = text.size();
    return root;
}

/**
 * The position in a text for the shape of an input; the shape is inserted between `before` and
 * `after`.
 */
struct ShapePlace {
    std::string input;
    size_t at;
    const char *before, *after;
};

inline std::string unquoted(const std::string &token)
{
    return token.size() < 2 ? token : token.substr(1, token.size() - 2);
}

inline bool is_shapeless(const Part &layer)
{
    const Part::Field *type = layer.first("type");

    if (!type || unquoted(type->token) != "Input")
        return false;
    for (const Part::Field &field : layer.fields) {
        if (field.name == "input_param" && field.part && field.part->first("shape"))
            return false;
    }
    return true;
}

/** The inputs without a shape in the text, in the text's order. */
inline std::vector<ShapePlace> shape_places(const std::string &text)
{
    const std::shared_ptr<Part> root = parsed(text);
    const bool with_shapes = root->first("input_dim") || root->first("input_shape");
    std::vector<ShapePlace> places;

    for (const Part::Field &field : root->fields) {
        if (field.name == "input" && !field.part && !with_shapes)
            places.push_back(ShapePlace{ unquoted(field.token), root->end, "input_shape {", "}" });
    }
    for (const Part::Field &layer : root->fields) {
        if (layer.name != "layer" || !layer.part || !is_shapeless(*layer.part))
            continue;
        for (const Part::Field &field : layer.part->fields) {
            if (field.name == "top" && !field.part)
                places.push_back(ShapePlace{ unquoted(field.token), layer.part->end,
                                             "input_param { shape {", "} }" });
        }
    }
    return places;
}

/** Whether a text has no layers. */
inline bool is_empty(const std::string &text)
{
    const std::shared_ptr<Part> root = parsed(text);

    return !root->first("layer") && !root->first("layers");
}

/** Inserts shapes, by input, at those positions of the text. */
inline std::string with_shapes(std::string text, const std::map<std::string, MatShape> &shapes)
{
    const std::vector<ShapePlace> places = shape_places(text);

    for (size_t k = places.size(); k-- > 0;) {
        std::string shape;

        for (int dim : shapes.at(places[k].input))
            shape += " dim: " + std::to_string(dim);
        text.insert(places[k].at,
                    std::string("\n") + places[k].before + shape + " " + places[k].after + "\n");
    }
    return text;
}

/** Adds a layer to a text without layers, and the shapes of all inputs. */
inline std::string with_a_layer(const std::string &text)
{
    std::map<std::string, MatShape> shapes;

    for (const ShapePlace &place : shape_places(text))
        shapes[place.input] = MatShape{ 1 };
    return with_shapes(text, shapes) +
           "\nlayer { type: 'DummyData' top: 'ferry' dummy_data_param { shape { dim: 1 } } }";
}

} // namespace detail
FERRY_DNN_END

#endif
