"""Programs as people write them with PyTorch and JAX, one at a time: programs.py NAME SECONDS [PAUSE]
NAME: train, gemm, decode (loops of tests/bench/gpu_overhead), conv, attention, fft, sparse, sorting, embedding, or jax.
PAUSE: milliseconds between two steps. Prints how many steps were made, and a sum of what they computed."""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "bench", "gpu_overhead"))


def conv(torch):
    """A small residual network trained on images of two sizes."""
    nn = torch.nn

    class Residual(nn.Module):
        def __init__(self, width, stride):
            super().__init__()
            self.one = nn.Conv2d(width // stride, width, 3, stride, 1, bias=False)
            self.two = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.norms = nn.ModuleList([nn.BatchNorm2d(width), nn.BatchNorm2d(width)])
            self.short = nn.Conv2d(width // stride, width, 1, stride) if stride > 1 else nn.Identity()

        def forward(self, x):
            y = torch.relu(self.norms[0](self.one(x)))
            return torch.relu(self.norms[1](self.two(y)) + self.short(x))

    net = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1), Residual(64, 1),
                        Residual(128, 2), Residual(256, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 100)).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    images = [torch.randn(count, 3, side, side, device="cuda") for count, side in ((64, 128), (32, 192))]
    labels = [torch.randint(100, (len(batch),), device="cuda") for batch in images]

    def step(i):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = nn.functional.cross_entropy(net(images[i % 2]), labels[i % 2])
        loss.backward()
        optimizer.step()
        return loss
    return step


