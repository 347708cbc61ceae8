// A person's sentence that a program does not use the GPU: the title of a question, with no message of any program in it; and
// that a driver stopped working, or a card is gone.
//
// Such a sentence has a shape ("X does not detect my GPU", "GPU is not used by X", "X runs on the CPU only") and names who does
// not. Who it is decides the class; of several the first in this list. Advice and conditions ("if the GPU is not found, …"),
// what was changed, and code have the same words and are no complaint.

import { capture } from '../patterns.ts';
import type { Pattern } from '../types.ts';

const GPU = String.raw`(?:\b(?:(?:external |discrete |dedicated )?[di]?gpus?\d*|e-?gpus?|(?:graphics?|video) cards?|cuda|vram|geforce|(?:rtx|gtx) ?\d{3,4}\w*|(?:rx|arc|radeon) ?(?:pro )?\w?\d{3,4}\w*|tesla \w?\d+\w*|accelerators?|opencl|rocm|nvenc|vaapi|qsv|quick ?sync|hardware (?:transcoding|decoding|encoding)|webgpu|webgl|vulkan)\b)`;
const NOT = String.raw`(?:\b(?:not|never|no longer|stop(?:s|ped)|fail(?:s|ed)? to|unable to|refuses to|cannot|without)\b|\b\w+n['’]?t\b)`;
const USE = String.raw`\b(?:us(?:e|es|ing)|utili[sz]\w*|detect(?:s|ing)?|see(?:s|ing)?|find(?:s|ing)?|recogni[sz](?:e|es|ing)|pick(?:s|ing)? up|access(?:ing)?|show(?:s|ing)?|work(?:s|ing)? (?:on|with)|run(?:s|ning)? (?:on|with)|offload(?:s|ing)?(?: to)?)\b`;
const USED = String.raw`\b(?:used|utili[sz]ed|detected|found|recogni[sz]ed|seen|visible|available|show(?:n|s|ing)?(?: up)?|picked up|work(?:s|ing)?|listed|accessible|passed)\b`;
const WORDS = String.raw`(?: [\w.,'’()"/&+-]+){0,6}?`;

/** The shapes of the complaint. */
const SHAPE = new RegExp(
  [
    `${NOT}(?: (?:be|being|even|properly|correctly|actually|able to|to|get)){0,2} ${USE}${WORDS} ?${GPU}`,
    `${GPU}${WORDS} ?${NOT}(?: (?:be|being|get|getting|properly|correctly|even)){0,2} ${USED}`,
    String.raw`${GPU} (?:hardware )?(?:(?:trans|en|de)cod\w*|acceleration|rendering|inference|compute|offload\w*) (?:fails?|failed|(?:is )?broken|stop(?:s|ped) working|(?:do|does|is|did)(?:n['’]?t| not) work(?:ing)?)\b`,
    String.raw`\bno (?:(?:compatible|supported|suitable|nvidia|amd|intel) )?${GPU}${WORDS} ?${USED}`,
    String.raw`\b0 gpus?\b(?: \w+)? ${USED}`,
    String.raw`\b(?:only|always|still|just|keeps?) (?:us(?:es?|ing)|runs?(?: on)?|running(?: on)?)(?: the| my)? cpu\b`,
    String.raw`\b0 ?% ${GPU} (?:usage|util\w*|load)\b`,
    String.raw`${GPU} (?:usage|utili[sz]ation|load)\b[^\n]{0,30}(?:\b0 ?%|\bzero\b|\b(?:very|too|extremely) low\b|\b(?:does(?:n['’]?t| not)|never) (?:increase|rise|go up)\b)`,
    String.raw`\b(?:very|extremely|super) low ${GPU} (?:usage|util\w*)\b`,
    String.raw`${GPU}[^\n]{0,12}\b(?:barely|hardly) (?:being )?us(?:ed|ing)\b`,
    String.raw`\bno ${GPU} (?:offload\w*|usage|utili[sz]ation|acceleration)\b`,
    String.raw`\b(?:detect|find|found|see|recogni[sz]e)(?:s|d|ed)? no ${GPU}`,
    String.raw`\bnone of (?:my|the)\b[^\n]{0,30}\bus(?:e|es|ing)\b[^\n]{0,8}${GPU}`,
    String.raw`\b(?:always|still|keeps?|seems to) default(?:s|ing)? to (?:the )?cpu\b|\bhas been using (?:the |my )?cpu\b`,
    String.raw`\bonly (?:the )?cpu (?:is|was|gets|being)(?: being)? us(?:ed|ing)\b`,
    String.raw`\bcpu (?:only )?(?:instead of|rather than|and not|but not|not)(?: the| my| on)* ${GPU}`,
    String.raw`\b(?:runs?|running|uses?|using)(?: on| with)?(?: the)? (?:100% cpu|cpu only)\b`,
    // The same in Chinese.
    '(?:无法|不能|没有|未能|没)(?:正常)?(?:使用|用到|用上|调用|识别|检测到?|找到|启用)[^\\n]{0,6}(?:gpu|显卡|独显|cuda)',
    '(?:找不到|检测不到|识别不到|用不了|不识别)[^\\n]{0,6}(?:gpu|显卡|独显|cuda)',
    '(?:gpu|显卡|独显|cuda)[^\\n]{0,6}(?:(?:无法|不能|没有?|未)被?(?:使用|调用|识别|检测|启用|工作|生效)|不可用|用不了|不工作)',
    '(?:只|仅)能?(?:使用|用|跑)了?[^\\n]{0,4}cpu',
  ].join('|'),
  'i',
);

