// The cart task: x'' = u + noise, 50 times a second, to be held at x = 0. What a field learns from a controller's records, beside
// simple controllers.

export const cartHz = 50;
/** Full motor is this much acceleration. */
export const cartForce = 4;

export interface Cart {
  x: number;
  v: number;
}

/** Numbers from a seed, evenly spread in [0, 1). */
export function uniform(seed: number): () => number {
  let state = (seed * 2654435761 + 1) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

export function moveCart(cart: Cart, motor: number, random: () => number): void {
  const dt = 1 / cartHz;
  cart.v += (cartForce * Math.min(1, Math.max(-1, motor)) + 0.05 * normal(random)) * dt;
  cart.x += cart.v * dt;
}

/** What the cart's sensors say, within the limits of a field's input. */
export const cartSensors = ({ x, v }: Cart): Float32Array =>
  Float32Array.from([x, v], (s) => Math.min(10, Math.max(-10, s)));

export type Controller = (cart: Readonly<Cart>) => number | Promise<number>;

export const controllers: Readonly<Record<'none' | 'P' | 'PD', Controller>> = {
  none: () => 0,
  P: ({ x }) => -x / cartForce,
  PD: ({ x, v }) => (-2 * x - 1.5 * v) / cartForce,
};

/** RMS of x over the last half of a run from somewhere within ±1. */
export async function cartScore(control: Controller, seed: number, seconds = 20): Promise<number> {
  const random = uniform(seed);
  const cart: Cart = { x: 2 * random() - 1, v: 0 };
  const ticks = seconds * cartHz;
  let sum = 0;
  for (let t = 0; t < ticks; t++) {
    moveCart(cart, await control(cart), random);
    if (t >= ticks / 2) sum += cart.x ** 2;
  }
  return Math.sqrt(sum / (ticks / 2));
}

/** Records of a controller: what the sensors said, and what it did. */
export function cartRecords(
  control: Controller,
  count: number,
  motorDim: number,
  seed: number,
): { input: Float32Array; target: Float32Array }[] {
  const random = uniform(seed);
  const cart: Cart = { x: 0, v: 0 };
  return Array.from({ length: count }, (_, t) => {
    if (t % 150 === 0) [cart.x, cart.v] = [2 * random() - 1, random() - 0.5];
    const input = cartSensors(cart);
    const motor = control(cart) as number;
    const target = new Float32Array(motorDim);
    target[0] = Math.min(1, Math.max(-1, motor));
    moveCart(cart, motor, random);
    return { input, target };
  });
}
