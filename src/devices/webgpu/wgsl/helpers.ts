// Functions that shaders call, one text per name, made for scalars and for vectors of four.
//
// They state what WGSL leaves open: NaN is recognised by its bits (a compiler may assume that NaN does not occur and
// fold x != x away), shifts and divisions have an answer for every operand, conversions saturate.

import { vectorOf, type Width } from './types.ts';

interface Names {
  readonly F: string;
  readonly U: string;
  readonly I: string;
  readonly B: string;
  /** The name of another helper at the same width. */
  readonly call: (name: HelperName) => string;
}

interface Helper {
  readonly needs?: readonly HelperName[];
  readonly text: (n: Names, name: string) => string;
}

const helperNames = [
  'is_nan',
  'max_f32',
  'min_f32',
  'at_least_f32',
  'at_most_f32',
  'div_f32',
  'sqrt_f32',
  'idiv_i32',
  'imod_i32',
  'idiv_u32',
  'imod_u32',
  'shl_i32',
  'shr_i32',
  'shl_u32',
  'shr_u32',
  'u32_to_f32',
  'f32_to_i32',
  'f32_to_u32',
  'f32_to_u8',
  'f32_to_bool',
] as const;
export type HelperName = (typeof helperNames)[number];

// Max and min: the larger operand, +0 above -0, a NaN operand before all.
const extreme = (better: string, sign: string): Helper => ({
  needs: ['is_nan'],
  text: ({ F, I, B, call }, name) => `fn ${name}(a: ${F}, b: ${F}) -> ${F} {
  let first: ${B} = (a ${better} b) | ((a == b) & (bitcast<${I}>(a) ${sign} ${I}(0i)));
  return select(select(select(b, a, first), b, ${call('is_nan')}(b)), a, ${call('is_nan')}(a));
}`,
});

// Max and min with a bound that is neither NaN nor 0: a third of the work, and NaN still passes.
const bound = (beyond: string): Helper => ({
  needs: ['is_nan'],
  text: ({ F, call }, name) => `fn ${name}(x: ${F}, bound: ${F}) -> ${F} {
  return select(select(x, bound, x ${beyond} bound), x, ${call('is_nan')}(x));
}`,
});

