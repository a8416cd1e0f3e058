"""Device functions in one source and their callers in another: -rdc and a device link."""

from setuptools import setup

from archbuild.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="relocatable",
    version="1.0",
    packages=["relocatable"],
    ext_modules=[
        CUDAExtension(
            "relocatable._C",
            ["csrc/module.cpp", "csrc/polynomial.cu", "csrc/apply.cu"],
            dlink=True,
            dlink_libraries=[],
            extra_compile_args={"cxx": [], "nvcc": ["-O3", "-rdc=true"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
