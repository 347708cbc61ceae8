# PyTorch on the programs of classes.ts: compares their values and prints both times, µs per call.
#
#   python3 classes_torch.py FILE [--only TEXT,...] [--seconds N] [--known FILE] [--json FILE]
#   python3 classes_torch.py --prepare I/N [--seconds N]
#
# The second form only compiles every N-th program, into torch.compile's cache.
# FILE is what classes.mjs wrote. After N seconds nothing more is compiled; `--known` has PyTorch's times of an earlier run.
import json
import math
import os
import signal
import sys
import time

import torch
from torch_timing import per_call

F = torch.nn.functional
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
d = "cuda"
dtypes = {
    "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64,
    "i32": torch.int32, "u8": torch.uint8, "bool": torch.bool,
}


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


prepare = option("--prepare")
ours = {} if prepare else {r["name"]: r for r in json.load(open(sys.argv[1]))["rows"]}
known = json.load(open(option("--known"))) if option("--known") else {}
only = option("--only")
only = only and only.split(",")
start = time.perf_counter()
end = start + float(option("--seconds") or 1e9)


def made(spec, seed):
    shape, dtype, below = spec
    n = math.prod(shape)
    mask = 0xFFFFFFFF
    h = (torch.arange(n, device=d, dtype=torch.int64) + seed * 7919) * 2654435761 & mask
    h = (h ^ (h >> 15)) * 2246822519 & mask
    h = h ^ (h >> 13)
    v = (h >> 8).float() * 2.0**-23 - 1 if below is None else (h >> 2) % below
    return v.reshape(shape).to(dtypes[dtype])


def f32(*shape):
    return (shape, "f32", None)


def of(dtype, *shape):
    return (shape, dtype, None)


def below(n, dtype, *shape):
    return (shape, dtype, n)


rows = []


def row(name, inputs, calls, f, compiled=True, fused=None, tolerance=None):
    rows.append((name, inputs, calls, f, compiled, fused, tolerance))


def half_layer_norm(x):
    return F.layer_norm(x.float(), x.shape[1:]).to(x.dtype)


def batch_norm(x):
    return F.batch_norm(x, None, None, training=True)


