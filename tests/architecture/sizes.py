# SPDX-License-Identifier: Apache-2.0
"""How long classes and functions are, read from sources that clang-format has laid out.

A class is all lines of its body and of the members that are defined outside of it, wherever they stand, with what is nested in it; a function
is all lines from its name to its closing brace. Lines are told by their first column, so no parser is needed: at file scope a definition begins in column 0 and ends with
a brace there, in the body of a class both stand in column 2.
"""
import re
from collections import defaultdict
from dataclasses import dataclass, field

CLASS = re.compile(r"^(?:template\s*<.*>\s*)?(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?([A-Za-z_][\w:]*)(?:\s+final)?\b[^;()]*\{\s*$")
MEMBER = re.compile(r"(?:^|[\s*&(])((?:[A-Za-z_]\w*::)+)(~?[A-Za-z_]\w*|operator\s*\S+?)\s*\($")
NAME = re.compile(r"(~?[A-Za-z_]\w*|operator\s*[^\s(]+)\s*\($")
NAMESPACE = {"viz": "viz::"}  # folders whose names may stand elsewhere, too
ATTRIBUTE = re.compile(r"__launch_bounds__\([^)]*\)\s*")
NO_FUNCTION = re.compile(r"^\s*(?:namespace|class|struct|enum|union|extern\s+\"C\"|using|typedef|if|for|while|switch|do|else|return|case|default|#|//|[{}])\b")


@dataclass
class Class:
    n_lines: int = 0
    files: set = field(default_factory=set)


def head_of(lines, start, indent):
    """(signature up to its brace, index of the line with the brace), or None where no function begins."""
    head = ""
    for i in range(start, min(start + 12, len(lines))):
        line = lines[i]
        if i > start and line and len(line) - len(line.lstrip()) <= indent and line.strip()[0] not in ":){":
            return None
        head += line.strip() + " "
        if line.rstrip().endswith("{"):
            return head, i
        if line.rstrip().endswith((";", "}")):
            return None
    return None


def definitions(text):
    """(kind, name, lines, scope): classes ("class", name) and functions ("function", name; scope: the class of a member or None)."""
    lines = text.splitlines()
    depth_class = None
    for i, line in enumerate(lines):
        if found := CLASS.match(line):
            end = next((j for j in range(i, len(lines)) if lines[j].startswith("}")), len(lines) - 1)
            depth_class = (found[1], end)
            yield "class", found[1], end - i + 1, None
            continue
        inside = depth_class is not None and i < depth_class[1]
        indent = 2 if inside else 0
        if not line.strip() or len(line) - len(line.lstrip()) != indent or "(" not in line or NO_FUNCTION.match(line):
            continue
        head = head_of(lines, i, indent)
        if head is None:
            continue
        signature = ATTRIBUTE.sub("", head[0])
        before = signature[: signature.index("(") + 1]
        closing = " " * indent + "}"
        end = next((j for j in range(head[1] + 1, len(lines)) if lines[j].startswith(closing)), None)
        if end is None:
            continue
        if inside:
            named = NAME.search(before)
            if named:
                yield "function", f"{depth_class[0]}::{named[1]}", end - i + 1, None
        elif member := MEMBER.search(before):
            yield "function", member[1] + member[2], end - i + 1, member[1].split("::")[0]
        elif named := NAME.search(before):
            yield "function", named[1], end - i + 1, None


def measure(files):
    """files: (path, text). (classes by name, [(path, function, lines)])."""
    classes, functions = defaultdict(Class), []
    found = [(path, *definition) for path, text in files for definition in definitions(text)]
    # Two sources may have a class of their own with one name; a part that is nested (Session::Impl) is not one's own.
    own = {(path, name) for path, kind, name, _, _ in found if kind == "class" and "::" not in name and path.endswith((".cpp", ".cu"))}
    for path, kind, name, n_lines, scope in found:
        if kind == "function":
            functions.append((path, name, n_lines))
        owner = name if kind == "class" else scope
        if owner:
            known = classes[f"{path}: {owner}" if (path, owner) in own else NAMESPACE.get(path.split("/")[0], "") + owner.split("::")[0]]
            known.n_lines += n_lines
            known.files.add(path)
    return classes, functions


def check(files, class_limits, function_lines, long_functions):
    """(errors, warnings). class_limits: lines, files. long_functions: what is over the limit today, with its length as its ceiling."""
    classes, functions = measure(files)
    sizes = {name: (c.n_lines, len(c.files)) for name, c in classes.items()}
    over = {name: size for name, size in sizes.items() if any(a > b for a, b in zip(size, class_limits))}
    longest = defaultdict(int)
    for path, name, n_lines in functions:
        longest[f"{path}: {name}"] = max(n_lines, longest[f"{path}: {name}"])
    errors, warnings = [], []
    for name, (n_lines, n_files) in sorted(over.items()):
        errors.append(f"{name}: {n_lines} lines in {n_files} files, at most {class_limits[0]} lines in {class_limits[1]} files: one idea each")
    too_long = {name: n for name, n in longest.items() if n > function_lines}
    for name, n in sorted(too_long.items()):
        if name not in long_functions:
            errors.append(f"{name}: {n} lines, at most {function_lines} lines: one idea each")
        elif n > long_functions[name]:
            errors.append(f"{name}: {n} lines, was {long_functions[name]} lines: an exception may only shrink")
        else:
            warnings.append(f"{name}: {n} lines, at most {function_lines} lines but for a known exception")
    warnings += [f"{name}: gone or within the limits: take it off the list of exceptions" for name in sorted(set(long_functions) - set(too_long))]
    return errors, warnings
