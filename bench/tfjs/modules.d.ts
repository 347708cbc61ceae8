// The bench installs this beside itself; the project is type-checked without it.
declare module '@tensorflow/tfjs-backend-webgpu';
