"""Collect what DeepXDE needs beside numpy, scipy and torch, for CPython 3.12 on Linux x86_64, in one small folder.

    python benchmarks/bundle.py build/bundle-bench          # or: make bundle-bench

For a GPU node without pip: copy the folder there and put it on PYTHONPATH behind `build/bundle` (see docs/benchmarks.md). The
packages are those of PyPI at fixed versions, less what an import of DeepXDE does not touch: tests, data sets, fonts,
picture formats. Nothing is replaced.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LIMIT_MIB = 45
PACKAGES = (
    "deepxde==1.15.0", "scikit-learn==1.8.0", "scikit-optimize==0.10.2", "joblib==1.4.2", "threadpoolctl==3.5.0",
    "pyaml==24.9.0", "PyYAML==6.0.2", "packaging==24.1", "safetensors==0.4.5",
    "matplotlib==3.9.4", "contourpy==1.3.0", "kiwisolver==1.4.7", "pillow==10.4.0", "cycler==0.12.1", "pyparsing==3.1.4",
    "python-dateutil==2.9.0.post0", "six==1.16.0",
)  # fmt: skip
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64")
UNUSED = (
    "**/tests", "**/*.pyi", "**/*.pyx", "**/*.pxd", "**/*.h", "bin", "share",
    "yaml/_yaml*.so",  # yaml does without
    "matplotlib/mpl-data/sample_data", "matplotlib/mpl-data/images", "matplotlib/mpl-data/plot_directive",
    "matplotlib/mpl-data/fonts/afm", "matplotlib/mpl-data/fonts/pdfcorefonts",
    "matplotlib/mpl-data/fonts/ttf/DejaVuSerif*",
    "matplotlib/mpl-data/fonts/ttf/DejaVuSansMono*", "matplotlib/backends/web_backend", "matplotlib/sphinxext",
    "PIL/_webp*.so", "PIL/_imagingft*.so", "PIL/_imagingcms*.so",
    *(f"pillow.libs/lib{name}*" for name in ("webp", "harfbuzz", "freetype", "brotli", "lcms2", "sharpyuv", "png16")),
    "sklearn/datasets/data", "sklearn/datasets/images", "sklearn/datasets/descr", "sklearn/datasets/*.so",
    "sklearn/cluster", "sklearn/manifold", "sklearn/semi_supervised", "sklearn/cross_decomposition",
    "deepxde/nn/jax", "deepxde/nn/paddle", "deepxde/nn/tensorflow", "deepxde/nn/tensorflow_compat_v1",
)  # fmt: skip


def collect(target: Path) -> None:
    """Fill the folder anew."""
    shutil.rmtree(target, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-compile",
    ]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", "3.12", "--target", str(target)]
    subprocess.run([*command, *(part for p in PLATFORMS for part in ("--platform", p)), *PACKAGES], check=True)
    for pattern in UNUSED:
        for path in list(target.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    if shutil.which("strip"):  # symbols for debuggers are half of some extension modules
        modules = [str(path) for path in target.glob("**/*.cpython-312-*.so")]
        subprocess.run(["strip", "--strip-unneeded", *modules], check=True)


def size_mib(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    target = parser.parse_args(arguments).target
    collect(target)
    parts = sorted(((size_mib(path) if path.is_dir() else 0.0, path.name) for path in target.iterdir()), reverse=True)
    for size, name in parts[:12]:
        print(f"{size:6.1f} MiB  {name}")
    total = size_mib(target)
    print(f"{total:6.1f} MiB in {target}")
    if total > LIMIT_MIB:
        sys.exit(f"larger than {LIMIT_MIB} MiB: remove more, see UNUSED in {__file__}")


if __name__ == "__main__":
    main()
