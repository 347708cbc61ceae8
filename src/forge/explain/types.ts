// What an explanation is made of. Plain data on the outside; the catalogue's rows are data with two small functions.

import type { Framework } from '../data/schemas.ts';
import type { Machine, Platform, Vendor } from '../machine.ts';
import type { Resolution } from '../resolve/types.ts';

export const EXPLAIN_SCHEMA = 'gpuforge.explain/1';

export type Severity = 'critical' | 'error' | 'warning' | 'information';

export interface RepairStep {
  readonly text: string;
  /** Arguments, never a shell string: a program runs it without a shell. */
  readonly command?: readonly string[];
  readonly needsRoot: boolean;
  /** Safe for a tool to do after the user agreed. */
  readonly automatic: boolean;
}

/**
 * How much a pattern tells: `code` is a number or name that only this fault has, `capture` a sentence with values in it,
 * `phrase` fixed words, `symptom` a message that something failed but not why, `weak` words that other faults print too.
 */
export type Kind = 'code' | 'capture' | 'phrase' | 'symptom' | 'weak';

export interface Pattern {
  readonly kind: Kind;
  readonly re: RegExp;
  /** Must occur somewhere in the text as well. */
  readonly along?: RegExp;
  /** What `re` is made of, where it is made of others: each must be in the text. */
  readonly parts?: readonly RegExp[];
  /** A subject and a trouble, no wording of its own: nothing where any other pattern of the text tells more. */
  readonly family?: true;
  /** The name that a library gives the error: it is that library's, whatever the words around it, even where it says no more. */
  readonly named?: true;
  /** Counts in a line that is a notice too. */
  readonly notice?: true;
  /** Among patterns of one kind: the lower comes first. */
  readonly rank?: number;
}

export interface Facts {
  readonly machine: Machine;
  readonly nvidia: boolean;
  readonly amd: boolean;
  readonly intel: boolean;
  readonly gpus: readonly string[];
  readonly driver: string | undefined;
  readonly wsl: boolean;
  readonly inContainer: boolean;
}

/** The program whose message it is. */
export type Software = Framework | 'onnxruntime' | 'llama.cpp' | 'ollama' | 'vllm' | 'cupy' | 'numba';

export interface Context {
  /** Values from the text: named groups of the pattern that matched, and what the extractors found. */
  readonly got: Readonly<Record<string, string>>;
  readonly facts: Facts | undefined;
  /** The right build for this machine; undefined without facts. */
  readonly resolve: (framework: Framework) => Resolution | undefined;
  /** The line that was recognised. */
  readonly line: string;
  /** Who speaks in the text; undefined where it does not tell. */
  readonly software: Software | undefined;
  /** The system on which it happened: from the text, else from the machine. */
  readonly os: Platform | undefined;
  /** Whose GPU the message speaks of. */
  readonly vendor: Vendor | undefined;
}

export interface ErrorClass {
  readonly code: string;
  readonly severity: Severity;
  readonly title: string;
  readonly patterns: readonly Pattern[];
  /** cudaError_t or CUresult numbers with this meaning. */
  readonly cuda?: readonly number[];
  /** Takes the numbers of CUDA that no class names. */
  readonly cudaOther?: true;
  /** A line that fits this belongs to another class. */
  readonly unless?: RegExp;
  /** Says only that a process ended: any other class that the text shows comes first. */
  readonly echo?: true;
  /** Classes whose messages are a consequence of this fault: where both match, this one comes first. */
  readonly explains?: readonly string[];
  /** False rules the class out on this machine, true confirms it, undefined says nothing. */
  readonly holds?: (facts: Facts) => boolean | undefined;
  readonly cause: (context: Context) => string;
  readonly fix: (context: Context) => readonly RepairStep[];
  readonly links: readonly string[];
}

export interface Explanation {
  readonly code: string;
  readonly severity: Severity;
  readonly title: string;
  readonly cause: string;
  readonly evidence: {
    readonly line: string;
    readonly lineNumber: number;
    readonly values: Readonly<Record<string, string>>;
    readonly facts: readonly string[];
  };
  readonly fix: readonly RepairStep[];
  /** The system that the steps are for; null where neither text nor machine tells. */
  readonly os: Platform | null;
  /** 0 to 1: how specific the match was and whether the machine confirms it. */
  readonly score: number;
  readonly confidence: 'high' | 'medium' | 'low';
  readonly links: readonly string[];
}

/** A class that a text may belong to: too little speaks for it to be an answer. */
export interface Nearest {
  readonly code: string;
  readonly title: string;
  readonly line: string;
  readonly lineNumber: number;
}

export interface Explained {
  readonly explanations: readonly Explanation[];
  /** Where there is no explanation: what it may be. Never an answer. */
  readonly nearest: readonly Nearest[];
}
