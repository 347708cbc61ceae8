// Milliseconds on a steady clock. Node loads `performance` when it is first touched, which costs more than a whole detection.

export function clock(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