row("softmax 1024 x 50257 f32", [f32(1024, 50257)], 5, lambda x: x.softmax(1))
row("softmax 1M x 64 f32", [f32(1 << 20, 64)], 5, lambda x: x.softmax(1))
row("softmax 262144 x 200 f32", [f32(262144, 200)], 5, lambda x: x.softmax(1))
row("softmax 8 x 1M f32", [f32(8, 1 << 20)], 20, lambda x: x.softmax(1))
row("softmax 8192 x 4096 f16", [of("f16", 8192, 4096)], 10, lambda x: x.softmax(1))
row("logsumexp 1024 x 50257 f32", [f32(1024, 50257)], 5, lambda x: x.logsumexp(1))
row(
    "cross entropy 2048 x 50257 f32", [f32(2048, 50257), below(50257, "i32", 2048, 1)], 3,
    lambda x, t: F.cross_entropy(x, t[:, 0].long()),
)
row(
    "accuracy 16384 x 1000 f32", [f32(16384, 1000), below(1000, "i32", 16384)], 20,
    lambda x, t: (x.argmax(1) == t).float().mean(),
)
row("layer norm 8192 x 4096 bf16", [of("bf16", 8192, 4096)], 10, half_layer_norm, fused=lambda x: F.layer_norm(x, x.shape[1:]))
row("unit rows 65536 x 256 f32", [f32(65536, 256)], 20, lambda x: x / x.norm(dim=1, keepdim=True))
row("batch norm training 64x256x28x28 f32", [f32(64, 256, 28, 28)], 10, batch_norm)
row("sum of rows 1000 x 3000 f32", [f32(1000, 3000)], 50, lambda x: x.sum(1))
row("sum of rows 100000 x 37 f32", [f32(100_000, 37)], 50, lambda x: x.sum(1))
row("max of triples 5M x 3 f32", [f32(5_000_000, 3)], 20, lambda x: x.amax(1))
row("sum over the middle 1000x1000x37 f32", [f32(1000, 1000, 37)], 20, lambda x: x.sum(1))
row("max over columns 3000 x 5000 f32", [f32(3000, 5000)], 20, lambda x: x.amax(0))
row("argmin over columns 4096² f32", [f32(4096, 4096)], 20, lambda x: x.argmin(0))
row("product of rows 8192 x 2048 f32", [f32(8192, 2048)], 20, lambda x: (x * 0.1 + 1).prod(1), tolerance=1e-3)
row("any of rows 16384 x 4096 bool", [below(2, "bool", 16384, 4096)], 20, lambda x: x.any(1))
row("channel means 64x256x56x56 f32", [f32(64, 256, 56, 56)], 10, lambda x: x.mean((0, 2, 3)))
row("means of images 64x256x56x56 f32", [f32(64, 256, 56, 56)], 10, lambda x: x.mean((2, 3)))
row("standard deviation of 64M f32", [f32(64 << 20)], 10, lambda x: x.std(correction=0))
row("positive ones of 64M f32", [f32(64 << 20)], 10, lambda x: (x > 0).sum(), fused=lambda x: torch.count_nonzero(x > 0))
row("(x - min) / (max - min) 16M f32", [f32(16 << 20)], 10, lambda x: (x - x.min()) / (x.max() - x.min()))
row("sum of rows 16384 x 4096 bf16", [of("bf16", 16384, 4096)], 20, lambda x: x.sum(1), tolerance=1e-2)
row("sum over columns 16384 x 4096 bf16", [of("bf16", 16384, 4096)], 20, lambda x: x.sum(0), tolerance=1e-2)
row("sum of 16M f64", [of("f64", 16 << 20)], 10, lambda x: x.sum())
row("softmax 4096 x 1024 f64", [of("f64", 4096, 1024)], 10, lambda x: x.softmax(1))
row("sum of rows 16384 x 4096 u8", [below(200, "u8", 16384, 4096)], 20, lambda x: x.sum(1, dtype=torch.int32))
row("max of 64M i32", [below(1 << 30, "i32", 64 << 20)], 10, lambda x: x.max())
row("cumsum over the middle 64x1024x256 f32", [f32(64, 1024, 256)], 10, lambda x: x.cumsum(1), False)
row("cumsum of rows 4096² f32", [f32(4096, 4096)], 10, lambda x: x.cumsum(1), False)
row("cumsum over columns 4096² f32", [f32(4096, 4096)], 10, lambda x: x.cumsum(0), False)


def covariance(x):
    c = x - x.mean(0)
    return c.t() @ c / 100_000


def nearest(a, b):
    c = a[:, None] - b
    return (c * c).sum(2).amin(1)


