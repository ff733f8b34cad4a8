#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The architecture test itself: small source trees with one fault each."""
import tempfile
import unittest
from pathlib import Path

import architecture


def errors(files, policies=(), **exceptions):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return architecture.check(folder, policies, **exceptions)[0]


class Types(unittest.TestCase):
    def test_two_of_one_name_are_named(self):
        a, b = "namespace kvscope {\nstruct Merge {\n  int a;\n};\n}\n", "namespace kvscope {\nclass Merge final : public Other {\n};\n}\n"
        found = errors({"engine/policy/a.h": a, "engine/tokenizer/b.h": b})
        self.assertEqual(found, ["kvscope::Merge: defined in engine/policy/a.h and engine/tokenizer/b.h; the linker takes them for one: rename all but one"])

    def test_of_one_file_or_of_another_scope_they_are_others(self):
        a = "namespace kvscope {\nstruct Merge {\n  struct Part {\n  };\n};\n}\n"
        for b in ("namespace kvscope {\nnamespace {\nstruct Merge {\n};\n}\n}\n", "namespace kvscope::viz {\nstruct Merge {\n};\n}\n",
                  "namespace kvscope {\nstruct Other {\n  struct Merge {\n  };\n};\n}\n", "namespace kvscope {\nvoid f() {\n  struct Merge {\n  };\n}\n}\n",
                  "namespace kvscope {\nstruct Merge;\nstruct Merge::Part {\n};\ntemplate <class Merge>\nstruct Taken {\n};\n}\n",
                  "namespace kvscope {\nconst char* t = \"struct Merge {\";  // struct Merge {\n}\n"):
            self.assertEqual(errors({"engine/policy/a.h": a, "engine/tokenizer/b.h": b}), [], b)


class StandardLibraries(unittest.TestCase):
    def test_what_one_of_them_lacks_is_named(self):
        for line in ("std::from_chars(a, b, share);", "std::atomic<std::shared_ptr<int>> p;", "std::atomic_ref<int> r(n);"):
            found = errors({"engine/policy/a.cpp": "\n" + line + "\n"})
            self.assertEqual(len(found), 1, line)
            self.assertTrue(found[0].startswith("engine/policy/a.cpp:2: std::"), found)

    def test_our_own_form_and_the_window_may(self):
        self.assertEqual(errors({"engine/core/from_chars.cpp": "std::from_chars(a, b, n);\n", "app/window/a.cpp": "std::from_chars(a, b, n);\n",
                                 "engine/io/a.cpp": "from_chars(a, b, n);  // std::from_chars(\n"}), [])


