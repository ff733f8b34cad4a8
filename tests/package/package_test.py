#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` and `cpack` put where, as far as it can be looked at without being root. Each class is a test of its own; one whose
tool is not here says so and is skipped.

    package_test.py CLASS    status 77: nothing failed, but something was not looked at
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, CMAKE, CPACK = (os.environ[f"KVSCOPE_{name}"] for name in ("BUILD", "CMAKE", "CPACK"))
VERSION = os.environ["KVSCOPE_VERSION"]
SOURCES = Path(__file__).resolve().parents[2]
COMMANDS = ("bench", "heads", "info", "models", "needle", "ppl", "run", "share", "sweep", "tokens", "trace")
DOCUMENTS = "share/doc/kvscope"
METAINFO = "share/metainfo/org.kvscope.kvscope.metainfo.xml"


def done(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, encoding="utf-8", timeout=250, **more)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvscope-package-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def need(self, tool):
        if not shutil.which(tool):
            self.skipTest(f"{tool} is not installed: not checked")

    def succeeds(self, *command, **more):
        result = done(*command, **more)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def stage(self):
        self.succeeds(CMAKE, "--install", BUILD, "--prefix", self.folder / "usr", "--component", "kvscope")
        return self.folder / "usr"

    def assert_complete(self, usr):
        """Everything of assets/ that a program asks for, pages for every command, and nothing that only a checkout needs."""
        files = {str(path.relative_to(usr)) for path in usr.rglob("*") if path.is_file()}
        for asset in ("lanes", "lessons", "prompts", "text", "models"):
            for path in (SOURCES / "assets" / asset).rglob("*"):
                if path.is_file() and path.name != "README.md" and not {"train", "__pycache__"} & set(path.parts):
                    self.assertIn(f"share/kvscope/{path.relative_to(SOURCES / 'assets')}", files)
        pages = {"kvscope", "kvscope-cli"} | {f"kvscope-cli-{command}" for command in COMMANDS}
        self.assertLessEqual({f"share/man/man1/{page}.1.gz" for page in pages}, files)
        for name in ("bin/kvscope", "bin/kvscope-cli", "share/applications/kvscope.desktop", "share/icons/hicolor/scalable/apps/kvscope.svg",
                     "share/mime/packages/kvscope.xml", METAINFO, f"{DOCUMENTS}/POLICIES.md"):
            self.assertIn(name, files)
        places = ("bin/kvscope", "share/applications/", "share/doc/kvscope/", "share/icons/", "share/kvscope/", "share/man/man1/", "share/metainfo/",
                  "share/mime/packages/")
        self.assertEqual([name for name in files if not name.startswith(places) or "/train/" in name or "__pycache__" in name], [])

    def assert_runs(self, usr):
        """The installed program reads the installed model, not the checkout's."""
        facts = json.loads(self.succeeds(usr / "bin" / "kvscope-cli", "info", "--json", cwd=self.folder))
        self.assertTrue(Path(facts["folder"]).resolve().samefile(usr / "share" / "kvscope" / "models" / "kvmini"), facts["folder"])
        self.assertEqual(self.succeeds(usr / "bin" / "kvscope", "--version"), f"kvscope {VERSION}\n")


class Staged(InFolder):
    def test_everything_is_there_and_runs(self):
        usr = self.stage()
        self.assert_complete(usr)
        self.assert_runs(usr)

    def test_the_cuda_module_is_a_component_of_its_own(self):
        self.succeeds(CMAKE, "--install", BUILD, "--prefix", self.folder / "usr", "--component", "cuda")
        files = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}
        self.assertLessEqual(files, {"usr/lib/kvscope/kvscope_cuda.so"})


class ManPages(InFolder):
    def test_they_say_what_help_says(self):
        man = self.stage() / "share" / "man" / "man1"
        page = gzip.decompress((man / "kvscope-cli-share.1.gz").read_bytes()).decode()
        for words in ("\\fB\\-\\-out FILE.html\\fR", ".SH SYNOPSIS", "kvscope\\-cli share \\-\\-prompt"):
            self.assertIn(words, page)

    def test_nothing_is_wrong_with_their_markup(self):
        self.need("man")
        for page in sorted((self.stage() / "share" / "man" / "man1").iterdir()):
            result = done("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page, env={**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": ""})
            self.assertEqual((result.returncode, result.stderr), (0, ""), page.name)