row("1M x 16 · 16 x 16 f32", [f32(1 << 20, 16), f32(16, 16)], 20, torch.matmul, False)
row("16 x 1M · 1M x 16 f32", [f32(1 << 20, 16), f32(1 << 20, 16)], 20, lambda a, b: a.t() @ b, False, tolerance=1e-2)
row("covariance 100000 x 64 f32", [f32(100_000, 64)], 20, covariance)
row("65536 x 256 · 256 x 10 + b f32", [f32(65536, 256), f32(256, 10), f32(10)], 20, lambda a, b, c: torch.addmm(c, a, b), False)
row("matrix 8192² · vector f32", [f32(8192, 8192), f32(8192)], 10, torch.matmul)
row("vector · matrix 8192² f32", [f32(8192), f32(8192, 8192)], 10, torch.matmul)
row("matrix 8192² · vector bf16", [of("bf16", 8192, 8192), of("bf16", 8192)], 10, torch.matmul)
row("4096 vectors · matrices 128² f32", [f32(4096, 128), f32(4096, 128, 128)], 5, lambda a, b: torch.einsum("bi,bij->bj", a, b))
row("scores bhqd,bhkd->bhqk 8x16x512x64 f32", [f32(8, 16, 512, 64)] * 2, 5, lambda a, b: torch.einsum("bhqd,bhkd->bhqk", a, b), False)
row("einsum ijk,jkl->il 128x256x64, 512 f32", [f32(128, 256, 64), f32(256, 64, 512)], 10, lambda a, b: torch.einsum("ijk,jkl->il", a, b), False, tolerance=1e-3)
row("outer product 8192 f32", [f32(8192), f32(8192)], 10, torch.outer)
row("32 x 4096 · 4096² bf16", [of("bf16", 32, 4096), of("bf16", 4096, 4096)], 20, torch.matmul, False)
row("product 4096² bf16", [of("bf16", 4096, 4096)] * 2, 10, torch.matmul, False)
row("product 512² f32", [f32(512, 512)] * 2, 50, torch.matmul, False)
row("product 1000² f32", [f32(1000, 1000)] * 2, 20, torch.matmul, False)
row("product 1024² f64", [of("f64", 1024, 1024)] * 2, 10, torch.matmul, False)
row("nearest of 4096 to 4096 points in 3-D f32", [f32(4096, 3)] * 2, 10, nearest)
row("concat of 4 x 4096x1024 f32", [f32(4096, 1024)] * 4, 20, lambda *x: torch.cat(x, 1))
row("stack of two 4096² last f32", [f32(4096, 4096)] * 2, 10, lambda a, b: torch.stack((a, b), 2))
row("pad 4096² by 1 f32", [f32(4096, 4096)], 20, lambda x: F.pad(x, (1, 1, 1, 1)))
row("difference to the neighbour 8192² f32", [f32(8192, 8192)], 10, lambda x: x - x.roll(1, 1))
row("flip of rows 4096² f32", [f32(4096, 4096)], 20, lambda x: x.flip(1))
row("NCHW to NHWC 32x128x64x64 f32", [f32(32, 128, 64, 64)], 10, lambda x: x.permute(0, 2, 3, 1).contiguous())
row("heads apart 8x1024x16x64 bf16", [of("bf16", 8, 1024, 16, 64)], 20, lambda x: x.permute(0, 2, 1, 3).contiguous())
row("lower triangle 8192² f32", [f32(8192, 8192)], 10, lambda x: x.tril())
row("twice as large 32x64x56x56 f32", [f32(32, 64, 56, 56)], 10, lambda x: F.interpolate(x, scale_factor=2, mode="nearest"))
row(
    "bytes of images to f32 64x512x512x3", [below(256, "u8", 64, 512, 512, 3)], 10,
    lambda x: ((x.permute(0, 3, 1, 2).float() * (1 / 255) - 0.5) * 4).contiguous(),
)
row("take along rows 4096² f32", [f32(4096, 4096), below(4096, "i32", 4096, 4096)], 10, lambda x, i: x.gather(1, i))
row(
    "bag of words 100k x 64, 16384 x 32", [f32(100_000, 64), below(100_000, "i32", 16384, 32)], 10,
    lambda x, i: F.embedding(i, x).sum(1), fused=lambda x, i: F.embedding_bag(i, x, mode="sum"),
)
row(
    "sums of groups 262144 x 64 into 4096", [f32(262144, 64), below(4096, "i32", 262144)], 5,
    lambda x, i: torch.zeros(4096, 64, device=d).index_add(0, i, x), tolerance=1e-3,
)
row("sort of 4M i32", [below(1 << 30, "i32", 4 << 20)], 5, lambda x: torch.sort(x).values, False)
row("rfft 1024 x 4096 f32", [f32(1024, 4096)], 5, lambda x: torch.fft.rfft(x, dim=1).real.contiguous(), False, tolerance=1e-3)


def power(x):
    z = torch.fft.rfft(x)
    return z.real.square() + z.imag.square()


def spectrum(x, dim=-1):
    return torch.fft.rfft(x, dim=dim).real.contiguous()


