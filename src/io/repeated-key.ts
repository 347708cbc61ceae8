// A key that an object of a JSON text has twice: `JSON.parse` keeps the last one without a word, other readers the first.
//
// The text has been parsed before: it is valid, so that strings and braces are all there is to look at.

/** The first key that some object of a valid JSON text repeats; undefined if none does. */
export function repeatedKey(text: string): string | undefined {
  // The keys of the objects around a position; null for a list.
  const around: (Set<string> | null)[] = [];
  // A string is a key where one is due: after an opening brace, or a comma within an object.
  let due = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '{':
        around.push(new Set());
        due = true;
        break;
      case '[':
        around.push(null);
        due = false;
        break;
      case '}':
      case ']':
        around.pop();
        due = false;
        break;
      case ',':
        due = around[around.length - 1] !== null;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (due) {
          const key = JSON.parse(text.slice(at, end + 1)) as string;
          const keys = around[around.length - 1]!;
          if (keys.has(key)) return key;
          keys.add(key);
          due = false;
        }
        at = end;
        break;
      }
    }
  }
  return undefined;
}

/** Where the quotes are that end a string. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    if (text[at] === '"') return at;
    if (text[at] === '\\') at++;
  }
}
