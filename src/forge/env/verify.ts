// verify.py: imports the framework, prints its build, runs a real kernel on every visible device, compares the result with
// the CPU, and exits non-zero on any failure. It needs nothing but the framework and Python's own library.

import type { Backend, Framework } from '../data/schemas.ts';
import { comments } from '../text/quote.ts';
import type { EnvPlan } from './plan.ts';

export function writeVerify(plan: EnvPlan, choice: EnvPlan['choice'] = plan.choice): string {
  return [
    '#!/usr/bin/env python3',
    comments(plan.madeFor),
    comments([
      'Exit status: 0 every device computed right, 1 a device is missing or computed wrong, 2 the framework cannot be imported.',
    ]),
    'import sys',
    'import time',
    '',
    `EXPECTED_VERSION = ${python(choice.version)}`,
    `EXPECTED_BACKEND = ${python(choice.backend)}`,
    `EXPECTED_VARIANT = ${python(choice.variant)}`,
    `SIZE = 512`,
    '',
    '',
    HEAD,
    BODY[choice.framework](choice.backend),
    TAIL,
  ].join('\n');
}

/** Only words of our own tables are put into the script. */
const python = (text: string): string => {
  if (!/^[A-Za-z0-9_.+-]*$/.test(text)) throw new TypeError(`not safe in Python: ${text}`);
  return `"${text}"`;
};

const HEAD = `def fail(message, status=1):
    print("FAIL  " + message)
    sys.exit(status)


def import_framework(name):
    try:
        return __import__(name)
    except Exception as error:  # a broken native library raises OSError, not ImportError
        print(f"FAIL  import {name}: {type(error).__name__}: {error}")
        print("      gpuforge explain reads such messages: python verify.py 2>&1 | gpuforge explain -")
        sys.exit(2)


def report(device, name, seconds, error, limit):
    verdict = "ok   " if error <= limit else "WRONG"
    print(f"{verdict} {device:<10} {name}  {SIZE}x{SIZE} matmul + tanh in {seconds * 1e3:.1f} ms, error {error:.2e}")
    return error <= limit

`;

const TAIL = `if __name__ == "__main__":
    main()
`;

