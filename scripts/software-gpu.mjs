// The software GPU of the tests: SwiftShader for Dawn in Node, and a headless Chromium that carries it too.
//
// On Linux x64 both come from npm alone (@sparticuz/chromium), so neither root nor a package manager is needed: the archives
// of that package are unpacked once into node_modules/.cache. Elsewhere an installed Chromium is used. Where there is none,
// the answer holds the reason, and the tests that need a browser are reported as skipped.
//
//   node scripts/software-gpu.mjs     unpacks what is needed and prints what was found

import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';

const modules = fileURLToPath(new URL('../node_modules/', import.meta.url));
const packageFolder = join(modules, '@sparticuz/chromium');

/** Where Chromium and its relatives are installed, by platform. */
const installed = {
  linux: ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/usr/bin/microsoft-edge'],
  darwin: ['Google Chrome', 'Chromium', 'Microsoft Edge'].map(
    (name) => `/Applications/${name}.app/Contents/MacOS/${name}`,
  ),
  win32: [
    'C:/Program Files/Google/Chrome/Application/chrome.exe',
    'C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe',
  ],
};

/** Driver files of SwiftShader that come with an installed Chromium. */
const drivers = ['/usr/lib/chromium/vk_swiftshader_icd.json', '/opt/google/chrome/vk_swiftshader_icd.json'];

/** If one of these is set, somebody has chosen a Vulkan driver already. */
const driverVariables = ['VK_ICD_FILENAMES', 'VK_DRIVER_FILES', 'VK_ADD_DRIVER_FILES'];

/**
 * What the archives of the package become. Each folder holds only what its reader needs: LD_LIBRARY_PATH of the tests names the
 * folder of the Vulkan loader, so that no other library can be taken from it by mistake.
 */
const archives = [
  { file: 'chromium.br', to: 'browser/chromium' },
  { file: 'swiftshader.tar.br', to: 'browser' },
  {
    file: 'swiftshader.tar.br',
    to: 'vulkan',
    only: /^(libvulkan\.so\.1|libvk_swiftshader\.so|vk_swiftshader_icd\.json)$/,
  },
  { file: 'al2023.tar.br', to: 'libraries' },
  { file: 'fonts.tar.br', to: 'fonts', only: /\.ttf$/ },
];

/**
 * The regular files of a tar archive (POSIX ustar).
 * @param {Buffer} tar
 * @returns {Generator<{ name: string, mode: number, data: Buffer }>}
 */
export function* tarFiles(tar) {
  const text = (at, length) => tar.toString('utf8', at, at + length).replace(/\0.*$/s, '');
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const folder = text(at + 345, 155);
    const name = folder ? `${folder}/${text(at, 100)}` : text(at, 100);
    const kind = tar[at + 156];
    if (!Number.isSafeInteger(size) || at + 512 + size > tar.length) throw new Error(`tar: ${name} is cut off`);
    if (name.startsWith('/') || name.split('/').includes('..')) throw new Error(`tar: ${name} leaves its folder`);
    if (kind === 0 || kind === 0x30) {
      yield {
        name,
        mode: Number.parseInt(text(at + 100, 8), 8) & 0o777,
        data: tar.subarray(at + 512, at + 512 + size),
      };
    }
    at += 512 + Math.ceil(size / 512) * 512;
  }
}

function write(path, data, mode) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, data, { mode });
}

const fontConfig = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir></fontconfig>
`;

/**
 * Unpacks the package into `folder`, unless that was done before. The folder appears whole or not at all: it is filled beside its
 * place and renamed, so that two runs at once, or one that is killed, do no harm.
 */
export function unpack(folder, from = join(packageFolder, 'bin')) {
  if (existsSync(folder)) return;
  const filling = `${folder}.${process.pid}.${randomUUID()}.tmp`;
  try {
    for (const { file, to, only } of archives) {
      const data = brotliDecompressSync(readFileSync(join(from, file)));
      if (!file.endsWith('.tar.br')) write(join(filling, to), data, 0o755);
      else {
        for (const f of tarFiles(data))
          if (!only || only.test(f.name)) write(join(filling, to, f.name), f.data, f.mode);
      }
    }
    write(join(filling, 'fonts.conf'), fontConfig, 0o644);
    renameSync(filling, folder);
  } catch (error) {
    // Somebody else was first: theirs is as good.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(filling, { recursive: true, force: true });
  }
}

/** `path` in front of what a list of folders holds already. */
const before = (path, list) => (list ? `${path}:${list}` : path);

function fromPackage(env) {
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
  const folder = join(modules, '.cache/gpuforge', `chromium-${version}`);
  unpack(folder);
  return {
    from: `@sparticuz/chromium ${version}`,
    browser: {
      executablePath: join(folder, 'browser/chromium'),
      env: {
        LD_LIBRARY_PATH: before(join(folder, 'libraries/lib'), env.LD_LIBRARY_PATH),
        FONTCONFIG_FILE: join(folder, 'fonts.conf'),
      },
    },
    dawn: {
      LD_LIBRARY_PATH: before(join(folder, 'vulkan'), env.LD_LIBRARY_PATH),
      VK_ICD_FILENAMES: join(folder, 'vulkan/vk_swiftshader_icd.json'),
    },
  };
}

function fromSystem(platform, arch) {
  const executablePath = installed[platform]?.find((path) => existsSync(path));
  const driver = drivers.find((path) => existsSync(path));
  return {
    from: executablePath ?? 'this system',
    browser: executablePath
      ? { executablePath, env: {} }
      : { reason: `no Chromium for ${platform}-${arch} comes with the packages, and none is installed` },
    dawn: driver ? { VK_ICD_FILENAMES: driver } : {},
  };
}

/** Whether the packed Chromium runs here: it is built for Linux x64 with glibc. */
const packed = () =>
  process.platform === 'linux' &&
  process.arch === 'x64' &&
  process.report.getReport().header.glibcVersionRuntime !== undefined &&
  existsSync(packageFolder);

/**
 * The browser of the tests, and the variables that let Dawn find SwiftShader. They have to be set before a process starts: the
 * dynamic linker reads LD_LIBRARY_PATH only then. `GPUFORGE_TEST_BROWSER` names another browser, or `none`; a Vulkan driver that the
 * environment names stays.
 */
export function softwareGpu(env = process.env) {
  const found = packed() ? fromPackage(env) : fromSystem(process.platform, process.arch);
  const own = env.GPUFORGE_TEST_BROWSER;
  return {
    ...found,
    ...(own
      ? {
          from: own,
          browser: own === 'none' ? { reason: 'GPUFORGE_TEST_BROWSER is none' } : { executablePath: own, env: {} },
        }
      : {}),
    ...(driverVariables.some((v) => env[v]) ? { dawn: {} } : {}),
  };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log(JSON.stringify(softwareGpu(), null, 2));
}
