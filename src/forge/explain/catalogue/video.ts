// Video on the GPU: encoders and decoders of every vendor, and the camera path of Jetson boards.

import { capture, phrase, symptom } from '../patterns.ts';
import { asRoot, run, say } from '../steps.ts';
import type { Context, ErrorClass, RepairStep } from '../types.ts';

/** What to look at depends on the interface that the message names. */
function interfaceSteps({ line, os }: Context): readonly RepairStep[] {
  if (/\blibva\b|\bva[-_]?api\b|\bva[A-Z]\w+|\bQSV\b|_qsv\b|\bMFX|oneVPL|libvpl/i.test(line))
    return os === 'windows'
      ? [
          say(
            'Update the Intel graphics driver: QuickSync comes with it. A GPU that is switched off in the firmware has none.',
          ),
        ]
      : [
          run('See which driver libva picks and what it can do.', 'vainfo'),
          say(
            'Install it: intel-media-va-driver (LIBVA_DRIVER_NAME=iHD) for Intel, mesa-va-drivers (radeonsi) for AMD, libvpl2 and libmfx-gen1 for QuickSync.',
          ),
          say(
            'Name the right card: with two GPUs it may be /dev/dri/renderD129; the user must be in the group render.',
          ),
          say('In a container: --device=/dev/dri.'),
        ];
  if (/\bAMF\b|_amf\b|amfrt|\bVC[EN]\b/i.test(line))
    return os === 'windows'
      ? [say('Update the AMD driver: amfrt64.dll comes with it.')]
      : [say('AMF on Linux needs the closed amf-amdgpu-pro packages; VAAPI (h264_vaapi) does the same without them.')];
  return [
    say('Update the driver, or take a build of the program for the older NVENC. FFmpeg: nv-codec-headers of that age.'),
    say('In a container set NVIDIA_DRIVER_CAPABILITIES=compute,utility,video.'),
    say('Cards for games allow a few sessions at a time; some small cards and data centre cards have no encoder.'),
  ];
}

