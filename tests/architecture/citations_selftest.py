#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The check of citations itself: small trees with one fault each."""
import tempfile
import unittest
from pathlib import Path

import citations

RULES = "# Rules\n\n## 1. Words\n\ntext\n\n### 1.2 More words\n\n## 3. Others\n"
VIEWS = "| code | view |\n|---|---|\n| V1 | Prompt |\n| V2 | Atlas |\n"


def errors(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"engine/policy/RULES.md": RULES, "viz/README.md": VIEWS, **files}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return citations.check(folder)[0]


class Citations(unittest.TestCase):
    def accepts(self, text, file="engine/core/a.h"):
        self.assertEqual(errors({file: text}), [])

    def refuses(self, text, message, file="engine/core/a.h"):
        found = errors({file: text})
        self.assertEqual(len(found), 1, found)
        self.assertIn(message, found[0])
        self.assertTrue(found[0].startswith(file + ": "), found[0])

    def test_a_document_exists(self):
        self.accepts("// see RULES.md\n")
        self.accepts("// see policy/RULES.md and engine/policy/RULES.md\n")
        self.refuses("// see LAWS.md\n", "LAWS.md")
        self.refuses("// see cache/RULES.md\n", "cache/RULES.md")
        self.refuses("/* see\n * LAWS.md */\n", "LAWS.md")
        self.refuses("see LAWS.md", "LAWS.md", "app/README.md")
        self.refuses("# see LAWS.md\n", "LAWS.md", "tests/a.py")

    def test_text_literals_of_a_program_are_no_citations(self):
        self.accepts('const char* a = "LAWS.md section 9";\n')

    def test_a_section_exists(self):
        self.accepts("// (RULES.md section 1.2)\n")
        self.accepts("// RULES.md sections 1 and 3\n")
        self.accepts("// as section 3 of RULES.md orders\n")
        self.accepts("/// in (RULES.md\n/// section 3): x\n")
        self.refuses("// RULES.md section 2\n", "section 2 of RULES.md")
        self.refuses("// RULES.md sections 1 and 4\n", "section 4")
        self.refuses("// section 5 of RULES.md\n", "section 5")
        self.refuses("/// in (RULES.md\n/// section 7): x\n", "section 7")
        self.refuses("// RULES.md §1.3\n", "section 1.3")

    def test_a_section_without_a_document_is_refused(self):
        self.refuses("// as in section 1\n", "without its document")
        self.accepts("// as in the paper, section 9\n")
        self.accepts("## 4. A\n\nsee section 4\n", "app/README.md")
        self.refuses("## 4. A\n\nsee section 5\n", "without its document", "app/README.md")

    def test_a_view_is_listed(self):
        self.accepts("/// Atlas (V2): x\n", "viz/a.h")
        self.refuses("/// Atlas (V3): x\n", "V3", "viz/a.h")
        self.accepts("/// V3 registers\n", "engine/core/a.h")

    def test_a_link_leads_somewhere(self):
        self.accepts("[rules](../engine/policy/RULES.md#1-words) [web](https://example.org/x)\n", "app/README.md")
        self.accepts("[RULES.md](../engine/policy/RULES.md) section 3\n", "app/README.md")
        self.refuses("[rules](../engine/rules)\n", "engine/rules", "app/README.md")
        self.refuses("[RULES.md](../engine/policy/RULES.md) section 4\n", "section 4", "app/README.md")

    def test_citations_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"RULES.md": RULES, "engine/a.h": "// RULES.md section 1, and RULES.md sections 1 and 3\n"}.items():
                (Path(folder) / name).parent.mkdir(exist_ok=True)
                (Path(folder) / name).write_text(text, encoding="utf-8")
            self.assertEqual(citations.check(folder), ([], 2))


if __name__ == "__main__":
    unittest.main()