class DesktopEntry(InFolder):
    def test_validates(self):
        self.need("desktop-file-validate")
        self.assertEqual(self.succeeds("desktop-file-validate", self.stage() / "share" / "applications" / "kvscope.desktop"), "")

    def test_opens_the_types_that_are_declared(self):
        share = self.stage() / "share"
        entry = (share / "applications" / "kvscope.desktop").read_text(encoding="utf-8")
        types = next(line for line in entry.splitlines() if line.startswith("MimeType=")).removeprefix("MimeType=").rstrip(";").split(";")
        declared = (share / "mime" / "packages" / "kvscope.xml").read_text(encoding="utf-8")
        metainfo = (share.parent / METAINFO).read_text(encoding="utf-8")
        self.assertEqual(len(types), declared.count("<mime-type "))
        for one in types:
            self.assertIn(f'<mime-type type="{one}">', declared)
            self.assertIn(f"<mediatype>{one}</mediatype>", metainfo)


class AppStream(InFolder):
    def test_validates(self):
        self.need("appstreamcli")
        self.succeeds("appstreamcli", "validate", "--no-net", "--pedantic", self.stage() / "share" / "metainfo" / "org.kvscope.kvscope.metainfo.xml")


class FileTypes(InFolder):
    def test_are_well_formed(self):
        self.need("xmllint")
        share = self.stage() / "share"
        self.succeeds("xmllint", "--noout", share / "mime" / "packages" / "kvscope.xml", share / "icons/hicolor/scalable/apps/kvscope.svg")

    def test_go_into_the_database_of_types(self):
        self.need("update-mime-database")
        mime = self.stage() / "share" / "mime"
        self.succeeds("update-mime-database", mime, env={**os.environ, "PKGSYSTEM_ENABLE_FSYNC": "0"})
        patterns = (mime / "globs2").read_text(encoding="utf-8")
        self.assertIn(":application/x-kvscope-session:*.kvscope\n", patterns)
        magic = (mime / "magic").read_bytes()
        for schema in ("trace", "kept"):
            self.assertIn(f"application/x-kvscope-{schema}+json]".encode(), magic)
            self.assertIn(f'"kvscope.{schema}/'.encode(), magic)


class Deb(InFolder):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("dpkg-shlibdeps"):
            raise unittest.SkipTest("dpkg-shlibdeps is not installed: not checked")
        cls.made = tempfile.TemporaryDirectory(prefix="kvscope-deb-")
        cls.addClassCleanup(cls.made.cleanup)
        result = done(CPACK, "-G", "DEB", "-B", cls.made.name, "--config", f"{BUILD}/CPackConfig.cmake", cwd=cls.made.name)
        cls.debs = list(Path(cls.made.name).glob("*.deb"))
        if result.returncode or len(cls.debs) != 1:
            raise AssertionError(f"cpack: {result.stdout}\n{result.stderr}")

    def test_depends_on_what_the_programs_load(self):
        depends = self.succeeds("dpkg-deb", "--field", self.debs[0], "Depends")
        for package in ("libc6 (>=", "libqt6widgets6", "libsentencepiece0", "fonts-noto-core | fonts-dejavu-core"):
            self.assertIn(package, depends)

    def test_holds_what_an_installation_holds_and_runs(self):
        self.succeeds("dpkg-deb", "--extract", self.debs[0], self.folder)
        usr = self.folder / "usr"
        self.assert_complete(usr)
        self.assert_runs(usr)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["usr"])
        history = gzip.decompress((usr / DOCUMENTS / "changelog.gz").read_bytes()).decode()
        self.assertTrue(history.startswith(f"kvscope ({VERSION}) "), history)
        self.assertIn("License: Expat", (usr / DOCUMENTS / "copyright").read_text(encoding="utf-8"))

    def test_debians_checker_finds_nothing(self):
        self.need("lintian")
        # the address of who answers for the package is set by who publishes it (KVSCOPE_MAINTAINER)
        said = self.succeeds("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags",
                             "bogus-mail-host,bogus-mail-host-in-debian-changelog", self.debs[0], env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.assertEqual(said, "")


if __name__ == "__main__":
    ran = unittest.main(exit=False, verbosity=2).result
    sys.exit(1 if not ran.wasSuccessful() else 77 if ran.skipped else 0)
