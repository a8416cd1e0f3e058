"""Many instantiations of one template, a source for each, as attention libraries are built."""

import os
from pathlib import Path

from setuptools import setup

from archbuild.cpp_extension import BuildExtension, CUDAExtension

HERE = Path(__file__).parent


class MemoryAwareBuildExtension(BuildExtension):
    """Such libraries often set their own number of jobs."""

    def __init__(self, *args, **kwargs):
        os.environ.setdefault("MAX_JOBS", str(max(1, (os.cpu_count() or 2) // 2)))
        super().__init__(*args, **kwargs)


sources = sorted(str(p.relative_to(HERE)) for p in (HERE / "csrc").glob("*.cu"))
setup(
    name="attention",
    version="1.0",
    packages=["attention"],
    ext_modules=[
        CUDAExtension(
            "attention._C",
            ["csrc/api.cpp", *sources],
            include_dirs=["csrc"],
            extra_compile_args={
                "cxx": ["-O3"],
                "nvcc": [
                    "-O3",
                    "--use_fast_math",
                    "--expt-relaxed-constexpr",
                    "--expt-extended-lambda",
                    "-U__CUDA_NO_HALF_OPERATORS__",
                    "-U__CUDA_NO_HALF_CONVERSIONS__",
                    "--threads",
                    os.environ.get("NVCC_THREADS") or "4",
                ],
            },
        )
    ],
    cmdclass={"build_ext": MemoryAwareBuildExtension},
)
