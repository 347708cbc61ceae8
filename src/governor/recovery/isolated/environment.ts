// What a device's process gets of its parent's environment: where libraries and drivers are and how they are set up, and nothing
// else. Passwords and keys of the parent are no business of a process that talks to a driver.

/** Names, or beginnings of names. */
const needed: readonly (string | RegExp)[] = [
  // To find programs, libraries, the home and temporary folders.
  'PATH',
  'HOME',
  'TMPDIR',
  'LANG',
  /^(LD|DYLD)_/,
  /^XDG_/,
  // Drivers and what stands on them.
  /^(CUDA|NVIDIA|CUBLAS|NV)_/,
  /^(VK|VULKAN|MESA|LIBGL|EGL|GALLIUM|RADV|AMD|HSA|ROCR|INTEL|ANV|DAWN|SWIFTSHADER)_/,
  /^__(EGL|GLX|GL|NV)_/,
  'DISPLAY',
  'WAYLAND_DISPLAY',
  // Threads of a system BLAS.
  /^(OMP|OPENBLAS|MKL|BLIS|GOTO)_/,
  // Our own.
  /^GPUFORGE_/,
  // Windows.
  /^(SYSTEMROOT|WINDIR|TEMP|TMP|PATHEXT|USERPROFILE|LOCALAPPDATA|APPDATA|PROGRAMDATA|PROGRAMFILES.*|SYSTEMDRIVE)$/i,
  /^PATH$/i,
];

type Environment = Readonly<Record<string, string | undefined>>;

/** The part of an environment that a device's process needs. */
export function environmentFor(parent: Environment): Record<string, string> {
  const wanted = (name: string): boolean => needed.some((n) => (typeof n === 'string' ? n === name : n.test(name)));
  return Object.fromEntries(
    Object.entries(parent).filter((e): e is [string, string] => e[1] !== undefined && wanted(e[0])),
  );
}