class Arrows(unittest.TestCase):
    def accepts(self, file, include):
        self.assertEqual(errors({file: f"#include {include}\n"}), [])

    def refuses(self, file, include):
        found = errors({file: f"// first line\n#include {include}\n"})
        self.assertEqual(len(found), 1, f"{file} includes {include}: {found}")
        self.assertTrue(found[0].startswith(f"{file}:2: "), found[0])

    def test_engine_folders_see_what_is_below_them(self):
        self.accepts("engine/io/a.cpp", '"core/error.h"')
        self.accepts("engine/arch/a.cpp", '"tokenizer/tokenizer.h"')
        self.accepts("engine/slots/a.cpp", '"core/error.h"')
        self.accepts("engine/policy/a.h", '"slots/slot_state.h"')
        self.accepts("engine/cache/a.h", '"slots/slot_state.h"')
        self.accepts("engine/runtime/lane/a.cpp", '"slots/slot_updates.h"')
        self.accepts("engine/cache/a.cpp", '"policy/plan.h"')
        self.accepts("engine/runtime/a.cpp", '"measure/m.h"')
        self.accepts("engine/trace/a.cpp", '"runtime/session.h"')
        self.accepts("engine/policy/mergers/a.cpp", '"policy/plan.h"')
        self.accepts("engine/io/a.cpp", "<vector>")
        self.accepts("engine/io/a.cpp", "<nlohmann/json.hpp>")
        self.accepts("engine/io/a.cpp", '"neighbour.h"')

    def test_engine_folders_see_nothing_above_or_beside_them(self):
        self.refuses("engine/core/a.h", '"io/files.h"')
        self.refuses("engine/slots/a.h", '"policy/plan.h"')
        self.refuses("engine/slots/a.h", '"backend/backend.h"')
        self.refuses("engine/policy/a.h", '"backend/backend.h"')
        self.refuses("engine/policy/a.h", '"runtime/session.h"')
        self.refuses("engine/backend/cpu/a.cpp", '"policy/plan.h"')
        self.refuses("engine/cache/a.cpp", '"snapshot/snapshot.h"')
        self.refuses("engine/snapshot/a.cpp", '"policy/plan.h"')
        self.refuses("engine/runtime/a.cpp", '"trace/trace_writer.h"')
        self.refuses("engine/core/a.cpp", '"io/files.h"')
        self.refuses("engine/core/a.h", '"engine/io/files.h"')
        self.refuses("engine/core/a.h", "<io/files.h>")

    def test_pages_of_a_run_see_the_engine_and_what_views_show_as_words(self):
        self.accepts("app/share/a.cpp", '"trace/trace_reader.h"')
        self.accepts("app/share/a.cpp", '"viz/reduce/text.h"')
        self.accepts("app/share/a.cpp", '"viz/draw/theme.h"')
        self.accepts("app/cli/a.cpp", '"app/share/page.h"')
        self.accepts("app/window/files/a.cpp", '"app/share/page.h"')
        self.accepts("app/lessons/a.cpp", '"viz/reduce/finding.h"')
        self.accepts("app/window/lecture/a.cpp", '"app/lessons/lesson.h"')
        self.refuses("app/lessons/a.cpp", '"app/share/page.h"')
        self.refuses("app/lessons/a.cpp", "<QString>")
        self.refuses("app/share/a.cpp", '"viz/views/atlas/atlas.h"')
        self.refuses("app/share/a.cpp", '"app/cli/inputs.h"')
        self.refuses("app/share/a.cpp", "<QString>")
        self.refuses("app/window/files/a.cpp", '"app/share/stored_run.h"')
        self.refuses("viz/reduce/a.cpp", '"app/share/page.h"')

    def test_the_root_holds_what_belongs_there(self):
        good = {"engine/core/a.h": "", "README.md": "", ".gitignore": "", "build/check/x": ""}
        self.assertEqual(errors(good), [])
        self.assertEqual(errors({**good, "imgui.ini": ""}), ["imgui.ini: does not belong at the root"])

    def test_a_folder_and_the_first_page_have_a_size(self):
        folder = {f"engine/core/a{i}.h": "" for i in range(45)}
        self.assertEqual(errors(folder), [])
        self.assertEqual([e.split(";")[0] for e in errors({**folder, "engine/core/b.cpp": ""})], ["engine/core: 46 files of code, at most 45"])
        page = {"engine/core/a.h": "", "README.md": "| word | \n|---|\n" * 1800}
        self.assertEqual(errors(page), [])
        self.assertEqual([e.split(";")[0] for e in errors({**page, "README.md": page["README.md"] + "more"})], ["README.md: 1801 words, at most 1800"])

    def test_the_document_tells_the_arrows_as_they_are(self):
        table = "".join(f"| `{folder}/` | {', '.join(may) or '–'} | words |\n" for folder, may in architecture.ENGINE.items())
        good = {"engine/core/a.h": "", "engine/README.md": table}
        self.assertEqual(errors(good), [])
        for old, new in [("| `io/` | core |", "| `io/` | core, policy |"), ("| `io/` | core |", "| `io/` | – |"), ("`io/`", "`iox/`")]:
            self.assertTrue(errors({**good, "engine/README.md": table.replace(old, new)}), new)

    def test_a_new_folder_of_the_engine_needs_a_row(self):
        self.refuses("engine/plugins/a.cpp", '"core/error.h"')

    def test_the_engine_knows_neither_window_nor_views(self):
        self.refuses("engine/runtime/a.cpp", '"viz/canvas.h"')
        self.refuses("engine/runtime/a.cpp", '"app/window/workspace.h"')
        self.refuses("engine/runtime/a.cpp", "<QString>")
        self.refuses("engine/runtime/a.cpp", "<imgui.h>")

    def test_views_see_snapshots_and_imgui_never_qt_or_the_runtime(self):
        self.accepts("viz/a.cpp", '"snapshot/snapshot.h"')
        self.accepts("viz/a.cpp", '"imgui.h"')
        self.accepts("viz/views/a.cpp", '"viz/canvas.h"')
        self.refuses("viz/a.cpp", '"runtime/session.h"')
        self.refuses("viz/a.cpp", '"policy/catalog.h"')
        self.refuses("viz/a.cpp", "<QWidget>")
        self.refuses("viz/a.cpp", "<QtWidgets/QWidget>")
        self.refuses("viz/a.cpp", '"app/window/workspace.h"')

    def test_in_the_window_only_the_session_controller_touches_the_runtime(self):
        self.accepts("app/window/session/session_controller.cpp", '"runtime/runner.h"')
        self.accepts("app/window/shell/main.cpp", '"runtime/runner.h"')
        self.accepts("app/cli/a.cpp", '"runtime/session.h"')
        self.accepts("app/window/panel.cpp", '"policy/catalog.h"')
        self.accepts("app/window/panel.cpp", "<QWidget>")
        self.refuses("app/window/panel.cpp", '"runtime/runner.h"')
        self.refuses("app/window/panel.cpp", '"policy/policy.h"')
        self.refuses("app/window/panel.cpp", '"cache/head_cache.h"')
        self.refuses("app/cli/a.cpp", "<QString>")
        self.refuses("app/cli/a.cpp", '"viz/canvas.h"')


