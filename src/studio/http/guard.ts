// What is looked at before anything else: the name the request was sent to, and where it came from.

import type { IncomingMessage } from 'node:http';

/** Sent with every answer. No CORS header is among them: other sites read nothing. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
};

/** Names under which the server may be asked, each with its port. A page of another site that was pointed here has another name. */
export function allowedHosts(hosts: readonly string[], port: number): ReadonlySet<string> {
  const names = hosts.flatMap((h) => [`${h.includes(':') ? `[${h}]` : h}:${port}`, ...(port === 80 ? [h] : [])]);
  return new Set(names.map((n) => n.toLowerCase()));
}

export function hostAllowed(request: IncomingMessage, hosts: ReadonlySet<string>): boolean {
  const { host } = request.headers;
  return host !== undefined && hosts.has(host.toLowerCase());
}

/** For everything but reading: a browser says where the request came from, and that must be our own page. */
export function originAllowed(request: IncomingMessage, hosts: ReadonlySet<string>): boolean {
  const { origin } = request.headers;
  if (origin === undefined) return false;
  const [, host] = /^http:\/\/(.+)$/.exec(origin.toLowerCase()) ?? [];
  return host !== undefined && host === request.headers.host?.toLowerCase() && hosts.has(host);
}

/** Another site's page asked, so says the browser. Opening the address by hand or by a link is fine. */
export function crossSite(request: IncomingMessage): boolean {
  const from = request.headers['sec-fetch-site'];
  if (from === undefined || from === 'same-origin' || from === 'none') return false;
  return request.headers['sec-fetch-mode'] !== 'navigate';
}