row("rfft 4096 x 1024 f32", [f32(4096, 1024)], 20, spectrum, False, tolerance=1e-3)
row("rfft of 1M f32", [f32(1 << 20)], 20, spectrum, False, tolerance=1e-3)
row("rfft of 64k f32", [f32(1 << 16)], 20, spectrum, False, tolerance=1e-3)
row("rfft 1024 x 4096 f64", [of("f64", 1024, 4096)], 10, spectrum, False)
row("rfft 4096 x 1000 f32", [f32(4096, 1000)], 20, spectrum, False, tolerance=1e-3)
row("rfft 4096 x 1009 f32", [f32(4096, 1009)], 10, spectrum, False, tolerance=1e-3)
row("fft 4096 x 1024 f32, complex", [f32(4096, 1024)] * 2, 10, lambda x, y: torch.fft.fft(torch.complex(x, y)).real.contiguous(), False, tolerance=1e-3)
row("fft of columns 4096 x 1024 f32", [f32(4096, 1024)], 10, lambda x: torch.fft.fft(x, dim=0).real.contiguous(), False, tolerance=1e-3)
row("power spectrum 4096 x 1024 f32", [f32(4096, 1024)], 20, power, tolerance=1e-3)
row("2-D fft of 2048² f32", [f32(2048, 2048)], 10, lambda x: torch.fft.fft2(x).real.contiguous(), False, tolerance=1e-3)
row(
    "convolution by fft 256 x 16384 f32", [f32(256, 16384), f32(16384)], 10,
    lambda x, h: torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(h)), False, tolerance=1e-3,
)
row("depthwise 3x3 of 32x128x56x56 f32", [f32(32, 128, 56, 56), f32(128, 1, 3, 3)], 10, lambda x, w: F.conv2d(x, w, padding=1, groups=128), False)
row("convolution 7x7 by 2 of 32x3x224x224, 64 out f32", [f32(32, 3, 224, 224), f32(64, 3, 7, 7)], 5, lambda x, w: F.conv2d(x, w, padding=3, stride=2), False, tolerance=1e-3)
row("convolution 1x1 of 32x256x56x56, 64 out f32", [f32(32, 256, 56, 56), f32(64, 256, 1, 1)], 5, lambda x, w: F.conv2d(x, w), False, tolerance=1e-3)
row("convolution 3x3 of 16x64x56x56, 4 groups f32", [f32(16, 64, 56, 56), f32(64, 16, 3, 3)], 5, lambda x, w: F.conv2d(x, w, padding=1, groups=4), False, tolerance=1e-3)
row("mean pool 3x3 by 2 of 64x64x112x112 f32", [f32(64, 64, 112, 112)], 10, lambda x: F.avg_pool2d(x, 3, 2))
row("moving average of 9, 256 x 65536 f32", [f32(256, 1, 65536), f32(1, 1, 9)], 10, lambda x, w: F.conv1d(x, w), False)
row("x · sigmoid(x) 64M bf16", [of("bf16", 64 << 20)], 10, lambda x: x * x.sigmoid(), fused=F.silu)
row("gelu with tanh 16M f32", [f32(16 << 20)], 10, lambda x: F.gelu(x, approximate="tanh"))
row("silu(a) · b 8192 x 4096 bf16", [of("bf16", 8192, 4096)] * 2, 10, lambda a, b: F.silu(a) * b)


def rotary(x, cos, sin):
    a, b = x.chunk(2, 3)
    return x * cos + torch.cat((-b, a), 3) * sin


row("rotary 8x32x1024x128 bf16", [of("bf16", 8, 32, 1024, 128), of("bf16", 1024, 128), of("bf16", 1024, 128)], 10, rotary)
row("add + layer norm 8192 x 1024 bf16", [of("bf16", 8192, 1024)] * 2, 20, lambda a, b: half_layer_norm(a + b), fused=lambda a, b: F.layer_norm(a + b, (1024,)))


def scores(q, k):
    return q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5


def seen(n):
    return torch.ones(n, n, dtype=torch.bool, device=d).tril()


def sdpa(**how):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **how)


def convolved(**how):
    return lambda x, w: (F.conv1d if x.dim() == 3 else F.conv2d)(x, w, **how)


