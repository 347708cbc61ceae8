// A yes-or-no question on the terminal; nobody is asked where nobody can answer.

export function confirmer(): ((question: string) => Promise<boolean>) | undefined {
  if (!process.stdin.isTTY) return undefined;
  return async (question) => {
    const { createInterface } = await import('node:readline/promises');
    const reader = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return /^y(es)?$/i.test((await reader.question(question)).trim());
    } finally {
      reader.close();
    }
  };
}
