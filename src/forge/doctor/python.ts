// The Python a project would use, and the frameworks in it: asked of the interpreter itself, and read from its files.
//
// No framework is imported (that takes seconds and can crash); builds are told by dist-info folders and torch/version.py.

import type { Ports } from '../ports.ts';
import { findProgram } from './programs.ts';
import type { Context } from './types.ts';

export interface Framework {
  readonly name: 'torch' | 'tensorflow' | 'jax';
  readonly version: string;
  /** cu128, rocm6.4, cpu, xpu; null where the files do not tell. */
  readonly variant: string | null;
}

export interface PythonTarget {
  readonly interpreter: string;
  readonly version: string;
  readonly environment: 'venv' | 'conda' | 'system';
  readonly frameworks: readonly Framework[];
  /** Every distribution, lower case with dashes, with its version. */
  readonly packages: ReadonlyMap<string, string>;
}

export type PythonAnswer =
  | { readonly outcome: 'ok'; readonly target: PythonTarget }
  | { readonly outcome: 'none'; readonly detail: string }
  | { readonly outcome: 'failed'; readonly detail: string };

const QUESTION = [
  'import json,sys,sysconfig,site',
  "p=[sysconfig.get_path('purelib'),sysconfig.get_path('platlib')]",
  "p+=getattr(site,'getsitepackages',lambda:[])()",
  'p+=[site.getusersitepackages()] if site.ENABLE_USER_SITE else []',
  "print(json.dumps({'version':'.'.join(map(str,sys.version_info[:3])),'prefix':sys.prefix,'base':sys.base_prefix,'paths':list(dict.fromkeys(p))}))",
].join('\n');

const TIME_LIMIT_MS = 3000;

export async function inspectPython(context: Context): Promise<PythonAnswer> {
  const { ports } = context;
  const interpreter = findInterpreter(context);
  if (interpreter === undefined) return { outcome: 'none', detail: 'no python3 on the path' };
  const result = await ports.processes.run(interpreter, ['-c', QUESTION], { timeoutMs: TIME_LIMIT_MS });
  if (result.outcome === 'not-found') return { outcome: 'none', detail: `${interpreter} does not exist` };
  if (result.outcome === 'timeout') return { outcome: 'failed', detail: `${interpreter} did not answer within 3 s` };
  const answer = parseAnswer(result.stdout);
  if (answer === undefined) {
    const said = (result.stderr || result.stdout).trim().split('\n').at(-1) ?? '';
    return {
      outcome: 'failed',
      detail: `${interpreter} could not be asked: ${said || `exit status ${result.status}`}`,
    };
  }
  const packages = readPackages(ports, answer.paths);
  const conda = ports.files.exists(`${answer.prefix}/conda-meta`);
  return {
    outcome: 'ok',
    target: {
      interpreter,
      version: answer.version,
      environment: conda ? 'conda' : answer.prefix === answer.base ? 'system' : 'venv',
      frameworks: readFrameworks(ports, answer.paths, packages),
      packages,
    },
  };
}

function findInterpreter({ ports, world, options }: Context): string | undefined {
  const windows = ports.platform === 'windows';
  const inside = (folder: string) => (windows ? `${folder}\\Scripts\\python.exe` : `${folder}/bin/python`);
  if (options.python !== undefined) {
    return ports.files.exists(inside(options.python)) ? inside(options.python) : options.python;
  }
  const folders = [ports.env.VIRTUAL_ENV, ports.env.CONDA_PREFIX, `${world.cwd}${windows ? '\\' : '/'}.venv`];
  for (const folder of folders) {
    if (folder && ports.files.exists(inside(folder))) return inside(folder);
  }
  return findProgram(ports, 'python3') ?? findProgram(ports, 'python');
}

interface Answer {
  readonly version: string;
  readonly prefix: string;
  readonly base: string;
  readonly paths: readonly string[];
}

function parseAnswer(text: string): Answer | undefined {
  try {
    const value = JSON.parse(text.trim().split('\n').at(-1) ?? '') as Partial<Answer>;
    const whole = typeof value.version === 'string' && typeof value.prefix === 'string' && Array.isArray(value.paths);
    return whole ? { ...(value as Answer), base: value.base ?? value.prefix! } : undefined;
  } catch {
    return undefined;
  }
}

function readPackages(ports: Ports, paths: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const path of paths) {
    for (const name of ports.files.list(path) ?? []) {
      const parts = /^(.+?)-(\d[^-]*)(?:-.*)?\.(?:dist|egg)-info$/.exec(name);
      if (!parts) continue;
      const distribution = parts[1]!.toLowerCase().replace(/[-_.]+/g, '-');
      if (!found.has(distribution)) found.set(distribution, parts[2]!);
    }
  }
  return found;
}

function readFrameworks(
  ports: Ports,
  paths: readonly string[],
  packages: ReadonlyMap<string, string>,
): readonly Framework[] {
  const found: Framework[] = [];
  const torch = packages.get('torch');
  if (torch !== undefined) found.push(readTorch(ports, paths, torch));
  const tensorflow = packages.get('tensorflow');
  if (tensorflow !== undefined) {
    const cuda = [...packages.keys()].some((name) => /^nvidia-cuda-runtime/.test(name));
    found.push({ name: 'tensorflow', version: tensorflow, variant: cuda ? 'and-cuda' : null });
  }
  const jax = packages.get('jax');
  if (jax !== undefined) {
    const plugin = ['cuda13', 'cuda12', 'rocm7', 'rocm10'].find((name) => packages.has(`jax-${name}-plugin`));
    found.push({ name: 'jax', version: jax, variant: plugin ?? 'cpu' });
  }
  return found;
}

/** PyPI's wheel carries no local tag; torch/version.py tells the CUDA or HIP version it was built with. */
function readTorch(ports: Ports, paths: readonly string[], version: string): Framework {
  const [release = version, tag] = version.split('+');
  const text =
    paths.map((path) => ports.files.read(`${path}/torch/version.py`)).find((entry) => entry !== undefined) ?? '';
  const cuda = /^cuda\b[^=]*=\s*'(\d+)\.(\d+)'/m.exec(text);
  const hip = /^hip\b[^=]*=\s*'(\d+\.\d+)/m.exec(text);
  const built = cuda ? `cu${cuda[1]}${cuda[2]}` : hip ? `rocm${hip[1]}` : undefined;
  const none = text !== '' && /^cuda\b[^=]*=\s*None/m.test(text) ? 'cpu' : null;
  return { name: 'torch', version: release, variant: tag ?? built ?? none };
}
