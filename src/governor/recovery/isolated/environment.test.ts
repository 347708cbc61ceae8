import { expect, it } from 'vitest';
import { environmentFor } from './environment.ts';

it('passes on what drivers need, and no secrets', () => {
  const drivers = {
    PATH: '/bin',
    HOME: '/root',
    LD_LIBRARY_PATH: '/lib',
    VK_ICD_FILENAMES: 'icd.json',
    CUDA_VISIBLE_DEVICES: '1',
    XDG_RUNTIME_DIR: '/run',
    __EGL_VENDOR_LIBRARY_FILENAMES: 'x',
    GPUFORGE_CACHE: '/c',
    OMP_NUM_THREADS: '2',
  };
  const others = {
    AWS_SECRET_ACCESS_KEY: 's',
    NPM_TOKEN: 't',
    DATABASE_URL: 'u',
    NODE_OPTIONS: '--inspect',
    MY_PATH: 'p',
    UNSET: undefined,
  };
  expect(environmentFor({ ...drivers, ...others })).toEqual(drivers);
});
