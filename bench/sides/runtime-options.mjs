// The one place that says how the bench opens GPUForge: the CPU device alone, with the threads and BLAS asked for.

export const cpuOptions = ({ threads, blas = false }) => ({
  devices: ['cpu'],
  cpu: { blas, ...(threads ? { threads } : {}) },
});
