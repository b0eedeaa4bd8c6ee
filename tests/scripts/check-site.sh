#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make site` makes its pages without a warning. Each exported symbol, header, command and Python
# name has a page. A wrong link, a failing example and a command without an example are found.
# Chromium shows ten pages, whose pictures are stored in the folder FERRY_TEST_PICTURES, if that is
# set.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${NM:=nm}" "${PYTHON:=python3}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"
site=$FERRY_TEST_BUILDDIR/doc/site/html
tools=$FERRY_TEST_SRCDIR/doc/site
PYTHONDONTWRITEBYTECODE=1
export PYTHON PYTHONDONTWRITEBYTECODE
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES LD_LIBRARY_PATH
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

missing=
"$PYTHON" -c 'import breathe, myst_parser, sphinx' 2>/dev/null || missing='Sphinx, Breathe or MyST'
command -v doxygen >/dev/null 2>&1 || missing=Doxygen
command -v groff >/dev/null 2>&1 || missing=groff
for library in net io; do
    [ -e "$FERRY_TEST_BUILDDIR/.libs/libferry$library.so" ] || missing="libferry$library"
done
if [ -n "$missing" ]; then
    skip the_pages_are_generated "there is no $missing"
    finish site
fi

made() {
    "${MAKE:-make}" -s -C "$FERRY_TEST_BUILDDIR" site >"$scratch/made" 2>&1 || {
        tail -n 20 "$scratch/made"
        return 1
    }
}

# Sphinx writes an element with the name of each declaration, with a prefix of its own for C.
symbols_are_described() {
    find "$site/api/c" -name '*.html' -exec grep -ohE 'id="c\.ferry[a-z0-9_]+"' {} + | sed 's/id="c\.//; s/"//' |
        sort -u >"$scratch/described"
    for library in "$FERRY_TEST_BUILDDIR"/.libs/libferry*.so; do
        # shellcheck disable=SC2086 # a program with options
        $NM -D --defined-only "$library" | sed -n 's/.* T \(ferry_[^@]*\).*/\1/p'
    done | sort -u >"$scratch/exported"
    [ "$(wc -l <"$scratch/exported")" -gt 300 ] || { echo 'few symbols were exported'; return 1; }
    comm -23 "$scratch/exported" "$scratch/described" >"$scratch/lost"
    [ ! -s "$scratch/lost" ] || { echo "not described: $(tr '\n' ' ' <"$scratch/lost")"; return 1; }
}

python_names_are_described() {
    PYTHONPATH=$FERRY_TEST_SRCDIR/python FERRY_LIBRARY_PATH=$FERRY_TEST_BUILDDIR/.libs "$PYTHON" - "$site/api/python/ferry.html" <<'END'
import inspect
import re
import sys
import ferry
ids = set(re.findall(r'id="([^"]+)"', open(sys.argv[1], encoding="utf-8").read()))
names = [name for name in ferry.__all__ if inspect.isclass(getattr(ferry, name)) or inspect.isroutine(getattr(ferry, name))]
lost = [name for name in names if not any(i == "ferry." + name or i.endswith("." + name) for i in ids)]
sys.exit(f"not described: {lost}" if lost or len(names) < 30 else 0)
END
}

headers_have_pages() {
    (cd "$FERRY_TEST_SRCDIR/include" && find ferry -name '*.h' -o -name '*.hpp') | tr / - | while read -r page; do
        [ -f "$site/api/c/$page.html" ] || [ -f "$site/api/cxx/$page.html" ] || echo "$page has no page"
    done | grep . && return 1
    return 0
}

wrong_links_are_found() {
    mkdir -p "$scratch/links"
    printf '<a href="there.html#here">x</a><a href="https://example.org/">y</a>' >"$scratch/links/a.html"
    printf '<p id="here">' >"$scratch/links/there.html"
    "$PYTHON" "$tools/links.py" "$scratch/links" >/dev/null || { echo 'right links are refused'; return 1; }
    for link in gone.html there.html#gone ../outside.html https:// htps://example.org; do
        printf '<a href="%s">x</a>' "$link" >"$scratch/links/b.html"
        ! "$PYTHON" "$tools/links.py" "$scratch/links" >/dev/null || { echo "$link is accepted"; return 1; }
    done
}

# staged SED: runs stage.py on the sources, with the page of examples changed.
staged() {
    rm -rf "$scratch/source" "$scratch/pages"
    mkdir "$scratch/source"
    for entry in "$FERRY_TEST_SRCDIR"/*; do ln -s "$entry" "$scratch/source/"; done
    rm "$scratch/source/doc"
    cp -r "$FERRY_TEST_SRCDIR/doc" "$scratch/source/doc"
    sed -i "$1" "$scratch/source/doc/command-examples.md"
    "$PYTHON" "$tools/stage.py" "$scratch/source" "$FERRY_TEST_BUILDDIR" "$scratch/pages" >"$scratch/staged" 2>&1
}

bad_examples_are_found() {
    ! staged 's/^\$ ferry layers ReLU$/$ ferry layers Nothing/' || { echo 'a failing example passes'; return 1; }
    grep -q 'ferry layers Nothing' "$scratch/staged" || { cat "$scratch/staged"; return 1; }
    ! staged '/^\$ ferry layers ReLU$/d; s/^## ferry layers$/## ferry layer/' ||
        { echo 'a command without a section passes'; return 1; }
    grep -q 'the commands are' "$scratch/staged" || { cat "$scratch/staged"; return 1; }
}

PAGES='index doc/quick-start doc/command-examples doc/caffe doc/training doc/coherence doc/formats api/c/ferry-blob.h
    api/python/ferry doc/measurements/2026-11-30-nets-beside-others'

# shown: takes a picture of each page and checks that it has several colours: the picture of a page
# that is not drawn is small.
shown() {
    pictures=${FERRY_TEST_PICTURES-$scratch/pictures}
    mkdir -p "$pictures"
    for page in $PAGES; do
        picture=$pictures/$(echo "$page" | tr / -).png
        rm -f "$picture"
        "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$scratch/profile" \
            --window-size=1200,1600 --screenshot="$picture" "file://$site/$page.html" >"$scratch/chromium" 2>&1
        [ -f "$picture" ] || { tail -n 5 "$scratch/chromium"; return 1; }
        [ "$(wc -c <"$picture")" -gt 30000 ] || { echo "$page: a picture of $(wc -c <"$picture") bytes"; return 1; }
    done
}

check the_pages_are_generated made
if [ "$failed" -eq 0 ]; then
    check every_exported_symbol_is_described symbols_are_described
    check every_header_has_a_page headers_have_pages
    check every_python_name_is_described python_names_are_described
    check every_table_of_times_has_a_chart "$PYTHON" "$tools/charts.py" "$FERRY_TEST_SRCDIR/doc/measurements" "$site/_images"
    check bad_examples_are_found bad_examples_are_found
    chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || chromium=
    if [ -n "$chromium" ]; then
        check ten_pages_are_rendered shown
    else
        skip ten_pages_are_rendered 'there is no Chromium'
    fi
fi
check wrong_links_are_found wrong_links_are_found
finish site
