// Profiles: what each brings to an environment, and how well it suits a card.

import { describe, expect, it } from 'vitest';
import { plan, tables } from '../../../test/forge/env-plans.ts';
import { machine, machines, nvidia } from '../../../test/forge/fixtures/targets.ts';
import type { Machine } from '../machine.ts';
import { allProfiles } from '../profiles/profiles.ts';
import { planEnvironment } from './plan.ts';
import { render } from './writers.ts';

describe('profiles', () => {
  it('drive the output: every profile gives other packages', () => {
    const seen = new Set(
      allProfiles(tables).map((profile) =>
        plan(machines['rtx4090-595']!, profile.name)
          .selection.packages.map((use) => use.name)
          .join(),
      ),
    );
    expect(seen.size).toBe(8);
    for (const profile of allProfiles(tables)) {
      const made = plan(machines['rtx4090-595']!, profile.name);
      for (const file of render(made, ['uv', 'requirements']))
        for (const use of made.selection.packages)
          expect(file.content, `${profile.name} ${file.path}`).toContain(use.name);
    }
  });

  it('leave out what cannot install, and say why', () => {
    const left = (on: Machine, profile: string, rest = {}) =>
      Object.fromEntries(plan(on, profile, rest).selection.left.map((row) => [row.name, row.why]));
    expect(left(machines.rx7900xtx!, 'deep_learning')).toMatchObject({
      deepspeed: expect.stringContaining('not for rocm'),
      bitsandbytes: expect.stringContaining('not for rocm'),
    });
    expect(left(machines['rtx4090-windows']!, 'production')).toMatchObject({
      gunicorn: expect.stringContaining('not for windows-x64'),
    });
    expect(left(machines['rtx4090-595']!, 'nlp', { framework: 'jax' })).toMatchObject({
      transformers: expect.stringContaining('PyTorch only'),
      accelerate: expect.stringContaining('depends on torch'),
    });
    expect(left(machines['gtx1080ti-580']!, 'deep_learning')).toMatchObject({
      'flash-attn': expect.stringContaining('compute capability 8.0'),
    });
    expect(left(machines['rtx4090-595']!, 'nlp', { python: '3.15' })).toMatchObject({
      spacy: expect.stringContaining('Python 3.15'),
    });
  });

  it('bring the libraries of another framework', () => {
    const names = (framework: 'jax' | 'tensorflow') =>
      plan(machines['rtx4090-595']!, 'research', { framework }).selection.packages.map((use) => use.name);
    expect(names('jax')).toEqual(expect.arrayContaining(['flax', 'optax', 'orbax-checkpoint']));
    expect(names('tensorflow')).toContain('tensorflow-datasets');
  });

  it('change their content on a small card, and say so', () => {
    const small = plan(machine({ gpus: [nvidia('RTX 4060', '8.9', 8)], driver: '580' }), 'deep_learning');
    expect(small.selection.packages.map((use) => use.name)).not.toContain('deepspeed');
    expect(small.selection.notes.join()).toMatch(/below 12 GB of GPU memory weights are loaded in 4 or 8 bits/);
    expect(small.warnings.join()).toMatch(/wants at least 12 GB/);
    expect(plan(machines['rtx4090-570']!, 'deep_learning').selection.packages.map((use) => use.name)).toContain(
      'deepspeed',
    );
  });

  it('take torchvision from the index of torch, of the version that belongs to it', () => {
    const [uv] = render(plan(machines['rtx4090-570']!, 'computer_vision'), ['uv']);
    expect(uv!.content).toContain('torchvision==0.29.*');
    expect(uv!.content).toMatch(/torchvision = \[\n {2}\{ index = "pytorch-cu126"/);
    expect(render(plan(machines['rtx4090-570']!, 'nlp'), ['uv'])[0]!.content).not.toContain('torchvision');
  });

  it('pin exactly where the policy is exact', () => {
    const [uv] = render(plan(machines['rtx4090-570']!, 'production'), ['uv']);
    for (const pin of ['numpy==2.4.6', 'pandas==3.0.6', 'fastapi==0.142.2', 'gunicorn==26.2.0'])
      expect(uv!.content).toContain(`"${pin}"`);
    const old = render(plan(machines['rtx4090-570']!, 'production', { python: '3.10' }), ['uv'])[0]!.content;
    expect(old).toContain('"numpy==2.2.6"');
    expect(old).toContain('"scikit-learn==1.6.1"');
  });

  it('of every name can be recommended by some hardware', () => {
    const profiles = allProfiles(tables);
    const best = (on: Machine) =>
      planEnvironment(tables, { name: 'x', machine: on, framework: 'pytorch', profiles, dataReviewed: '' }).profile
        .name;
    const card = (gib: number, cores = 8) =>
      machine({ gpus: [nvidia('card', '8.9', gib)], driver: '580', host: { cores } });
    expect(best(card(24))).toBe('deep_learning');
    expect(best(card(141))).toBe('deep_learning');
    expect(best(card(16))).toBe('computer_vision');
    expect(best(card(12))).toBe('research');
    expect(best(card(8))).toBe('nlp');
    expect(best(card(8, 32))).toBe('reinforcement_learning');
    expect(best(card(6))).toBe('learning');
    expect(best(card(2))).toBe('lightweight');
    expect(best(machines['l4-kubernetes']!)).toBe('production');
    expect(best(machines['no-gpu']!)).toBe('lightweight');
  });

  it('score cards apart, explain every point, and give unknown memory no score', () => {
    const scores = (on: Machine) => plan(on, 'deep_learning').scores;
    const of = (on: Machine, profile: string) => scores(on).find((row) => row.profile === profile)!;
    const order = ['h200-580', 'rtx4090-595', 'gtx1080ti-580', 'gtx750ti-580', 'no-gpu'].map(
      (name) => of(machines[name]!, 'deep_learning').score!,
    );
    expect([...order].sort((a, b) => b - a)).toEqual(order);
    expect(new Set(order).size).toBe(order.length);
    for (const row of scores(machines['rtx4090-595']!)) {
      expect(row.parts.map((part) => part.name)).toEqual(['memory', 'use', 'compute', 'packages', 'place']);
      expect(Math.round(row.parts.reduce((sum, part) => sum + part.points, 0))).toBe(row.score);
      for (const part of row.parts) expect(part.points).toBeLessThanOrEqual(part.most);
      expect(row.score).toBeLessThanOrEqual(100);
    }
    expect(of(machines['gb10-spark']!, 'nlp')).toMatchObject({
      score: null,
      warnings: [expect.stringContaining('does not tell its memory')],
    });
  });
});
