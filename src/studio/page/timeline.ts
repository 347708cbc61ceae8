// The last two seconds of the devices: one lane each, a box for every kernel.

import type { SpanRow } from '../types.ts';
import { h, setAttribute } from './dom.ts';

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const lane = 34;
const top = 20;
const spanMs = 2000;

export function timeline(): {
  readonly element: HTMLCanvasElement;
  update(spans: readonly SpanRow[], devices: readonly string[]): void;
} {
  const element = h('canvas', { class: 'timeline', role: 'img' });
  return {
    element,
    update: (spans, devices) => {
      const width = element.clientWidth;
      if (width === 0) return;
      const height = top + lane * Math.max(1, devices.length);
      element.style.height = `${height}px`;
      const scale = devicePixelRatio;
      element.width = Math.round(width * scale);
      element.height = Math.round(height * scale);
      const ctx = element.getContext('2d')!;
      ctx.scale(scale, scale);
      ctx.font = '11px system-ui';
      const x = (ms: number): number => width * (1 + ms / spanMs);
      ctx.fillStyle = css('--muted');
      ctx.strokeStyle = css('--grid');
      for (let ms = -2000; ms <= 0; ms += 500) {
        ctx.textAlign = ms === -2000 ? 'left' : ms === 0 ? 'right' : 'center';
        ctx.fillText(ms === 0 ? 'now' : `${(ms / 1000).toFixed(1)} s`, x(ms), 12);
        ctx.beginPath();
        ctx.moveTo(x(ms), top);
        ctx.lineTo(x(ms), height);
        ctx.stroke();
      }
      const colours = new Map<string, string>();
      for (const s of spans) {
        const at = devices.indexOf(s.device);
        if (at < 0) continue;
        if (!colours.has(s.name)) colours.set(s.name, css(`--c${(colours.size % 5) + 1}`));
        ctx.fillStyle = colours.get(s.name)!;
        const wide = Math.max(1, x(s.end) - x(s.start));
        ctx.fillRect(x(s.start), top + at * lane + 14, wide, lane - 18);
      }
      ctx.textAlign = 'left';
      ctx.fillStyle = css('--muted');
      devices.forEach((d, i) => {
        ctx.fillText(d, 0, top + i * lane + 10);
      });
      setAttribute(
        element,
        'aria-label',
        `Timeline of the last two seconds: ${spans.length} kernels on ${devices.join(', ')}.`,
      );
    },
  };
}
