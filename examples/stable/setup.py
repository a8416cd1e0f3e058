from setuptools import setup

from archbuild.cpp_extension import BuildExtension, CUDAExtension

# The oldest torch that the wheel runs with: 2.10.
TORCH = "-DTORCH_TARGET_VERSION=0x020a000000000000"

setup(
    name="swish",
    version="1.0",
    packages=["swish"],
    ext_modules=[
        CUDAExtension(
            "swish._C",
            ["csrc/operator.cpp", "csrc/swish.cu"],
            py_limited_api=True,
            extra_compile_args={"cxx": [TORCH], "nvcc": [TORCH, "-DUSE_CUDA"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
    # Without this the wheel is for one Python alone; torch compiles for 3.10 and newer.
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
