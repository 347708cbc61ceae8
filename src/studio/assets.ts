// The page: one HTML text, one script, one style sheet, all from memory. The script is bundled when the package is built.

import type { Reply } from './http/reply.ts';
import script from './page/main.ts?script';
import { style } from './page/style.ts';

/** The mark of the studio: three stacked bars. */
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%23146c5f'/%3E%3Cpath d='M8 21h16M8 16h11M8 11h6' stroke='%23fff' stroke-width='3' stroke-linecap='round'/%3E%3C/svg%3E";

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>GPUForge Studio</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/app.css">
<script src="/app.js" defer></script>
</head>
<body>
<div id="app"><p class="loading" role="status">Loading …</p></div>
<noscript>The studio needs JavaScript. The same data is at /api/snapshot and /metrics.</noscript>
</body>
</html>
`;

export const files: ReadonlyMap<string, Reply> = new Map([
  ['/', { status: 200, type: 'text/html; charset=utf-8', body: html }],
  ['/app.js', { status: 200, type: 'text/javascript; charset=utf-8', body: script }],
  ['/app.css', { status: 200, type: 'text/css; charset=utf-8', body: style }],
]);
