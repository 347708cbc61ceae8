// What the compiler knows about tensors and their ops. Never run: types.test.ts compiles it.

import { expectTypeOf } from 'vitest';
import type { DType, HostArrays, Runtime, Tensor } from '../../src/index.ts';

declare const rt: Runtime;
declare const f32: Tensor<'f32'>;
declare const f16: Tensor<'f16'>;
declare const f64: Tensor<'f64'>;
declare const i32: Tensor<'i32'>;
declare const i64: Tensor<'i64'>;
declare const u8: Tensor<'u8'>;
declare const bool: Tensor<'bool'>;
declare const some: Tensor;

// Options may stand in the place of numbers that are left out.
expectTypeOf(rt.arange(3, { dtype: 'f64' })).toEqualTypeOf<Tensor<'f64'>>();
expectTypeOf(rt.arange(3)).toEqualTypeOf<Tensor<'i32' | 'f32'>>();
expectTypeOf(rt.eye(3, { dtype: 'i32' })).toEqualTypeOf<Tensor<'i32'>>();
expectTypeOf(rt.eye(3)).toEqualTypeOf<Tensor<'f32'>>();

// Reading gives the array of the dtype.
expectTypeOf(f32.data()).resolves.toEqualTypeOf<Float32Array>();
expectTypeOf(f16.dataSync()).toEqualTypeOf<Float32Array>();
expectTypeOf(f64.dataSync()).toEqualTypeOf<Float64Array>();
expectTypeOf(i64.dataSync()).toEqualTypeOf<BigInt64Array>();
expectTypeOf(bool.data()).resolves.toEqualTypeOf<Uint8Array>();
expectTypeOf(some.dataSync()).toEqualTypeOf<HostArrays[DType]>();
expectTypeOf(f32.item()).toEqualTypeOf<number>();
expectTypeOf(i64.item()).toEqualTypeOf<bigint>();
expectTypeOf(some.item()).toEqualTypeOf<number | bigint>();
expectTypeOf(f32.dtype).toEqualTypeOf<'f32'>();
expectTypeOf(some.dtype).toEqualTypeOf<DType>();
expectTypeOf(f32.shape).toEqualTypeOf<readonly number[]>();

// Arithmetic of one dtype keeps it; of two it is known when it runs.
expectTypeOf(f32.add(f32)).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(f32.mul(2)).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(i32.add(f32)).toEqualTypeOf<Tensor>();
expectTypeOf(i32.bitwiseXor(i32)).toEqualTypeOf<Tensor<'i32'>>();

// Comparisons and logic give bool, true division and functions floats.
expectTypeOf(f32.less(f32)).toEqualTypeOf<Tensor<'bool'>>();
expectTypeOf(i32.equal(f64)).toEqualTypeOf<Tensor<'bool'>>();
expectTypeOf(i32.logicalNot()).toEqualTypeOf<Tensor<'bool'>>();
expectTypeOf(i32.div(i32)).toEqualTypeOf<Tensor<'f64'>>();
expectTypeOf(u8.div(u8)).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(f16.exp()).toEqualTypeOf<Tensor<'f16'>>();
expectTypeOf(i32.sqrt()).toEqualTypeOf<Tensor<'f64'>>();
expectTypeOf(bool.tanh()).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(i32.floor()).toEqualTypeOf<Tensor<'i32'>>();

// Casting decides the dtype; movement keeps it.
expectTypeOf(f32.cast('i64')).toEqualTypeOf<Tensor<'i64'>>();
expectTypeOf(i64.reshape([2, -1])).toEqualTypeOf<Tensor<'i64'>>();
expectTypeOf(u8.slice([[0, 2], null])).toEqualTypeOf<Tensor<'u8'>>();
expectTypeOf(f64.roll(1, 0)).toEqualTypeOf<Tensor<'f64'>>();
expectTypeOf(f32.split(2, 0)).toEqualTypeOf<Tensor<'f32'>[]>();
expectTypeOf(i32.gather([0, 1], 0)).toEqualTypeOf<Tensor<'i32'>>();

// Reductions.
expectTypeOf(f32.max()).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(f32.argmax({ axis: 0 })).toEqualTypeOf<Tensor<'i32'>>();
expectTypeOf(i32.mean()).toEqualTypeOf<Tensor<'f64'>>();
expectTypeOf(f32.any({ axis: [0, 1], keepdims: true })).toEqualTypeOf<Tensor<'bool'>>();
expectTypeOf(f32.topk(3).values).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(f32.topk(3).indices).toEqualTypeOf<Tensor<'i32'>>();
expectTypeOf(f32.matmul(f32)).toEqualTypeOf<Tensor<'f32'>>();

