// TF.js's own test suite on our backend: counts, failures, and which kernels ran natively or were routed. See settings.ts.

import './setup.ts';
import '@tensorflow/tfjs-core/dist/tests.js';
import { runParts } from './parts.ts';
import { type Result, show } from './result.ts';
import { runSuite } from './run.ts';
import { settings } from './settings.ts';

const result: Result = settings.jobs > 1 ? await runParts(settings.jobs) : await runSuite();
show(result);
process.exit(result.failures.length === 0 && result.passed > 0 ? 0 : 1);
