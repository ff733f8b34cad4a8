# SPDX-License-Identifier: Apache-2.0
"""`pip wheel app/python`: builds without a network, and what it holds works where it is installed. Skipped where pip or setuptools is missing."""
import glob
import os
import shutil
import subprocess
import sys
import unittest
import zipfile

from support import PACKAGE, PROMPT, ROOT, InFolder, skipped

try:
    import setuptools
    import pip  # noqa: F401,I001  after setuptools, which replaces distutils
except ImportError as missing:
    skipped(missing)
if int(setuptools.__version__.split(".")[0]) < 61:
    skipped(f"setuptools 61 reads pyproject.toml, this is {setuptools.__version__}")
if int(setuptools.__version__.split(".")[0]) < 71:                     # from then on it makes wheels by itself
    try:
        import wheel  # noqa: F401
    except ImportError as missing:
        skipped(missing)


class Wheel(InFolder):
    def test_a_wheel_is_built_and_works_elsewhere(self):
        source = shutil.copytree(PACKAGE, self.path("source"), ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        done = subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", self.path("out"), source],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        made, = glob.glob(os.path.join(self.path("out"), "*.whl"))
        with zipfile.ZipFile(made) as archive:
            names = archive.namelist()
            archive.extractall(self.path("site"))
            meta = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
        here = {f"kvscope/{name}" for name in os.listdir(os.path.join(PACKAGE, "kvscope")) if name.endswith(".py")}
        self.assertEqual({n for n in names if n.endswith(".py")}, here)
        self.assertIn("Requires-Dist: numpy", meta)
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
            version = next(line for line in meta.splitlines() if line.startswith("Version: "))[9:]
            self.assertIn(f"VERSION {version}", file.read(), "one version for program and package")
        code = f"import kvscope; r = kvscope.run({PROMPT!r}, ['h2o:slots=9'], generate=1, detail='slots'); print(kvscope.__file__, int(r.kept(1, 1).sum()), r.shape)"
        ran = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, cwd=self.path("."), env={**os.environ, "PYTHONPATH": self.path("site")})
        self.assertEqual(ran.returncode, 0, ran.stderr[-2000:])
        self.assertIn(self.path("site"), ran.stdout)
        self.assertIn(f"{9 * 24} (6, 4)", ran.stdout)


if __name__ == "__main__":
    unittest.main()