class PolicyNames(unittest.TestCase):
    policies = [{"name": name, "title": title} for name, title in
                [("full", "Full cache"), ("local", "Local window"), ("keepkv", "KeepKV"), ("headkv", "HeadKV"), ("cam", "CaM")]]

    def found(self, file, text):
        return errors({file: text}, self.policies)

    def test_a_name_in_code_is_found_in_any_spelling(self):
        self.assertEqual(len(self.found("engine/runtime/a.cpp", 'if (spec == "keepkv") x();\n')), 1)
        self.assertEqual(len(self.found("app/window/a.cpp", "enum { KeepKV };\n")), 1)
        self.assertEqual(len(self.found("viz/a.cpp", "bool is_keepkv_lane = false;\n")), 1)
        self.assertEqual(len(self.found("viz/a.cpp", 'f("local:ratio=0.1");\n')), 1)

    def test_plain_words_comments_and_the_catalog_are_not(self):
        self.assertEqual(self.found("engine/runtime/a.cpp", "int local = 0;  // as KeepKV\n/* keepkv */ lane(\"full\");\n"), [])
        self.assertEqual(self.found("engine/backend/a.h", "struct HeadKv {};  HeadKv became;\n"), [])  # keys and values of a head
        self.assertEqual(self.found("engine/policy/a.cpp", 'row("keepkv");\n'), [])


def member(name, n_lines):
    return f"void {name}(int a) {{\n" + "  x();\n" * (n_lines - 2) + "}\n"


class Size(unittest.TestCase):
    def long_class(self, n_members, n_files=1):
        files = {"viz/a.h": "class A {\n public:\n  void f();\n};\n"}
        for i in range(n_files):
            files[f"viz/a{i}.cpp"] = "".join(member(f"A::f{i}_{j}", 50) for j in range(n_members // n_files))
        return errors(files)

    def test_a_file_may_be_long(self):
        self.assertEqual(errors({"viz/a.cpp": "".join(member(f"f{i}", 80) for i in range(20))}), [])

    def test_a_function_may_have_80_lines(self):
        for name in ("f", "A::f", "A::Part::f", "A::operator==", "A::~A"):
            self.assertEqual(errors({"viz/a.cpp": member(name, 80)}), [], name)
            self.assertEqual(errors({"viz/a.cpp": member(name, 81)}), [f"viz/a.cpp: {name}: 81 lines, at most 80 lines: one idea each"])

    def test_a_signature_may_go_over_lines(self):
        text = "std::vector<int> A::f(int a,\n                      int b) const\n    : m(a) {\n" + "  x();\n" * 80 + "}\n"
        self.assertEqual(len(errors({"viz/a.cpp": text})), 1)

    def test_a_function_in_the_body_of_a_class_counts(self):
        text = "struct A {\n  int f() const {\n" + "    x();\n" * 79 + "  }\n};\n"
        self.assertEqual(errors({"viz/a.h": text}), ["viz/a.h: A::f: 81 lines, at most 80 lines: one idea each"])

    def test_a_class_may_have_600_lines_in_all_its_files(self):
        self.assertEqual(self.long_class(10), [])
        self.assertEqual(self.long_class(12), ["viz::A: 604 lines in 2 files, at most 600 lines in 3 files: one idea each"])

    def test_a_class_stands_in_three_files(self):
        self.assertEqual(self.long_class(4, 2), [])
        self.assertEqual(self.long_class(3, 3), ["viz::A: 154 lines in 4 files, at most 600 lines in 3 files: one idea each"])

    def test_what_is_nested_belongs_to_the_class(self):
        files = {"viz/a.h": "class A {\n};\n", "viz/a.cpp": "struct A::Impl {\n" + "  int x;\n" * 700 + "};\n"}
        self.assertEqual(len(errors(files)), 1)

    def test_two_files_may_have_a_class_of_one_name(self):
        text = "struct Row {\n" + "  int x;\n" * 400 + "};\n"
        self.assertEqual(errors({"viz/a.cpp": text, "viz/b.cpp": text}), [])
        self.assertEqual(errors({"viz/a.h": text, "engine/core/a.h": text}), [])
        self.assertEqual(len(errors({"viz/a.h": text, "viz/b.h": text})), 1)

    def test_exceptions_may_only_shrink(self):
        long = {"viz/a.cpp": member("f", 90)}
        self.assertEqual(errors(long, long_functions={"viz/a.cpp: f": 90}), [])
        self.assertEqual(len(errors(long, long_functions={"viz/a.cpp: f": 89})), 1)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "viz").mkdir()
            (Path(folder) / "viz/a.cpp").write_text(member("f", 80), encoding="utf-8")
            warnings = architecture.check(folder, long_functions={"viz/a.cpp: f": 90})[1]
        self.assertEqual(warnings, ["viz/a.cpp: f: gone or within the limits: take it off the list of exceptions"])

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(len(errors({})), 1)


if __name__ == "__main__":
    unittest.main()
