// What a run of the suite is asked for:
//   --device cpu|webgpu|cuda   the device that everything runs on
//   --async                    leave out the specs that read synchronously
//   --isolated                 the device in a process of its own
//   --only REGEX               specs whose names match
//   --part K/N                 every N-th spec, from the K-th on
//   --jobs N                   in N processes, a part each
//   --no-routing               TF.js's CPU kernels switched off
//   --trace                    names each spec before it runs
//   --json                     the result as one line of JSON

const args = process.argv.slice(2);
const option = (name: string): string | undefined => {
  const at = args.indexOf(`--${name}`);
  return at < 0 ? undefined : args[at + 1];
};

export const settings = {
  device: (option('device') ?? 'cpu') as 'cpu' | 'webgpu' | 'cuda',
  sync: !args.includes('--async'),
  isolated: args.includes('--isolated'),
  filter: new RegExp(option('only') ?? ''),
  part: option('part')?.split('/').map(Number) as [number, number] | undefined,
  jobs: Number(option('jobs') ?? 1),
  routing: !args.includes('--no-routing'),
  json: args.includes('--json'),
  trace: args.includes('--trace'),
  show: Number(option('show') ?? 40),
};
