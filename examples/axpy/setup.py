from setuptools import setup

from archbuild.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="axpy",
    version="1.0",
    packages=["axpy"],
    ext_modules=[CUDAExtension("axpy._C", ["csrc/binding.cpp", "csrc/axpy.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
