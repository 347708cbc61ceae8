// Faults between GPUs and between machines.

import { capture, code, phrase, symptom } from '../patterns.ts';
import { run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';
import { NCCL } from './links.ts';

const debug = run('Let NCCL say what it does.', 'env', 'NCCL_DEBUG=INFO', 'python', 'your_script.py');

export const ncclClasses: readonly ErrorClass[] = [
  {
    code: 'nccl-timeout',
    severity: 'error',
    title: 'One rank waited for another until time ran out',
    patterns: [
      capture(
        /Watchdog caught collective operation timeout[^\n]*?(?:OpType=(?<op>\w+))?[^\n]*?(?:Timeout\(ms\)=(?<timeout>\d+))?/i,
      ),
      phrase(/\b[Hh]orovod\b[^\n]*\b(?:missing|missed) ranks\b|Stalled (?:ops|ranks):/),
      phrase(/watchdog thread terminated with exception|Some NCCL operations have failed or timed out/i),
      capture(
        /Timed out (?:after \d+ ?\w+ )?(?:waiting (?:\d+ ?ms )?for (?:clients|rank|recv|send)|initializing process group)|wait timeout after \d+ms/i,
        /torch|rank|store|process group|ms for (?:send|recv) operation|\bclients joined\b/i,
      ),
      phrase(
        /(?:RuntimeError|Dist\w+Error|c10d|store|rank)\b[^\n]{0,40}\bSocket Timeout\b|Connection timed out[^\n]*(?:rank|store|29500)|Heartbeat monitor timed out|Received a dump signal due to a collective timeout|nccl\w*\.cc[^\n]*may be stuck|waiting for all participants to/i,
      ),
      phrase(/\b(?:hangs?|hung|stuck|freezes|deadlocks?)\b[^\n]{0,60}\bNCCL_\w+_DISABLE\b/i),
    ],
    explains: ['nccl', 'nccl-network', 'dist-child'],
    cause: ({ got }) =>
      `${got.op ? `A collective (${got.op})` : 'A collective'} did not end in time: another rank crashed, hung, took another branch, or was still loading.`,
    fix: () => [
      say('Read the log of every rank: the one without this message is the one that stopped first.'),
      run(
        'Let torch name the rank.',
        'env',
        'TORCH_DISTRIBUTED_DEBUG=DETAIL',
        'TORCH_NCCL_TRACE_BUFFER_SIZE=2000',
        'python',
        'your_script.py',
      ),
      say(
        'All ranks must call the same collectives; long work on one rank (loading, evaluation) needs a larger timeout in init_process_group.',
      ),
      debug,
    ],
    links: [NCCL],
  },
  {
    code: 'nccl-network',
    severity: 'error',
    title: 'The ranks cannot reach each other',
    patterns: [
      capture(
        /(?:NCCL|gloo|c10d|socket\.(?:cpp|cc))[^\n]*(?:Connect to (?<peer>\S+) failed|Connection (?:closed|reset|refused) by (?:remote )?peer|connection abort|No route to host)/i,
      ),
      capture(/Call to connect (?:failed|returned|to \S+ failed)[^\n]*(?:refused|timed out|unreachable|abort)/i),
      phrase(/Bootstrap : no socket interface found|NCCL WARN Bootstrap|NET\/(?:Socket|IB) : No (?:usable|interface)/i),
      capture(/NCCL WARN (?:NET\/)?(?:IB|OFI)[^\n]*(?:failed|error|Got completion)/i),
      capture(
        /(?:connect|connection)[^\n]{0,60}(?:refused|timed out|failed)[^\n]*(?:MASTER_ADDR|TCPStore|rendezvous|(?<=\b(?:nccl|c10d|gloo|torch|rank|master|store|socket\.cpp)[^\n]*)port \d+)|(?:TCPStore|rendezvous)[^\n]*(?:refused|timed out|failed|timeout)/i,
      ),
      phrase(
        /client socket has (?:timed out[^\n]*trying|failed) to connect|setting up NCCL communicator[^\n]*got error/i,
      ),
      symptom(/\bRendezvous(?:Closed|Connection|Graceful\w*|State)\w*(?:Error|Exception)\b/),
      phrase(/NCCL WARN Call to ibv_\w+ failed|\bifa != nullptr\b[^\n]*find address for/),
      phrase(/\bmlx\d+: [^\n]*\bgot completion with error|\bUCX +ERROR\b/i),
      code(/ncclRemoteError|NCCL error: remote process exited or there was a network error/),
      code(/\bNet : Call to (?:connect|recv|send|accept|bind|listen)\w* [^\n]*failed/),
      capture(
        /NCCL WARN[^\n]*(?:bind|connect|accept|listen|socket|recv|send)[^\n]*(?:failed(?!: Address already)|refused|closed|assign|unreach)/i,
      ),
    ],
    explains: ['nccl'],
    cause: ({ got }) =>
      `A connection between ranks failed${got.peer ? ` (to ${got.peer})` : ''}: a firewall, the wrong network card, or a rank that has ended.`,
    fix: () => [
      say('Name the network card: NCCL_SOCKET_IFNAME=eth0 (not lo, docker0 or a VPN); GLOO_SOCKET_IFNAME as well.'),
      run('Try without InfiniBand.', 'env', 'NCCL_IB_DISABLE=1', 'NCCL_DEBUG=INFO', 'python', 'your_script.py'),
      say('The other rank may have failed first: read its log.'),
    ],
    links: [NCCL],
  },
  {
    code: 'nccl-duplicate-gpu',
    severity: 'error',
    title: 'Two ranks use the same GPU',
    patterns: [
      capture(/Duplicate GPU detected ?: ?rank (?<first>\d+) and rank (?<second>\d+)[^\n]*device (?<device>\w+)/i),
      phrase(/Duplicate GPU detected/i),
    ],
    explains: ['nccl'],
    cause: ({ got }) =>
      got.first
        ? `Rank ${got.first} and rank ${got.second} are both on device ${got.device}.`
        : 'Two ranks chose the same device.',
    fix: () => [
      say(
        'Set the device of each rank before the process group starts: torch.cuda.set_device(int(os.environ["LOCAL_RANK"])).',
      ),
      say('Start no more ranks than there are GPUs.'),
    ],
    links: [NCCL],
  },
  {
    code: 'dist-port',
    severity: 'error',
    title: 'The port of the process group is taken',
    patterns: [
      capture(/server socket has failed to (?:listen|bind)[^\n]*?(?:port:? ?(?<port>\d+))?[^\n]*/i),
      capture(
        /(?:c10d|TCPStore|torch|vLLM|DistNetworkError|MASTER_PORT|NCCL|rank|master_port)[^\n]*(?:EADDRINUSE|address already in use)|(?:EADDRINUSE|address already in use)[^\n]*(?:c10d|TCPStore|torch|NCCL|port: ?(?<number>\d+))/i,
      ),
      phrase(/^RuntimeError: Address already in use/m),
      phrase(
        /\b(?:torch[./]distributed|torchrun|deepspeed|MASTER_PORT)\b[^\n]*\n(?:[^\n]*\n){0,4}[^\n]*\[Errno 98\] Address already in use/i,
      ),
      phrase(/(?:EADDRINUSE|address already in use)[^\n]*(?:\n[^\n]*){0,3}(?:Engine ?core|vllm|sglang)/i),
    ],
    cause: ({ got }) =>
      `Another process listens on ${(got.port ?? got.number) ? `port ${got.port ?? got.number}` : 'that port'}: an earlier run that has not ended, or a second job.`,
    fix: () => [
      run('Choose a free port.', 'torchrun', '--rdzv-endpoint=localhost:0', 'your_script.py'),
      say('Or set MASTER_PORT, or end the earlier run.'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/elastic/run.html'],
  },
  {
    code: 'nccl',
    severity: 'error',
    title: 'NCCL failed between GPUs',
    patterns: [
      code(
        /nccl(?:UnhandledCudaError|SystemError|InternalError|InvalidUsage|InvalidArgument)|NCCL (?:error|failure|Error)\b|\brccl(?:UnhandledCudaError|SystemError)/i,
      ),
      phrase(/NCCL[^\n]*unhandled (?:system|cuda) error|unhandled (?:system|cuda) error[^\n]*NCCL/i),
      phrase(/internal error - please report this issue to the NCCL developers/i),
      symptom(/NCCL WARN Cuda failure/i),
      symptom(/NCCL WARN /),
      phrase(/\b[NR]CCL\b[^\n]{0,20}\bunhandled (?:cuda|system|hip) error/i),
    ],
    cause: () =>
      'Shared memory is too small, the driver is older than the CUDA of the build, or peer-to-peer access does not work.',
    fix: () => [
      run('Let NCCL say which it is.', 'env', 'NCCL_DEBUG=INFO', 'python', 'your_script.py'),
      say('In a container: --ipc=host or a larger --shm-size.'),
      run('Try without peer-to-peer.', 'env', 'NCCL_P2P_DISABLE=1', 'python', 'your_script.py'),
    ],
    links: [NCCL],
  },
  {
    code: 'nccl-missing',
    severity: 'error',
    title: 'This build has no NCCL',
    patterns: [
      phrase(
        /No module named 'torch\._C\._distributed_c10d'|Distributed package doesn't have NCCL|not been built with NCCL|NCCL is not (?:available|built|compiled)|no NCCL (?:backend|built in)/i,
      ),
    ],
    explains: ['nccl-network', 'nccl'],
    cause: () =>
      'NCCL exists on Linux only, and CPU builds do not hold it; some builds hold no part for several processes at all.',
    fix: (context) => [
      context.os === 'windows' || context.os === 'macos'
        ? say(
            "Use the backend gloo: init_process_group('gloo'), or TORCH_DISTRIBUTED_DEFAULT_BACKEND; for NCCL use Linux or WSL2.",
          )
        : say("Install a CUDA build of torch, or use the backend gloo: init_process_group('gloo')."),
    ],
    links: ['https://docs.pytorch.org/docs/stable/distributed.html'],
  },
  {
    code: 'dist-child',
    severity: 'warning',
    title: 'One of the processes failed; its own message stands above',
    patterns: [
      symptom(
        /torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError|torch\.multiprocessing\.spawn\.Process\w+Exception/,
      ),
      symptom(
        /\b(?:mpirun|mpiexec|prterun)\b[^\n]* noticed that process rank \d+|Primary job +terminated normally, but \d+ process(?:es)? returned/i,
      ),
      symptom(
        /Sending process \d+ closing signal SIG(?:TERM|HUP)|Received \d+ death signal, shutting down workers|\bSignalException\b[^\n]* got signal|killed by signal: (?:Terminated|Hangup|Interrupt)|failed \(exitcode: -?\d+\) local_rank/i,
      ),
      symptom(
        /A worker died or was killed (?:while executing|unexpectedly)|The actor died unexpectedly before finishing|The actor is dead because its worker process has died|Worker exit type: SYSTEM_ERROR|ray\.exceptions\.\w*(?:ActorDied|WorkerCrashed|RayActor)\w*/i,
      ),
    ],
    echo: true,
    cause: () =>
      'torchrun reports that a rank ended; the cause is the last traceback before this line, of the rank named as "first observed failure".',
    fix: () => [
      say('Look further up for the traceback of that rank and explain that.'),
      say('exitcode -9 is memory of the computer, -11 a crash in native code, -7 shared memory.'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/elastic/errors.html'],
  },
];
