// What CUDA calls its errors: the names of cudaError_t and CUresult with their numbers, which are the same in both. A class
// lists numbers; a text gives a number or one of these names.

const NUMBERS: Readonly<Record<number, readonly string[]>> = {
  1: ['INVALID_VALUE'],
  2: ['OUT_OF_MEMORY', 'MemoryAllocation'],
  3: ['NOT_INITIALIZED', 'InitializationError'],
  9: ['InvalidConfiguration'],
  12: ['InvalidPitchValue'],
  21: ['InvalidMemcpyDirection'],
  34: ['STUB_LIBRARY'],
  35: ['InsufficientDriver'],
  36: ['CallRequiresNewerDriver'],
  46: ['DEVICE_UNAVAILABLE', 'DevicesUnavailable'],
  52: ['MissingConfiguration'],
  98: ['InvalidDeviceFunction'],
  100: ['NO_DEVICE'],
  101: ['INVALID_DEVICE'],
  200: ['INVALID_IMAGE', 'InvalidKernelImage'],
  201: ['INVALID_CONTEXT', 'DeviceUninitialized'],
  209: ['NO_BINARY_FOR_GPU', 'NoKernelImageForDevice'],
  214: ['ECC_UNCORRECTABLE'],
  217: ['PEER_ACCESS_UNSUPPORTED'],
  218: ['INVALID_PTX'],
  220: ['NVLINK_UNCORRECTABLE'],
  221: ['JIT_COMPILER_NOT_FOUND'],
  222: ['UNSUPPORTED_PTX_VERSION'],
  223: ['JIT_COMPILATION_DISABLED'],
  300: ['INVALID_SOURCE'],
  304: ['OPERATING_SYSTEM'],
  400: ['INVALID_HANDLE', 'InvalidResourceHandle'],
  500: ['NOT_FOUND', 'SymbolNotFound'],
  700: ['ILLEGAL_ADDRESS'],
  701: ['LAUNCH_OUT_OF_RESOURCES'],
  702: ['LAUNCH_TIMEOUT'],
  704: ['PEER_ACCESS_ALREADY_ENABLED'],
  705: ['PEER_ACCESS_NOT_ENABLED'],
  709: ['CONTEXT_IS_DESTROYED'],
  710: ['ASSERT'],
  712: ['HOST_MEMORY_ALREADY_REGISTERED'],
  713: ['HOST_MEMORY_NOT_REGISTERED'],
  714: ['HARDWARE_STACK_ERROR'],
  715: ['ILLEGAL_INSTRUCTION'],
  716: ['MISALIGNED_ADDRESS'],
  717: ['INVALID_ADDRESS_SPACE'],
  718: ['INVALID_PC'],
  719: ['LAUNCH_FAILED', 'LaunchFailure'],
  720: ['COOPERATIVE_LAUNCH_TOO_LARGE'],
  800: ['NOT_PERMITTED'],
  801: ['NOT_SUPPORTED'],
  802: ['SYSTEM_NOT_READY'],
  803: ['SYSTEM_DRIVER_MISMATCH'],
  804: ['COMPAT_NOT_SUPPORTED_ON_DEVICE'],
  805: ['MPS_CONNECTION_FAILED'],
  806: ['MPS_RPC_FAILURE'],
  807: ['MPS_SERVER_NOT_READY'],
  808: ['MPS_MAX_CLIENTS_REACHED'],
  809: ['MPS_MAX_CONNECTIONS_REACHED'],
  810: ['MPS_CLIENT_TERMINATED'],
  900: ['STREAM_CAPTURE_UNSUPPORTED'],
  901: ['STREAM_CAPTURE_INVALIDATED'],
  902: ['STREAM_CAPTURE_MERGE'],
  903: ['STREAM_CAPTURE_UNMATCHED'],
  904: ['STREAM_CAPTURE_UNJOINED'],
  905: ['STREAM_CAPTURE_ISOLATION'],
  906: ['STREAM_CAPTURE_IMPLICIT'],
  907: ['CAPTURED_EVENT'],
  908: ['STREAM_CAPTURE_WRONG_THREAD'],
  910: ['GRAPH_EXEC_UPDATE_FAILURE'],
  999: ['UNKNOWN'],
};

/** What CUDA says of an error, where no class has the sentence among its own. */
const SENTENCES: readonly (readonly [number, string])[] = [
  [13, 'invalid device symbol'],
  [36, 'API call is not supported in the installed CUDA driver'],
  [205, 'mapping of buffer object failed'],
  [206, 'unmapping of buffer object failed'],
  [208, 'resource already mapped'],
  [215, 'limit is not supported on this architecture'],
  [301, 'file not found'],
  [302, 'shared object symbol not found'],
  [303, 'shared object initialization failed'],
  [401, 'the operation cannot be performed in the present state'],
  [704, 'peer access is already enabled'],
  [705, 'peer access has not been enabled'],
  [708, 'cannot set while device is active in this process'],
  [712, 'part or all of the requested memory range is already mapped'],
  [713, 'pointer does not correspond to a registered memory region'],
  [718, 'invalid program counter'],
  [720, 'too many blocks in cooperative launch'],
  [807, 'the MPS server is not ready to accept new MPS client requests'],
  [808, 'the hardware resources required to create MPS client have been exhausted'],
  [809, 'the hardware resources required to support device connections have been exhausted'],
  [905, 'dependency created on uncaptured work in another stream'],
  [910, 'the graph update was not performed because it included changes'],
];

/** "NO_BINARY_FOR_GPU" and "NoBinaryForGpu" are one name. */
const key = (name: string): string => name.replaceAll('_', '').toLowerCase();

const byName: ReadonlyMap<string, number> = new Map(
  Object.entries(NUMBERS).flatMap(([number, names]) => names.map((name) => [key(name), Number(number)] as const)),
);

const NAME = /\b(?:CUDA_ERROR_([A-Z][A-Z_]+)|cudaError([A-Z][A-Za-z]+))/g;

const numberOf: ReadonlyMap<string, number> = new Map(
  SENTENCES.map(([number, sentence]) => [sentence.toLowerCase(), number] as const),
);

/** A sentence of CUDA's, after the word that it is an error of CUDA's. */
const SENTENCE = new RegExp(
  String.raw`\bcuda\b[^\n]{0,40}?\b(?:error|failure)\b[^\n]{0,40}?(${SENTENCES.map(([, sentence]) => sentence).join('|')})`,
  'gi',
);

/** Errors that the text names, with their place. */
export function cudaNames(text: string): readonly { readonly number: number; readonly offset: number }[] {
  const found = (re: RegExp, read: (match: RegExpExecArray) => number | undefined) =>
    [...text.matchAll(re)].slice(0, 50).flatMap((match) => {
      const number = read(match);
      return number === undefined ? [] : [{ number, offset: match.index }];
    });
  return [
    ...found(NAME, (match) => byName.get(key(match[1] ?? match[2]!))),
    ...found(SENTENCE, (match) => numberOf.get(match[1]!.toLowerCase())),
  ];
}
