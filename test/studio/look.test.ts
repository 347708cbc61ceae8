// Scratch: pictures of every page.
import { mkdirSync } from 'node:fs';
import { it } from 'vitest';
import { serveStudio } from '../../src/studio/index.ts';
import { launch } from '../support/browser.ts';
import { startStory } from './story.ts';

it('looks', async () => {
  const out = process.env.LOOK_OUT ?? '/tmp/st';
  mkdirSync(out, { recursive: true });
  const story = await startStory();
  await using studio = await serveStudio({ runtimes: [story.rt], allowControl: true });
  const browser = await launch();
  const open = async (width: number, height: number, dark: boolean) => {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light' });
    page.on('console', (m) => console.log(m.type(), m.text()));
    page.on('pageerror', (e) => console.log('ERR', e.message, e.stack));
    await page.goto(studio.link());
    await page.waitForSelector('.card');
    return page;
  };
  const light = await open(1280, 800, false);
  await story.work(10);
  let busy = true;
  const loop = (async () => {
    while (busy) {
      await story.work(5);
      await new Promise((r) => setTimeout(r, 30));
    }
  })();
  await new Promise((r) => setTimeout(r, 2500));
  await light.screenshot({ path: `${out}/overview-good.png` });
  await story.spill();
  story.lose();
  await new Promise((r) => setTimeout(r, 600));
  await story.leak(3500);
  await light.evaluate(() => (location.hash = '#/work'));
  await light.waitForSelector('#profiling');
  await light.click('#profiling');
  await new Promise((r) => setTimeout(r, 2500));
  const dark = await open(1280, 800, true);
  const phone = await open(390, 844, false);
  for (const id of ['overview', 'devices', 'memory', 'routing', 'work', 'events', 'forge']) {
    for (const [name, page] of [
      ['light', light],
      ['dark', dark],
      ['phone', phone],
    ] as const) {
      await page.evaluate((h) => (location.hash = `#/${h}`), id);
      await page.waitForTimeout(1300);
      await page.screenshot({ path: `${out}/${id}-${name}.png`, fullPage: true });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) console.log('WIDE', id, name, wide);
    }
  }
  busy = false;
  await loop;
  await browser.close();
  story.release();
  await story.close();
});
