// One page of text from the network, to a time and a size. Never throws: what cannot be had says why.

const LIMIT_MS = 10_000;
const MOST = 4 * 1024 * 1024;

export type Fetched = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly detail: string };

export type FetchText = (url: string) => Promise<Fetched>;

export const fetchText: FetchText = async (url) => {
  const end = AbortSignal.timeout(LIMIT_MS);
  try {
    const answer = await fetch(url, { signal: end });
    if (!answer.ok || !answer.body) return { ok: false, detail: `status ${answer.status}` };
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of answer.body) {
      size += part.length;
      if (size > MOST) return { ok: false, detail: `longer than ${MOST / 1024 ** 2} MB` };
      parts.push(part);
    }
    return { ok: true, text: Buffer.concat(parts).toString('utf8') };
  } catch (error) {
    return { ok: false, detail: end.aborted ? `no answer within ${LIMIT_MS / 1000} s` : reasonOf(error) };
  }
};

/** `fetch` hides the reason (ENOTFOUND, ECONNREFUSED) in the cause of a "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
  if (typeof cause?.code === 'string') return cause.code;
  return error instanceof Error ? error.message : String(error);
}
