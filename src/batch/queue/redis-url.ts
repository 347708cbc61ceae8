// Where the queue is. A Redis that others can reach must ask for a password.

import { badArgument } from '../failures.ts';

const loopback = /^(localhost|127(\.\d+){3}|\[?::1\]?)$/;

export function checkRedisUrl(url: string): URL {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw badArgument(
      'openTransport',
      `'${url}' is not an address`,
      'Use redis://localhost:6379, or rediss:// for TLS.',
    );
  }
  if (parsed.protocol !== 'redis:' && parsed.protocol !== 'rediss:')
    throw badArgument(
      'openTransport',
      `there is no transport for ${parsed.protocol}`,
      "Use 'local', redis:// or rediss://.",
    );
  if (!/^\/?\d*$/.test(parsed.pathname))
    throw badArgument(
      'openTransport',
      `the address ends in ${parsed.pathname}, and databases of Redis have numbers`,
      'Use redis://localhost:6379/2, or leave it out: that is database 0. To keep jobs apart, give a prefix.',
    );
  if (!loopback.test(parsed.hostname) && parsed.password === '')
    throw badArgument(
      'openTransport',
      `${parsed.hostname} is not this machine, and the address has no password`,
      'Set a password in Redis (requirepass or ACL) and use redis://user:password@host:port.',
    );
  return parsed;
}
