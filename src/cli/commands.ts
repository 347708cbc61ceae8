// All commands, in the order `--help` lists them.

import type { Command } from 'commander';
import { register as calibrate } from './calibrate.ts';
import { register as explainRoute } from './explain-route.ts';
import { register as field } from './field.ts';
import { register as cache } from './forge/cache.ts';
import { register as completion } from './forge/completion.ts';
import { register as config } from './forge/config.ts';
import { register as data } from './forge/data.ts';
import { register as detect } from './forge/detect.ts';
import { register as doctor } from './forge/doctor.ts';
import { register as env } from './forge/env.ts';
import { register as explain } from './forge/explain.ts';
import { register as profiles } from './forge/profiles.ts';
import { register as report } from './forge/report.ts';
import { register as resolve } from './forge/resolve.ts';
import { register as verify } from './forge/verify.ts';
import { register as jobs } from './jobs.ts';
import { register as lattice } from './lattice.ts';
import { register as profile } from './profile.ts';
import { register as stats } from './stats.ts';
import { register as studio } from './studio.ts';
import { register as tour } from './tour/command.ts';
import { register as worker } from './worker.ts';

const loadProbe = async () => (await import('./probe.ts')).computeProbe;

export const commands: readonly ((program: Command) => void)[] = [
  tour,
  detect,
  stats,
  studio,
  calibrate,
  explainRoute,
  lattice,
  field,
  worker,
  jobs,
  profile,
  (program) => doctor(program, loadProbe),
  (program) => report(program, loadProbe),
  resolve,
  env,
  verify,
  profiles,
  data,
  explain,
  config,
  cache,
  completion,
];