HALF = 3e-2
row("convolution 3x3 of 32x64x56x56, 64 out bf16", [of("bf16", 32, 64, 56, 56), of("bf16", 64, 64, 3, 3)], 10, convolved(padding=1), False, tolerance=HALF)
row("convolution 3x3 of 32x256x14x14, 256 out bf16", [of("bf16", 32, 256, 14, 14), of("bf16", 256, 256, 3, 3)], 10, convolved(padding=1), False, tolerance=HALF)
row("convolution 1x1 of 32x256x56x56, 64 out bf16", [of("bf16", 32, 256, 56, 56), of("bf16", 64, 256, 1, 1)], 10, convolved(), False, tolerance=HALF)
row("convolution 7x7 by 2 of 32x3x224x224, 64 out f16", [of("f16", 32, 3, 224, 224), of("f16", 64, 3, 7, 7)], 10, convolved(padding=3, stride=2), False, tolerance=5e-3)
row("convolution of 5, 64x128x4096, 128 out bf16", [of("bf16", 64, 128, 4096), of("bf16", 128, 128, 5)], 10, convolved(padding=2), False, tolerance=HALF)
row("attention 8x32x512x128 bf16", [of("bf16", 8, 32, 512, 128)] * 3, 10, sdpa(), False, tolerance=HALF)
row("causal attention 4x16x2048x128 f16", [of("f16", 4, 16, 2048, 128)] * 3, 5, sdpa(is_causal=True), False, tolerance=5e-3)
row("attention with a bias 16x12x512x64 bf16", [of("bf16", 16, 12, 512, 64)] * 3 + [of("bf16", 12, 512, 512)], 10, lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, attn_mask=b), False, tolerance=HALF)
row("attention of one query 64x32x1x128 to 4096 bf16", [of("bf16", 64, 32, 1, 128)] + [of("bf16", 64, 32, 4096, 128)] * 2, 3, sdpa(), False, tolerance=HALF)
row("relu(x·w + b) 8192 x 1024 x 1024 f16", [of("f16", 8192, 1024), of("f16", 1024, 1024), of("f16", 1024)], 20, lambda x, w, b: F.relu(torch.addmm(b, x, w)), tolerance=5e-3)
row("x·wᵀ 8192 x 4096 x 1024 bf16", [of("bf16", 8192, 4096), of("bf16", 1024, 4096)], 10, lambda x, w: F.linear(x, w), False, tolerance=HALF)
row("128 products 1024x64x1024 bf16", [of("bf16", 128, 1024, 64), of("bf16", 128, 64, 1024)], 10, torch.matmul, False, tolerance=HALF)
row("x + mlp(x) 4096 x 1024 x 4096 bf16", [of("bf16", 4096, 1024), of("bf16", 1024, 4096), of("bf16", 4096, 1024)], 5, lambda x, a, b: x + F.relu(x @ a) @ b, tolerance=HALF)
row("masked softmax 64x1024x1024 bf16", [of("bf16", 64, 1024, 1024)], 10, lambda x: x.masked_fill(~seen(1024), -math.inf).softmax(-1))
row("cross entropy 4096 x 32000 bf16", [of("bf16", 4096, 32000), below(32000, "i32", 4096, 1)], 5, lambda x, t: F.cross_entropy(x.float(), t[:, 0].long()), fused=lambda x, t: F.cross_entropy(x, t[:, 0].long()))
row("rows of a table 50257 x 1024, 16384 of them, bf16", [of("bf16", 50257, 1024), below(50257, "i32", 16384)], 10, lambda x, i: F.embedding(i, x))
row("topk 50 of each row of 512 x 32000 bf16", [of("bf16", 512, 32000)], 10, lambda x: x.topk(50).values, False)
row("cumsum of rows 8192 x 4096 bf16", [of("bf16", 8192, 4096)], 10, lambda x: x.cumsum(1), False, tolerance=0.1)
row("max pool 3x3 by 2 of 32x64x112x112 bf16", [of("bf16", 32, 64, 112, 112)], 10, lambda x: F.max_pool2d(x, 3, 2, 1))
row("group norm 32x256x32x32 bf16, 32 groups", [of("bf16", 32, 256, 32, 32)], 20, lambda x: F.group_norm(x, 32))
row("bytes times scales, then x·w 64 x 4096 x 4096 bf16", [of("bf16", 64, 4096), below(256, "u8", 4096, 4096), f32(4096)], 10, lambda x, w, s: x @ ((w.float() - 128) * s).bfloat16(), tolerance=HALF)


