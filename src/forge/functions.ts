// The public functions of Forge, with checks of what they are given. Forge itself calls them without.

import { having, kindTable, oneOf } from '../base/kinds.ts';
import { layerKinds } from '../base/layer-kinds.ts';
import { checked } from '../base/signatures.ts';
import * as config from './config/file.ts';
import * as data from './data/tables.ts';
import * as cache from './detect/cache.ts';
import * as command from './detect/command.ts';
import * as detection from './detect/detect.ts';
import * as names from './detect/names.ts';
import * as score from './detect/score.ts';
import * as telemetry from './detect/telemetry.ts';
import * as doctor from './doctor/doctor.ts';
import * as report from './doctor/report.ts';
import * as world from './doctor/world-node.ts';
import * as plan from './env/plan.ts';
import * as writers from './env/writers.ts';
import * as explaining from './explain/explain.ts';
import * as machine from './machine.ts';
import * as ports from './ports-node.ts';
import * as profiles from './profiles/profiles.ts';
import * as suiting from './profiles/score.ts';
import * as resolving from './resolve/resolve.ts';

const isPlain = layerKinds.plain.is;

const kinds = kindTable({
  ...layerKinds,
  env: layerKinds.environment,
  ports: having('what nodePorts() returned', ['files', 'processes', 'env']),
  world: having('what nodeWorld() returned', ['ports', 'reach']),
  store: having('a cache: ports.cache', ['folder', 'list']),
  place: having('a place such as what nodePorts() returned', ['platform', 'home', 'env']),
  machine: having('a machine: (await detect(ports)).machine', ['gpus', 'drivers']),
  detection: having('what detect() returned', ['machine', 'cached']),
  doctor: having('what examine() returned', ['verdict', 'exitStatus']),
  block: having('what buildReport() returned', ['rows']),
  gpu: having('a GPU of a machine', ['vendor', 'memoryBytes'], 'GPUs of a machine'),
  tables: having('tables: loadTables().tables', ['pytorch', 'profiles']),
  loaded: having('what loadTables() returned', ['tables', 'reviewed']),
  profile: having('a profile of allProfiles()', ['name', 'origin'], 'profiles of allProfiles()'),
  userProfiles: {
    is: (v: unknown) =>
      isPlain(v) &&
      Object.values(v as object).every((p) => isPlain(p) && Array.isArray((p as { packages?: unknown }).packages)),
    words: 'an object of { packages: […] } by name',
  },
  choice: having('a choice of a resolution', ['framework', 'version']),
  target: having('a target of packages', ['memoryGiB']),
  plan: having('what planEnvironment() returned', ['choice', 'profile']),
  cc: having('{ major, minor }', ['major', 'minor']),
  fact: having('a fact of a machine: { value, … }', ['value']),
  tier: oneOf([0, 1, 2]),
  framework: oneOf(['pytorch', 'tensorflow', 'jax']),
  format: oneOf(writers.formats),
  platform: oneOf(['linux', 'windows', 'macos']),
  arch: oneOf(['x64', 'arm64']),
});

const place = 'place:place';
const wish = 'machine:machine!,framework:framework!,python:text,cpuOnly:flag';

