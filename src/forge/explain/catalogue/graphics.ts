// Graphics interfaces used for computing: Vulkan, WebGPU, DirectX.

import { capture, code, named, phrase, symptom } from '../patterns.ts';
import { run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';

const LOADER = 'https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md';
const WEBGPU = 'https://github.com/gpuweb/gpuweb/wiki/Implementation-Status';

export const graphicsClasses: readonly ErrorClass[] = [
  {
    code: 'vulkan-driver',
    severity: 'error',
    title: 'Vulkan finds no usable driver',
    patterns: [
      code(
        /VK_ERROR_(?:INCOMPATIBLE_DRIVER|INITIALIZATION_FAILED|EXTENSION_NOT_PRESENT|FEATURE_NOT_PRESENT|LAYER_NOT_PRESENT)|\bERROR_INCOMPATIBLE_DRIVER|\bErrorIncompatibleDriver|\bErrorInitializationFailed|\bError(?:Extension|Feature|Layer)NotPresent|\bERROR_(?:EXTENSION|FEATURE|LAYER)_NOT_PRESENT/,
      ),
      phrase(
        /vulkan: No DRI3 support detected|Found no drivers!|Couldn't load Vulkan|(?:failed|unable) to (?:create|initialize) (?:a )?Vulkan (?:instance|device)|Cannot create Vulkan instance/i,
      ),
      capture(
        /(?<library>libvulkan\.so(?:\.1)?|vulkan-1\.dll)['"]?[^\n]{0,40}(?:cannot open|not found|could not|No such file)/i,
      ),
      phrase(
        /loader_scanned_icd_add|loader_icd_scan|terminator_Create(?:Instance|Device): Failed|Failed to create device chain|No (?:suitable )?Vulkan (?:physical )?devices? (?:found|available)|\bDXVK: No adapters found/i,
      ),
      phrase(
        /(?:MESA(?!-LOADER)|INTEL-MESA|MESA-INTEL|ZINK|radv|lavapipe|turnip|nvk)\b[^\n]{0,20}(?:error|warning|failed)[^\n]*/i,
      ),
      {
        ...phrase(
          /\bvk\w+(?:\(\))? (?:failed|returned)(?: with)?(?: an?)?(?: unexpected)?(?: error)?:? ?\(?-(?:3|6|7|8|9)\b|\bvulkan[^\n]*Assertion `\w*(?:gpu|device)_?count > 0/i,
        ),
        named: true,
      },
      phrase(
        /No surface extension found, is a driver installed|drivers? (?:seems?|appears?) not to support the required Vulkan|(?:cannot|can't|could not) find a compatible Vulkan installable client driver|Unable to initialize (?:the )?Vulkan (?:video|display) driver|\bvulkan\b[^\n]{0,30}\bInitializationFailed/i,
      ),
      phrase(/Vulkan loader error|loader[^\n]{0,40}(?:ICD|libGLX_nvidia)[^\n]{0,40}fail/i),
      phrase(
        /setupLoader\w+PhysDevs|Failed to detect any valid GPUs(?: in the current config)?|vkEnumeratePhysicalDevices[^\n]*(?:fail|no)/i,
      ),
    ],
    cause: () =>
      'No Vulkan driver file (ICD) fits; without a display, NVIDIA needs the one that names libEGL_nvidia.so.0.',
    fix: () => [
      run('See which driver files there are.', 'gpuforge', 'doctor', '-v'),
      say('Headless NVIDIA: point VK_ICD_FILENAMES at a file whose library_path is libEGL_nvidia.so.0.'),
      say('Mesa drivers come with mesa-vulkan-drivers; the loader with libvulkan1.'),
    ],
    links: [LOADER],
  },
  {
    code: 'gl-driver',
    severity: 'error',
    title: 'OpenGL finds no usable driver',
    patterns: [
      phrase(/\blibGL error: [^\n]*|\blibEGL (?:warning|error)[^\n]*|MESA-LOADER: failed to open \S+/i),
      phrase(
        /\bGLX?Bad\w+|(?:Could not|Cannot|Failed to|Unable to|couldn't) (?:initialize|create|find|get|open)[^\n]{0,20}\b(?:GLX|EGL|OpenGL|GL context|RGB GLX)\b|\begl: failed to create/i,
      ),
      phrase(
        /\begl error:? 0x30[\da-f]{2}|\bEGL (?:is not or )?could not be initialized|\bCould not initialize any context\b/i,
      ),
      phrase(
        /qt\.qpa[^\n]*could not|no Qt platform plugin could be initialized|(?:cannot|can't|unable to|failed to) (?:open (?:a )?(?:X )?display|connect to the X server)/i,
        /\bE?GLX?\b|\bGLFW\b|XCB failed|OpenGL|GPU|vulkan|render/i,
      ),
      phrase(
        /\bXOpenDisplay\b[^\n]*cannot|GPU backend could not be initialized|driver with support for OpenGL [\d.]+ or higher is required|requires OpenGL [\d.]+|does(?: not|n't) support OpenGL/i,
      ),
      phrase(
        /\bgl[A-Z]\w+ but it was not loaded|\b(?:failed|unable) to (?:load|initiali[sz]e) (?:OpenGL functions|GLAD|GLEW)\b|\bGLEW Error\b|\bOpenGL platform library has not been loaded|\bnot support the required OpenGL version/i,
      ),
      phrase(/couldn't get an RGB,? double[- ]buffered visual/i),
      symptom(/\bOpenGL renderer(?: string)?: +(?:llvmpipe|softpipe|swrast|GDI Generic)\b[^\n]*/i),
      phrase(
        /valid OpenGL context has not been created|EGL driver does not support|\bEGL_(?:NOT_INITIALIZED|BAD_\w+)\b/i,
      ),
      capture(
        /(?<library>libGL\.so[.\d]*|libEGL\.so[.\d]*|libGLX\w*\.so[.\d]*|libOpenGL\.so[.\d]*|opengl32\.dll): cannot open/i,
      ),
    ],
    cause: ({ got }) =>
      got.library
        ? `${got.library} is not installed.`
        : 'The program draws with OpenGL and gets no context: no display, the driver of another vendor comes first, or a container without the graphics part of the driver.',
    fix: () => [
      say(
        'Without a display render off screen: MUJOCO_GL=egl, PYOPENGL_PLATFORM=egl; xvfb-run for programs that need a window.',
      ),
      say(
        'In a container set NVIDIA_DRIVER_CAPABILITIES=all, or at least graphics,compute,utility; install libgl1, libegl1.',
      ),
      say('With conda: its libstdc++ may be older than the one that the driver was built with.'),
    ],
    links: [LOADER],
  },
  {
    code: 'device-lost',
    severity: 'error',
    title: 'The GPU was reset while it worked',
    patterns: [
      code(/\bDeviceLost\b|\bGetDeviceRemovedReason\b/),
      {
        ...phrase(
          /\bvk\w+(?:\(\))? (?:failed|returned)(?: with)?(?: an?)?(?: unexpected)?(?: error)?:? ?\(?-4\b|vkWaitForFences[^\n]{0,60}-4\b/i,
        ),
        named: true,
      },
      phrase(
        /GPU (?:has )?crashed|GPU crash (?:is |was )?(?:detected|occurred|dump)|Vulkan[^\n]{0,20}error(?: code)?[ :=(]{1,3}-4\b/i,
      ),
      code(
        /VK_ERROR_DEVICE_LOST|\bErrorDeviceLost\b|vk::DeviceLostError|DXGI_ERROR_(?:DEVICE_(?:REMOVED|HUNG|RESET)|DRIVER_INTERNAL_ERROR)|\b(?:ERROR_)?DEVICE_LOST\b/,
      ),
      phrase(
        /(?:GPU|WebGPU|Vulkan|D3D\w*|graphics)? ?device (?:was |is |has been )?lost\b|GPU connection lost|GPU process (?:crashed|was terminated)|Device lost:/i,
      ),
      phrase(/\b(?:lost|removed) (?:the )?(?:GPU |graphics |logical )?device\b/i, /\bGPU\b|vulkan|\bd3d\d|graphics/i),
      phrase(/\bCONTEXT_LOST_WEBGL\b|\(regl\) context lost|webgl context (?:was )?lost/i),
      phrase(/A valid external Instance reference no longer exists|Instance dropped in popErrorScope/i),
      code(/\b(?:0x)?887[aA]00(?:05|06|07|20)\b/),
      phrase(
        /nvlddmkm[^\n]*(?:stopped responding|error)|will not respond to more commands|TDR (?:detected|occurred)|\bVIDEO_TDR_\w+|TdrBugcheckOnTimeout|\b0x11[67]_\w*(?:nvlddmkm|amdkmdag|atikmpag|igdkmd)/i,
      ),
      {
        ...code(
          /\b(?:from|of) source "?(?:nvlddmkm|amdkmdag|amdwddmg|atikmdag|igfxn?\w*|igdkmd\w*)\b|\b(?:MODULE_NAME|IMAGE_NAME|FAILURE_BUCKET_ID|SYMBOL_NAME): +\S*?(?:nvlddmkm|amdkmdag|atikmdag|igdkmd\w*|dxgkrnl|dxgmms\d)|\bVIDEO_(?:TDR|SCHEDULER|DXGKRNL|ENGINE)_[A-Z_]+|\bLiveKernelEvent\b[^\n]*\n?[^\n]*\b(?:141|117|1a8|193)\b/i,
        ),
        named: true,
      },
      phrase(
        /\b(?:nvlddmkm|amdkmdag|atikmdag|igfxn?\w*|igdkmd\w*|display driver|graphics driver)\b[^\n]{0,40}stopped responding/i,
      ),
      phrase(
        /kIOGPUCommandBufferCallbackError(?:Timeout|Hang|InnocentVictim|SubmissionsIgnored)|Caused GPU (?:Timeout|Hang) Error/,
      ),
    ],
    unless: /UR_RESULT|PI_ERROR|level_zero/,
    cause: () =>
      'A kernel ran longer than the system allows, memory ran out, or the driver crashed; the program must start anew.',
    fix: ({ os }) => [
      say('Make single steps smaller: shorter kernels, smaller batches (-ub 128 for llama.cpp).'),
      os === 'windows'
        ? say('Windows ends work after two seconds: raise TdrDelay in the registry, and update the graphics driver.')
        : run('The kernel log says who reset it.', 'dmesg', '--ctime'),
    ],
    links: [LOADER],
  },
  {
    code: 'browser-gpu',
    severity: 'error',
    title: 'The browser does not use the GPU',
    patterns: [
      phrase(
        /GPU process (?:was unable to boot|launch failed|isn't usable|exited unexpectedly)|Exiting GPU process due to errors|WebGL hit a snag/i,
      ),
      phrase(
        /(?:Failed to (?:initialize|create)(?: a| the)?|Error (?:creating|initializing)|Could not (?:initialize|create)(?: a)?) WebGL2?\b|WebGL2? (?:is )?(?:unsupported|context could not be created|not supported|unavailable|not available|disabled)|does not support WebGL/i,
      ),
      phrase(
        /Passthrough is not supported, GL is|ContextResult::k(?:Fatal|Transient)Failure|GLSurfaceEGL::\w+ failed/i,
      ),
      symptom(
        /:(?:ERROR|FATAL):(?:[\w/]*\/)?(?:gpu|gl|viz|angle|egl|command_buffer|context|skia|vulkan|vaapi|raster|shared_image|display)\w*\.(?:cc|mm|cpp)[(:]\d+\)?\]/,
      ),
      symptom(/^\s*(?:WebGL2?|Canvas|Compositing|Rasterization): (?:Unavailable|Disabled|Software only)[^\n]*/im),
      symptom(/'?webgl2?'?: '(?:disabled|unavailable)_(?:off|software)'/),
    ],
    explains: ['gl-driver', 'vulkan-failed', 'vulkan-driver'],
    cause: () =>
      'Chromium (or Electron) starts a process for the GPU; where the driver is missing, blocked by its list, or crashes three times, it draws with the CPU.',
    fix: ({ os }) => [
      say('chrome://gpu tells which features are off and why; "hardware acceleration" must be on in the settings.'),
      os === 'windows'
        ? say(
            'Install the graphics driver from the maker of the GPU; remote desktops and virtual machines often show none.',
          )
        : say(
            'Install the Mesa or vendor driver (libgl1, libegl1, libvulkan1); without a display use --headless=new --use-angle=vulkan.',
          ),
      say(
        'For a test: --ignore-gpu-blocklist; in a container also pass the device (--device=/dev/dri, or --gpus all with NVIDIA_DRIVER_CAPABILITIES=all).',
      ),
    ],
    links: ['https://www.chromium.org/developers/how-tos/gpu-wiki/'],
  },
  {
    code: 'webgpu-no-adapter',
    severity: 'error',
    title: 'WebGPU finds no adapter',
    patterns: [
      symptom(/WebGPU has been disabled via blocklist|^\s*WebGPU: (?:Disabled|Unavailable)/im),
      capture(/Unable to find a GPU! Make sure you have installed/i),
      phrase(/panicked at [^\n]*Unable to find a GPU|a suitable graphics adapter or device could not be found/i),
      phrase(
        /Failed to (?:create|get|find|request)(?: a| an)?(?: suitable| appropriate)? (?:(?:Web)?GPU )?adapter\b|No (?:available|appropriate|suitable) (?:WebGPU |GPU |graphics |GPU)?adapters?\b|No (?:Web)?GPU adapters? found|(?:Cannot|Could not|Unable to) find (?:an? |any )?(?:suitable |matching )?(?:(?:Web)?GPU )?adapter\b|no suitable adapter/i,
      ),
      phrase(
        /(?:\b|wgpuInstance)request(?:ing)?[_ ]?(?:a |an |the )?(?:WebGPU |GPU )?adapter\b[^\n]{0,20}\b(?:fail\w*|unavailable|error)|\bWebGPU adapter request failed|\berror\b[^\n]*\n\s*Request (?:WebGPU |GPU )?adapter\b/i,
      ),
      phrase(
        /navigator\.gpu is undefined|WebGPU is not (?:supported|available|enabled)|(?:Your browser|This browser) does(?: not|n't) support WebGPU/i,
      ),
      capture(
        /Cannot read propert(?:y|ies) of (?:null|undefined)[^\n]*(?:requestDevice|requestAdapter)|Cannot read property '(?:requestDevice|requestAdapter)' of|\b(?:adapter|gpu) is null\b|null is not an object \(evaluating '[^'\n]*request(?:Device|Adapter)|requestAdapter[^\n]*(?:returned|resolved to|is) null/i,
      ),
      named(/\benumerate_adapters: [A-Z]/),
      phrase(
        /Unable to (?:instantiate|create) a (?:GPU)?Device\b|RequestDeviceError|request_adapter[^\n]*(?:None|failed)/i,
      ),
      phrase(
        /suitable graphics adapter (?:or device )?(?:could )?not be found|no (?:suitable |compatible )?(?:graphics |GPU )?(?:adapter|device)s? (?:was |were |could be )?found[^\n]*(?:wgpu|webgpu|vulkan)|NoSuitableAdapter/i,
      ),
    ],
    cause: () => 'The browser or Dawn found no graphics driver that it trusts for WebGPU.',
    fix: () => [
      run('Check the graphics stack.', 'gpuforge', 'doctor'),
      say(
        'In Chromium look at chrome://gpu; on Linux --enable-features=Vulkan may be needed. A page must come over https or from localhost.',
      ),
    ],
    links: [WEBGPU],
  },
  {
    code: 'webgpu-limit',
    severity: 'error',
    title: 'A WebGPU limit is exceeded',
    patterns: [
      capture(
        /(?<limit>maxBufferSize|maxStorageBufferBindingSize|maxComputeWorkgroup\w+|maxComputeInvocationsPerWorkgroup|maxStorageBuffersPerShaderStage|maxBindGroups)[^\n]*(?:limit|exceed|greater|larger)|(?:exceed|greater|larger)[^\n]*(?<name>max(?:Buffer|Storage|Compute|Bind)\w+)/i,
      ),
      capture(
        /(?:Buffer|Binding) size[^\n]{0,30}(?:is )?(?:greater|larger) than the (?:maximum|max)|(?:exceeds the max|larger than)[^\n]{0,30}(?:buffer|binding) size/i,
      ),
      phrase(/createBuffer[^\n]*(?:out of memory|failed, size)|Failed to execute 'mapAsync'|GPUOutOfMemoryError/i),
      phrase(
        /Adapter does(?: not|n't) support (?:the )?(?:requested|required) |Unsupported (?:feature|limit)s?: |Limit '?\w+'? value \d+ is (?:better|greater|larger) than allowed/i,
      ),
      capture(/Required limit \(\d+\) is greater than the supported limit|While validating (?<limit>max\w+)/i),
      symptom(
        /WebGPU (?:device )?error(?:\(\d+\))?[^\n]*(?:memory|size|limit|validation)|Out of memory[^\n]*(?:WebGPU|GPUBuffer)/i,
      ),
    ],
    cause: ({ got }) =>
      `The page asks for more than ${got.limit ?? got.name ?? 'the limits that it requested'}; the default limits are small.`,
    fix: () => [
      say(
        "Ask for the adapter's limits: adapter.requestDevice({ requiredLimits: { maxBufferSize: adapter.limits.maxBufferSize } }), or split the data.",
      ),
    ],
    links: [WEBGPU],
  },
  {
    code: 'webgpu-failed',
    severity: 'error',
    title: 'WebGPU refused a call',
    patterns: [
      named(/\bFailed to execute '\w+' on 'GPU[A-Z]\w+'/),
      symptom(
        /surface configuration failed|Error in (?:Surface|Queue|Device|Buffer|Texture)::\w+: Validation Error|wgpu error: (?<what>[^\n]+)|\bwgpu_core[^\n]*(?:ERROR|failed)|\[Invalid (?:Buffer|Texture|BindGroup|ComputePipeline|RenderPipeline|ShaderModule|CommandBuffer)[^\n]*/,
      ),
      symptom(
        /GPU(?:Validation|Internal|Pipeline)Error|WebGPU validation (?:error|failed)|Error while parsing WGSL|Uncaptured WebGPU error|request(?:Device|Adapter)\w* is not a function|Failed to parse (?:shader )?(?:SPIR-V|WGSL)|\bUnsupportedCapability\b|panicked at [^\n]*\b(?:naga|wgpu)\b[\w.-]*[\\/]|While (?:calling|validating) (?:\[?(?:Device|Queue|BindGroup)|(?:compute|vertex|fragment) (?:stage|state))/,
      ),
    ],
    cause: ({ got }) =>
      `The program asked for something invalid${got.what ? ` (${got.what})` : ''}, or the window and the chosen adapter do not fit together.`,
    fix: () => [
      say(
        'Read the lines below "Caused by"; they name the call. An adapter must be requested for the surface that it draws to.',
      ),
      say('On Linux try another backend: WGPU_BACKEND=vulkan or gl; update the graphics driver.'),
    ],
    links: [WEBGPU],
  },
];
