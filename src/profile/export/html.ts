// One page with a profile in it: no request, no network, opens from disk.

import { cspHash, escapeHtml, escapeJson } from '../../base/html.ts';
import { joined } from '../file/save.ts';
import type { ProfileFile } from '../file/types.ts';
import { profileText } from '../file/write.ts';
import script from '../page/main.ts?script';
import { style } from '../page/style.ts';

export interface PageOptions {
  readonly title?: string | undefined;
}

/** The page with a profile, or an empty one that loads files which are dropped on it. */
export async function htmlText(profile: ProfileFile | null, options: PageOptions = {}): Promise<string[]> {
  const [scriptHash, styleHash] = await Promise.all([cspHash(script), cspHash(style)]);
  // JSON is data, not a script: the policy says nothing about it. Bars and dots get their sizes through the style of elements.
  const policy = `default-src 'none'; script-src ${scriptHash}; style-src ${styleHash}; img-src data:; base-uri 'none'; form-action 'none'`;
  const title = options.title ?? 'GPUForge profile';
  const data = profile ? escapeJson(await joined(profileText(profile))) : '';
  return [
    `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n`,
    `<meta http-equiv="Content-Security-Policy" content="${escapeHtml(policy)}">\n`,
    `<meta name="viewport" content="width=device-width, initial-scale=1">\n`,
    `<title>${escapeHtml(title)}</title>\n<style>${style}</style>\n</head>\n<body>\n<div id="page"></div>\n`,
    '<script type="application/json" id="profile">',
    data,
    `</script>\n<script>${script}</script>\n</body>\n</html>\n`,
  ];
}
