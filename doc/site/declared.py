#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Adapts Doxygen's XML to Sphinx and Breathe: declared.py FOLDER.

Declarations that Sphinx would see twice are removed: `typedef struct X X` and the like, because Sphinx's domain
for C has one namespace, and the namespaces of C++, which every file would declare again. In the index, files get
their paths as names: Breathe 5 looks for a header there, and Doxygen writes its last component only."""

import glob
import re
import sys
import xml.etree.ElementTree as tree


def name_files(folder):
    """Replaces the names of files in the index by their paths."""
    index = tree.parse(f"{folder}/index.xml")
    for compound in index.iter("compound"):
        if compound.get("kind") == "file":
            parsed = tree.parse(f"{folder}/{compound.get('refid')}.xml")
            compound.find("name").text = parsed.find("compounddef/location").get("file")
    index.write(f"{folder}/index.xml", encoding="utf-8", xml_declaration=True)


def main(folder):
    name_files(folder)
    for path in glob.glob(f"{folder}/*_8h.xml") + glob.glob(f"{folder}/*_8hpp.xml"):
        parsed = tree.parse(path)
        for section in parsed.iter("sectiondef"):
            for member in section.findall("memberdef[@kind='typedef']"):
                if re.fullmatch(r"typedef (struct|enum|union) (\w+) \2", member.findtext("definition")):
                    section.remove(member)
        for compound in parsed.iter("compounddef"):
            for namespace in compound.findall("innernamespace"):
                compound.remove(namespace)
            for section in compound.findall("sectiondef"):
                if section.find("memberdef") is None:
                    compound.remove(section)
        parsed.write(path, encoding="utf-8", xml_declaration=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