/** Where the settings are kept. */
export const configPath = checked('configPath', place, config.configPath, kinds);
/** The settings in force, and what was wrong on the way. */
export const loadConfig = checked('loadConfig', place, config.loadConfig, kinds);
/** Changes one setting in a file; without a value, back to the default. */
export const changeConfig = checked('changeConfig', 'path:text key:text source:text?', config.changeConfig, kinds);
/** The compatibility tables, with those of a file of your own in their place. */
export const loadTables = checked('loadTables', 'file:text? update:text?', data.loadTables, kinds);
/** Removes every entry of the cache of detection, and tells how many there were. */
export const clearCache = checked('clearCache', 'store:store', cache.clearCache, kinds);
/** The entries of the cache of detection. */
export const describeCache = checked('describeCache', 'ports:ports store:store', cache.describeCache, kinds);
/** A detection as `gpuforge detect --json` prints it. */
export const detectJson = checked('detectJson', 'detection:detection', command.detectJson, kinds);
/** Which GPUs this machine has, with their drivers. */
export const detect = checked(
  'detect',
  'async ports:ports options:{tier:tier,cache:flag,cacheLifeMs:number,wake:flag,timeoutMs:number,' +
    'override:{gpus:text[],driver:text,platform:platform,arch:arch}}?',
  detection.detect,
  kinds,
);
/** A GPU by its name, its PCI id or its architecture: "RTX 4090", "10de:2684", "sm_89". */
export const gpuFromText = checked('gpuFromText', 'text:text index:number', names.gpuFromText, kinds);
/** How suitable each GPU is, the best first. */
export const rankGpus = checked('rankGpus', 'gpus:gpu[]', score.rankGpus, kinds);
/** How suitable a GPU is, with the parts of the score. */
export const scoreGpu = checked('scoreGpu', 'gpu:gpu', score.scoreGpu, kinds);
/** Load, memory and temperature of each GPU, from what NVML told and what the system's files tell. */
export const joinReadings = checked(
  'joinReadings',
  'ports:ports machine:machine nvml:object[]',
  telemetry.joinReadings,
  kinds,
);
/** Finds out what keeps GPUs from being used here, and how to fix it. */
export const examine = checked(
  'examine',
  'async world:world detection:detection options:{offline:flag,python:text,computeProbe:function,wake:flag,mirrors:object,tables:loaded,staleMonths:number}?',
  doctor.examine,
  kinds,
);
/** A short, anonymised description of this machine. */
export const buildReport = checked(
  'buildReport',
  'async world:world detection:detection doctor:doctor version:text',
  report.buildReport,
  kinds,
);
/** The same as Markdown. */
export const reportMarkdown = checked('reportMarkdown', 'block:block', report.reportMarkdown, kinds);
/** What `examine` looks at, on this machine. */
export const nodeWorld = checked('nodeWorld', 'ports:ports', world.nodeWorld, kinds);
/** What an environment for a machine holds, before it is written. */
export const planEnvironment = checked(
  'planEnvironment',
  `tables:tables request:{name:text!,${wish},profile:profile,profiles:profile[]!,minimal:flag,mirrors:object,dataReviewed:text!}`,
  plan.planEnvironment,
  kinds,
);
/** The files of an environment. */
export const renderEnvironment = checked('renderEnvironment', 'plan:plan wanted:format[]?', writers.render, kinds);
/** What errors in a text mean, the likeliest first. */
export const explain = checked(
  'explain',
  'source:text options:{machine:machine,tables:loaded,limit:number}?',
  explaining.explain,
  kinds,
);
/** The machine as this process sees it: what `detect` reads. */
export const nodePorts = checked(
  'nodePorts',
  "options:{nvmlChild:text,isolation:'child'|'none',cacheFolder:text,env:env}?",
  ports.nodePorts,
  kinds,
);
/** All profiles of packages, yours included. */
export const allProfiles = checked('allProfiles', 'tables:tables own:userProfiles?', profiles.allProfiles, kinds);
/** A profile by its name. */
export const findProfile = checked('findProfile', 'profiles:profile[] name:text', profiles.findProfile, kinds);
/** How well profiles suit a machine, the best first. */
export const scoreProfiles = checked(
  'scoreProfiles',
  'tables:tables profiles:profile[] machine:machine choice:choice target:target',
  suiting.scoreProfiles,
  kinds,
);
/** The build of a framework that runs on a machine, with the proof; or why none does. */
export const resolve = checked(
  'resolve',
  `tables:tables request:{${wish},version:text,variant:text} dataReviewed:text?`,
  resolving.resolve,
  kinds,
);
/** All builds that run on a machine, the best first. */
export const listBuilds = checked(
  'listBuilds',
  `tables:tables request:{${wish},version:text,variant:text}`,
  resolving.listBuilds,
  kinds,
);
/** The value of a fact, or undefined when it is not known. */
export const factValue = checked('factValue', 'fact:fact', machine.factValue, kinds);
/** "8.9" as { major, minor }; undefined for anything else. */
export const parseCc = checked('parseCc', 'text:text', machine.parseCc, kinds);
/** A compute capability as text: "8.9". */
export const formatCc = checked('formatCc', 'cc:cc', machine.formatCc, kinds);
/** Below 0 if the first is older. */
export const compareCc = checked('compareCc', 'a:cc b:cc', machine.compareCc, kinds);
/** Below 0 if the first is older: 580.9 is older than 580.65.06. */
export const compareVersions = checked('compareVersions', 'a:text b:text', machine.compareVersions, kinds);
