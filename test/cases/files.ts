// The case files of this folder, for tests that run in Node.

import { readdirSync, readFileSync } from 'node:fs';
import { type Case, parseCases } from './format.ts';

const folder = new URL('./data/', import.meta.url);

/** The names of all case files. */
export const caseFiles = (): string[] =>
  readdirSync(folder)
    .filter((f) => f.endsWith('.jsonl'))
    .map((f) => f.slice(0, -6))
    .sort();

export const caseText = (file: string): string => readFileSync(new URL(`${file}.jsonl`, folder), 'utf8');

export const readCases = (file: string): Case[] => parseCases(file, caseText(file));
