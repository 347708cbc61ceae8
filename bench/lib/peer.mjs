// The parent's half: one child process a library, so that they share no heap, no threads and no settings.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class Peer {
  #child;
  #waiting = [];
  #stderr = '';
  #ended = null;

  constructor(name, command, args, cwd, env = {}) {
    this.name = name;
    this.#child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    this.#child.stderr.on('data', (d) => {
      this.#stderr = (this.#stderr + d).slice(-2000);
    });
    this.#child.stdin.on('error', () => {});
    this.#child.on('error', (e) => this.#end(e.message));
    this.#child.on('close', (code) => this.#end(`ended with code ${code}: ${this.#stderr.trim().split('\n').pop()}`));
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      // Libraries print greetings; only our own lines are JSON objects.
      if (line.startsWith('{')) this.#waiting.shift()?.(JSON.parse(line));
    });
    this.opened = new Promise((resolve) => this.#waiting.push(resolve));
  }

  #end(why) {
    this.#ended ??= why;
    for (const resolve of this.#waiting.splice(0)) resolve({ error: `${this.name} ${this.#ended}` });
  }

  ask(command, work, seconds, values) {
    if (this.#ended) return Promise.resolve({ error: `${this.name} ${this.#ended}` });
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#child.stdin.write(`${JSON.stringify({ command, work, seconds, values })}\n`);
    });
  }

  async close() {
    if (this.#ended) return;
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 3000);
    await this.ask('quit');
    clearTimeout(timer);
  }
}
