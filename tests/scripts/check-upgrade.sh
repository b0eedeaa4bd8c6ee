#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compares `ferry upgrade` with Caffe's upgrade_net_proto_text, upgrade_net_proto_binary and
# upgrade_solver_proto_text, which are made from a tree of Caffe: on the nets of FERRY_TEST_DATA, on
# the texts of Caffe's test_upgrade_proto.cpp and on those nets in the V1 form (--to v1). Texts and
# binary files must have equal bytes. Usage: check-upgrade.sh CAFFE_TREE
#
# Requires Python and the development files of protobuf and its compiler; PROTOC, CPPFLAGS and
# LDFLAGS say where, if they are not installed. Caffe's functions are compiled unchanged; the
# programs around them are this script's, since Caffe's need glog, gflags and Boost.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${CXX:=c++}" "${PROTOC:=protoc}" "${PYTHON:=python3}" "${AWK:=awk}"
: "${CPPFLAGS:=}" "${LDFLAGS:=}" "${FERRY_TEST_DATA:=}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ $# -lt 1 ]; then
    skip caffes_upgrade_tools 'no tree of Caffe was named'
    finish upgrade
fi
if ! command -v "$PROTOC" >/dev/null; then
    skip caffes_upgrade_tools 'no protoc was found (Debian: protobuf-compiler, libprotobuf-dev)'
    finish upgrade
fi
caffe=$(cd "$1" && pwd) || exit 1
ferry=$(cd "$FERRY_TEST_BUILDDIR" && pwd)/tools/ferry/ferry
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/caffe/proto" "$work/caffe/util" "$work/boost" "$work/texts" || exit 1

# ---- Caffe's functions ---------------------------------------------------------------------------

cat >"$work/caffe/common.hpp" <<'EOF'
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>
using namespace std;
struct Line {
    std::ostringstream text;
    bool ends;
    explicit Line(bool fatal) : ends(fatal) {}
    ~Line()
    {
        std::cerr << text.str() << '\n';
        if (ends)
            std::exit(3);
    }
};
#define LOG(level) Line(*#level == 'F').text
#define CHECK(x) if (!(x)) Line(true).text << #x
#define CHECK_EQ(a, b) CHECK((a) == (b))
EOF
cat >"$work/caffe/util/io.hpp" <<'EOF'
#include <google/protobuf/message.h>
bool ReadProtoFromTextFile(const std::string &path, google::protobuf::Message *to);
bool ReadProtoFromBinaryFile(const std::string &path, google::protobuf::Message *to);
EOF
printf '#include <filesystem>\nnamespace boost { namespace filesystem = std::filesystem; }\n' \
    >"$work/boost/filesystem.hpp"
cat >"$work/main.cpp" <<'EOF'
#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/io.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include <fstream>
#include <google/protobuf/text_format.h>
#include <iterator>

static std::string contents(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);

    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

bool ReadProtoFromTextFile(const std::string &path, google::protobuf::Message *to)
{
    return google::protobuf::TextFormat::ParseFromString(contents(path), to);
}

bool ReadProtoFromBinaryFile(const std::string &path, google::protobuf::Message *to)
{
    return to->ParseFromString(contents(path));
}

/* text|binary|solver IN OUT; "wire" writes a text in binary form. */
int main(int argc, char **argv)
{
    std::string mode = argc == 4 ? argv[1] : "", result;
    caffe::NetParameter net;
    caffe::SolverParameter solver;

    if (mode == "solver" ? !ReadProtoFromTextFile(argv[2], &solver)
        : mode == "binary" ? !ReadProtoFromBinaryFile(argv[2], &net)
                           : !ReadProtoFromTextFile(argv[2], &net))
        return 2;
    bool good = mode == "wire" || (mode == "solver" ? caffe::UpgradeSolverAsNeeded(argv[2], &solver)
                                                    : caffe::UpgradeNetAsNeeded(argv[2], &net));
    if (mode == "solver")
        google::protobuf::TextFormat::PrintToString(solver, &result);
    else if (mode == "text")
        google::protobuf::TextFormat::PrintToString(net, &result);
    else
        net.SerializeToString(&result);
    std::ofstream(argv[3], std::ios::binary) << result;
    return good ? 0 : 1;
}
EOF
"$PROTOC" -I"$caffe/src/caffe/proto" --cpp_out="$work/caffe/proto" caffe.proto 2>"$work/log" || {
    fail caffes_upgrade_tools "$(cat "$work/log")"
    finish upgrade
}
# shellcheck disable=SC2086
nice -n 5 $CXX -std=c++17 -O0 -w -I"$work" -I"$work/caffe/proto" $CPPFLAGS -I"$caffe/include" -o "$work/oracle" \
    "$work/main.cpp" "$caffe/src/caffe/util/upgrade_proto.cpp" "$work/caffe/proto/caffe.pb.cc" $LDFLAGS \
    -lprotobuf -lpthread 2>"$work/log" || {
    fail caffes_upgrade_tools "$(head -5 "$work/log")"
    finish upgrade
}

