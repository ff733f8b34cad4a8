"""Causal attention with a gradient: attention_kernel.cpp on processors that it is for (several times faster), else PyTorch's own."""
import ctypes
import os
import subprocess
import tempfile

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))


def library():
    """Builds and loads attention_kernel.cpp; None on processors without AMX and AVX-512 BF16 or without a compiler."""
    try:
        flags = open("/proc/cpuinfo").read()
        kind = next((march for flag, march in (("amx_bf16", "sapphirerapids"), ("avx512_bf16", "cooperlake")) if flag in flags), None)
        if kind is None:
            return None
        source = os.path.join(HERE, "attention_kernel.cpp")
        built = os.path.join(tempfile.gettempdir(), f"attention-{kind}-{int(os.path.getmtime(source))}.so")
        if not os.path.exists(built):
            part = f"{built}.{os.getpid()}"
            subprocess.run(["g++", "-O3", f"-march={kind}", "-shared", "-fPIC", source, "-o", part], check=True)
            os.replace(part, built)
        return ctypes.CDLL(built)
    except (OSError, subprocess.CalledProcessError):
        return None


KERNEL = library()


def call(name, tensors, shape, kv_heads):
    batch, tokens, heads, head_dim = shape
    assert head_dim == 32 and tokens % 32 == 0 and all(t.is_contiguous() for t in tensors)
    getattr(KERNEL, name)(*(ctypes.c_void_p(t.data_ptr()) for t in tensors), batch, tokens, heads, kv_heads, ctypes.c_float(head_dim ** -0.5))


@torch.library.custom_op("kvmini::attention", mutates_args=())
def fast(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    out, lse = torch.empty_like(q), torch.empty(q.shape[0], q.shape[2], q.shape[1])
    call("attention_forward", (q, k, v, out, lse), q.shape, k.shape[2])
    return out, lse


@fast.register_fake
def _(q, k, v):
    return torch.empty(q.shape, dtype=q.dtype), torch.empty(q.shape[0], q.shape[2], q.shape[1])


@torch.library.custom_op("kvmini::attention_gradient", mutates_args=())
def fast_gradient(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor,
                 g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q, k, v, out, g = (t.contiguous() for t in (q, k, v, out, g))
    gradients = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    call("attention_backward", (q, k, v, out, lse, g, *gradients), q.shape, k.shape[2])
    return gradients


@fast_gradient.register_fake
def _(q, k, v, out, lse, g):
    return tuple(torch.empty(t.shape, dtype=t.dtype) for t in (q, k, v))


fast.register_autograd(lambda ctx, g, _: fast_gradient(*ctx.saved_tensors, g),
                      setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs, *output))


def attention(q, k, v):
    """q: [batch, tokens, heads, head_dim], k and v: [batch, tokens, kv_heads, head_dim] -> as q. Token i sees tokens 0 to i."""
    if KERNEL and q.device.type == "cpu" and q.dtype == torch.bfloat16 and q.shape[1] % 32 == 0 and q.shape[3] == 32:
        return fast(q, k, v)[0]
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)


def check():
    """Relative errors of the fast path against fp32 attention, for the output and the three gradients: bf16 gives about 0.004."""
    torch.manual_seed(0)
    q, k, v, g = (torch.randn(2, 288, heads, 32).bfloat16() for heads in (8, 4, 4, 8))
    quick, exact = ([t.to(kind, copy=True).requires_grad_() for t in (q * 3, k, v)] for kind in (torch.bfloat16, torch.float32))
    a, b = attention(*quick), attention(*exact)
    a.backward(g), b.backward(g.float())
    pairs = [(a, b)] + [(x.grad, y.grad) for x, y in zip(quick, exact)]
    errors = [((x.float() - y).norm() / y.norm()).item() for x, y in pairs]
    print("fast" if KERNEL else "no kernel for this processor", errors)
    assert max(errors) < 0.01


if __name__ == "__main__":
    check()
