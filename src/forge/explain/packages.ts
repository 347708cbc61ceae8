// Python packages that belong to the GPU stack: their versions must fit each other. One list for all that speak of them.

/** By their import names. */
export const GPU_PACKAGES: ReadonlySet<string> = new Set([
  ...['torch', 'torchvision', 'torchaudio', 'torchtext', 'torchao', 'torch_geometric', 'functorch', 'triton'],
  ...['jax', 'jaxlib', 'flax', 'optax', 'haiku', 'tensorflow', 'keras', 'tensorflow_addons', 'tensorflow_probability'],
  ...['transformers', 'diffusers', 'accelerate', 'peft', 'trl', 'optimum', 'sentence_transformers', 'unsloth'],
  ...['bitsandbytes', 'xformers', 'flash_attn', 'deepspeed', 'apex', 'transformer_engine', 'megatron', 'nemo'],
  ...['vllm', 'sglang', 'lmdeploy', 'exllamav2', 'auto_gptq', 'gptqmodel', 'awq', 'llama_cpp', 'ctranslate2'],
  ...['onnxruntime', 'onnx', 'tensorrt', 'tensorrt_llm', 'torch_tensorrt', 'pycuda', 'openvino', 'paddle', 'mxnet'],
  ...[
    'cupy',
    'cupyx',
    'cupy_backends',
    'numba',
    'numba_cuda',
    'cudf',
    'dask_cudf',
    'dask_cuda',
    'cuml',
    'cugraph',
    'rmm',
    'cuda',
  ],
  ...['pytorch_lightning', 'lightning', 'fairseq', 'mmcv', 'mmengine', 'mmdet', 'detectron2', 'pytorch3d', 'kaolin'],
  ...['dgl', 'spconv', 'mamba_ssm', 'causal_conv1d', 'intel_extension_for_pytorch', 'ipex_llm', 'torch_directml'],
  ...[
    'torch_scatter',
    'torch_sparse',
    'torch_cluster',
    'torch_spline_conv',
    'pyg_lib',
    'tinycudann',
    'nerfacc',
    'gsplat',
  ],
  ...['natten', 'flashinfer', 'sageattention', 'lmdeploy', 'turbomind', 'mlc_llm', 'hqq', 'aqlm', 'liger_kernel', 'k2'],
  ...['whisper', 'faster_whisper', 'ultralytics', 'basicsr', 'monai', 'allennlp', 'horovod', 'cuda_bindings'],
]);

/** By the names under which they are installed, as the source of a pattern. */
export const GPU_DISTRIBUTION: string = [
  ...[...GPU_PACKAGES].map((name) => name.replaceAll('_', '[-_]')),
  String.raw`torch[\w-]*|tensorflow[\w-]*|tensorrt[\w-]*|jax[\w-]*|onnxruntime[\w-]*|cupy[\w-]*|pytorch[-_][\w-]+|paddlepaddle[\w-]*`,
  String.raw`nvidia-[\w-]+|(?:\w+[-_])*cuda[\w-]*|flash[-_]attn[\w-]*|faiss[-_]gpu[\w-]*`,
]
  // The longest first: where one name begins another, the whole is meant.
  .sort((a, b) => b.length - a.length)
  .join('|');