/** What a sentence of advice, of a change log, of a program or of code holds. */
const OTHER =
  /如果|请确|建议|确保|修复|新增|\b(?:if|whether|unless|should|may|might|would|will|your|in case|make sure|ensure|check|fix(?:e[sd]|ing)?|adds?|added|feature|support for|level|info|debug)\b|[;{}=<>|\\]|\b\w+\(|:\d+:|^\W*(?:how|which)\b|^\W*when (?!trying|installing|using|running|i )|^\s*(?:[#*>-]|\d+\.)|\w(?:Error|Exception|Warning)\b|\b(?:error|exception|warning|fatal):|\bdll\b|\bincompatible\b/i;

/** Programs begin so, people seldom, and where nobody is named it counts; and what is not there may be no GPU. */
const PROGRAM =
  /^\W*(?:unable|failed|could|cannot|can't)\b(?!.*\bmy\b)|^\S+\[\d+\]: |^\[\w+\] \[\w+\] |\bcmake\b|\b(?:wheels?|binaries|index|docs?|documentation|by this)\b|\b\w*(?:Error|Exception|Warning)\b/i;

/** Who is meant where nobody is named. */
const ANYBODY = 'torch-no-gpu';

/** Who does not use the GPU, from the narrow to the wide. */
const WHO: readonly (readonly [code: string, who: RegExp])[] = [
  ['gpu-lost', /\be-?gpus?\b|\bexternal gpus?\b|\bthunderbolt\b|\boculink\b/],
  ['ollama-no-gpu', /\bollama\b/],
  ['webgpu-no-adapter', /\bwebgpu\b/],
  ['tf-no-gpu', /\b(?:tensorflow|keras|tf2?)\b/],
  ['jax-no-gpu', /\bjax\b/],
  ['ort-provider', /\bonnx ?-?runtime\b/],
  [
    'llama-cpu-build',
    /\b(?:llama[._ -]?cpp|llama-(?:server|cli)|kobold\w*|lm ?studio|gpt4all|llamafile|whisper[._ ]?cpp|oobabooga|text-generation-webui|local ?-?ai|privategpt|lemonade)\b/,
  ],
  ['opencl-none', /\b(?:opencl|clinfo)\b/],
  ['vulkan-driver', /\bvulkan\w*\b/],
  [
    'nvenc',
    /\b(?:ffmpeg|jellyfin|plex|emby|handbrake|tdarr|frigate|immich|transcod\w+|(?:video|hardware) (?:en|de)cod\w+|nvenc|vaapi|qsv|quick ?sync)\b/,
  ],
  ['browser-gpu', /\b(?:chrom(?:e|ium)|firefox|browser|webgl|electron)\b/],
  [
    'k8s-gpu',
    /\b(?:kubernetes|k8s|k3s|k3d|rke2?|microk8s|minikube|kubectl|kubelet|pods?|openshift|eks|gke|aks|(?:device|gpu)[ -](?:plugin|operator)|nodes?)\b/,
  ],
  ['passthrough', /\b(?:pass-?through|vfio|proxmox|vm|virtual machine|qemu|kvm|hyper-v|esxi|virt-manager)\b/],
  ['xpu-none', /\b(?:intel|xpu|ipex(?:-llm)?|oneapi|arc|battlemage|level[- ]zero|sycl)\b/],
  ['mps-unavailable', /\b(?:mac(?:os|book)?|apple|metal|mps)\b/],
  ['hip-none', /\b(?:amd|radeon|rocm|hip|rx ?\d{4}\w*|gfx\d+\w*|strix|ryzen)\b/],
  ['docker-gpu', /\b(?:docker\w*|podman|containers?|compose|containerd|singularity|apptainer|lxc)\b/],
  ['no-devices', /\b(?:wsl2?|nvidia-smi)\b/],
  [ANYBODY, /./],
];

/** Sentences with a subject of their own. */
const OWN: readonly (readonly [code: string, says: RegExp])[] = [
  [
    'smi-no-comm',
    /\b(?:no longer|can['’]?t|cannot|could ?n[o'’]t|unable to) get (?:the |my )?nvidia\b[^\n]{0,20}\bdrivers? (?:to |working\b)|\bnvidia\b(?:[^\n]{0,40}\b(?:graphics? )?(?:drivers?|(?:kernel )?modules?)|-smi)\b[^\n]{0,30}(?:\bfails? to load|\bnot (?:being )?(?:load(?:ed|ing)?|work(?:ing)?)|\b(?:won|doesn|isn|aren|don)['’]?t (?:be )?(?:load(?:ed|ing)?|work(?:ing)?|run)|\bno longer (?:loads?|works?|runs?)|\bstop(?:s|ped) working|\b(?:has|have) (?:completely )?(?:disappeared|vanished)|\b(?:is|are|got) (?:gone|broken))\b(?![^\n]*\bnouveau\b)/,
  ],
  [
    'native-crash',
    /\b(?:llama[._ -]?cpp|llama-server|kobold\w*|ollama|lm ?studio|comfyui|blender|resolve|vllm|whisper\S*)\b[^\n]{0,60}\b(?:crash(?:es|ed|ing)?|segfaults?)\b[^\n]{0,80}\b(?:gpu|vulkan|cuda|rocm|hip|drivers?|radeon|nvidia|amd|[gr]tx)\b/,
  ],
  [
    'dkms-build',
    /\b(?:building|build of|compil(?:ing|ation of)|rebuilding) (?:the |my )?(?:nvidia|amdgpu)\b[^\n]{0,20}\b(?:drivers?|modules?|dkms)\b[^\n]{0,15}\b(?:fails?|failed|failing|is broken|breaks|broke)\b/,
  ],
  ['not-compiled-cuda', /\binstall(?:s|ed|ing)?\b[^\n]{0,30}\bcpu(?:[- ]only)? (?:version|build|wheel|variant)\b/],
  [
    'gpu-lost',
    /\b(?:e?gpu|graphics card|(?:rtx|gtx|rx) ?\d{4}\w*|video card)s?\b[^\n]{0,40}\b(?:disappears?|vanish(?:es)?|disappeared|vanished|drops? (?:off|out)|fell off|falls? off)\b|\bdrops? the (?:gpu|graphics card)\b|\b\d+ gpus? instead of \d+|\bonly \d+ (?:out )?of (?:the |my )?\d+ gpus?\b|\bgpu count of \d+ instead of \d+|\bshort (?:a|one) gpu\b/,
  ],
  [
    'passthrough',
    /\b(?:pass-?through|vfio|vms?|guest|qemu|kvm|proxmox|unraid|hyper-v)\b[^\n]{0,120}\b(?:error|code)(?: code)? 43\b|\b(?:error|code)(?: code)? 43\b[^\n]{0,80}\b(?:pass-?through|vfio|vms?|guest|qemu|kvm|proxmox|unraid|hyper-v)\b/,
  ],
  [
    'gpu-lost',
    /\b(?:gpu|graphics|nvidia|amd|radeon|geforce|intel|arc|rtx|gtx|video card)\b[^\n]{0,80}\b(?:error|code)(?: code)? 43\b|\b(?:error|code)(?: code)? 43\b[^\n]{0,80}\b(?:gpu|graphics|nvidia|amd|radeon|geforce|rtx|gtx|video card)\b/,
  ],
  [
    'device-lost',
    /\b(?:gpu|graphics|display|video) drivers? (?:has |have |keeps? |suddenly |often )*(?:stopped(?! working)|stops? responding|crash(?:ed|es|ing)|tim(?:es|ed) out|reset(?:s|ting)?)\b/,
  ],
  [
    'llama-failed',
    /\b(?:llama[._ -]?cpp|lm ?studio|kobold\w*|llamafile|text-generation-webui)\b[^\n]{0,60}\b(?:fail(?:s|ed|ing)?|unable|refuses|won['’]?t|does(?:n['’]?t| not)|can(?:not|['’]?t)) (?:to )?load\b[^\n]{0,20}\bmodels?\b/,
  ],
  [
    'vulkan-driver',
    /\b(?:gpu|(?:video|graphics) card|card|laptop|driver)\b[^\n]{0,20}\b(?:does(?:n['’]?t| not)|not) support vul[ck]an\b/,
  ],
  ['k8s-gpu', /\b(?:node|pool|cluster)\b[^\n]{0,60}\bgpu (?:capacity|count|allocatable)\b[^\n]{0,15}\b(?:zero|0)\b/],
  [
    'docker-gpu',
    /\b(?:can['’]?t|cannot|not|unable to|n['’]t) (?:find|see|access|detect)\b[^\n]{0,15}\b(?:nvidia|gpu|amd) drivers?\b[^\n]{0,40}\b(?:container|docker|podman|apptainer|singularity)\b/,
  ],
  [
    'nvml-unknown',
    /\bgpus?\b[^\n]{0,30}\b(?:becomes?|became|is lost|gets lost|disappears?|unavailable)\b[^\n]{0,40}\bafter (?:some|a) (?:time|while|few hours)\b[^\n]{0,30}\b(?:containers?|docker|pods?)\b|\b(?:containers?|docker|pods?)\b[^\n]{0,30}\bloses?\b[^\n]{0,20}\bgpus?\b/,
  ],
  [
    'xid',
    /(?=[^\n]*\b(?:crash|hang|hung|freez|lock|fail|fault|time(?:s|d)? ?out|reboot|reset|random|under load|we see|I get)\w*)[^\n]*\bxid:? (?<xid>\d{1,3})\b/,
  ],
  [
    'nccl-timeout',
    /\b(?:nccl|tensor[- ]parallel|all[_-]?reduce|torchrun|ddp|fsdp|multi-?gpu|multiple gpus)\b[^\n]{0,40}\b(?:hangs?|hung|hanging|gets stuck|is stuck|freezes|deadlocks?)\b|\b(?:hangs?|hung|hanging|gets stuck|is stuck|freezes|deadlocks?)\b[^\n]{0,40}\b(?:nccl|tensor[- ]parallel|all[_-]?reduce|multi-?gpu|multiple gpus)\b/,
  ],
  [
    'nvml-mismatch',
    /\b(?:updat|upgrad)(?:ed|es?|ing)\b[^\n]{0,40}\bnvidia\b[^\n]*\b(?:not|n['’]t) (?:been )?(?:yet )?(?:reboot|restart)/,
  ],
  [
    'oom',
    /\b(?:gpu|cards?|vram|cuda|rtx|gtx|[2-5]0[5-9]0(?: ?ti)?|nvidia|comfyui|stable diffusion|sdxl|flux|training)\b[^\n]{0,80}\b(?:runs?|ran|running|goes|went|stops?|dies|crash(?:es|ed)?|ends|fails)\b[^\n]{0,20}\bout[- ]of[- ](?:gpu |cuda |video )?(?:memory|vram)\b/,
  ],
  [
    'dkms-build',
    /\bkernel modules? (?:could not|can['’]?t|cannot|couldn['’]t) be built\b|\bdkms (?:build )?(?:fails|failed|breaks|errors)\b[^\n]{0,60}\b(?:nvidia|drivers?|amdgpu)\b/,
  ],
  [
    'nan-half',
    /\b(?:loss|losses|output|outputs|images?|pictures?)\b[^\n]{0,40}\b(?:nans?|black)\b[^\n]{0,60}\b(?:fp16|float16|half(?: precision)?|amp|gtx ?16\d0\w*)\b|\b(?:fp16|float16|half precision|amp)\b[^\n]{0,60}\b(?:loss|outputs?)\b[^\n]{0,30}\bnans?\b|\bonly black (?:pictures?|images?)\b[^\n]{0,40}\b(?:gtx ?16\d0\w*|fp16|half)\b/,
  ],
  [
    'device-lost',
    /\b(?:nvlddmkm|amdkmdag|amdwddmg|igdkmd\w*)\b[^\n]{0,30}\b(?:event|id|153|13|14|4101|crash\w*|errors?)\b|\bevent viewer\b[^\n]{0,30}\b(?:nvlddmkm|amdkmdag|amdwddmg)\b/,
  ],
  ['gpu-lost', /\bnvidia-smi\b[^\n]{0,30}\b(?:says?|shows?|prints?|reports?)\b[^\n]{0,20}\bERR!/],
  [
    'not-compiled-cuda',
    /\b(?:pip|conda|uv|poetry|installer)\b[^\n]{0,30}\b(?:installs?|installed|picks?|pulls?|gives?|downloads?)\b[^\n]{0,20}\b(?:torch\S*\+cpu|torch\b[^\n]{0,12}\bcpu(?:[- ]only)?\b)/,
  ],
  ['tf-no-gpu', /\b(?:tensorflow|keras|tf2?)\b[^\n]{0,60}\b(?:uses?|using|runs? on|sees?) only (?:the |my )?cpu\b/],
  [
    'driver-gpu',
    /\b(?:gpu|card|geforce|quadro|gtx?|tesla)\b[^\n]{0,40}\bnot supported by (?:this|the|the new|newer) (?:nvidia )?drivers?\b|\blegacy \d{3}(?:xx|\.xx)? drivers? (?:is |are )?(?:needed|required)\b/,
  ],
  ['gpu-lost', /\bnvidia-smi\b[^\n]{0,20}\b(?:hangs|freezes|never returns|blocks) ?(?:forever|for\b|on\b|when\b|$)/],
  ['smi-no-comm', /nvidia-smi(?:命令)?[^\n]{0,6}(?:报错|失败|出错|无法)/],
  [
    'driver-install',
    /安装[^\n]{0,10}(?:显卡|nvidia|cuda|英伟达)[^\n]{0,8}(?:失败|报错|出错)|(?:显卡|nvidia|cuda|英伟达)[^\n]{0,6}驱动[^\n]{0,6}安装(?:失败|不上|报错|出错|不成功)|\b(?:nvidia|amd|amdgpu|radeon|intel|graphics|cuda)\b[^\n]{0,30}\b(?:drivers?|toolkit|adrenalin)\b[^\n]{0,30}(?:\b(?:won|doesn|don|can|couldn)['’]?t install|\bnot install(?:ing)?|\bcannot (?:be )?install(?:ed)?|\binstall(?:ation|er|ing)? (?:fails?|failed|crash\w*|hangs?|freezes|stuck|loops?)|\b(?:stuck|hangs?|freezes) (?:at|on|while|during) install\w*)|\bfail(?:s|ed|ing)? [^\n]{0,20}\binstall(?:ing)?\b[^\n]{0,12}\b(?:nvidia|amd|amdgpu|cuda) drivers?|\b(?:can['’]?t|cannot|unable to|fail(?:s|ed)? to) install[^\n]{0,20}\b(?:nvidia|amd|amdgpu|radeon|intel|graphics|cuda)\b[^\n]{0,20}\b(?:drivers?|toolkit)\b/,
  ],
];

/** Longer lines are a log or a story. */
const LONGEST = 180;

/** Below every wording of a program, yet above the general ones that a program finds no GPU. */
const BELOW = 80;

const told = (at: number, other: RegExp, ...parts: readonly RegExp[]): Pattern => ({
  ...capture(
    new RegExp(
      `^(?=[^\\n]{8,${LONGEST}}$)(?!.*(?:${other.source}))${parts.map(({ source }) => `(?=.*(?:${source}))`).join('')}`,
      'im',
    ),
  ),
  parts,
  rank: BELOW + at,
});

const NO_COMPLAINT = new RegExp(`${OTHER.source}|${PROGRAM.source}`, 'i');

/** The patterns of each class. */
export const toldOf: ReadonlyMap<string, readonly Pattern[]> = (() => {
  const rows = [
    ...WHO.map(([code, who], at) => [code, told(at, code === ANYBODY ? NO_COMPLAINT : OTHER, who, SHAPE)] as const),
    ...OWN.map(([code, says], at) => [code, told(at, OTHER, says)] as const),
  ];
  return new Map(rows.map(([code]) => [code, rows.filter(([other]) => other === code).map(([, pattern]) => pattern)]));
})();

/** A complaint that names who it is about: no matter of a program in general. */
export const COMPLAINT = new RegExp(
  `^(?=[^\\n]{8,${LONGEST}}$)(?!.*(?:${NO_COMPLAINT.source}))(?=.*(?:${WHO.slice(0, -2)
    .map(([, { source }]) => source)
    .join('|')}))(?=.*(?:${SHAPE.source}))`,
  'im',
);