// A tensor of one dtype is a tensor; not the other way round.
expectTypeOf(f32).toExtend<Tensor>();
expectTypeOf(some).not.toExtend<Tensor<'f32'>>();

// Mistakes the compiler catches.
// @ts-expect-error there is no such dtype
f32.cast('float32');
// @ts-expect-error an array is no operand
f32.add([1, 2]);
// @ts-expect-error text is no operand
f32.add('1');
// @ts-expect-error shapes are arrays
f32.reshape('2,3');
// @ts-expect-error the mode does not exist
f32.scatter([0], f32, { mode: 'xor' });
// @ts-expect-error matmul takes a tensor
f32.matmul(2);
// @ts-expect-error tensors cannot be changed in place
f32.dtype = 'f64';
// @ts-expect-error there is no such option
f32.sum({ axes: 0 });
// @ts-expect-error an axis is a number
f32.softmax('last');

// Making tensors.
expectTypeOf(rt.zeros([2], { dtype: 'i64' })).toEqualTypeOf<Tensor<'i64'>>();
expectTypeOf(rt.zeros([2])).toEqualTypeOf<Tensor<'f32'>>();
// @ts-expect-error there is no such dtype
rt.zeros([2], { dtype: 'int' });
// @ts-expect-error text is no data
rt.tensor('1, 2, 3');
// @ts-expect-error options come in one object
rt.zeros([2], 'i32');
// @ts-expect-error a shape is one array
rt.zeros(2, 3);

// The ordinary case is f32 and numbers, without a cast.
expectTypeOf(rt.tensor([1, 2])).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.tensor(1)).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.tensor([[1], [2]])).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.tensor([true, false])).toEqualTypeOf<Tensor<'bool'>>();
expectTypeOf(rt.tensor([1n])).toEqualTypeOf<Tensor<'i64'>>();
expectTypeOf(rt.tensor(new Float64Array(2), [2])).toEqualTypeOf<Tensor<'f64'>>();
expectTypeOf(rt.tensor(new Int16Array(2))).toEqualTypeOf<Tensor<'i32'>>();
expectTypeOf(rt.tensor([new Float32Array(2), new Float32Array(2)])).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.tensor([1, 2], { dtype: 'i32' })).toEqualTypeOf<Tensor<'i32'>>();
expectTypeOf(rt.tensor([1, 2], [2], { dtype: 'u8' })).toEqualTypeOf<Tensor<'u8'>>();
expectTypeOf(rt.tensor([1, 2], { device: 'cpu' })).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.tensor([], [0])).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.arange(5).item()).toEqualTypeOf<number>();
expectTypeOf(rt.zerosLike(i64)).toEqualTypeOf<Tensor<'i64'>>();

// Sums: floats keep their dtype, integers get 64 bits, counts of bools are i32; a dtype that is named wins.
expectTypeOf(f32.sum()).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(f32.sum({ axis: 0 })).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(bool.sum()).toEqualTypeOf<Tensor<'i32'>>();
expectTypeOf(i32.sum()).toEqualTypeOf<Tensor<'i64'>>();
expectTypeOf(u8.prod()).toEqualTypeOf<Tensor<'u64'>>();
expectTypeOf(i32.sum({ dtype: 'f64' })).toEqualTypeOf<Tensor<'f64'>>();
expectTypeOf(f32.cumsum()).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(f32.trace()).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(f32.sum().item() * 2).toEqualTypeOf<number>();

// Limits, choices and joins of one dtype keep it.
expectTypeOf(f32.clip(0)).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(f32.clip(null, 1)).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(f32.clip(f32, f64)).toEqualTypeOf<Tensor>();
expectTypeOf(rt.where(bool, f32, f32)).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.where(bool, f32, 0)).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.where(bool, 1, i32)).toEqualTypeOf<Tensor<'i32'>>();
expectTypeOf(rt.where(bool, 1, 0)).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.concat([f32, f32])).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.concat([f32, i32])).toEqualTypeOf<Tensor>();
expectTypeOf(rt.stack([i32, i32])).toEqualTypeOf<Tensor<'i32'>>();
expectTypeOf(rt.einsum('ij,jk', f32, f32)).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.random.uniform([2])).toEqualTypeOf<Tensor<'f32'>>();
expectTypeOf(rt.random.normal([2], { dtype: 'f64' })).toEqualTypeOf<Tensor<'f64'>>();
expectTypeOf(rt.random.integers([2], { high: 3 })).toEqualTypeOf<Tensor<'i32'>>();

// In a function that is generic over its state, too.
declare function iterate<S extends { readonly x: Tensor }>(step: (state: S) => S, state: S): S;
expectTypeOf(iterate((s) => ({ x: s.x.mul(2) }), { x: f32 })).toEqualTypeOf<{ x: Tensor<'f32'> }>();
