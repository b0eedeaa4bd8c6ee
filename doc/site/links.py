#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the links of the pages in a folder: links.py FOLDER.

A link within the folder names a file there and, after "#", an element of it; a link to another site is an absolute address
of http or https, or of mailto, and is not opened. Prints each that is wrong."""

import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.names = [], set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or name == "name" and tag == "a":
                self.names.add(value)
            elif name in ("href", "src") and value is not None:
                self.links.append(value)


def wrong(link, path, folder, pages):
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc:
        return not (parts.scheme in ("http", "https") and "." in parts.netloc or
                    parts.scheme == "mailto" and "@" in parts.path)
    to = path
    if parts.path:
        to = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path)))
    if not to.startswith(folder + os.sep) or not os.path.isfile(to):
        return True
    return bool(parts.fragment) and to in pages and urllib.parse.unquote(parts.fragment) not in pages[to].names


def main(folder):
    folder = os.path.abspath(folder)
    pages = {}
    for place, _, files in os.walk(folder):
        pages.update((f"{place}/{name}", Page(f"{place}/{name}")) for name in files if name.endswith(".html"))
    bad = [f"{os.path.relpath(path, folder)}: {link}" for path, page in sorted(pages.items())
           for link in page.links if link != "#" and wrong(link, path, folder, pages)]
    print("\n".join(bad + [f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, "
                           f"{len(bad)} wrong"]))
    return 1 if bad or not pages else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