# ---- the texts -----------------------------------------------------------------------------------

cp "$FERRY_TEST_DATA"/nets/prototxt/*.prototxt "$work/texts/" 2>/dev/null
for text in "$work"/texts/*.prototxt; do
    [ -f "$text" ] && "$ferry" upgrade --to v1 "$text" "${text%.prototxt}-v1.prototxt" 2>/dev/null
done
# The string literals of Caffe's tests, one text for each variable.
"$PYTHON" - "$caffe/src/caffe/test/test_upgrade_proto.cpp" "$work/texts" <<'EOF'
import ast, re, sys

source = open(sys.argv[1]).read()
literal = r'"(?:[^"\\]|\\.)*"'
pattern = r'const string&? *(\w+) *=\s*((?:' + literal + r'\s*)+);'
for i, found in enumerate(re.finditer(pattern, source)):
    text = ''.join(ast.literal_eval(s) for s in re.findall(literal, found.group(2)))
    kind = 'solver' if 'solver' in found.group(1) else 'caffe'
    open('%s/%s-%03d.prototxt' % (sys.argv[2], kind, i), 'w').write(text)
EOF

# ---- comparison ----------------------------------------------------------------------------------

# same MODE IN: whether both tools write the same bytes and agree about success. ferry copies a text that
# needs no change, which Caffe prints anew: such a copy is printed by protobuf before it is compared.
same() {
    rm -f "$work/theirs" "$work/ours"
    "$work/oracle" "$1" "$2" "$work/theirs" 2>"$work/theirs.log"
    theirs=$?
    "$ferry" upgrade "$2" "$work/ours" 2>"$work/ours.log"
    ours=$?
    if [ $theirs -gt 1 ]; then
        [ $ours = 1 ] && [ ! -e "$work/ours" ]
        return
    fi
    [ $theirs = $ours ] || return 1
    if [ "$1" != binary ] && cmp -s "$2" "$work/ours"; then
        "$work/oracle" "$1" "$work/ours" "$work/printed" 2>/dev/null && mv "$work/printed" "$work/ours"
    fi
    cmp -s "$work/theirs" "$work/ours"
}

# compare MODE NAME IN
compare() {
    if same "$1" "$3"; then
        pass "$2"
    else
        fail "$2" "$(tail -1 "$work/ours.log")" "$(diff "$work/theirs" "$work/ours" 2>&1 | head -5)"
    fi
}

for text in "$work"/texts/*.prototxt; do
    name=$(basename "$text" .prototxt)
    case $name in
    solver-*) compare solver "$name" "$text" ;;
    *)
        if "$work/oracle" wire "$text" "$work/binary" 2>/dev/null; then
            compare text "$name" "$text"
            compare binary "$name.caffemodel" "$work/binary"
        else
            skip "$name" "Caffe cannot read the text: it has fields of a fork"
        fi
        ;;
    esac
done
# without_input_names: a net as protobuf prints it; an Input layer's name, which V1 lacks, becomes "input".
without_input_names() {
    "$AWK" '/type: "Input"/ { sub(/".*"/, "\"input\"", held) }
        { if (NR > 1) print held; held = $0 } END { print held }' "$1"
}

# The V1 form of a net upgrades to the net itself.
for text in "$work"/texts/*-v1.prototxt; do
    [ -f "$text" ] || continue
    v2=${text%-v1.prototxt}.prototxt
    "$work/oracle" text "$text" "$work/theirs" 2>/dev/null && "$ferry" upgrade "$v2" "$work/ours" 2>/dev/null &&
        "$work/oracle" text "$work/ours" "$work/printed" 2>/dev/null
    without_input_names "$work/theirs" >"$work/there"
    without_input_names "$work/printed" >"$work/back"
    check "$(basename "$text" -v1.prototxt)_there_and_back" cmp "$work/there" "$work/back"
done
finish upgrade
