// Who may come in: links that work once, sessions that they open, and one standing token for programs.
//
// All secrets are 256 random bits. They are compared by their digests in constant time, so neither length nor content can be felt for.
// After five wrong ones each further wrong one is answered a second later.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const mostLinks = 64;
const mostSessions = 64;
const freeWrongs = 5;
const wrongDelayMs = 1000;

const digest = (secret: string): Buffer => createHash('sha256').update(secret).digest();
const same = (known: Buffer, given: Buffer): boolean => timingSafeEqual(known, given);

const newSecret = (): string => randomBytes(32).toString('base64url');

export class Access {
  /** For programs: `Authorization: Bearer …`. */
  readonly token: string;
  readonly #token: Buffer;
  #links: Buffer[] = [];
  #sessions: Buffer[] = [];
  #wrong = 0;

  constructor(token: string = newSecret()) {
    this.token = token;
    this.#token = digest(token);
  }

  /** A secret for one link; the oldest unused one goes if there are many. */
  newLink(): string {
    const secret = newSecret();
    this.#links = [...this.#links, digest(secret)].slice(-mostLinks);
    return secret;
  }

  /** Trades a link for a session; null if it is wrong or was used. */
  redeem(link: string): string | null {
    const given = digest(link);
    const left = this.#links.filter((known) => !same(known, given));
    if (left.length === this.#links.length) return null;
    this.#links = left;
    const session = newSecret();
    this.#sessions = [...this.#sessions, digest(session)].slice(-mostSessions);
    return session;
  }

  isSession(secret: string): boolean {
    const given = digest(secret);
    // All of them are compared: how long it takes tells nothing.
    return this.#sessions.filter((known) => same(known, given)).length > 0;
  }

  isToken(secret: string): boolean {
    return same(this.#token, digest(secret));
  }

  /** Counts a wrong secret; how long to wait with the answer. */
  wrong(): number {
    return ++this.#wrong > freeWrongs ? wrongDelayMs : 0;
  }
}
