// The launches of a recipe without a GPU: runs PTX of routines that share memory between threads, to find what is wrong with it.
//
// Threads run one at a time in random order, each as far as barriers let it, so that nobody can rely on others being in step.
// Asynchronous copies land as early as possible or as late as allowed. Shared memory begins as NaN. What lies outside a buffer,
// is not aligned, is stored twice, or never ends, is an error. Knows f32 and integers below 2^53, and only the instructions in
// its table.

import type { LaunchRecipe, ModuleRecipe } from '../../src/devices/cuda/recipe.ts';
import type { Random } from './data.ts';

export interface EmulatedBuffer {
  readonly address: number;
  readonly data: Float32Array;
}

export type CopiesLand = 'early' | 'late';

/** Where a thread goes next: on if undefined. */
type Effect = number | undefined;
type Act = (t: Thread) => Effect;
type Read = (t: Thread) => number;

/** The thread stays where it is until a barrier or its end lets it go. */
const stop = -1;

interface BlockState {
  readonly place: readonly [number, number, number];
  readonly shared: Float32Array;
  readonly threads: Thread[];
}

interface Thread {
  readonly registers: Float64Array;
  readonly number: number;
  readonly block: BlockState;
  pc: number;
  done: boolean;
  /** The barrier it waits at, and for how many threads. */
  waiting: string | null;
  awaited: number;
  /** What it gives to the threads of its warp. */
  given: number;
  /** Copies of the open group, and committed groups, oldest first. */
  open: (() => void)[];
  groups: (() => void)[][];
}

const arithmetic: Readonly<Record<string, (x: number, y: number, z: number) => number>> = {
  'mov.u32': (x) => x,
  'mov.u64': (x) => x,
  'mov.f32': (x) => x,
  'cvt.u64.u32': (x) => x,
  'cvta.to.global.u64': (x) => x,
  'add.u32': (x, y) => (x + y) >>> 0,
  'sub.u32': (x, y) => (x - y) >>> 0,
  'mul.lo.u32': (x, y) => Math.imul(x, y) >>> 0,
  'mad.lo.u32': (x, y, z) => (Math.imul(x, y) + z) >>> 0,
  'mul.hi.u32': (x, y) => Number((BigInt(x) * BigInt(y)) >> 32n),
  'min.u32': (x, y) => Math.min(x, y),
  'max.u32': (x, y) => Math.max(x, y),
  'div.u32': (x, y) => Math.floor(x / y),
  'rem.u32': (x, y) => x % y,
  'shr.u32': (x, y) => x >>> y,
  'shl.b32': (x, y) => (x << y) >>> 0,
  'and.b32': (x, y) => (x & y) >>> 0,
  'or.b32': (x, y) => (x | y) >>> 0,
  'xor.b32': (x, y) => (x ^ y) >>> 0,
  'mov.b32': (x) => (x < 0 ? x + 2 ** 32 : x),
  'and.pred': (x, y) => x & y,
  'xor.pred': (x, y) => x ^ y,
  'not.pred': (x) => x ^ 1,
  'setp.gt.u32': (x, y) => Number(x > y),
  'setp.eq.and.u32': (x, y, z) => Number(x === y) & z,
  'setp.gt.or.u32': (x, y, z) => Number(x > y) | z,
  'add.s32': (x, y) => (x + y) | 0,
  'sub.s32': (x, y) => (x - y) | 0,
  'min.s32': (x, y) => Math.min(x, y),
  'mul.lo.s32': (x, y) => Math.imul(x, y),
  'mad.lo.s32': (x, y, z) => (Math.imul(x, y) + z) | 0,
  'mad.wide.s32': (x, y, z) => x * y + z,
  'setp.lt.s32': (x, y) => Number(x < y),
  'setp.le.s32': (x, y) => Number(x <= y),
  'setp.ge.s32': (x, y) => Number(x >= y),
  'setp.gt.s32': (x, y) => Number(x > y),
  'setp.ne.s32': (x, y) => Number(x !== y),
  'setp.lt.f32': (x, y) => Number(x < y),
  'setp.eq.f32': (x, y) => Number(x === y),
  'setp.eq.or.f32': (x, y, z) => Number(x === y) | z,
  'setp.ne.u32': (x, y) => Number(x !== y),
  'setp.ge.u32': (x, y) => Number(x >= y),
  'selp.f32': (x, y, z) => (z ? x : y),
  'add.u64': (x, y) => x + y,
  'mul.lo.u64': (x, y) => x * y,
  'mul.wide.u32': (x, y) => x * y,
  'mad.lo.u64': (x, y, z) => x * y + z,
  'setp.lt.u32': (x, y) => Number(x < y),
  'setp.le.u32': (x, y) => Number(x <= y),
  'setp.eq.u32': (x, y) => Number(x === y),
  'selp.b32': (x, y, z) => (z ? x : y),
  'selp.b64': (x, y, z) => (z ? x : y),
  'fma.rn.f32': (x, y, z) => Math.fround(x * y + z),
  'add.rn.f32': (x, y) => Math.fround(x + y),
  'sub.rn.f32': (x, y) => Math.fround(x - y),
  'mul.rn.f32': (x, y) => Math.fround(x * y),
  'mul.rn.ftz.f32': (x, y) => Math.fround(x * y),
  'neg.f32': (x) => -x,
  'max.NaN.f32': (x, y) => Math.max(x, y),
  'sqrt.rn.f32': (x) => Math.fround(Math.sqrt(x)),
  'rsqrt.approx.ftz.f32': (x) => Math.fround(1 / Math.sqrt(x)),
  'cvt.rn.f32.u32': (x) => Math.fround(x),
};

