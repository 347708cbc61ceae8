// Several processes: ranks that wait for each other, and children that ended.

import type { Family } from './types.ts';

export const processes: readonly Family[] = [
  {
    code: 'nccl-timeout',
    subject:
      /\b(?:nccl|rccl|gloo|c10d|monitoredBarrier|all_?reduce|all_?gather|reduce_?scatter|collective|process ?group|TCPStore)\w*\b|\branks? ?\d|\bother ranks?\b/i,
    trouble: /\btimed? ?out\b|\btiming out\b|waiting for (?:send|recv|rank)|Timed out waiting/i,
  },
  {
    code: 'nccl-network',
    subject: /\bNET\/IB\b|net_ib\.cc|\bibv_\w+|GDRDMA|\bmlx[45]_\d+/,
    trouble: /\b(?:errors?|failed|vendor err|timed out)\b/i,
  },
  {
    code: 'nccl-network',
    subject: /\b(?:nccl|rccl|gloo|c10d|rank \d+|TCPStore)\b/i,
    trouble:
      /\b(?:connect(?:ion)? (?:refused|reset|closed|failed)|socket|network|interface|unreachable|reset by peer)\b/i,
  },
  {
    code: 'nccl-network',
    subject: /\b(?:c10d|TCPStore|rendezvous|rdzv|MASTER_ADDR|gloo|nccl|ibv_\w+)\b|Rendezvous\w+Error/i,
    trouble:
      /\b(?:fail\w*|error|unable|could not|cannot|can't|not)\b[^\n]*\b(?:connect\w*|resolve|hostname|retrieve\w*)\b|\bconnect\w*\b[^\n]*\b(?:fail\w*|error|refused|reset|closed|timed out|aborted)\b|\bgai error\b|\bunreachable\b|\b(?:socket|connection|store)\b[^\n]*\bclosed\b|broken pipe|\bretrieved\b/i,
  },
  { code: 'nccl', subject: /(?:nccl|rccl)\w*/i, trouble: /\b(?:error|failed|failure|abort\w*|WARN)\b/i },
  {
    code: 'host-oom',
    subject: /exit\w*|return\w*|terminated/i,
    trouble: /\b(?:code|status|signal)\b ?[=:]? ?\(?(?:-9|137|SIGKILL)\b/i,
  },
  {
    code: 'native-crash',
    subject: /exit\w*|return\w*|terminated/i,
    trouble: /\b(?:code|status|signal)\b ?[=:]? ?\(?(?:-11|-6|-7)\b/i,
  },
  {
    code: 'dist-child',
    subject: /\blaunch\.py:\d+|sigkill_handler|Root Cause \(first observed failure\)|ChildFailedError/,
    trouble: /return code|exitcode|observed failure|ERROR|Error/,
  },
  { code: 'dist-child', subject: /\b(?:torchrun|elastic|local_rank)\b/i, trouble: /\b(?:exitcode|failed|error)\b/i },
];
