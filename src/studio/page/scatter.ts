// Predicted against measured, both axes logarithmic, with the line where they are equal. Drawn by hand: a few hundred points.

import { h, setAttribute } from './dom.ts';
import { duration } from './format.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
  /** Which colour: 0 to 4. */
  readonly group: number;
}

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const left = 56;
const bottom = 34;

export function scatter(label: string): {
  readonly element: HTMLCanvasElement;
  update(points: readonly Point[]): void;
} {
  const element = h('canvas', { class: 'scatter', role: 'img', 'aria-label': label });
  return {
    element,
    update: (points) => {
      const { clientWidth: width, clientHeight: height } = element;
      if (width === 0 || points.length === 0) return;
      const scale = devicePixelRatio;
      element.width = Math.round(width * scale);
      element.height = Math.round(height * scale);
      const ctx = element.getContext('2d')!;
      ctx.scale(scale, scale);
      const logs = points.flatMap((p) => [Math.log10(p.x), Math.log10(p.y)]);
      const low = Math.floor(Math.min(...logs));
      const high = Math.max(low + 1, Math.ceil(Math.max(...logs)));
      const at = (v: number): number => (Math.log10(v) - low) / (high - low);
      const x = (v: number): number => left + at(v) * (width - left - 12);
      const y = (v: number): number => height - bottom - at(v) * (height - bottom - 10);
      ctx.font = '11px system-ui';
      ctx.strokeStyle = css('--grid');
      ctx.fillStyle = css('--muted');
      for (let e = low; e <= high; e++) {
        const v = 10 ** e;
        ctx.beginPath();
        ctx.moveTo(left, y(v));
        ctx.lineTo(width - 12, y(v));
        ctx.moveTo(x(v), 10);
        ctx.lineTo(x(v), height - bottom);
        ctx.stroke();
        ctx.textAlign = 'right';
        ctx.fillText(duration(v).replace(/\.0+(?= )/, ''), left - 6, y(v) + 4);
        ctx.textAlign = e === high ? 'right' : 'center';
        ctx.fillText(duration(v).replace(/\.0+(?= )/, ''), x(v), height - bottom + 15);
      }
      ctx.textAlign = 'right';
      ctx.fillText('predicted', width - 12, height - 4);
      ctx.textAlign = 'left';
      ctx.fillText('measured', left + 6, 18);
      ctx.strokeStyle = css('--muted');
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(x(10 ** low), y(10 ** low));
      ctx.lineTo(x(10 ** high), y(10 ** high));
      ctx.stroke();
      ctx.setLineDash([]);
      for (const p of points) {
        ctx.fillStyle = `${css(`--c${(p.group % 5) + 1}`)}bb`;
        ctx.beginPath();
        ctx.arc(x(p.x), y(p.y), 3, 0, 2 * Math.PI);
        ctx.fill();
      }
      const near = points.filter((p) => Math.abs(Math.log2(p.y / p.x)) <= 1).length;
      setAttribute(element, 'aria-label', `${label}: ${points.length} measurements, ${near} within a factor of two.`);
    },
  };
}