/** A float as a word. */
const wordOf = (x: number): number => new Uint32Array(Float32Array.of(x).buffer)[0]!;

const specials: Readonly<Record<string, Read>> = {
  '%tid.x': (t) => t.number,
  '%ctaid.x': (t) => t.block.place[0],
  '%ctaid.y': (t) => t.block.place[1],
  '%ctaid.z': (t) => t.block.place[2],
  '%nctaid.z': () => 1,
};

/** Where borrowed memory and the constants of a module lie: away from what tests choose. */
const [borrowedAt, constantsAt] = [2 ** 40, 2 ** 41];

interface Memory {
  readonly buffers: readonly EmulatedBuffer[];
  readonly borrowed: EmulatedBuffer;
  readonly constants: ReadonlyMap<string, EmulatedBuffer>;
}

/** Tables that a module declares. */
function constantsOf(ptx: string): ReadonlyMap<string, EmulatedBuffer> {
  const found = new Map<string, EmulatedBuffer>();
  for (const [, name, numbers] of ptx.matchAll(/^\.global \.align 16 \.f32 (\w+)\[\d+\] = \{(.*)\};$/gm)) {
    const words = numbers!.split(', ').map((v) => Number.parseInt(v.slice(2), 16));
    const data = new Float32Array(Uint32Array.from(words).buffer);
    found.set(name!, { address: constantsAt + found.size * 2 ** 30, data });
  }
  return found;
}

/** Runs every launch; buffers are changed in place, and what is stored to must have been NaN. */
export function emulate(
  recipe: ModuleRecipe,
  buffers: readonly EmulatedBuffer[],
  land: CopiesLand,
  random: Random,
  scalars: readonly number[] = [],
): void {
  const constants = constantsOf(recipe.ptx);
  const borrowed = { address: borrowedAt, data: new Float32Array(recipe.borrowedBytes / 4).fill(Number.NaN) };
  const memory: Memory = { buffers, borrowed, constants };
  for (const launch of recipe.launches) {
    const start = recipe.ptx.indexOf(`.entry ${launch.entry}(`);
    const entry = recipe.ptx.slice(start, recipe.ptx.indexOf('\n}', start)).split('\n');
    const program = decode(entry, launch, memory, land, scalars);
    const [width, height, depth] = launch.grid;
    for (let z = 0; z < depth; z++) {
      for (let y = 0; y < height; y++) {
        for (let x = 0; x < width; x++) {
          const shared = new Float32Array(program.sharedBytes / 4).fill(Number.NaN);
          const block: BlockState = { place: [x, y, z], shared, threads: [] };
          for (let n = 0; n < launch.block[0]; n++) block.threads.push(newThread(program.registers, n, block));
          runBlock(block, program.code, random);
        }
      }
    }
  }
}

const newThread = (registers: number, number: number, block: BlockState): Thread => ({
  registers: new Float64Array(registers),
  number,
  block,
  pc: 0,
  done: false,
  waiting: null,
  awaited: 0,
  given: 0,
  open: [],
  groups: [],
});

function runBlock({ threads }: BlockState, code: readonly Act[], random: Random): void {
  const ready = [...threads];
  while (ready.length > 0) {
    const at = random.below(ready.length);
    const t = ready[at]!;
    ready[at] = ready.at(-1)!;
    ready.pop();
    for (let next: Effect = t.pc; next !== stop; next = code[t.pc++]!(t) ?? t.pc) t.pc = next;
    if (!t.waiting) continue;
    const same = threads.filter((o) => o.waiting === t.waiting);
    if (same.length < t.awaited) continue;
    for (const o of same) o.waiting = null;
    ready.push(...same);
  }
  const stuck = threads.find((t) => !t.done);
  if (stuck) throw new Error(`thread ${stuck.number} waits for ever at ${stuck.waiting}`);
}

