import { expect, it } from 'vitest';
import { driverFile, findLibrary, namesDriver } from './node.ts';

it('looks for a library in LD_LIBRARY_PATH first, then in the usual folders', () => {
  const has = (paths: string[]) => (p: string) => paths.includes(p);
  const name = 'libEGL_nvidia.so.0';
  expect(findLibrary(name, {}, has([`/usr/lib64/${name}`]))).toBe(`/usr/lib64/${name}`);
  expect(findLibrary(name, { LD_LIBRARY_PATH: '/opt/x:/opt/y' }, has([`/opt/y/${name}`, `/usr/lib/${name}`]))).toBe(
    `/opt/y/${name}`,
  );
  expect(findLibrary(name, { LD_LIBRARY_PATH: 'relative' }, has([`relative/${name}`]))).toBe(null);
});

it('writes a driver file that names the library', () => {
  expect(JSON.parse(driverFile('/usr/lib64/libEGL_nvidia.so.0')).ICD.library_path).toBe(
    '/usr/lib64/libEGL_nvidia.so.0',
  );
});

it('knows whether any file names a Vulkan driver', () => {
  const files = (...paths: string[]) => ({
    existsSync: (p: string) => paths.some((f) => f === p || f.startsWith(`${p}/`)),
    readdirSync: (p: string) => paths.filter((f) => f.startsWith(`${p}/`)).map((f) => f.slice(p.length + 1)),
  });
  const system = files('/usr/share/vulkan/icd.d/intel.json');
  expect(namesDriver({}, system)).toBe(true);
  expect(namesDriver({}, files('/usr/share/vulkan/icd.d/README'))).toBe(false);
  expect(namesDriver({}, files())).toBe(false);
  expect(namesDriver({ HOME: '/home/a' }, files('/home/a/.local/share/vulkan/icd.d/own.json'))).toBe(true);
  // What the variables name stands in place of the folders, or beside them.
  expect(namesDriver({ VK_ICD_FILENAMES: '/gone.json' }, system)).toBe(false);
  expect(namesDriver({ VK_DRIVER_FILES: '/gone.json:/there.json' }, files('/there.json'))).toBe(true);
  expect(namesDriver({ VK_ADD_DRIVER_FILES: '/gone.json' }, system)).toBe(true);
});
