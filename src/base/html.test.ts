import { expect, it } from 'vitest';
import { cspHash, escapeHtml, escapeJson } from './html.ts';

it('text stays text in elements and attributes', () => {
  expect(escapeHtml(`<img src=x onerror="a('&')">`)).toBe('&lt;img src=x onerror=&quot;a(&#39;&amp;&#39;)&quot;&gt;');
});

it('JSON cannot end the script that it is in, and reads back the same', () => {
  const value = { name: '</script><!--<script>\u2028\u2029 & "quotes" \\' };
  const text = escapeJson(JSON.stringify(value));
  expect(text).not.toMatch(/[<\u2028\u2029]/);
  expect(JSON.parse(text)).toEqual(value);
});

it('hashes are those that browsers compute', async () => {
  // From the specification's own example: CSP level 3.
  expect(await cspHash("alert('Hello, world.');")).toBe("'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='");
});