def neighbours(x):
    return sum(x.roll(by, axis) for axis in range(x.dim()) for by in (1, -1)) - 2 * x.dim() * x


def steepness(x):
    a, b = x.roll(-1, 0) - x.roll(1, 0), x.roll(-1, 1) - x.roll(1, 1)
    return (a * a + b * b).sqrt()


def logistic(x):
    y = x.abs()
    for _ in range(50):
        y = y * 3.7 * (1 - y)
    return y


row("Laplacian of 8192² f32", [f32(8192, 8192)], 10, neighbours)
row("Laplacian of 384³ f32", [f32(384, 384, 384)], 10, neighbours)
row("gradient length of 4096² f64", [of("f64", 4096, 4096)], 10, steepness)
row("distances by absolute values 1024 x 1024 of 64, f32", [f32(1024, 64)] * 2, 10, lambda a, b: (a[:, None] - b).abs().sum(2), fused=lambda a, b: torch.cdist(a, b, p=1))
row("shortest paths over one stop 512³ f32", [f32(512, 512)] * 2, 10, lambda a, b: (a[:, :, None] + b).amin(1))
row("one-hot rows 1M x 64 f32", [below(64, "i32", 1 << 20)], 10, lambda i: (i[:, None] == torch.arange(64, device=d)).float())
row("weights added to 1,000 places, 16M f32", [below(1000, "i32", 16 << 20), f32(16 << 20)], 5, lambda i, w: torch.zeros(1000, device=d).index_add(0, i, w), tolerance=1e-3)
row("16M elements of 64M by position f32", [f32(64 << 20), below(64 << 20, "i32", 16 << 20)], 5, lambda x, i: x[i])
row("to bytes and back 64M f32", [f32(64 << 20)], 5, lambda x: (x * 127).round().clamp(-128, 127) * (1 / 127))
row("tanh of 16M f64", [of("f64", 16 << 20)], 5, torch.tanh)
row("product 2048² f64", [of("f64", 2048, 2048)] * 2, 5, torch.matmul, False)
row("softmax over the middle 64x1000x256 f32", [f32(64, 1000, 256)], 10, lambda x: x.softmax(1))
row("standard deviation of columns 16384 x 4096 f32", [f32(16384, 4096)], 10, lambda x: x.std(0, correction=0))
row("logsumexp of columns 4096² f32", [f32(4096, 4096)], 10, lambda x: x.logsumexp(0))
row("running product of rows 4096² f32", [f32(4096, 4096)], 10, lambda x: x.cumprod(1), False)
row("argsort of 4M f32", [f32(4 << 20)], 5, lambda x: x.argsort(stable=True), False, tolerance=1)
row("sort of rows of 65536 x 128 f32", [f32(65536, 128)], 10, lambda x: x.sort(1).values, False)
row("sums of 64M i32 by 1024", [below(1000, "i32", 65536, 1024)], 10, lambda x: x.sum(1, dtype=torch.int32))
row("complex product 16M f32", [f32(16 << 20)] * 4, 5, lambda a, b, c, e: (a * c - b * e) + (a * e + b * c))
row("sin + cos of 64M f32", [f32(64 << 20)], 5, lambda x: (x * 10).sin() + x.cos())
row("logistic map, 50 steps on 4M f32", [f32(4 << 20)], 10, logistic, tolerance=1)
row("convolution 3x3 by 2 of 32x128x56x56, 128 out f32", [f32(32, 128, 56, 56), f32(128, 128, 3, 3)], 5, convolved(padding=1, stride=2), False, tolerance=1e-3)
row("convolution 3x3 of 32x256x14x14, 256 out f32", [f32(32, 256, 14, 14), f32(256, 256, 3, 3)], 5, convolved(padding=1), False, tolerance=1e-3)


def adam(*x):
    out = []
    for i in range(50):
        p, g, m, v = x[4 * i : 4 * i + 4]
        m1 = m * 0.9 + g * 0.1
        v1 = v * 0.999 + g * g * 0.001
        out += [p - m1 * 0.01 / (v1.abs().sqrt() + 1e-8), m1, v1]
    return out


