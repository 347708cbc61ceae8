// gpuforge/profile/register: measures a program that was not written for it. `gpuforge profile run -- node app.mjs` preloads it:
//
//   GPUFORGE_PROFILE_OUT=p.json node --import gpuforge/profile/register app.mjs
//
// Threads preload it too: there nothing is loaded, because the main thread sees their runtimes' work only through its own.

import { isMainThread } from 'node:worker_threads';

if (isMainThread) await import('./watch-program.ts').then(({ watchProgram }) => watchProgram());
