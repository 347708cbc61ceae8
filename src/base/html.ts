// Text in pages: escaped, and hashed for a content security policy that lets nothing else run.

const replacements: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for an element or for an attribute in quotes: shown as it is, never read as markup. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (c) => replacements[c]!);

/**
 * JSON for the inside of a `<script type="application/json">`: no text in it can end the element or begin a comment.
 * `JSON.parse` gives back the same value.
 */
export const escapeJson = (json: string): string =>
  json
    .replace(/</g, '\\u003c')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');

/** The source expression of a content security policy that allows exactly this text as a script or a style. */
export async function cspHash(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return `'sha256-${btoa(String.fromCharCode(...digest))}'`;
}
