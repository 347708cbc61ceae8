// A reader that went away (`| head`) or a full disk ends the command without a stack trace.

let listening = false;

/** Watches both outputs of the process, once. Status 0 after a closed pipe, 2 where the output is lost. */
export function endQuietly(): void {
  if (listening) return;
  listening = true;
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0);
      if (stream === process.stdout && error.code !== 'EIO')
        process.stderr.write(`error: standard output cannot be written: ${error.code ?? error.message}\n`);
      process.exit(2);
    });
  }
}