export const videoClasses: readonly ErrorClass[] = [
  {
    code: 'nvenc',
    severity: 'error',
    title: 'The video encoder or decoder of the GPU cannot be used',
    patterns: [
      capture(
        /(?<library>(?:lib)?amfrt\d*(?:\.so[.\d]*|\.dll)?)\b[^\n]*(?:fail\w*|not found|could not|cannot)|\bAMF\b[^\n]{0,30}\bfail\w*|\bfail\w*[^\n]{0,20}\bAMF\b/,
      ),
      capture(
        /\bAMF_(?<what>[A-Z_]{4,})\b|\b(?:AMF|VCE|VCN|UVD)\b[^\n]{0,30}\b(?:not (?:supported|available)|unsupported)/,
      ),
      capture(
        /\b(?:libva|VA-?API|va(?:Initialize|GetDriver\w*|Create\w+|Query\w+|Begin\w+|End\w+|Sync\w+))\b(?!.*Direct mapping)[^\n]*(?:fail\w*|error|returns? -1|not (?:supported|found))|Failed to initiali[sz]e VAAPI[^\n]*|No VA display found[^\n]*|has no function __vaDriverInit/i,
      ),
      capture(
        /\b(?:MFX|QSV|libmfx|oneVPL|libvpl)\b[^\n]*(?:fail\w*|error|unsupported|not (?:supported|found))|(?:fail\w*|error)[^\n]{0,30}\b(?:MFX|QSV|oneVPL)\b|\bMFX_ERR_\w+/i,
      ),
      symptom(
        /\[\w+_(?:vaapi|qsv|amf|videotoolbox|v4l2m2m|vdpau|vulkan|d3d12va|mf) @ [^\]\n]*\][^\n]*(?:Error|Cannot|Could not|Failed|No |unsupported|not supported)[^\n]*/i,
      ),
      symptom(
        /\b(?:h264|hevc|h265|av1|vp[89]|mjpeg|mpeg2)_(?:vaapi|qsv|amf|nvenc|cuvid|videotoolbox|v4l2m2m)\b[^\n]*(?:fail\w*|error|not supported|unsupported|could not|cannot)/i,
      ),
      symptom(
        /Impossible to convert between the formats supported by the filter[^\n]*/,
        /hwaccel|hwupload|cuda|vaapi|qsv|npp/i,
      ),
      symptom(
        /No (?:device available|support) for (?:decoder|codec|encoder)[^\n]*(?:type|hwaccel)|Failed setup for format (?:cuda|vaapi|qsv|d3d\w+|vdpau|vulkan|videotoolbox)[^\n]*|hwaccel initiali[sz]ation returned error|Failed to set value '(?:cuda|vaapi|qsv|d3d\w+|vulkan|vdpau|opencl)\b[^\n]*init_hw_device/i,
      ),
      symptom(
        /(?:hardware|GPU|NVENC|AMD|QuickSync) (?:video )?(?:encod|decod)(?:er|ing)[^\n]{0,40}(?:fail\w*|not (?:supported|available)|could not|cannot|error)/i,
      ),
      phrase(/A hardware device reference is required to upload frames/i),
      capture(
        /Driver does not support the required nvenc API version\. Required: (?<wanted>[\d.]+) Found: (?<found>[\d.]+)/i,
      ),
      symptom(
        /\[\w+_(?:nvenc|cuvid|nvdec) @ [^\]\n]*\] (?:Error|Cannot|Could not|Failed|No capable)[^\n]*|\bcuvid hwaccel requested[^\n]*cannot/i,
      ),
      phrase(/Could not (?:create|open|initiali[sz]e) (?:a |the )?hardware (?:context|device|decoder|encoder)\b/i),
      capture(/^\s*(?:nvenc|qsv|amf|vaapi)_supported=(?<supported>false)/im),
      capture(/minimum required Nvidia driver for nvenc is (?<driver>[\w().]+)/i),
      capture(
        /(?:Cannot|Could not|Failed to|Unable to) (?:load|open|init\w*)[^\n]{0,20}(?<library>nvEncodeAPI\w*\.dll|libnvidia-encode\.so[.\d]*|libnvcuvid\.so[.\d]*|nvcuvid\.dll|nvEncode\w*|nvenc|NVDEC)/i,
      ),
      capture(
        /(?:OpenEncodeSessionEx|InitializeEncoder|NvEncOpenEncodeSession\w*|cuvidCreateDecoder|cuvidGetDecoderCaps) failed[^\n]*/i,
      ),
      phrase(
        /No (?:NVENC|NVDEC) capable devices found|No capable devices found|NV_ENC_ERR_\w+|does not support this NvEncodeAPI version|No GPU found suitable for NVEnc/i,
      ),
    ],
    explains: ['driver-too-old', 'oom', 'cuda-failed'],
    cause: ({ got }) =>
      got.wanted
        ? `The program was built for NVENC ${got.wanted}; the driver offers ${got.found}.`
        : 'The encoder belongs to the driver: it is missing in this container, older than the program wants, closed to this user, or all its sessions are taken.',
    fix: (context) => [...interfaceSteps(context)],
    links: ['https://developer.nvidia.com/video-encode-and-decode-gpu-support-matrix-new'],
  },
  {
    code: 'jetson-media',
    severity: 'error',
    title: 'The camera or video path of the Jetson failed',
    patterns: [
      phrase(/nvargus-daemon[^\n]*(?:Error|failed|timeout)|\bSCF: Error \w+|\(Argus\) (?:Error|Objects)[^\n]*/),
      phrase(/\bnvbuf_utils: ?[^\n]*(?:fail|not found|error|could not)|NvBufSurf\w*: [^\n]*(?:fail|error)/i),
      phrase(
        /\bNvMMLite\w*[^\n]*(?:error|failed)|\bnvv4l2\w*[^\n]*(?:error|failed)|NvEglImage\w*[^\n]*(?:error|failed)/i,
      ),
      symptom(
        /\bgst(?:Decoder|Camera|BufferManager|Encoder) +-- +failed[^\n]*|from NVMM buffer|nvarguscamerasrc[^\n]*(?:error|failed)/i,
      ),
      symptom(/\*\* ERROR: <\w+:\d+>: (?:Failed to create|create_\w+ failed)[^\n]*/),
      symptom(/Failed to create CaptureSession|No cameras available|Error generated\. [\w/.]*(?:argus|gstnv)\w*/i),
    ],
    cause: () =>
      'Pictures go from the sensor through the image processor and NVMM memory to the GPU; one of these steps did not answer. Libraries of a container must be those of the JetPack of the board.',
    fix: () => [
      asRoot('Start the camera service again.', 'systemctl', 'restart', 'nvargus-daemon'),
      say(
        'Try the camera alone: gst-launch-1.0 nvarguscamerasrc ! fakesink; then look at cable, sensor driver and mode.',
      ),
      say('In a container pass /tmp/argus_socket in and use an image of the same L4T release.'),
      say('jetson-inference: build with -DENABLE_NVMM=OFF.'),
    ],
    links: ['https://docs.nvidia.com/jetson/l4t-multimedia/index.html'],
  },
];