const BODY: Readonly<Record<Framework, (backend: Backend) => string>> = {
  pytorch: () => `
def devices(torch):
    """Every device of the expected backend, as (device, name)."""
    if EXPECTED_BACKEND in ("cuda", "rocm"):
        if not torch.cuda.is_available():
            fail("torch sees no GPU: torch.cuda.is_available() is False")
        return [(f"cuda:{i}", torch.cuda.get_device_name(i)) for i in range(torch.cuda.device_count())]
    if EXPECTED_BACKEND == "xpu":
        if not torch.xpu.is_available():
            fail("torch sees no Intel GPU: torch.xpu.is_available() is False")
        return [(f"xpu:{i}", torch.xpu.get_device_name(i)) for i in range(torch.xpu.device_count())]
    if EXPECTED_BACKEND == "mps":
        if not torch.backends.mps.is_available():
            fail("torch sees no Apple GPU: torch.backends.mps.is_available() is False")
        return [("mps", "Apple GPU")]
    return [("cpu", "CPU")]


def synchronize(torch, device):
    kind = device.split(":")[0]
    if kind in ("cuda", "xpu", "mps"):
        getattr(torch, kind).synchronize()


def main():
    torch = import_framework("torch")
    built = torch.version.cuda or getattr(torch.version, "hip", None) or "none"
    print(f"torch {torch.__version__}, built for CUDA/ROCm {built}, expected {EXPECTED_VERSION} {EXPECTED_VARIANT}")
    if torch.__version__.split("+")[0] != EXPECTED_VERSION:
        print(f"note  another version than the one resolved: {EXPECTED_VERSION}")
    if EXPECTED_BACKEND == "cuda" and torch.cuda.is_available():
        print("      kernels for " + " ".join(torch.cuda.get_arch_list()))
    found = devices(torch)
    if not found:
        fail("no device is visible")
    generator = torch.Generator().manual_seed(7)
    a = torch.randn(SIZE, SIZE, generator=generator)
    b = torch.randn(SIZE, SIZE, generator=generator) / SIZE**0.5
    expected = torch.tanh(a.double() @ b.double())
    good = True
    for device, name in found:
        try:
            x, y = a.to(device), b.to(device)
            torch.tanh(x @ y)
            synchronize(torch, device)
            start = time.perf_counter()
            result = torch.tanh(x @ y)
            synchronize(torch, device)
            seconds = time.perf_counter() - start
            error = (result.cpu().double() - expected).abs().max().item()
        except Exception as problem:
            print(f"FAIL  {device:<10} {name}  {type(problem).__name__}: {problem}")
            good = False
            continue
        # TF32 keeps ten bits of the mantissa; a wrong kernel is wrong by far more than this.
        good = report(device, name, seconds, error, 5e-3) and good
    sys.exit(0 if good else 1)

`,
  tensorflow: () => `
def main():
    tf = import_framework("tensorflow")
    info = tf.sysconfig.get_build_info()
    print(f"tensorflow {tf.__version__}, built for CUDA {info.get('cuda_version', 'none')}, expected {EXPECTED_VERSION}")
    if tf.__version__ != EXPECTED_VERSION:
        print(f"note  another version than the one resolved: {EXPECTED_VERSION}")
    gpus = tf.config.list_physical_devices("GPU")
    if EXPECTED_BACKEND != "cpu" and not gpus:
        fail("tensorflow sees no GPU")
    names = [(f"/GPU:{i}", tf.config.experimental.get_device_details(gpu).get("device_name", "GPU")) for i, gpu in enumerate(gpus)]
    if EXPECTED_BACKEND == "cpu":
        names = [("/CPU:0", "CPU")]
    with tf.device("/CPU:0"):
        a = tf.random.stateless_normal([SIZE, SIZE], seed=[7, 1])
        b = tf.random.stateless_normal([SIZE, SIZE], seed=[7, 2]) / SIZE**0.5
        expected = tf.tanh(tf.matmul(tf.cast(a, tf.float64), tf.cast(b, tf.float64)))
    good = True
    for device, name in names:
        try:
            with tf.device(device):
                tf.tanh(tf.matmul(a, b)).numpy()
                start = time.perf_counter()
                result = tf.tanh(tf.matmul(a, b)).numpy()
                seconds = time.perf_counter() - start
            error = float(abs(result.astype("float64") - expected.numpy()).max())
        except Exception as problem:
            print(f"FAIL  {device:<10} {name}  {type(problem).__name__}: {problem}")
            good = False
            continue
        # TF32 keeps ten bits of the mantissa; a wrong kernel is wrong by far more than this.
        good = report(device, name, seconds, error, 5e-3) and good
    sys.exit(0 if good else 1)

`,
  jax: () => `
def main():
    jax = import_framework("jax")
    import jax.numpy as jnp
    import numpy as np

    backend = jax.default_backend()
    print(f"jax {jax.__version__} on {backend}, expected {EXPECTED_VERSION} {EXPECTED_VARIANT}")
    if jax.__version__ != EXPECTED_VERSION:
        print(f"note  another version than the one resolved: {EXPECTED_VERSION}")
    if EXPECTED_BACKEND != "cpu" and backend == "cpu":
        fail("jax sees no GPU: it fell back to the CPU")
    random = np.random.default_rng(7)
    a = random.standard_normal((SIZE, SIZE)).astype(np.float32)
    b = (random.standard_normal((SIZE, SIZE)) / SIZE**0.5).astype(np.float32)
    expected = np.tanh(a.astype(np.float64) @ b.astype(np.float64))
    kernel = jax.jit(lambda x, y: jnp.tanh(x @ y))
    good = True
    for device in jax.devices():
        name = getattr(device, "device_kind", str(device))
        label = f"{device.platform}:{device.id}"
        try:
            x, y = jax.device_put(a, device), jax.device_put(b, device)
            kernel(x, y).block_until_ready()
            start = time.perf_counter()
            result = kernel(x, y).block_until_ready()
            seconds = time.perf_counter() - start
            error = float(np.abs(np.asarray(result, dtype=np.float64) - expected).max())
        except Exception as problem:
            print(f"FAIL  {label:<10} {name}  {type(problem).__name__}: {problem}")
            good = False
            continue
        # TF32 keeps ten bits of the mantissa; a wrong kernel is wrong by far more than this.
        good = report(label, name, seconds, error, 5e-3) and good
    sys.exit(0 if good else 1)

`,
};