const helpers: Readonly<Record<HelperName, Helper>> = {
  is_nan: {
    text: ({ F, U, B }, name) =>
      `fn ${name}(x: ${F}) -> ${B} { return (bitcast<${U}>(x) & ${U}(0x7fffffffu)) > ${U}(0x7f800000u); }`,
  },
  max_f32: extreme('>', '>='),
  min_f32: extreme('<', '<'),
  at_least_f32: bound('<'),
  at_most_f32: bound('>'),
  // Where division only promises 2.5 ulp and no large divisors: bring both operands into the middle of the range, correct
  // the quotient by its residual, and scale back. Most are there already.
  div_f32: {
    text: ({ F, U, B }, name) => `fn ${name}(a: ${F}, b: ${F}) -> ${F} {
  let ea = (bitcast<${U}>(a) >> ${U}(23u)) & ${U}(255u);
  let eb = (bitcast<${U}>(b) >> ${U}(23u)) & ${U}(255u);
  let middle: ${B} = (ea - ${U}(64u) < ${U}(127u)) & (eb - ${U}(64u) < ${U}(127u));
  if (${F === 'f32' ? 'middle' : 'all(middle)'}) {
    let plain = a / b;
    return fma(fma(-plain, b, a), ${F}(1.0f) / b, plain);
  }
  let up = ${F}(0x1p+64f);
  let down = ${F}(0x1p-64f);
  let one = ${F}(1.0f);
  let x = a * select(select(one, down, ea > ${U}(190u)), up, ea < ${U}(64u));
  let y = b * select(select(one, down, eb > ${U}(190u)), up, eb < ${U}(64u));
  let q = x / y;
  let refined = fma(fma(-q, y, x), one / y, q);
  let eq = (bitcast<${U}>(q) >> ${U}(23u)) & ${U}(255u);
  let normal: ${B} = (eq > ${U}(0u)) & (eq < ${U}(255u));
  let backX = select(select(one, up, ea > ${U}(190u)), down, ea < ${U}(64u));
  let backY = select(select(one, down, eb > ${U}(190u)), up, eb < ${U}(64u));
  // Equal scales cancel; applied one after the other they could leave the range on the way.
  let same: ${B} = backX * backY == one;
  return select(q, refined, normal) * select(backX, one, same) * select(backY, one, same);
}`,
  },
  sqrt_f32: {
    text: ({ F, U, B }, name) => `fn ${name}(x: ${F}) -> ${F} {
  let small: ${B} = x < ${F}(0x1p-80f);
  let v = select(x, x * ${F}(0x1p+60f), small);
  let r = sqrt(v);
  let refined = fma(fma(-r, r, v), ${F}(0.5f) / r, r);
  let m = (bitcast<${U}>(refined) >> ${U}(23u)) & ${U}(255u);
  let root = select(r, refined, (m > ${U}(0u)) & (m < ${U}(255u)) & (v > ${F}(0.0f)));
  return select(root, root * ${F}(0x1p-30f), small);
}`,
  },
  idiv_i32: {
    text: ({ I, B }, name) => `fn ${name}(a: ${I}, b: ${I}) -> ${I} {
  let zero: ${B} = b == ${I}(0i);
  let d = select(b, ${I}(1i), zero);
  let q = a / d;
  let lower: ${B} = ((a - q * d) != ${I}(0i)) & ((a < ${I}(0i)) != (d < ${I}(0i)));
  return select(select(q, q - ${I}(1i), lower), ${I}(0i), zero);
}`,
  },
  imod_i32: {
    needs: ['idiv_i32'],
    text: ({ I, call }, name) =>
      `fn ${name}(a: ${I}, b: ${I}) -> ${I} { return select(a - ${call('idiv_i32')}(a, b) * b, ${I}(0i), b == ${I}(0i)); }`,
  },
  idiv_u32: {
    text: ({ U }, name) =>
      `fn ${name}(a: ${U}, b: ${U}) -> ${U} { return select(a / max(b, ${U}(1u)), ${U}(0u), b == ${U}(0u)); }`,
  },
  imod_u32: {
    text: ({ U }, name) =>
      `fn ${name}(a: ${U}, b: ${U}) -> ${U} { return select(a % max(b, ${U}(1u)), ${U}(0u), b == ${U}(0u)); }`,
  },
  shl_i32: {
    text: ({ I, U }, name) =>
      `fn ${name}(a: ${I}, n: ${I}) -> ${I} { return select(a << (${U}(n) & ${U}(31u)), ${I}(0i), ${U}(n) > ${U}(31u)); }`,
  },
  shr_i32: {
    // A count past the width leaves only the sign.
    text: ({ I, U }, name) => `fn ${name}(a: ${I}, n: ${I}) -> ${I} { return a >> min(${U}(n), ${U}(31u)); }`,
  },
  shl_u32: {
    text: ({ U }, name) =>
      `fn ${name}(a: ${U}, n: ${U}) -> ${U} { return select(a << (n & ${U}(31u)), ${U}(0u), n > ${U}(31u)); }`,
  },
  shr_u32: {
    text: ({ U }, name) =>
      `fn ${name}(a: ${U}, n: ${U}) -> ${U} { return select(a >> (n & ${U}(31u)), ${U}(0u), n > ${U}(31u)); }`,
  },
  u32_to_f32: {
    // Two exact halves and one rounding: conversions of large values are rounded twice on some adapters.
    text: ({ F, U }, name) =>
      `fn ${name}(x: ${U}) -> ${F} { return ${F}(x >> ${U}(16u)) * ${F}(65536.0f) + ${F}(x & ${U}(65535u)); }`,
  },
  f32_to_i32: {
    needs: ['is_nan'],
    text: ({ F, I, call }, name) => `fn ${name}(x: ${F}) -> ${I} {
  let inside = ${I}(clamp(x, ${F}(-2147483648.0f), ${F}(2147483520.0f)));
  let high = select(inside, ${I}(2147483647i), x >= ${F}(2147483648.0f));
  return select(high, ${I}(0i), ${call('is_nan')}(x));
}`,
  },
  f32_to_u32: {
    needs: ['is_nan'],
    text: ({ F, U, call }, name) => `fn ${name}(x: ${F}) -> ${U} {
  let inside = ${U}(clamp(x, ${F}(0.0f), ${F}(4294967040.0f)));
  let high = select(inside, ${U}(4294967295u), x >= ${F}(4294967296.0f));
  return select(high, ${U}(0u), ${call('is_nan')}(x));
}`,
  },
  f32_to_u8: {
    needs: ['is_nan'],
    text: ({ F, U, call }, name) =>
      `fn ${name}(x: ${F}) -> ${U} { return select(${U}(clamp(x, ${F}(0.0f), ${F}(255.0f))), ${U}(0u), ${call('is_nan')}(x)); }`,
  },
  f32_to_bool: {
    // By bits: a subnormal is not zero even where arithmetic flushes it.
    text: ({ F, U, B }, name) =>
      `fn ${name}(x: ${F}) -> ${B} { return (bitcast<${U}>(x) & ${U}(0x7fffffffu)) != ${U}(0u); }`,
  },
};

/** The helpers a shader asked for, each once and after what it calls itself. */
export class HelperSet {
  readonly #texts = new Map<string, string>();

  /** The name to call at this width. */
  use(name: HelperName, width: Width): string {
    const full = width === 1 ? name : `${name}_v`;
    if (this.#texts.has(full)) return full;
    const helper = helpers[name];
    for (const needed of helper.needs ?? []) this.use(needed, width);
    const names: Names = {
      F: vectorOf('f32', width),
      U: vectorOf('u32', width),
      I: vectorOf('i32', width),
      B: vectorOf('bool', width),
      call: (other) => (width === 1 ? other : `${other}_v`),
    };
    this.#texts.set(full, helper.text(names, full));
    return full;
  }

  text(): string {
    return [...this.#texts.values()].join('\n');
  }
}
