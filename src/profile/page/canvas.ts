// A canvas that fits its box and the screen, draws at most once a frame, and has a view that can be moved and zoomed.

export interface View {
  from: number;
  to: number;
}

export interface Drawing {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  redraw(): void;
}

export interface Handlers {
  readonly label: string;
  height(): number;
  draw(g: CanvasRenderingContext2D, width: number, height: number): void;
  /** What is at a point, as text; null for nothing. */
  at(x: number, y: number, width: number): string | null;
  click?(x: number, y: number, width: number): void;
  /** Moved by so many pixels. */
  pan(dx: number, dy: number, width: number): void;
  /** Larger factors show more. */
  zoom(factor: number, x: number, width: number): void;
}

export function drawing(handlers: Handlers): Drawing {
  const canvas = document.createElement('canvas');
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', handlers.label);
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  const element = document.createElement('div');
  element.className = 'canvas';
  element.append(canvas, tip);
  let asked = false;
  const draw = (): void => {
    asked = false;
    const width = canvas.clientWidth;
    const height = handlers.height();
    const ratio = globalThis.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.height = `${height}px`;
    }
    const g = canvas.getContext('2d')!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    handlers.draw(g, width, height);
    canvas.dataset.frames = String(Number(canvas.dataset.frames ?? 0) + 1);
  };
  const redraw = (): void => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(draw);
  };
  const point = (e: { clientX: number; clientY: number }): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  };
  let held: { x: number; y: number; moved: boolean } | null = null;
  canvas.addEventListener('pointerdown', (e) => {
    held = { x: e.clientX, y: e.clientY, moved: false };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener('pointermove', (e) => {
    const width = canvas.clientWidth;
    if (held) {
      const [dx, dy] = [e.clientX - held.x, e.clientY - held.y];
      if (Math.abs(dx) + Math.abs(dy) > 3) held.moved = true;
      if (!held.moved) return;
      [held.x, held.y] = [e.clientX, e.clientY];
      handlers.pan(-dx, -dy, width);
      tip.hidden = true;
      redraw();
      return;
    }
    const [x, y] = point(e);
    const text = handlers.at(x, y, width);
    tip.hidden = text === null;
    if (text === null) return;
    tip.textContent = text;
    tip.style.left = `${Math.max(0, Math.min(x + 14, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 16}px`;
  });
  canvas.addEventListener('pointerup', (e) => {
    if (held && !held.moved) {
      const [x, y] = point(e);
      handlers.click?.(x, y, canvas.clientWidth);
      redraw();
    }
    held = null;
  });
  canvas.addEventListener('pointerleave', () => {
    tip.hidden = true;
  });
  // Without focus the wheel scrolls the page.
  canvas.addEventListener(
    'wheel',
    (e) => {
      const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY);
      if (!sideways && !e.ctrlKey && !e.metaKey && document.activeElement !== canvas) return;
      e.preventDefault();
      const width = canvas.clientWidth;
      if (sideways) handlers.pan(e.deltaX, 0, width);
      else handlers.zoom(Math.exp(e.deltaY * 0.002), point(e)[0], width);
      redraw();
    },
    { passive: false },
  );
  const keys: Readonly<Record<string, (width: number) => void>> = {
    ArrowLeft: (w) => handlers.pan(-w / 8, 0, w),
    ArrowRight: (w) => handlers.pan(w / 8, 0, w),
    ArrowUp: (w) => handlers.pan(0, -40, w),
    ArrowDown: (w) => handlers.pan(0, 40, w),
    '+': (w) => handlers.zoom(1 / 1.5, w / 2, w),
    '=': (w) => handlers.zoom(1 / 1.5, w / 2, w),
    '-': (w) => handlers.zoom(1.5, w / 2, w),
  };
  canvas.addEventListener('keydown', (e) => {
    const act = keys[e.key];
    if (!act || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    act(canvas.clientWidth);
    redraw();
  });
  new ResizeObserver(redraw).observe(canvas);
  return { element, canvas, redraw };
}
