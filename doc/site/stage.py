#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the input of Sphinx for `make site`: stage.py SOURCE BUILD FOLDER.

The pages of the tree are copied to the same paths below FOLDER, with the files that they link to, so that
their links stay valid. Three things are added: a chart below each table of times; the output of the commands
of each block after a line "<!-- run -->", which are run here; and generated pages with lists: the commands,
the manual pages, the symbols of each header and of Python's packages. A command that fails, or one without an
example, is an error."""

import glob
import os
import re
import shutil
import subprocess
import sys

import charts

PAGES = ("README.md", "CONTRIBUTING.md", "HACKING.md", "SECURITY.md", "python/README.md", "triton/README.md")
MODULES = ("ferry", "ferry.caffe", "ferry.caffe.io", "ferry.caffe.net_spec", "ferry.caffe.classifier",
           "ferry.caffe.detector", "ferry.caffe.coord_map", "ferry.caffe.draw", "ferry.dnn", "ferry.mlserver")
# Packages whose names are those of their modules; an exception is documented in the module that declares it.
PACKAGES = {"ferry": "   :imported-members:\n",
            "ferry.caffe": "   :imported-members:\n   :exclude-members: Error, Unsupported\n",
            "ferry.dnn": "   :imported-members:\n   :exclude-members: Error, Unsupported\n"}
RUN = re.compile(r"<!-- run -->\n+```console\n(.*?)```\n", re.DOTALL)


class Stage:
    def __init__(self, source, build, folder):
        self.source, self.build, self.folder = source, build, folder
        self.scratch = self.here = os.path.join(folder, "scratch")
        self.names = subprocess.check_output(["awk", "-v", "page=-names", "-f", f"{source}/man/pages.awk",
                                              f"{source}/tools/ferry/commands.c"], text=True).split()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def run(self, command):
        """The output of a shell command, in the page's own folder; a failure ends the build."""
        env = dict(os.environ, PATH=f"{self.scratch}/bin:{os.environ['PATH']}", FERRY_BACKEND="cpu", LC_ALL="C.UTF-8")
        done = subprocess.run(["sh", "-c", command], cwd=self.here, env=env, text=True, timeout=600, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            sys.exit(f"site: exit status {done.returncode}: {command}\n{done.stdout}")
        return done.stdout.replace(self.build, "build").rstrip("\n")

    def console(self, block):
        """A block with the output of each command below the command, which begins with "$ " and ends before
        the next one."""
        out = []
        for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            printed = self.run(command)
            out += ["$ " + command.rstrip("\n")] + ([printed] if printed else [])
        return "```console\n" + "\n".join(out) + "\n```\n"

    def prepare(self):
        """A folder with links to the programs of the build, by their names."""
        os.makedirs(f"{self.scratch}/bin")
        for name, program in (("ferry", "tools/ferry/ferry"), ("digits", "examples/digits"),
                              ("classify", "examples/classify"), ("first", "examples/first")):
            path = f"{self.scratch}/bin/{name}"
            with open(path, "w", encoding="utf-8") as out:
                out.write(f'#!/bin/sh\nexec "{self.build}/{program}" "$@"\n')
            os.chmod(path, 0o755)
        path = f"{self.scratch}/bin/python3"
        with open(path, "w", encoding="utf-8") as out:
            out.write(f'#!/bin/sh\nPYTHONDONTWRITEBYTECODE=1 PYTHONPATH="{self.source}/python" '
                      f'FERRY_LIBRARY_PATH="{self.build}/.libs" exec {sys.executable} "$@"\n')
        os.chmod(path, 0o755)

    def page(self, name):
        """Copies one page with the files that it links to."""
        with open(f"{self.source}/{name}", encoding="utf-8") as file:
            text = file.read()
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            path = os.path.normpath(os.path.join(os.path.dirname(name), target))
            if ":" in target or target.endswith(".md"):
                continue
            os.makedirs(os.path.dirname(os.path.join(self.folder, path)), exist_ok=True)
            shutil.copyfile(f"{self.source}/{path}", f"{self.folder}/{path}")
        if name.startswith("doc/measurements/"):
            os.makedirs(f"{self.folder}/doc/measurements", exist_ok=True)
            text, _ = charts.with_charts(text, os.path.basename(name)[:-3], f"{self.folder}/doc/measurements")
        self.here = f"{self.scratch}/{name.replace('/', '-')}"
        os.makedirs(self.here)
        os.symlink(f"{self.source}/examples", f"{self.here}/examples")
        if name == "doc/command-examples.md":
            text = self.with_help(text)
        self.write(name, RUN.sub(lambda found: self.console(found[1]), text))

    def with_help(self, text):
        shown = re.findall(r"^## ferry (\S+)$", text, re.MULTILINE)
        if shown != self.names:
            sys.exit(f"site: doc/command-examples.md has {shown}, the commands are {self.names}")
        parts = re.split(r"(?=^## ferry )", text, flags=re.MULTILINE)
        for part, name in zip(parts[1:], shown):
            if not RUN.search(part):
                sys.exit(f"site: doc/command-examples.md: ferry {name} has no example that is run")
        return re.sub(r"^## ferry (\S+)$", lambda found: f"{found[0]}\n\n```none\n{self.run(found[0][3:] + ' --help')}"
                      "\n```", text, flags=re.MULTILINE)

    def manuals(self):
        """The pages of section 1 are in the folder where they were made: the build, or a tarball's sources."""
        pages = {os.path.basename(path): path for path in glob.glob(f"{self.source}/man/*.[1-9]") +
                 glob.glob(f"{self.build}/man/*.[1-9]")}
        for page, path in pages.items():
            text = subprocess.check_output(["groff", "-Kutf8", "-t", "-man", "-Tutf8", "-P-cbou", "-rLL=96n", path],
                                           text=True)
            name, section = page.rsplit(".", 1)
            self.write(f"manual/{page}.md", f"# {name}({section})\n\n```none\n{text.strip()}\n```\n")
        self.index("manual", "Manual pages", sorted(pages, key=lambda page: (page[-1], page)))

    def index(self, folder, title, pages):
        """A page that lists the pages of a folder."""
        listed = "\n".join(pages)
        self.write(f"{folder}/index.md", f"# {title}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n")

    def symbols(self):
        """A page for each header and each module, and the lists of them."""
        listed = {"c": [], "cxx": []}
        include = f"{self.source}/include"
        for folder, _, files in sorted(os.walk(f"{include}/ferry")):
            for file in sorted(files):
                name = os.path.relpath(f"{folder}/{file}", include)
                if not file.endswith((".h", ".hpp")):
                    continue
                group = "c" if name.count("/") == 1 and file.endswith(".h") else "cxx"
                page = name.replace("/", "-")
                listed[group].append(page)
                self.write(f"api/{group}/{page}.rst", f"{name}\n{'=' * len(name)}\n\n.. doxygenfile:: {name}\n")
        for module in MODULES:
            self.write(f"api/python/{module}.rst", f"{module}\n{'=' * len(module)}\n\n.. automodule:: {module}\n"
                       "   :members:\n   :undoc-members:\n" + PACKAGES.get(module, ""))
        self.index("api/c", "C: the headers", listed["c"])
        self.index("api/cxx", "C++: the headers", listed["cxx"])
        self.index("api/python", "Python: the modules", MODULES)

    def all(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.prepare()
        for page in PAGES:
            self.page(page)
        for folder in ("doc", "doc/design", "doc/measurements"):
            for name in sorted(os.listdir(f"{self.source}/{folder}")):
                if name.endswith(".md") and name != "mainpage.md":
                    self.page(f"{folder}/{name}")
        for folder, title in (("doc/design", "The design, by subject"), ("doc/measurements", "Measurements")):
            self.index(folder, title, sorted((name[:-3] for name in os.listdir(f"{self.source}/{folder}")
                                              if name.endswith(".md")), reverse=folder.endswith("measurements")))
        self.manuals()
        self.symbols()
        with open(f"{self.source}/NEWS", encoding="utf-8") as news:
            self.write("news.md", "# Changes\n\n```none\n" + news.read() + "```\n")
        shutil.copyfile(f"{self.source}/doc/site/index.md", f"{self.folder}/index.md")
        shutil.copyfile(f"{self.source}/doc/site/conf.py", f"{self.folder}/conf.py")
        shutil.rmtree(self.scratch)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    Stage(*(os.path.abspath(argument) for argument in sys.argv[1:])).all()
