// Python packages that belong to the GPU stack by their import names: their versions must fit each other.

export const GPU_PACKAGES: ReadonlySet<string> = new Set([
  ...['torch', 'torchvision', 'torchaudio', 'torchtext', 'torchao', 'torch_geometric', 'functorch', 'triton'],
  ...['jax', 'jaxlib', 'flax', 'optax', 'haiku', 'tensorflow', 'keras', 'tensorflow_addons', 'tensorflow_probability'],
  ...['transformers', 'diffusers', 'accelerate', 'peft', 'trl', 'optimum', 'sentence_transformers', 'unsloth'],
  ...['bitsandbytes', 'xformers', 'flash_attn', 'deepspeed', 'apex', 'transformer_engine', 'megatron', 'nemo'],
  ...['vllm', 'sglang', 'lmdeploy', 'exllamav2', 'auto_gptq', 'gptqmodel', 'awq', 'llama_cpp', 'ctranslate2'],
  ...['onnxruntime', 'onnx', 'tensorrt', 'tensorrt_llm', 'torch_tensorrt', 'pycuda', 'openvino', 'paddle', 'mxnet'],
  ...['cupy', 'cupyx', 'cupy_backends', 'numba', 'numba_cuda', 'cudf', 'cuml', 'cugraph', 'rmm', 'cuda'],
  ...['pytorch_lightning', 'lightning', 'fairseq', 'mmcv', 'mmengine', 'mmdet', 'detectron2', 'pytorch3d', 'kaolin'],
  ...['dgl', 'spconv', 'mamba_ssm', 'causal_conv1d', 'intel_extension_for_pytorch', 'ipex_llm', 'torch_directml'],
  ...['whisper', 'faster_whisper', 'ultralytics', 'basicsr', 'monai', 'allennlp', 'horovod', 'cuda_bindings'],
]);
