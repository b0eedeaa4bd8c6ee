#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Removes declarations that Sphinx would see twice from Doxygen's XML: declared.py FOLDER.

These are `typedef struct X X` and the like, because Sphinx's domain for C has one namespace, and the
namespaces of C++, which every file would declare again."""

import glob
import re
import sys
import xml.etree.ElementTree as tree


def main(folder):
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
