// What a field server tells of itself: the seven requests, read-only and for this machine alone.

import { request } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { createField } from '../../src/field/index.ts';
import { FieldClient, serveField, serveTelemetry, telemetryRequests } from '../../src/field/wire/index.ts';
import { anyRate, closeAll, runtimeOf } from './devices.ts';

const rt = await runtimeOf('cpu');
afterAll(closeAll);

const field = { runtime: rt, device: 'cpu', resolution: 4, channels: 8 } as const;

function ask(port: number, path: string, more: { method?: string; host?: string } = {}) {
  return new Promise<{ status: number; body: unknown }>((resolve, reject) => {
    const headers = more.host ? { host: more.host } : {};
    const asked = request({ host: '127.0.0.1', port, path, method: more.method ?? 'GET', headers }, (reply) => {
      let text = '';
      reply.on('data', (b) => {
        text += b;
      });
      reply.on('end', () => resolve({ status: reply.statusCode!, body: JSON.parse(text) }));
    });
    asked.on('error', reject);
    asked.end();
  });
}

describe('telemetry of a field server', () => {
  it('answers seven requests about fields, clients and connections', async () => {
    const main = await createField({ ...field, sensorDim: 2, motorDim: 2, telemetry: 'full' });
    const hidden = await createField({ ...field, sensorDim: 2, motorDim: 2, telemetry: 'off' });
    const server = await serveField({ port: 0, hz: anyRate, field, shared: { main, hidden } });
    const telemetry = await serveTelemetry(server, { port: 0 });
    const get = async (path: string) => (await ask(telemetry.port, `/field/${path}`)).body as never;
    try {
      expect(telemetryRequests).toHaveLength(7);
      expect(await get('active')).toEqual(['main']);
      expect(await get('statistics')).toMatchObject({ main: { state: null, report: { cycles: 0, device: 'cpu' } } });
      const shared = await FieldClient.connect({
        port: server.port,
        sensors: 2,
        motors: 2,
        field: 'main',
        hardware: 3,
      });
      const own = await FieldClient.connect({ port: server.port, sensors: 3, motors: 1 });
      for (let i = 0; i < 4; i++) {
        await shared.getAction([0.1, i / 10]);
        await own.getAction([0.1, 0.2, 0.3]);
      }
      await expect(own.getAction([Number.NaN, 0, 0])).rejects.toThrow();
      expect(await get('active')).toEqual(['main', 'client-2']);
      expect(await get('statistics')).toMatchObject({
        main: { state: { cycle: 4 } },
        'client-2': { state: { cycle: 4 } },
      });
      expect(await get('clients')).toMatchObject([
        { id: 'client-1', hardware: 3, sensors: 2, motors: 2, field: 'main', cycles: 4 },
        { id: 'client-2', sensors: 3, motors: 1, field: 'client-2', cycles: 4 },
      ]);
      const connections = (await get('connections')) as { bytesIn: number; bytesOut: number };
      expect(connections).toMatchObject({ open: 2, accepted: 2, refused: 0, errors: { '3001': 1 } });
      expect(connections.bytesIn).toBeGreaterThan(8 * 16);
      expect(connections.bytesOut).toBeGreaterThan(8 * 16);
      const one = (await get('telemetry/main')) as { motors: number[]; performance: { p50: number; max: number } };
      expect(one).toMatchObject({ name: 'main', state: { cycle: 4 }, prediction: { confidence: null, skill: null } });
      expect(one).toMatchObject({ attention: { cell: expect.any(Array) }, performance: { cycles: 4 } });
      expect(one.motors).toHaveLength(2);
      expect(one.performance.p50).toBeGreaterThan(0);
      expect(one.performance.max).toBeGreaterThanOrEqual(one.performance.p50);
      expect(Object.keys(await get('performance'))).toEqual(['main', 'client-2']);
      expect(await get('prediction')).toMatchObject({ main: { confidence: null } });
      await own.close();
      await shared.close();
    } finally {
      await telemetry.close();
      await server.close();
      await main.dispose();
      await hidden.dispose();
    }
  });

  it('refuses other paths, other methods, and names that other sites could point here', async () => {
    const server = await serveField({ port: 0, field });
    const telemetry = await serveTelemetry(server, { port: 0 });
    const status = async (...args: [string, { method?: string; host?: string }?]) =>
      (await ask(telemetry.port, ...args)).status;
    try {
      for (const path of [
        '/',
        '/field',
        '/field/none',
        '/field/active/x',
        '/field/telemetry',
        '/field/telemetry/%',
        '/field/__proto__',
      ])
        expect(await status(path), path).toBe(404);
      expect(await status('/field/active', { method: 'POST' })).toBe(405);
      expect(await status('/field/active', { host: 'evil.example' })).toBe(403);
      expect(await status('/field/active')).toBe(200);
      await expect(serveTelemetry(server, { port: telemetry.port })).rejects.toThrow(/cannot be had/);
    } finally {
      await telemetry.close();
      await server.close();
    }
  });
});
