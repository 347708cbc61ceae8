// Makes sure that Debian's chromium is here: the browser of the tests, and the software Vulkan driver (SwiftShader) in
// its folder. Uses what is found, installs it with apt-get where that is allowed, and else says what to do.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const places = [
  { browser: '/usr/bin/chromium', icd: '/usr/lib/chromium/vk_swiftshader_icd.json' },
  { browser: '/usr/bin/google-chrome', icd: '/opt/google/chrome/vk_swiftshader_icd.json' },
];

const found = () => places.find((p) => existsSync(p.browser) && existsSync(p.icd));

/**
 * The paths of the browser and of SwiftShader's Vulkan driver file.
 * @returns {{ browser: string, icd: string }}
 */
export function ensureChromium() {
  const here = found();
  if (here) return here;
  const how = 'Install it as root: apt-get update && apt-get install -y chromium';
  if (process.platform !== 'linux' || !existsSync('/usr/bin/apt-get')) {
    throw new Error(
      `The WebGPU tests need chromium with vk_swiftshader_icd.json, and this system has no apt-get. ${how} (Debian), or set VK_ICD_FILENAMES to a Vulkan driver.`,
    );
  }
  if (process.getuid?.() !== 0)
    throw new Error(`The WebGPU tests need Debian's chromium, and installing it needs root. ${how}`);
  for (const args of [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-install-recommends', 'chromium'],
  ]) {
    const run = spawnSync('apt-get', args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    if (run.status !== 0) throw new Error(`apt-get ${args.join(' ')} failed with status ${run.status}. ${how}`);
  }
  const installed = found();
  if (!installed)
    throw new Error('chromium was installed, but /usr/lib/chromium/vk_swiftshader_icd.json is not there.');
  return installed;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log(JSON.stringify(ensureChromium(), null, 2));
}
