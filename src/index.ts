// The public surface of gpuforge.

export { type DType, dtypes, type HostArrays, type TypedArray } from './base/dtype.ts';
/** @internal The bus of the layers above. */
export { type BusEvents, type CallbackError, EventBus } from './base/event-bus.ts';
export { formatBytes } from './base/format.ts';
export type { OperationType } from './base/operations.ts';
export type { Shape } from './base/shape.ts';
/** @internal Turns of the event loop, for the layers above. */
export { nextTurn, turn, turnIfDue } from './base/turn.ts';
export type { Capabilities, Device, DeviceId, Telemetry } from './devices/device.ts';
export * from './errors.ts';
export type {
  Borrowed,
  BorrowOptions,
  BorrowReport,
  ReversibleProgram,
  ReversibleStep,
} from './governor/memory/borrow.ts';
export type { CleanupReport } from './governor/memory/cleanup.ts';
export { BorrowViolation } from './governor/memory/errors.ts';
export type { LeakReport } from './governor/memory/leaks.ts';
export type { PressureLevel } from './governor/memory/levels.ts';
export type { PressureEvent } from './governor/memory/monitor.ts';
export type { MemoryOptions } from './governor/memory/options.ts';
export type { MemoryPool } from './governor/memory/pool.ts';
export type { RuntimeMemory } from './governor/memory/runtime-memory.ts';
export type { MemorySnapshot } from './governor/memory/snapshot.ts';
export type { Holder } from './governor/memory/view.ts';
export type { Maybe } from './governor/recovery/attempt.ts';
/** @internal Waits that a signal ends, for the layers above. */
export { withDeadline } from './governor/recovery/deadline.ts';
export * from './governor/recovery/errors.ts';
export type { Fault, FaultPlan, FaultyDevice } from './governor/recovery/faults.ts';
export type { DeviceHealth, Health, HealthEvent } from './governor/recovery/health.ts';
export type { RecoveryOptions } from './governor/recovery/options.ts';
export type { RoutingOptions } from './governor/routing/options.ts';
export { type RouteExplanation, Router } from './governor/routing/router.ts';
export type { Decision, Operation, Outcome, Prediction } from './governor/routing/types.ts';
export { whenRuntimeOpens } from './runtime/announce.ts';
export type { Attempt, AttemptOptions, AttemptWork } from './runtime/attempt.ts';
export type { CompileArgument, Compiled, CompileResult } from './runtime/compile.ts';
export { createRuntime, type RuntimeOptions } from './runtime/create.ts';
export type { DeviceKind, DeviceReport } from './runtime/devices.ts';
export {
  type AllocationEvent,
  type EventLogger,
  type EventName,
  type Events,
  eventNames,
  type Listener,
  type TransferEvent,
} from './runtime/events.ts';
export type { Explanation } from './runtime/explain.ts';
export { accumulatorFor, byteSize, floatFor, randomFaults, withFaults } from './runtime/functions.ts';
export type { InPlaceKernel, MemoryLayout } from './runtime/in-place.ts';
export type { Border, KernelInput, KernelOptions, KernelValue, UserKernel } from './runtime/kernel.ts';
export type { Stats } from './runtime/ledger.ts';
export type { LoopOptions, LoopResult, LoopState } from './runtime/loop.ts';
export { RuntimeMark } from './runtime/mark.ts';
export type { RawOptions, RawOutput } from './runtime/raw.ts';
export type { ResetReport } from './runtime/reset.ts';
export type { Runtime, ScopeOptions, TensorOptions, UploadOptions } from './runtime/runtime.ts';
/** @internal Kinds of arguments, for the layers above. */
export { runtimeKinds as argumentKinds, runtimeOptions } from './runtime/signatures.ts';
export type { RuntimeSnapshot } from './runtime/snapshot.ts';
export type { SpanMode } from './runtime/spans.ts';
export {
  createStepper,
  type Stepper,
  type StepperFunction,
  type StepperOptions,
  type StepperState,
} from './runtime/stepper.ts';

export type { ScalarInput } from './tensor/build.ts';
export type { Nested, ReadOptions, WaitOptions } from './tensor/core.ts';
export type { NestedInput, TensorInput } from './tensor/create.ts';
export { Tensor } from './tensor/tensor.ts';
export type { Complex, ComplexFourierOptions, FourierOptions } from './tensor/transforms.ts';
