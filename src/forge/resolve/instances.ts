// Cloud instances by type: which GPUs are in them. From the providers' pages, reviewed 2026-11; no prices, no calls.

import { ArgumentError } from '../../errors.ts';
import { nearest } from '../data/schema.ts';
import type { Arch } from '../machine.ts';
import { plainLine } from '../text/plain.ts';

export interface Instance {
  readonly type: string;
  readonly provider: 'aws' | 'gcp' | 'azure' | 'oracle';
  readonly gpu: string;
  readonly count: number;
  readonly arch: Arch;
  readonly source: string;
}

const SOURCES = {
  aws: 'https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html',
  gcp: 'https://cloud.google.com/compute/docs/gpus',
  azure: 'https://learn.microsoft.com/azure/virtual-machines/sizes/overview',
  oracle: 'https://docs.oracle.com/en-us/iaas/Content/Compute/References/computeshapes.htm',
} as const;

type Row = readonly [types: string, gpu: string, count: number, arch?: Arch];

const rows: Readonly<Record<Instance['provider'], readonly Row[]>> = {
  aws: [
    ['p2.xlarge', 'Tesla K80', 1],
    ['p2.8xlarge', 'Tesla K80', 8],
    ['p2.16xlarge', 'Tesla K80', 16],
    ['p3.2xlarge', 'Tesla V100-SXM2-16GB', 1],
    ['p3.8xlarge', 'Tesla V100-SXM2-16GB', 4],
    ['p3.16xlarge', 'Tesla V100-SXM2-16GB', 8],
    ['p3dn.24xlarge', 'Tesla V100-SXM2-32GB', 8],
    ['p4d.24xlarge', 'A100-SXM4-40GB', 8],
    ['p4de.24xlarge', 'A100-SXM4-80GB', 8],
    ['p5.4xlarge', 'H100 SXM5', 1],
    ['p5.48xlarge', 'H100 SXM5', 8],
    ['p5e.48xlarge|p5en.48xlarge', 'H200', 8],
    ['p6-b200.48xlarge', 'B200', 8],
    ['p6-b300.48xlarge', 'B300', 8],
    ['p6e-gb200.36xlarge', 'GB200', 4, 'arm64'],
    ['g3s.xlarge|g3.4xlarge', 'Tesla M60', 1],
    ['g3.8xlarge', 'Tesla M60', 2],
    ['g3.16xlarge', 'Tesla M60', 4],
    ['g4ad.xlarge|g4ad.2xlarge|g4ad.4xlarge', 'Radeon Pro V520', 1],
    ['g4ad.8xlarge', 'Radeon Pro V520', 2],
    ['g4ad.16xlarge', 'Radeon Pro V520', 4],
    ['g4dn.xlarge|g4dn.2xlarge|g4dn.4xlarge|g4dn.8xlarge|g4dn.16xlarge', 'Tesla T4', 1],
    ['g4dn.12xlarge', 'Tesla T4', 4],
    ['g4dn.metal', 'Tesla T4', 8],
    ['g5g.xlarge|g5g.2xlarge|g5g.4xlarge|g5g.8xlarge', 'T4G', 1, 'arm64'],
    ['g5g.16xlarge|g5g.metal', 'T4G', 2, 'arm64'],
    ['g5.xlarge|g5.2xlarge|g5.4xlarge|g5.8xlarge|g5.16xlarge', 'A10G', 1],
    ['g5.12xlarge|g5.24xlarge', 'A10G', 4],
    ['g5.48xlarge', 'A10G', 8],
    ['g6.xlarge|g6.2xlarge|g6.4xlarge|g6.8xlarge|g6.16xlarge', 'L4', 1],
    ['gr6.4xlarge|gr6.8xlarge', 'L4', 1],
    ['g6.12xlarge|g6.24xlarge', 'L4', 4],
    ['g6.48xlarge', 'L4', 8],
    ['g6e.xlarge|g6e.2xlarge|g6e.4xlarge|g6e.8xlarge|g6e.16xlarge', 'L40S', 1],
    ['g6e.12xlarge|g6e.24xlarge', 'L40S', 4],
    ['g6e.48xlarge', 'L40S', 8],
    ['g7e.2xlarge|g7e.4xlarge|g7e.8xlarge', 'RTX PRO 6000 Blackwell Server Edition', 1],
    ['g7e.12xlarge', 'RTX PRO 6000 Blackwell Server Edition', 2],
    ['g7e.24xlarge', 'RTX PRO 6000 Blackwell Server Edition', 4],
    ['g7e.48xlarge', 'RTX PRO 6000 Blackwell Server Edition', 8],
  ],
  gcp: [
    ['a2-highgpu-1g', 'A100-SXM4-40GB', 1],
    ['a2-highgpu-2g', 'A100-SXM4-40GB', 2],
    ['a2-highgpu-4g', 'A100-SXM4-40GB', 4],
    ['a2-megagpu-16g', 'A100-SXM4-40GB', 16],
    ['a2-highgpu-8g', 'A100-SXM4-40GB', 8],
    ['a2-ultragpu-1g', 'A100-SXM4-80GB', 1],
    ['a2-ultragpu-2g', 'A100-SXM4-80GB', 2],
    ['a2-ultragpu-4g', 'A100-SXM4-80GB', 4],
    ['a2-ultragpu-8g', 'A100-SXM4-80GB', 8],
    ['a3-highgpu-1g', 'H100 SXM5', 1],
    ['a3-highgpu-2g', 'H100 SXM5', 2],
    ['a3-highgpu-4g', 'H100 SXM5', 4],
    ['a3-highgpu-8g|a3-megagpu-8g|a3-edgegpu-8g', 'H100 SXM5', 8],
    ['a3-ultragpu-8g', 'H200', 8],
    ['a4-highgpu-8g', 'B200', 8],
    ['a4x-highgpu-4g', 'GB200', 4, 'arm64'],
    ['g2-standard-4|g2-standard-8|g2-standard-12|g2-standard-16|g2-standard-32', 'L4', 1],
    ['g2-standard-24', 'L4', 2],
    ['g2-standard-48', 'L4', 4],
    ['g2-standard-96', 'L4', 8],
    ['g4-standard-48', 'RTX PRO 6000 Blackwell Server Edition', 1],
    ['g4-standard-96', 'RTX PRO 6000 Blackwell Server Edition', 2],
    ['g4-standard-192', 'RTX PRO 6000 Blackwell Server Edition', 4],
    ['g4-standard-384', 'RTX PRO 6000 Blackwell Server Edition', 8],
  ],
  azure: [
    ['Standard_NC6s_v3', 'Tesla V100-PCIE-16GB', 1],
    ['Standard_NC12s_v3', 'Tesla V100-PCIE-16GB', 2],
    ['Standard_NC24s_v3|Standard_NC24rs_v3', 'Tesla V100-PCIE-16GB', 4],
    ['Standard_NC4as_T4_v3|Standard_NC8as_T4_v3|Standard_NC16as_T4_v3', 'Tesla T4', 1],
    ['Standard_NC64as_T4_v3', 'Tesla T4', 4],
    ['Standard_NC24ads_A100_v4', 'A100 80GB PCIe', 1],
    ['Standard_NC48ads_A100_v4', 'A100 80GB PCIe', 2],
    ['Standard_NC96ads_A100_v4', 'A100 80GB PCIe', 4],
    ['Standard_NC40ads_H100_v5', 'H100 NVL', 1],
    ['Standard_NC80adis_H100_v5', 'H100 NVL', 2],
    // Parts of a card: 1/6, 1/3 and half of an A10.
    ['Standard_NV6ads_A10_v5', 'A10-4Q', 1],
    ['Standard_NV12ads_A10_v5', 'A10-8Q', 1],
    ['Standard_NV18ads_A10_v5', 'A10-12Q', 1],
    ['Standard_NV36ads_A10_v5|Standard_NV36adms_A10_v5', 'A10', 1],
    ['Standard_NV72ads_A10_v5', 'A10', 2],
    ['Standard_ND40rs_v2', 'Tesla V100-SXM2-32GB', 8],
    ['Standard_ND96asr_v4', 'A100-SXM4-40GB', 8],
    ['Standard_ND96amsr_A100_v4', 'A100-SXM4-80GB', 8],
    ['Standard_ND96isr_H100_v5', 'H100 SXM5', 8],
    ['Standard_ND96isr_H200_v5', 'H200', 8],
    ['Standard_ND96isr_MI300X_v5', 'MI300X', 8],
    ['Standard_ND128isr_NDR_GB200_v6', 'GB200', 4, 'arm64'],
    ['Standard_ND128isr_GB300_v6', 'GB300', 4, 'arm64'],
  ],
  oracle: [
    ['VM.GPU2.1', 'Tesla P100-SXM2-16GB', 1],
    ['BM.GPU2.2', 'Tesla P100-SXM2-16GB', 2],
    ['VM.GPU3.1', 'Tesla V100-SXM2-16GB', 1],
    ['VM.GPU3.2', 'Tesla V100-SXM2-16GB', 2],
    ['VM.GPU3.4', 'Tesla V100-SXM2-16GB', 4],
    ['BM.GPU3.8', 'Tesla V100-SXM2-16GB', 8],
    ['BM.GPU4.8', 'A100-SXM4-40GB', 8],
    ['BM.GPU.A100-v2.8', 'A100-SXM4-80GB', 8],
    ['VM.GPU.A10.1', 'A10', 1],
    ['VM.GPU.A10.2', 'A10', 2],
    ['BM.GPU.A10.4', 'A10', 4],
    ['BM.GPU.L40S.4', 'L40S', 4],
    ['BM.GPU.H100.8', 'H100 SXM5', 8],
    ['BM.GPU.H200.8', 'H200', 8],
    ['BM.GPU.B200.8', 'B200', 8],
    ['BM.GPU.GB200.4', 'GB200', 4, 'arm64'],
    ['BM.GPU.MI300X.8', 'MI300X', 8],
  ],
};

export const instances: readonly Instance[] = (Object.keys(rows) as Instance['provider'][]).flatMap((provider) =>
  rows[provider].flatMap(([types, gpu, count, arch = 'x64']) =>
    types.split('|').map((type) => ({ type, provider, gpu, count, arch, source: SOURCES[provider] })),
  ),
);

export function instanceOf(text: string): Instance {
  // SageMaker puts "ml." before the types of EC2.
  const wanted = text.trim().toLowerCase().replace(/^ml\./, '');
  const found = instances.find(({ type }) => type.toLowerCase() === wanted);
  if (found) return found;
  const near = nearest(
    wanted,
    instances.map(({ type }) => type.toLowerCase()),
  );
  const named = instances.find(({ type }) => type.toLowerCase() === near)?.type;
  throw new ArgumentError({
    code: 'FORGE_UNKNOWN_INSTANCE',
    message: `--for-instance: "${plainLine(text).slice(0, 60)}" is no instance with a GPU that is known here`,
    fix: `${named ? `Did you mean ${named}? ` : ''}Give the GPU itself: --for "A10G".`,
    where: 'forge.resolve',
  });
}