def attention(torch):
    """Prompts of four lengths through a decoder with rotary positions, root-mean-square norms and gated layers."""
    nn, f = torch.nn, torch.nn.functional
    width, heads, layers, words = 1024, 16, 4, 8192

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([nn.RMSNorm(width), nn.RMSNorm(width)])
            self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
            self.gate, self.up, self.down = (nn.Linear(a, b, bias=False) for a, b in ((width, 2816), (width, 2816), (2816, width)))

        def forward(self, x, turn):
            batch, length, _ = x.shape
            q, k, v = self.qkv(self.norms[0](x)).view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
            q, k = (torch.view_as_real(torch.view_as_complex(p.float().unflatten(-1, (-1, 2))) * turn[:length]).flatten(-2).to(p.dtype)
                    for p in (q, k))
            x = x + self.out(f.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2))
            y = self.norms[1](x)
            return x + self.down(f.silu(self.gate(y)) * self.up(y))

    table = nn.Embedding(words, width).cuda().bfloat16()
    stack = nn.ModuleList([Layer() for _ in range(layers)]).cuda().bfloat16()
    angles = torch.outer(torch.arange(4096.0), 10000 ** (-torch.arange(0, width // heads, 2) / (width // heads)))
    turn = torch.polar(torch.ones_like(angles), angles).cuda()
    prompts = [torch.randint(words, (batch, length), device="cuda") for batch, length in ((16, 128), (8, 512), (2, 2048), (1, 4096))]

    @torch.no_grad()
    def step(i):
        x = table(prompts[i % 4])
        for layer in stack:
            x = layer(x, turn)
        return (x[:, -1] @ table.weight.T / width ** 0.5).float().log_softmax(-1).amax(-1).sum()
    return step


def fft(torch):
    """A field stepped in Fourier space, in two dimensions and three, and signals convolved."""
    flat = torch.randn(2048, 2048, device="cuda")
    solid = torch.randn(192, 192, 192, device="cuda")
    signals, window = torch.randn(256, 16384, device="cuda"), torch.hann_window(16384, device="cuda")
    damp = torch.exp(-1e-4 * torch.arange(1025, device="cuda", dtype=torch.float32) ** 2)

    def step(_):
        nonlocal flat
        flat = torch.fft.irfft2(torch.fft.rfft2(flat) * damp, s=flat.shape)
        three = torch.fft.ifftn(torch.fft.fftn(solid) * 0.5).real
        power = torch.fft.rfft(signals * window).abs().square().sum(-1)
        return flat.std() + three.std() + power.mean()
    return step


def sparse(torch):
    """A graph network's layers: sparse times dense, gathers and scattered sums over edges."""
    nodes, edges, width = 100_000, 1_600_000, 64
    ends = torch.randint(nodes, (2, edges), device="cuda")
    matrix = torch.sparse_coo_tensor(ends, torch.rand(edges, device="cuda"), (nodes, nodes)).coalesce().to_sparse_csr()
    x, weight = torch.randn(nodes, width, device="cuda"), torch.randn(width, width, device="cuda") / 8

    def step(_):
        y = torch.relu((matrix @ x) @ weight)
        sums = torch.zeros_like(y).index_add_(0, ends[1], y[ends[0]])
        best = torch.full((nodes,), -1e9, device="cuda").scatter_reduce_(0, ends[1], y[ends[0], 0], "amax")
        return sums.mean() + best.clamp(min=0).mean()
    return step


def sorting(torch):
    """Keys sorted, ranked, searched and counted."""
    keys, table = torch.rand(4_000_000, device="cuda"), torch.rand(2000, 5000, device="cuda")
    numbers = torch.randint(50_000, (2_000_000,), device="cuda")

    def step(_):
        ordered, _ = keys.sort()
        top = table.topk(50, dim=1).values
        at = torch.searchsorted(ordered, table[:100].flatten())
        return (ordered.cumsum(0)[-1] + top.sum() + at.float().mean() + numbers.bincount(minlength=50_000).float().std()
                + torch.histc(keys, 100).std() + keys.view(2000, 2000).cumsum(1).amax(0).sum())
    return step


def embedding(torch):
    """A recommender: bags of embeddings, interactions, and Adam over all of it."""
    nn = torch.nn
    bags = nn.ModuleList([nn.EmbeddingBag(200_000, 64, mode="sum") for _ in range(8)]).cuda()
    net = nn.Sequential(nn.Linear(36 + 64, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)).cuda()
    optimizer = torch.optim.Adam([*bags.parameters(), *net.parameters()], lr=1e-3, fused=True)
    batch = 8192
    words, dense = torch.randint(200_000, (8, batch, 12), device="cuda"), torch.randn(batch, 64, device="cuda")
    wanted = torch.rand(batch, 1, device="cuda").round()
    upper = torch.triu_indices(9, 9, 1, device="cuda")

    def step(_):
        optimizer.zero_grad()
        found = torch.stack([bag(one) for bag, one in zip(bags, words)] + [dense], 1)
        pairs = torch.bmm(found, found.transpose(1, 2))[:, upper[0], upper[1]]
        loss = nn.functional.binary_cross_entropy_with_logits(net(torch.cat([pairs, dense], 1)), wanted)
        loss.backward()
        optimizer.step()
        return loss
    return step


def with_jax():
    """A network trained, and a scan over time."""
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(jax.random.PRNGKey(0), 6)
    weights = [jax.random.normal(key, shape) * 0.03 for key, shape in zip(keys, ((784, 1024), (1024, 1024), (1024, 10)))]
    x, y = jax.random.normal(keys[3], (2048, 784)), jax.random.randint(keys[4], (2048,), 0, 10)

    def loss(weights, x, y):
        for weight in weights[:-1]:
            x = jax.nn.gelu(x @ weight)
        return -jnp.take_along_axis(jax.nn.log_softmax(x @ weights[-1]), y[:, None], 1).mean()

    @jax.jit
    def train(weights, x, y):
        value, slopes = jax.value_and_grad(loss)(weights, x, y)
        return [weight - 0.1 * slope for weight, slope in zip(weights, slopes)], value

    @jax.jit
    def scan(state, inputs):
        return jax.lax.scan(lambda h, u: ((h := jnp.tanh(h * 0.9 + u)), h.mean()), state, inputs)[1].sum()

    inputs = jax.random.normal(keys[5], (30, 512, 512))

    def step(_):
        nonlocal weights
        weights, value = train(weights, x, y)
        return value + scan(inputs[0], inputs)
    return step, lambda value: float(value)


PROGRAMS = {"conv": conv, "attention": attention, "fft": fft, "sparse": sparse, "sorting": sorting, "embedding": embedding}
LOOPS = ("train", "gemm", "decode")


def prepare(name):
    """(a step, what makes a number of what it gave and waits for it)."""
    if name == "jax":
        return with_jax()
    import torch
    torch.manual_seed(0)
    if name in LOOPS:
        import torch_loops
        body, together = torch_loops.LOOPS[name]()

        def step(_):
            for _ in range(min(together, 4)):
                body()

        def number(_):
            torch.cuda.synchronize()
            return 0.0
        return step, number
    return PROGRAMS[name](torch), lambda value: value.item()


def main(name, seconds, pause="0"):
    step, number = prepare(name)
    end, steps, total = time.monotonic() + float(seconds), 0, 0.0
    while time.monotonic() < end:
        total += number(step(steps))
        steps += 1
        time.sleep(float(pause) * 1e-3)
    print(f"{name}: {steps} steps, sum {total:.6g}")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in (*PROGRAMS, *LOOPS, "jax"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
