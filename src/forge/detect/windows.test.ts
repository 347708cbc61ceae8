import { describe, expect, it } from 'vitest';
import { nvidiaVersion, parseRegistry } from './windows.ts';

describe("Windows' registry", () => {
  it('gives one record a display adapter and passes over the settings below it', () => {
    const text = [
      'HKEY_LOCAL_MACHINE\\SYSTEM\\...\\{4d36e968-e325-11ce-bfc1-08002be10318}\\0000',
      '    DriverDesc    REG_SZ    NVIDIA GeForce RTX 4090',
      '    HardwareInformation.qwMemorySize    REG_QWORD    0x5ff800000',
      '    UserModeDriverName    REG_MULTI_SZ    C:\\Windows\\a.dll\\0C:\\Windows\\b.dll',
      '',
      'HKEY_LOCAL_MACHINE\\SYSTEM\\...\\{4d36e968-e325-11ce-bfc1-08002be10318}\\0000\\Session',
      '    DriverDesc    REG_SZ    not an adapter',
      '',
      'HKEY_LOCAL_MACHINE\\SYSTEM\\...\\{4d36e968-e325-11ce-bfc1-08002be10318}\\Properties',
    ].join('\r\n');
    expect(parseRegistry(text)).toEqual([
      {
        DriverDesc: 'NVIDIA GeForce RTX 4090',
        'HardwareInformation.qwMemorySize': '0x5ff800000',
        UserModeDriverName: 'C:\\Windows\\a.dll\\0C:\\Windows\\b.dll',
      },
    ]);
    expect(parseRegistry('ERROR: Access is denied.')).toEqual([]);
  });

  it("hides NVIDIA's version in the last five digits", () => {
    expect(nvidiaVersion('32.0.15.7283')).toMatchObject({ value: '572.83' });
    expect(nvidiaVersion('31.0.15.5222')).toMatchObject({ value: '552.22' });
    expect(nvidiaVersion(undefined)).toMatchObject({ value: null });
  });
});