row("Adam step, 50 parameters 256 x 256 f32, compiled", [f32(256, 256)] * 200, 10, adam, tolerance=1e-3)


def compare(name, result, tolerance):
    if isinstance(result, (list, tuple)):
        result = result[0]
    flat = result.reshape(-1)
    n = flat.numel()
    count = min(1000, n)
    at = torch.tensor([(i * (n - 1)) // (count - 1) if count > 1 else 0 for i in range(count)], device=d)
    want = flat[at].double().tolist()
    got = [float(v) for v in ours[name]["values"]]
    if len(got) != count:
        return f"WRONG COUNT {len(got)} for {count}"
    allowed = tolerance or {torch.bfloat16: 2e-2, torch.float16: 2e-3}.get(result.dtype, 1e-4)
    scale = max(1e-30, max((abs(w) for w in want if math.isfinite(w)), default=0))
    worst = 0.0
    for g, w in zip(got, want):
        if g == w or (math.isnan(g) and math.isnan(w)):
            continue
        e = abs(g - w) / scale
        worst = math.inf if math.isnan(e) else max(worst, e)
    return "" if worst <= allowed else f"WRONG by {worst:.3g} of the largest"


def compile_some(part, parts):
    for name, inputs, _, f, compiled, *_ in rows[part::parts]:
        if compiled and time.perf_counter() < end:
            torch._dynamo.reset()
            torch.compile(f)(*[made(s, i) for i, s in enumerate(inputs)])
            torch.cuda.empty_cache()


if prepare:
    compile_some(*map(int, prepare.split("/")))
    sys.exit(0)
part, parts = map(int, (option("--part") or "0/1").split("/"))
wanted = [r for r in rows[part::parts] if r[0] in ours and (not only or any(t in r[0] for t in only))]
out = {}
for name, inputs, calls, f, _, fused, tolerance in wanted:
    args = [made(s, i) for i, s in enumerate(inputs)]
    try:
        bad = compare(name, f(*args), tolerance)
        if bad:
            print(f"{name}: {bad}")
        best = known.get(name, {}).get("eager") or per_call(lambda: f(*args), calls)
        if fused and name not in known:
            best = min(best, per_call(lambda: fused(*args), calls))
        out[name] = {"eager": best}
    except Exception as e:
        print(f"{name}: {type(e).__name__}: {str(e)[:200]}")
        out[name] = {}
    del args
print(f"eager took {time.perf_counter() - start:.1f} s")
def table():
    ratios = []
    for name, *_ in rows:
        if name not in out:
            continue
        times = [t for t in (out[name].get("eager"), out[name].get("compiled")) if t]
        ratio = ours[name]["us"] / min(times) if times else float("nan")
        if times:
            ratios.append(ratio)
        show = lambda t: f"{t:9.1f}" if t else "        -"
        print(f"{name:52s} {ours[name]['us']:9.1f} {show(out[name].get('eager'))} {show(out[name].get('compiled'))} {ratio:7.2f}")
    print(f"geometric mean over {len(ratios)} rows: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}", flush=True)
    if option("--json"):
        json.dump(out, open(option("--json"), "w"))


def stopped(*_):
    """What was measured until then is shown."""
    table()
    os._exit(1)


signal.signal(signal.SIGTERM, stopped)
# First where compiling is most likely to help.
wanted.sort(key=lambda r: ours[r[0]]["us"] / out[r[0]].get("eager", 1e9))
for name, inputs, calls, f, compiled, _, _ in wanted:
    if known.get(name, {}).get("compiled"):
        out[name]["compiled"] = known[name]["compiled"]
        continue
    if not compiled or time.perf_counter() > end:
        continue
    args = [made(s, i) for i, s in enumerate(inputs)]
    try:
        torch._dynamo.reset()
        g = torch.compile(f)
        out[name]["compiled"] = per_call(lambda: g(*args), calls)
    except Exception as e:
        print(f"{name}: torch.compile: {type(e).__name__}")
    del args
table()
