// What a Node that is too old is told. Loaded only there.

import { ForgeError } from '../errors.ts';

export const oldNode = (node: string = process.versions.node): ForgeError =>
  new ForgeError({
    code: 'NODE_TOO_OLD',
    message: `gpuforge needs Node 20.19 or later, and this is Node ${node}`,
    fix: 'Install a current Node: https://nodejs.org/en/download',
    where: 'createRuntime',
  });
