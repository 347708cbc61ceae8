// Public pages that several classes lead to.

export const RUNTIME = 'https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html';
export const COMPAT = 'https://docs.nvidia.com/deploy/cuda-compatibility/index.html';
export const MINOR = 'https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html';
export const DRIVER = 'https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/index.html';
export const WSL = 'https://docs.nvidia.com/cuda/wsl-user-guide/index.html';
export const TOOLKIT = 'https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html';
export const CUDA_NOTES = 'https://docs.pytorch.org/docs/stable/notes/cuda.html';
export const EXTENSIONS = 'https://docs.pytorch.org/docs/stable/cpp_extension.html';
export const UV = 'https://docs.astral.sh/uv/guides/integration/pytorch/';
export const ROCM = 'https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/quick-start.html';
export const ROCM_MATRIX = 'https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html';
export const XPU = 'https://docs.pytorch.org/docs/2.15/notes/get_start_xpu.html';
export const MPS = 'https://docs.pytorch.org/docs/stable/notes/mps.html';
export const JAX = 'https://docs.jax.dev/en/latest/installation.html';
export const TENSORFLOW = 'https://www.tensorflow.org/install/pip';
export const NCCL = 'https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html';
export const CUDNN = 'https://docs.nvidia.com/deeplearning/cudnn/latest/index.html';
export const VLLM = 'https://docs.vllm.ai/en/latest/usage/troubleshooting.html';
export const OLLAMA = 'https://github.com/ollama/ollama/blob/main/docs/troubleshooting.md';
export const LLAMA = 'https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md';
export const FLASH = 'https://github.com/Dao-AILab/flash-attention#installation-and-features';
