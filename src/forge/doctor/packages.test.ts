import { describe, expect, it } from 'vitest';
import { machine } from '../../../test/forge/fixtures/targets.ts';
import { type HostSystem, known, missing } from '../machine.ts';
import { installing, rebuilding, signingKey } from './packages.ts';

const on = (id: string | null): HostSystem => ({
  ...machine().host,
  distribution: id === null ? missing('no /etc/os-release') : known(id, 'file'),
});

describe('packages', () => {
  it.each([
    ['ubuntu', 'sudo apt install linux-headers-6.8.0'],
    ['fedora', 'sudo dnf install kernel-devel-6.8.0'],
    ['arch', undefined],
    ['nixos', undefined],
    [null, undefined],
  ])('with the headers of the kernel: %s', (id, command) => {
    expect(installing('kernelHeaders', on(id))[0]).toBe(command);
  });

  it.each([
    ['debian', 'sudo apt install firmware-amd-graphics'],
    ['linuxmint', 'sudo apt install linux-firmware'],
    ['rocky', 'sudo dnf install amd-gpu-firmware'],
    ['opensuse-leap', 'sudo zypper install kernel-firmware-amdgpu'],
  ])('differ between relatives: %s', (id, command) => {
    expect(installing('amdFirmware', on(id))).toEqual([command]);
  });

  it('carry the branch of the driver that runs', () => {
    expect(installing('libcuda', on('ubuntu'), '580')).toEqual(['sudo apt install libnvidia-compute-580']);
  });

  it('are built again, and signed, by what the distribution has for it', () => {
    expect(['ubuntu', 'fedora', 'sles'].map((id) => rebuilding(on(id)))).toEqual([
      ['sudo dkms autoinstall'],
      ['sudo akmods --force'],
      [],
    ]);
    expect(['ubuntu', 'debian', 'fedora', 'gentoo'].map((id) => signingKey(on(id)))).toEqual([
      '/var/lib/shim-signed/mok/MOK.der',
      '/var/lib/dkms/mok.pub',
      '/etc/pki/akmods/certs/public_key.der',
      undefined,
    ]);
  });
});