function decode(
  entry: readonly string[],
  launch: LaunchRecipe,
  { buffers, borrowed, constants }: Memory,
  land: CopiesLand,
  scalars: readonly number[],
): { readonly code: readonly Act[]; readonly registers: number; readonly sharedBytes: number } {
  const symbols = new Map<string, number>([['dyn', 0]]);
  for (const [name, { address }] of constants) symbols.set(name, address);
  const everywhere = [...buffers, borrowed, ...constants.values()];
  let sharedBytes = launch.shared;
  let parameterBytes = 0;
  for (const [, name, bytes = '8'] of entry.join('\n').matchAll(/\.param .*?(p\d+)(?:\[(\d+)\])?[,\n]/g)) {
    symbols.set(name!, parameterBytes);
    parameterBytes += Number(bytes);
  }
  const labels = new Map<string, number>();
  const lines: string[] = [];
  for (const raw of entry.slice(entry.indexOf('{') + 1)) {
    const s = raw.trim().replace(/;$/, '');
    const array = /^\.shared .* (s\d+)\[(\d+)\]$/.exec(s);
    if (array) {
      symbols.set(array[1]!, sharedBytes);
      sharedBytes += Math.ceil(Number(array[2]) / 16) * 16;
    } else if (s.endsWith(':')) labels.set(s.slice(0, -1), lines.length);
    else if (s.startsWith('shfl.sync.bfly')) {
      // Every thread of the warp gives its value before any takes another's.
      const [to, from, mask] = s.slice(s.indexOf(' ') + 1).split(', ') as [string, string, string];
      lines.push(`give ${from}`, `take ${to}, ${mask}`);
    } else if (!s.startsWith('.')) lines.push(s);
  }
  const names = new Map<string, number>();
  const register = (name: string): number => {
    if (!names.has(name)) names.set(name, names.size);
    return names.get(name)!;
  };

  const global = (address: number, bytes: number): readonly [Float32Array, number] => {
    const b = everywhere.find((o) => address >= o.address && address + bytes <= o.address + o.data.byteLength);
    if (!b || address % bytes !== 0) throw new Error(`${bytes} bytes of global memory at ${address}`);
    return [b.data, (address - b.address) / 4];
  };
  const shared = (t: Thread, address: number, bytes: number): readonly [Float32Array, number] => {
    if (address + bytes > sharedBytes || address % bytes !== 0) throw new Error(`${bytes} shared bytes at ${address}`);
    return [t.block.shared, address / 4];
  };

  const read = (text: string): Read => {
    const special = specials[text];
    if (special) return special;
    if (text.startsWith('%')) {
      const n = register(text);
      return (t) => t.registers[n]!;
    }
    const float = /^0f([0-9A-Fa-f]{8})$/.exec(text);
    const value = float
      ? new Float32Array(Uint32Array.of(Number.parseInt(float[1]!, 16)).buffer)[0]!
      : (symbols.get(text) ?? Number(text.replace(/U$/, '')));
    if (Number.isNaN(value)) throw new Error(`unknown operand ${text}`);
    return () => value;
  };
  const address = (text: string): Read => {
    const [, base, offset = '0'] = /^\[([^+\]]+)(?:\+(-?\d+))?\]$/.exec(text)!;
    const from = read(base!);
    return (t) => from(t) + Number(offset);
  };
  const vector = (text: string): number[] => text.replace(/[{}]/g, '').split(', ').map(register);

  const memory = (op: string, args: readonly string[]): Act => {
    const load = op.startsWith('ld.');
    const list = vector(args[load ? 0 : 1]!);
    const at = address(args[load ? 1 : 0]!);
    const space = op.includes('.global') ? (_: Thread, a: number, n: number) => global(a, n) : shared;
    return (t) => {
      const [data, first] = space(t, at(t), 4 * list.length);
      list.forEach((n, i) => {
        if (load) t.registers[n] = data[first + i]!;
        else if (op.includes('.global') && !Number.isNaN(data[first + i]!)) throw new Error('stored twice');
        else data[first + i] = t.registers[n]!;
      });
      return undefined;
    };
  };
  /** Instructions that do more than set a register from registers. */
  const others: Readonly<Record<string, (args: readonly string[]) => Act>> = {
    'ld.param.u64': ([to, from]) => {
      const [at, n] = [address(from!), register(to!)];
      return (t) => {
        const argument = launch.args[at(t) / 8];
        if (argument?.kind === 'borrowed') t.registers[n] = borrowed.address + argument.offset;
        else if (argument?.kind === 'buffer') t.registers[n] = buffers[argument.index]!.address;
        else throw new Error(`${argument ? `a ${argument.kind}` : 'nothing'} at ${at(t)}`);
        return undefined;
      };
    },
    'ld.param.f32': ([to, from]) => {
      const [at, n] = [address(from!), register(to!)];
      return (t) => {
        const argument = launch.args[at(t) / 8];
        if (argument?.kind !== 'scalar') throw new Error(`${argument ? `a ${argument.kind}` : 'nothing'} at ${at(t)}`);
        t.registers[n] = Math.fround(scalars[argument.index]!);
        return undefined;
      };
    },
    'cp.async.cg.shared.global': ([to, from, , bytes = '16']) => {
      const [target, source, size] = [address(to!), address(from!), read(bytes)];
      return (t) => {
        const [into, at] = shared(t, target(t), 16);
        const values = new Float32Array(4);
        const [data, first] = global(source(t), 16);
        if (size(t) === 16) values.set(data.subarray(first, first + 4));
        const copy = (): void => into.set(values, at);
        if (land === 'early') copy();
        else into.fill(Number.NaN, at, at + 4);
        t.open.push(copy);
        return undefined;
      };
    },
    'cp.async.commit_group': () => (t) => {
      t.groups.push(t.open);
      t.open = [];
      return undefined;
    },
    'cp.async.wait_group': ([left]) => {
      const keep = Number(left);
      return (t) => {
        while (t.groups.length > keep) {
          for (const copy of t.groups.shift()!) if (land === 'late') copy();
        }
        return undefined;
      };
    },
    give: ([from]) => {
      const value = read(from!);
      return (t) => {
        t.given = value(t);
        t.waiting = `shuffle of warp ${t.number >>> 5} at ${t.pc}`;
        t.awaited = 32;
        return stop;
      };
    },
    take: ([to, mask]) => {
      const [n, other] = [register(to!), read(mask!)];
      return (t) => {
        t.registers[n] = t.block.threads[t.number ^ other(t)]!.given;
        t.waiting = `shuffled in warp ${t.number >>> 5} at ${t.pc}`;
        t.awaited = 32;
        return stop;
      };
    },
    bra:
      ([label]) =>
      () =>
        labels.get(label!)!,
    ret: () => (t) => {
      if (t.open.length > 0 || t.groups.some((g) => g.length > 0)) throw new Error('copies that nobody waits for');
      t.done = true;
      return stop;
    },
    'bar.sync': ([id, count = String(launch.block[0])]) => {
      const awaited = Number(count);
      return (t) => {
        t.waiting = `barrier ${id}`;
        t.awaited = awaited;
        return stop;
      };
    },
  };

  const counted = new Set(lines.flatMap((line) => /^sub\.u32 \S+, (%r\d+),/.exec(line)?.[1] ?? []));
  const code = lines.map((line): Act => {
    const [, not, predicate, op, rest = ''] = /^(?:@(!?)(%p\d+) )?(\S+)(?: (.*))?$/.exec(line)!;
    const args = rest.match(/\{[^}]*\}|[^,\s]+/g) ?? [];
    const act = ((): Act => {
      // Floats keep their value on the way through registers of bits, unless somebody counts with these.
      const bits = op === 'mov.b32' && args.some((a) => a.startsWith('%f'));
      const compute = bits ? (counted.has(args[0]!) ? wordOf : arithmetic['mov.f32']) : arithmetic[op!];
      if (compute) {
        const to = register(args[0]!);
        const [x, y = x!, z = x!] = args.slice(1).map(read);
        return (t) => {
          t.registers[to] = compute(x!(t), y(t), z(t));
          return undefined;
        };
      }
      if (/^(ld|st)\.(shared|global|global\.nc)(\.v[24])?\.[fub]32$/.test(op!)) return memory(op!, args);
      const other = others[op!];
      if (!other) throw new Error(`no such instruction: ${line}`);
      return other(args);
    })();
    if (!predicate) return act;
    const [n, taken] = [register(predicate), not ? 0 : 1];
    return (t) => (t.registers[n] === taken ? act(t) : undefined);
  });
  return { code, registers: names.size, sharedBytes };
}
