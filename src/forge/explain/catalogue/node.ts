// Packages of Node that bring compiled code for the GPU.

import { capture, phrase, symptom } from '../patterns.ts';
import { run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';

/** Packages with a GPU part; other packages are built the same way and are not our business. */
const GPU_ADDON =
  /\btfjs-node(?:-gpu)?\b|\btfjs_binding\b|\bnode-llama-cpp\b|\bllama-node\b|node-gyp-llama|\bonnxruntime[-_](?:node|binding)\b|\b(?:nodejs|node)-whisper\b|\bwhisper[-.]?node\b|\bgpu\.js\b|\bheadless-gl\b|\bgl@\d|node_modules[\\/](?:gl|webgpu|dawn|node-opencl|nodejs-cuda|smart-whisper)\b|\bnode-(?:webgl|cuda|opencl|vulkan|nvidia)\b|\bwebgl\.node\b|\b@kmamal\/gpu\b|\bdawn\.node\b|\b@fugood\/\w+|\bllama\.rn\b/i;

export const nodeClasses: readonly ErrorClass[] = [
  {
    code: 'node-addon',
    severity: 'error',
    title: 'The compiled part of a Node package is missing or does not load',
    patterns: [
      capture(
        /Cannot find module '[^'\n]*?(?<package>[\w.@-]+)[\\/](?:lib|build|bin|dist|bins|prebuilds)[\\/][^'\n]*\.node'/,
        GPU_ADDON,
      ),
      capture(
        /\bENOENT\b[^\n]*node_modules[\\/](?:@\w+[\\/])?(?<package>[\w.-]+)[^\n]*\.(?:node|dll|so|dylib)\b/,
        GPU_ADDON,
      ),
      phrase(/specified (?:module|procedure) could not be found\.?\s+\\\\\?\\[^\n]*\.node\b/i),
      capture(/(?<file>[\w-]+\.node)\b[^\n]*was compiled against a different Node\.js version/i),
      phrase(/\bNODE_MODULE_VERSION \d+\b/, GPU_ADDON),
      symptom(/\bERR_DLOPEN_FAILED\b|\bdlopen\([^)\n]*\.node\b/, GPU_ADDON),
      symptom(
        /\bnode-gyp rebuild failed|\bgyp ERR! (?:build error|configure error|stack Error)|\bcmake-js\b[^\n]*\b(?:error|failed)|\bprebuild-install\b[^\n]*\b(?:error|failed|No prebuilt)|node-pre-gyp (?:ERR!|WARN Tried)/i,
        GPU_ADDON,
      ),
      symptom(/\bnode-gyp\S*[^\n]*\bexited with code [1-9]/, GPU_ADDON),
      symptom(/(?:error code|ERR! code) ELIFECYCLE|ERR_PNPM\w*LIFECYCLE|postinstall script failed/, GPU_ADDON),
      phrase(/\bprebuil[td]\b[^\n]*(?:not compatible|incompatible|fail\w*|not found|missing)/i, GPU_ADDON),
      phrase(/\b(?:CUDA|Vulkan|Metal|HIP) is detected, but using it failed/),
      phrase(
        /NoBinaryFoundError|No (?:prebuilt|matching|compatible) binar(?:y|ies) (?:is |was |were )?(?:found|available)/i,
        GPU_ADDON,
      ),
      phrase(/\.node\)? can(?: ?not|n?'t) be (?:found|loaded)\b/i, GPU_ADDON),
    ],
    explains: ['win-dll', 'build-failed', 'extension-missing', 'tf-no-gpu', 'ort-failed'],
    cause: ({ got, os }) =>
      os === 'windows'
        ? `${got.package ?? got.file ?? 'The package'} has a compiled part (.node) that was not downloaded or built, or a DLL beside it (CUDA, cuDNN, the Visual C++ runtime) is not found.`
        : `${got.package ?? got.file ?? 'The package'} has a compiled part (.node) that was not downloaded or built, was made for another Node, or needs a library (CUDA, cuDNN) that is not found.`,
    fix: ({ os }) => [
      run('Download or build it again, with its install script.', 'npm', 'rebuild', '--foreground-scripts'),
      say('Use a Node release that the package was published for; the newest has no ready binaries for a while.'),
      os === 'windows'
        ? say('Install the Visual C++ runtime, and for a build the Visual Studio Build Tools and Python.')
        : say('A build needs a C++ compiler, make and Python; the GPU part also the CUDA toolkit.'),
      say('GPU packages name the CUDA and cuDNN version they want: only those versions load.'),
    ],
    links: ['https://nodejs.org/api/n-api.html', 'https://github.com/nodejs/node-gyp#installation'],
  },
];
