#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when the sources draw an arrow that the architecture does not have.

    architecture.py ROOT [--policies FILE]

FILE is the catalog as JSON (list_policies prints it); without it policy names are not looked for. The rules are the tables below.
"""
import argparse
import json
import re
import sys
from pathlib import Path

import sizes

ENGINE = {  # folder of engine/ -> folders of engine/ it may include besides itself
    "core": [],
    "io": ["core"],
    "tokenizer": ["io", "core"],
    "arch": ["io", "tokenizer", "core"],
    "slots": ["core"],
    "policy": ["slots", "core"],
    "backend": ["slots", "core"],
    "cache": ["policy", "slots", "backend", "core"],
    "snapshot": ["core"],
    "measure": ["cache", "backend", "snapshot", "core"],
    "runtime": ["arch", "backend", "cache", "core", "io", "measure", "policy", "slots", "snapshot", "tokenizer"],
    "found": ["runtime", "arch", "io", "core"],
    "trace": ["runtime", "snapshot", "policy", "arch", "tokenizer", "io", "core"],
    "remote": ["trace", "runtime", "snapshot", "tokenizer", "io", "core"],
}
VIZ = ["snapshot", "core"]
# What both programs write of a run for people who have neither: everything of the engine, and what the views show as numbers, words and colours.
SHARE = ("viz/reduce/", "viz/draw/draw.h", "viz/draw/format.h", "viz/draw/theme.h", "viz/selection.h")
# Panels and canvases of the window: data to show, stores of sweeps among it, names of policies, edits in a lane's text, files. No runtime.
WINDOW = ["snapshot", "core", "io", "found/found_model.h", "policy/budget_share.h", "policy/catalog.h", "policy/policy_groups.h", "policy/run_title.h", "policy/text/lane_edits.h",
          "policy/text/head_keys.h", "trace/sweep_reader.h", "trace/sweep_bands.h"]
# The only files of the window that may touch the runtime: the controller, who writes a prompt as a model's chat template wants, the start of
# the program, which makes its first request, the file of a session, which keeps requests, the results in it, which are traces, and who looks
# for models, also for one that a file of kept tokens was made with.
CONTROLLERS = re.compile(
    r"app/window/(session/(session_controller[a-z_]*|chat_prompt|model_finder|session_file|stored_results|kept_opening)|shell/(options|main))\.(h|cpp)$")

# Headers of libraries -> the folders that may see them.
LIBRARIES = [
    ("Qt", re.compile(r"^(Q[A-Z]\w*|Qt[A-Z]\w*/.*)$"), ("app/window/",)),
    ("OpenGL", re.compile(r"^(GL|EGL|KHR)/"), ("app/window/",)),
    ("Dear ImGui", re.compile(r"(^|/)(imgui|imconfig|imstb)[a-z0-9_]*\.h$"), ("viz/", "app/window/")),
    ("CLI11", re.compile(r"^CLI/"), ("app/",)),
    ("sentencepiece", re.compile(r"^sentencepiece"), ("engine/tokenizer/",)),
    ("PCRE2", re.compile(r"^pcre2"), ("engine/tokenizer/",)),
    ("utf8proc", re.compile(r"^utf8proc"), ("engine/tokenizer/",)),
    ("MPI", re.compile(r"^mpi\.h$"), ("app/cli/mpi/",)),
    ("CUDA", re.compile(r"^(cuda|cublas)"), ("engine/backend/",)),
]

# What one standard library has and another one has not, or has for whole numbers only -> what to write instead. The window has Qt besides and
# is built with the system's own.
STANDARD_LIBRARY = [
    (re.compile(r"\bstd::from_chars\("), "core/from_chars.h", re.compile(r"^engine/core/from_chars\.(h|cpp)$")),
    (re.compile(r"\bstd::atomic<\s*std::shared_ptr\b"), "a lock (snapshot/snapshot.h, Mailbox)", None),
    (re.compile(r"\bstd::atomic_ref\b"), "__atomic_fetch_add", None),
]

# Names that are also plain words count only as a text literal; "full" is the reference lane, which the trace format names.
PLAIN_WORDS = {"local", "streaming", "random", "best", "less", "custom", "expected", "leverage", "pages", "given", "think", "quest"}
EXEMPT = {"full"}
TRACE_KEYS = re.compile(r'"kvmerger_theta"')  # a key of the trace format, whichever policy writes it
# A statistic is chosen by its name in custom:stat=, and one policy is named after its statistic.
STATISTIC_NAMES = re.compile(r'kText\{"\w+"')

# What stands at the root: our folders, the two scripts, what tools look for there. Hidden things and builds are nobody's.
TOP = {"app", "assets", "build", "cmake", "engine", "tests", "viz", "CITATION.cff", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE",
       "README.md", "SECURITY.md", "check", "run"}

# A folder is looked through, a README read to its end.
FOLDER_FILES, README_WORDS = 45, 1800

# A class is one idea, a function one thing (sizes.py says what counts).
CLASS_LINES, CLASS_FILES, FUNCTION_LINES = 600, 3, 80
# Functions that are longer today. Ceilings: these can only shrink, and nothing comes to them.
LONG_FUNCTIONS = {
    "engine/backend/cuda/kernels/attention.cu: decode_chunk": 122,
    "engine/backend/cuda/kernels/prompt.cu: attend_tile": 90,
    "engine/backend/cuda/kernels/prompt.cu: sum_tile_columns": 84,
}
SUFFIXES = {".h", ".hpp", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def sources(root):
    for part in ("engine", "viz", "app"):
        for path in sorted((root / part).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file() and "third_party" not in path.parts:
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8", errors="replace")


def without_comments(text):
    """Comments blanked, text literals and line numbers kept."""
    token = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.S)
    return token.sub(lambda m: m[0] if m[0][0] in "\"'" else "\n" * m[0].count("\n"), text)


def target_of(file, name):
    """Where an include of the project leads: path from the root as far as the rules need it."""
    first = name.split("/")[0]
    if first in ("viz", "app"):
        return name
    if first == "engine":
        return name
    if "/" in name and first in ENGINE:
        return "engine/" + name
    return None if "/" in name else file.rsplit("/", 1)[0] + "/" + name


def allowed(file, target):
    def engine(folders):
        return target.startswith("engine/") and any((target[7:] + "/").startswith(f + "/") for f in folders)

    if file.startswith("engine/"):
        folder = file.split("/")[1]
        return folder in ENGINE and engine([folder, *ENGINE[folder]])
    if file.startswith("viz/"):
        return target.startswith("viz/") or engine(VIZ)
    if file.startswith(("app/share/", "app/lessons/")):  # neither knows of the other
        return target == "app/run_options.h" or target.startswith(("engine/", file[: file.index("/", 4) + 1], *SHARE))
    if file == "app/run_options.h":  # of both programs
        return engine(("core",))
    if file.startswith("app/cli/"):
        return target == "app/run_options.h" or target.startswith(("engine/", "app/cli/", "app/share/", "app/lessons/", "viz/selection.h", "viz/reduce/"))
    if CONTROLLERS.match(file):
        return True
    return target.startswith(("app/window/", "viz/")) or target in ("app/share/page.h", "app/share/how_made.h", "app/lessons/lesson.h", "app/lessons/scene_look.h", "app/lessons/prompt_text.h", "app/run_options.h") or engine(WINDOW)


def include_errors(file, text):
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        bracket, name = match.groups()
        library = next(((title, places) for title, pattern, places in LIBRARIES if pattern.search(name)), None)
        if library:
            if not file.startswith(library[1]):
                yield f"{file}:{number}: {library[0]} ({name}) belongs to {' and '.join(library[1])} only"
            continue
        target = target_of(file, name)
        if target is None or (bracket == "<" and not target.startswith(("engine/", "viz/", "app/"))) or (bracket == "<" and "/" not in name):
            continue  # a header of another library or of the system
        if not allowed(file, target):
            yield f"{file}:{number}: may not include {target}"


def policy_patterns(policies):
    """Name and pattern of each policy: its name as a word or a part of an identifier, or its title in one word (KeepKV)."""
    for policy in policies:
        name, title = re.escape(policy["name"]), re.sub(r"\W", "", policy["title"])
        if policy["name"] in EXEMPT:
            continue
        if policy["name"] in PLAIN_WORDS:
            yield policy["name"], re.compile(rf'"{name}[":]')
        else:
            spelled = rf"|{title}" if len(title) > 3 and title.lower() != title else ""
            yield policy["name"], re.compile(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9]){spelled}")


def policy_errors(file, text, patterns):
    if file.startswith("engine/policy/"):
        return
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        for name, pattern in patterns:
            if pattern.search(STATISTIC_NAMES.sub("", TRACE_KEYS.sub("", line))):
                yield f"{file}:{number}: names the policy '{name}'; only the catalog in engine/policy may"


def standard_library_errors(file, text):
    if file.startswith("app/window/"):
        return
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        for pattern, instead, exempt in STANDARD_LIBRARY:
            if pattern.search(line) and not (exempt and exempt.match(file)):
                yield f"{file}:{number}: {pattern.search(line)[0].rstrip('(')} is not in every standard library; use {instead}"


def top_errors(root):
    for path in sorted(root.iterdir()):
        if path.name not in TOP and not path.name.startswith("."):
            yield f"{path.name}: does not belong at the root"


def document_errors(root):
    """The table of arrows in engine/README.md, where there is one, is the one above."""
    document = root / "engine" / "README.md"
    rows = re.findall(r"^\| `(\w+)/` \| ([^|]*) \|", document.read_text(encoding="utf-8"), re.M) if document.exists() else []
    told = {folder: set(re.findall(r"\w+", may)) for folder, may in rows}
    for folder in sorted(ENGINE.keys() | told.keys()) if document.exists() else []:
        if told.get(folder) != (set(ENGINE[folder]) if folder in ENGINE else None):
            yield f"engine/README.md: says that {folder} may include {sorted(told.get(folder, []))}; the rule is {ENGINE.get(folder, 'not there')}"


def size_errors(root, files):
    """Too many files of code in one folder; too many words on the first page, whose tables' bars are none."""
    folders = {}
    for file, _ in files:
        folders.setdefault(file.rpartition("/")[0], []).append(file)
    for folder, inside in sorted(folders.items()):
        if len(inside) > FOLDER_FILES:
            yield f"{folder}: {len(inside)} files of code, at most {FOLDER_FILES}; part it by what its files are about"
    page = root / "README.md"
    words = re.findall(r"[^\s|]*[^\s|-][^\s|]*", page.read_text(encoding="utf-8")) if page.exists() else []
    if len(words) > README_WORDS:
        yield f"README.md: {len(words)} words, at most {README_WORDS}; move what a first reader does not need"


