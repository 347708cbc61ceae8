import { afterEach, describe, expect, it, vi } from 'vitest';
import { oldNode } from '../runtime/old-node.ts';
import { environment, isDenied, isOldNode, permitted } from './platform.ts';

const denied = (): never => {
  throw Object.assign(new Error('Requires env access, run again with the --allow-env flag'), { name: 'NotCapable' });
};

describe('a platform that asks for permissions', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('has an environment without the variables that may not be read', () => {
    vi.stubGlobal('Deno', {});
    vi.stubGlobal('process', {
      env: {
        HOME: '/home',
        get NODE_ENV() {
          return denied();
        },
      },
    });
    expect(environment().HOME).toBe('/home');
    expect(environment().NODE_ENV).toBeUndefined();
  });

  it('tells what was denied from what failed', () => {
    expect(permitted(denied, 7)).toBe(7);
    expect(() => permitted(() => JSON.parse('{'), 7)).toThrow(SyntaxError);
    expect(isDenied(new Error('NotCapable'))).toBe(false);
  });
});

describe('other platforms', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('have the environment as it is, or none', () => {
    expect(environment()).toBe(process.env);
    vi.stubGlobal('process', undefined);
    expect(environment()).toEqual({});
  });
});

it('says of a Node that is too old which one is needed', () => {
  expect(['18.20.8', '20.19.0', '24.1.0'].map((v) => isOldNode(v))).toEqual([true, false, false]);
  expect(isOldNode()).toBe(false);
  expect(oldNode('18.20.8').message).toMatch(
    /needs Node 20\.19 or later, and this is Node 18\.20\.8\n {2}fix: Install/,
  );
});
