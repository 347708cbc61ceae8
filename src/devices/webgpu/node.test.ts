import { expect, it } from 'vitest';
import { driverFile, findLibrary } from './node.ts';

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
