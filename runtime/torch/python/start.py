"""Starts tandem_worker from the texts of its files, which the Go program puts before this one as SOURCES, by
the names of modules. So a Tandem program needs no file of Python beside it."""

import sys

if sys.path[0] == "":  # the working directory, whose files are not those that are imported here
    sys.path.pop(0)

import importlib.abc
import importlib.machinery
import linecache


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of SOURCES."""

    def find_spec(self, name, path=None, target=None):
        if name in SOURCES:
            return importlib.machinery.ModuleSpec(name, self, is_package="." not in name)

    def exec_module(self, module):
        text, file = SOURCES[module.__name__], module.__name__.replace(".", "/") + ".py"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), vars(module))


sys.meta_path.insert(0, Sources())

from tandem_worker.main import main

main()