TEXTS = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
SCOPES = re.compile(r"\bnamespace\s*(?P<space>[\w:]*)\s*\{|\b(?:struct|class|union|enum(?:\s+class)?)\s+(?P<type>[\w:]+)\s*(?:final\s*)?(?::[^;{}()=]*)?\{|\{|\}")


def types_of(text):
    """Qualified names of the types that a file defines in named namespaces, where other files' names are the same."""
    scopes = []
    for found in SCOPES.finditer(TEXTS.sub('""', without_comments(text))):
        if found[0] == "}":
            if scopes:
                scopes.pop()
        elif found["space"] is not None:
            scopes.append(found["space"] or None)  # None: of this file alone, as is what stands in a block
        else:
            if found["type"] and scopes and None not in scopes:
                yield "::".join([*scopes, found["type"]])
            scopes.append(None)


def type_errors(files):
    """Two types of one name are one to the linker, which takes whichever function of std::vector<Name> it meets first."""
    homes = {}
    for file, text in files:
        for name in types_of(text):
            homes.setdefault(name, []).append(file)
    for name, where in sorted(homes.items()):
        if len(where) > 1:
            yield f"{name}: defined in {' and '.join(where)}; the linker takes them for one: rename all but one"


def check(root, policies=(), long_functions=None):
    """(errors, warnings) over the root and all sources under it. policies: rows of the catalog with name and title; long_functions: the exceptions."""
    errors, warnings = [*top_errors(Path(root)), *document_errors(Path(root))], []
    patterns = list(policy_patterns(policies))
    files = list(sources(Path(root)))
    for file, text in files:
        errors += include_errors(file, text)
        errors += policy_errors(file, text, patterns)
        errors += standard_library_errors(file, text)
    errors += type_errors(files)
    errors += size_errors(Path(root), files)
    found = sizes.check(files, (CLASS_LINES, CLASS_FILES), FUNCTION_LINES, long_functions or {})
    errors += found[0]
    warnings += found[1]
    if not files:
        errors.append(f"{root}: no sources under engine/, viz/ and app/")
    return errors, warnings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root")
    parser.add_argument("--policies")
    args = parser.parse_args()
    policies = json.loads(Path(args.policies).read_text(encoding="utf-8")) if args.policies else []
    if args.policies and not policies:
        sys.exit(f"{args.policies}: no policies")
    errors, warnings = check(args.root, policies, LONG_FUNCTIONS)
    for line in warnings:
        print("warning:", line)
    for line in errors:
        print("error:", line)
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
