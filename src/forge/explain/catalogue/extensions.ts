// Compiled packages on top of torch: flash-attn, xFormers and other extensions, and what their kernels ask of the GPU.

import { GPU_DISTRIBUTION } from '../packages.ts';
import { capture, phrase, symptom } from '../patterns.ts';
import { install, run, safe, say } from '../steps.ts';
import type { Context, ErrorClass, RepairStep } from '../types.ts';
import { EXTENSIONS, FLASH, VLLM } from './links.ts';

export const extensionClasses: readonly ErrorClass[] = [
  {
    code: 'abi-symbol',
    severity: 'error',
    title: 'An extension was built for another torch',
    patterns: [
      capture(
        /importing (?<package>flash_attn\w*|xformers\w*|torchvision\w*|exllama\w*|\w+_cuda): The specified procedure could not be found/i,
      ),
      capture(/undefined\s+symbol: (?<symbol>_Z\w*(?:2at|3c10|5torch)\w*|THPVariable\w*|_ZNSt\w*)/i),
      capture(
        /(?<package>flash_attn\w*|xformers|detectron2|torch_\w+|mmcv\w*|pytorch3d|apex|vllm|exllama\w*|selective_scan\w*|causal_conv1d\w*|scatter_\w+|\w+_cuda\w*)[^\n]*undefined symbol: (?<symbol>(?!__nvJitLink|cu[a-z]+|nccl|c(?:get|quant|dequant|gemm|adam))\w+)/i,
      ),
      capture(/Symbol not found: (?<symbol>__Z\w*(?:c10|2at|5torch)\w*)/),
      capture(/Detected that PyTorch and (?<package>(?!torchvision|torchaudio)\w+) were compiled with different CUDA/i),
      // A library of macOS names its file before the symbol.
      capture(
        /(?<package>torch|tensorflow|jaxlib|mlx|onnxruntime|llama_cpp|metal_plugin)[\w/.-]*\.(?:dylib|so)\b[^\n]*Symbol not found: (?<symbol>\w+)/,
      ),
      capture(
        /\b(?<package>(?!lib)\w*(?:gpu|cuda)\w*)\.(?:so|pyd)\S*: undefined symbol: (?<symbol>(?!__nvJitLink|cu[a-z]+|nccl|nv)\w+)/i,
      ),
      capture(
        /(?<library>lib(?:torch|c10|shm)\w*\.(?:so|dylib)[.\d]*)['"]?:? [^\n]{0,30}(?:cannot open|no such file|not found)/i,
      ),
      capture(
        /The specified procedure could not be found[^\n]*(?<package>torchvision|torchaudio|xformers|flash_attn)/i,
      ),
    ],
    explains: ['win-dll'],
    cause: ({ got }) =>
      `${got.package ? `${got.package} and` : 'A compiled extension and'} the installed torch do not belong together.`,
    fix: (context) => [
      say('The path in the message names the package; reinstall it for the installed torch.'),
      rebuild(context),
    ],
    links: [EXTENSIONS],
  },
  {
    code: 'build-needs-torch',
    severity: 'error',
    title: 'The build does not see the installed torch',
    patterns: [
      capture(
        /No module named '(?<module>torch|packaging|wheel|numpy)'[\s\S]{0,200}?(?:originates from a subprocess|subprocess-exited-with-error)/i,
      ),
      capture(
        /No module named '(?<module>torch|packaging|wheel|numpy)'/i,
        /Getting requirements to build wheel|\bpip (?:setup|install|wheel)\b[^\n]*\b(?:error|fail\w*)\b|setup\.py|build_meta|get_requires_for_build|Failed to build|build-env|No module named 'packaging'[\s\S]*flash/i,
      ),
      capture(/Failed to build `?(?<package>[\w-]+)[\s\S]{0,400}No module named '(?<module>torch)'/i),
      capture(/`(?<package>[\w-]+)[^`\n]*` depends on `(?<module>\w+)`, but doesn't declare it as a build dependency/),
    ],
    explains: ['framework-missing', 'build-failed'],
    cause: ({ got }) =>
      `The package imports ${got.module ?? 'torch'} while it is built, and pip builds in an empty environment.`,
    fix: (context) => [
      install('Install torch and the build tools first.', 'packaging', 'ninja', 'wheel', 'setuptools'),
      run(
        'Then build without isolation.',
        'python',
        '-m',
        'pip',
        'install',
        '--no-build-isolation',
        context.got.package ?? packageIn(context) ?? 'flash-attn',
      ),
      say('With uv: no-build-isolation-package = ["flash-attn"] under [tool.uv].'),
    ],
    links: ['https://docs.astral.sh/uv/concepts/projects/config/#build-isolation'],
  },
  {
    code: 'xformers-mismatch',
    severity: 'warning',
    title: 'xFormers was built for another torch',
    patterns: [
      phrase(/xFormers can't load C\+\+\/CUDA extensions/i),
      phrase(/xFormers wasn't buil[dt] with CUDA support/i),
      phrase(/Need to compile C\+\+ extensions to (?:use|get)[^\n]*(?:xformers|sparse attention|memory-efficient)/i),
      phrase(/Please reinstall xformers/i),
    ],
    unless: /WinError 1314/,
    cause: () => 'Each xFormers wheel fits one version of torch.',
    fix: () => [
      safe('Let pip find the pair.', 'python', '-m', 'pip', 'install', '--force-reinstall', 'xformers'),
      run('See what it was built for.', 'python', '-m', 'xformers.info'),
    ],
    links: ['https://github.com/facebookresearch/xformers#installing-xformers'],
  },
  {
    code: 'xformers-operator',
    severity: 'error',
    title: 'xFormers has no kernel for this input',
    patterns: [
      phrase(/No operator found for (?:`?memory_efficient_attention_\w+`?|this attention)/i),
      capture(/`(?:cutlass|flshatt|tritonflashatt|smallk|fa[23]|ck)\w*(?:@[^`]*)?` is not supported because/i),
      // A table of `xformers.info` where some kernels are there is a report.
      symptom(
        /memory_efficient_attention\.\w+(?:@[\w.]+)?: +unavailable/,
        /^(?![\s\S]*memory_efficient_attention\.\S+: +available)/,
      ),
    ],
    cause: () =>
      'No kernel takes this mixture of device, type and shape: the tensors are on the CPU, in float32, or the GPU is too old or too new for the build.',
    fix: () => [
      run('See which kernels the build holds.', 'python', '-m', 'xformers.info'),
      say(
        "Use float16 or bfloat16 on the GPU, or PyTorch's own attention: pipe.disable_xformers_memory_efficient_attention().",
      ),
      safe(
        'Install the xFormers that fits the installed torch.',
        'python',
        '-m',
        'pip',
        'install',
        '--force-reinstall',
        'xformers',
      ),
    ],
    links: ['https://github.com/facebookresearch/xformers#installing-xformers'],
  },
  {
    code: 'flash-attn-gpu',
    severity: 'error',
    title: 'FlashAttention needs a newer GPU',
    patterns: [
      phrase(/FlashAttention(?:-?\d)? only supports? (?:Ampere|Turing|Hopper|Ada|Blackwell)[\w ,/]*GPUs/i),
      phrase(/Cannot use FlashAttention(?:-\d)? backend for Volta and Turing GPUs/i),
      phrase(
        /FlashAttention(?:-\d)? (?:requires|needs)[^\n]*(?:Ampere|compute capability)|flash attention (?:is )?not supported on this (?:GPU|device|arch)/i,
      ),
      phrase(/Expected is_sm(?:80|8x|90|75)[\w |]* to be true|FlashAttention[^\n]{0,60}(?:not supported|unsupported)/i),
      phrase(/No available kernel\. Aborting execution|flash attention requires (?:sm|compute|gpu)/i),
    ],
    explains: ['vllm-engine'],
    cause: (context) =>
      `FlashAttention 2 runs from compute capability 8.0 on${context.facts && context.facts.gpus.length > 0 ? `; here is ${context.facts.gpus.join(', ')}` : ''}.`,
    fix: ({ software }) => [
      software === 'vllm'
        ? say(
            'vLLM takes another backend by itself; name one if it must: VLLM_ATTENTION_BACKEND=XFORMERS or TRITON_ATTN.',
          )
        : say('Use attn_implementation="sdpa": PyTorch\'s own attention runs on every GPU.'),
    ],
    links: [FLASH],
  },
  {
    code: 'flash-attn-missing',
    severity: 'error',
    title: 'flash-attn is asked for and not installed',
    patterns: [
      capture(/name '(?<name>[Ff]lash_?\w*[Aa]tt\w*)' is not defined/),
      phrase(
        /packages that were not found in your environment: [^\n]{0,80}\bflash_attn\b|\bRun `pip install flash[_-]attn`/i,
      ),
      phrase(/FlashAttention2 has been toggled on, but it cannot be used/i),
      phrase(
        /the package flash_attn seems to be not installed|flash_attn (?:is )?not (?:installed|found|available)|No module named 'flash_attn/i,
      ),
      capture(/cannot import name '(?<name>\w+)' from '(?:flash_attn|partially initialized module 'flash_attn)/i),
      phrase(/Torch was not compiled with flash attention/i),
    ],
    cause: () => 'The model wants FlashAttention, a package that is not part of torch.',
    fix: () => [
      say('Use attn_implementation="sdpa" instead: it needs no package and is nearly as fast.'),
      run('Or install it, without isolation.', 'python', '-m', 'pip', 'install', 'flash-attn', '--no-build-isolation'),
    ],
    links: [FLASH],
  },
  {
    code: 'flash-attn-input',
    severity: 'error',
    title: 'FlashAttention does not take this input',
    patterns: [
      phrase(
        /supports? head[ _]dim(?:ension)?s?(?: of)?(?: at most| up to| only)? \d+|FlashInfer Internal Error: Invalid configuration/i,
      ),
      phrase(/FlashAttention (?:forward|backward) for head dim[^\n]{0,12}\d+ requires/i),
      phrase(/FlashAttention only supports? fp16(?:,)? (?:and|or)[^\n]*bf16/i),
      capture(/FlashAttention (?:forward|backward) only supports head dimension at most (?<dim>\d+)/i),
      phrase(
        /Flash Attention 2\.0 only supports torch\.float16 and torch\.bfloat16|attempting to use Flash Attention 2(?:\.0)? without specifying a torch dtype/i,
      ),
      phrase(/flash_attn(?:ention)?[^\n]{0,40}requires? (?:CUDA|torch)[^\n]{0,40}(?:and above|or higher|>=)/i),
      phrase(/Flash Attention 2(?:\.0)? with a model (?:not )?initialized on (?:CPU|GPU)/i),
    ],
    cause: ({ got }) =>
      got.dim ? `Heads may be at most ${got.dim} wide.` : 'The kernels exist for float16 and bfloat16 on the GPU only.',
    fix: () => [
      say('Load the model with dtype=torch.bfloat16 (float16 before Ampere), or use attn_implementation="sdpa".'),
    ],
    links: [FLASH],
  },
  {
    code: 'bf16-unsupported',
    severity: 'warning',
    title: 'The GPU has no bfloat16',
    patterns: [
      phrase(
        /(?:Current CUDA Device|Your setup|this device|This GPU)[^\n]{0,40} (?:does not|doesn't) support bf(?:loat)?16/i,
      ),
      capture(/Bfloat16 is only supported on GPUs with compute capability of at least (?<cc>[\d.]+)/i),
      phrase(
        /bf16\/gpu\. You need|Your device doesn't support (?:bfloat16|bf16)|bfloat16 is not supported on this (?:GPU|device|hardware)|bf16 requested, but|Feature '[^'\n]*bf16[^'\n]*' ?requires/i,
      ),
      capture(/"\w*_cuda\w*" not implemented for 'BFloat16'/),
    ],
    unless: /\bMPS\b/,
    explains: ['vllm-engine'],
    cause: () => 'bfloat16 in hardware begins with compute capability 8.0.',
    fix: ({ software }) => [
      software === 'vllm'
        ? say('Start vLLM with --dtype half.')
        : say('Use float16 instead: dtype=torch.float16, or --fp16 in place of --bf16.'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/amp.html'],
  },
  {
    code: 'quant-gpu',
    severity: 'error',
    title: 'The GPU does not have this number format',
    patterns: [
      phrase(/\bkernels? (?:is |are )?unavailable for \w+ on (?:the )?current platform/i),
      capture(
        /quantization (?:method|scheme)(?: (?<method>(?!is)\w+))? is not supported for[ ',]+the current GPU\.? *(?:Min(?:imum)? capability: (?<least>\d+))?/i,
      ),
      capture(/(?:type )?(?<method>fp8e\w+) not supported in this architecture/i),
      phrase(
        /(?:FP8|fp8|NVFP4|MXFP[48])[^\n]{0,60}(?:only supported on|requires?|is not supported)[^\n]{0,60}(?:compute capability|GPU|device|hardware|CUDA devices|Hopper|Ada\b|Blackwell|Ampere|H100|sm_?\d\d)|torch\._scaled_mm is only supported on CUDA devices/i,
      ),
      phrase(
        /\b(?:float8|fp8\w*|nvfp4|mxfp[48])\b[^\n]{0,60}(?:only supported|(?:is )?not supported|requires?)\b[^\n]{0,30}\bCUDA(?: arch)? ?(?:>=|<=?|\d)/i,
      ),
      phrase(
        /\b(?:GPU|device|hardware)\b[^\n]{0,20} do(?:es)?(?: not|n't) support (?:int8|int4|fp8|fp4|8-bit|4-bit)\b/i,
      ),
      phrase(
        /do(?:es)? not support efficient (?:float16|int8|bfloat16) computation|Requested \w+ compute type, but the target device/i,
      ),
      capture(/"\w*_cuda\w*" not implemented for '(?<method>Float(?:8|4)_\w+)'/),
    ],
    explains: ['vllm-engine'],
    cause: ({ got }) =>
      `${got.method ?? 'This format'} needs a newer GPU${got.least ? ` (compute capability ${got.least.slice(0, -1)}.${got.least.slice(-1)})` : ': FP8 begins with 8.9, FP4 with 10.0'}.`,
    fix: () => [
      say('Take the same model in another format: AWQ, GPTQ or bitsandbytes run from 7.5, plain float16 everywhere.'),
    ],
    links: [VLLM],
  },
  {
    code: 'extension-missing',
    severity: 'warning',
    title: 'The compiled part of a package is missing',
    patterns: [
      phrase(/Loading an? \w+ quantized model requires/i),
      capture(
        new RegExp(
          `\\bImportError: [^\\n]*\\brequires? [\`'"]?(?<package>(?!bitsandbytes|flash)(?:${GPU_DISTRIBUTION}))[\`'"]? to be installed`,
          'i',
        ),
      ),
      phrase(
        /CUDA (?:extension|kernels?)(?: for \w+)?(?: \w+)? (?:is |are )?not (?:installed|compiled|available|built|found)|\b(?:apex|transformer[ _]engine|flash[ _]infer|deep_?gemm|deep_?ep)\b (?:is )?(?:required|needed|not installed)/i,
      ),
      capture(
        /(?<package>[\w-]+)[ _]kernels? (?:(?:is|are) )?(?:not|needed to be) (?:installed|compiled)|compiled without (?:CUDA|GPU) (?:extensions|kernels|ops)/i,
      ),
      capture(/name '(?<package>\w*_cuda\w*|gpu_ops|\w+_kernels?|exl\w+|awq_\w+|_C|_ext)' is not defined/i),
      capture(
        /No module named '(?<package>[\w.]*(?:\._C|\._ext|_cuda\w*|_kernels|amp_C|fused_\w+|awq_ext|exllama\w*|selective_scan\w*|diff_gaussian\w*|simple_knn\w*|tinycudann|gsplat\w*|fused_ssim\w*|pointnet2\w*|\w*[Rr]asteriz\w*|MultiScaleDeformable\w*|chamfer\w*|torchsparse\w*|sageattn\w*|sageattention|transformer_engine\w*|_turbomind|fla\b))'|cannot import name '_C' from '(?<other>\w+)/i,
      ),
      // The usual names of a compiled part.
      symptom(/cannot import name '(?<name>csrc|_C|_ext|\w+_ext)' from '(?<package>\w+)/),
      // RAPIDS, as it was named before its packages were.
      capture(/(?:No module named|cannot import name) '(?<package>lib(?:gdf|rmm|cudf|cuml)\w*)'/),
      capture(/'_OpNamespace' '(?<package>\w+)' object has no attribute '\w+'/),
      capture(/torch_extensions\/\S*?(?<package>\w+)\.so: cannot open shared object file/),
      capture(/'NoneType' object has no attribute '(?<package>\w+?)_(?:fwd|bwd|cuda|forward_cuda|backward_cuda)'/),
      capture(/name '(?<package>str2optimizer\w+|\w*Gpu[A-Z]\w+)' is not defined/),
      // A name that speaks of the GPU, in a module that was built without it.
      capture(/No module named '?(?<package>[\w.]*(?:_gpu|_cuda|gpu_|cuda_)\w*)'?/),
      capture(/cannot import name '(?<name>\w*(?:_gpu|_cuda|gpu_|cuda_)\w*)' from '(?<package>\w+)/),
      capture(
        /module '(?<package>(?!torch|tensorflow|jax)\w+)(?:\.(?:_\w+|\w*(?:cuda|gpu)\w*))*' has no attribute '(?<name>\w*(?:Gpu[A-Z]|Cuda[A-Z]|_cuda|_gpu)\w*)'/,
      ),
    ],
    cause: ({ got }) =>
      `${got.package ?? got.other ?? 'The package'} was installed without its CUDA part: the wheel is for another torch or Python, or it was built where no nvcc was found.`,
    fix: (context) => [
      say('Take the wheel that names your torch, CUDA and Python, or build from source with nvcc on the path.'),
      rebuild(context),
    ],
    links: [EXTENSIONS],
  },
];

/** Only a package that the text names is rebuilt by a command that may run by itself. */
function rebuild(context: Context): RepairStep {
  const words = ['python', '-m', 'pip', 'install', '--force-reinstall', '--no-cache-dir', '--no-build-isolation'];
  const name = packageIn(context);
  return name
    ? safe('Rebuild it without the cached wheel.', ...words, name)
    : run('Rebuild it without the cached wheel; PACKAGE is the name in the path.', ...words, 'PACKAGE');
}

const NAMES: readonly (readonly [RegExp, string])[] = [
  [/flash_attn/, 'flash-attn'],
  [/xformers/, 'xformers'],
  [/torch_(scatter|sparse|cluster|spline_conv)/, 'torch-$1'],
  [/torchvision/, 'torchvision'],
  [/torchaudio/, 'torchaudio'],
  [/causal_conv1d/, 'causal-conv1d'],
  [/selective_scan|mamba_ssm/, 'mamba-ssm'],
  [/vllm/, 'vllm'],
];

function packageIn({ got }: Context): string | undefined {
  const source = got.package ?? '';
  for (const [re, name] of NAMES) {
    const match = re.exec(source);
    if (match) return name.replace('$1', match[1] ?? '');
  }
  return undefined;
}
