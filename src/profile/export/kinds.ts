// The forms a profile can be written in.

import type { ProfileFile } from '../file/types.ts';
import { profileText } from '../file/write.ts';
import { foldedText, speedscopeText } from './flame.ts';
import { profilePage } from './page.ts';
import { textReport } from './text.ts';
import { traceText } from './trace.ts';

export type ExportKind = 'json' | 'trace' | 'folded' | 'speedscope' | 'text' | 'html';

type Pieces = Iterable<string>;

export const exporters: Readonly<Record<ExportKind, (profile: ProfileFile) => Pieces | Promise<Pieces>>> = {
  json: profileText,
  trace: traceText,
  folded: (profile) => foldedText(profile.entries),
  speedscope: speedscopeText,
  text: (profile) => [textReport(profile)],
  html: profilePage,
};
