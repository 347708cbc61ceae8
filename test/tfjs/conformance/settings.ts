// What a run of the suite is asked for:
//   --device cpu|webgpu|cuda   the device that everything runs on
//   --async                    leave out the specs that read synchronously
//   --isolated                 the device in a process of its own
//   --only REGEX               specs whose names match
//   --part N                   every N-th spec
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
  part: option('part') === undefined ? null : Number(option('part')),
  routing: !args.includes('--no-routing'),
  json: args.includes('--json'),
  trace: args.includes('--trace'),
  show: Number(option('show') ?? 40),
};
