"""Kernels for one architecture beside kernels for all, as inference engines are built."""

from setuptools import setup

from archbuild.cpp_extension import BuildExtension, CUDAExtension, Source

setup(
    name="hopper",
    version="1.0",
    packages=["hopper"],
    ext_modules=[
        CUDAExtension(
            "hopper._C",
            [
                "csrc/module.cpp",
                "csrc/scale.cu",
                Source("csrc/scale_hopper.cu", archs="9.0a", define="WITH_HOPPER"),
                Source("csrc/scale_blackwell.cu", archs="10.0f", define="WITH_BLACKWELL"),
                Source("csrc/moe/*.cu", archs="8.0+"),
            ],
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
