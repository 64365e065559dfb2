"""A training step three ways: eager, as a CUDA graph, and compiled."""
import torch
from torch import nn


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 64)).cuda()


def step(net, optimizer, x, y):
    optimizer.zero_grad(set_to_none=False)
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


def eager(x, y):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(5):
        loss = step(net, optimizer, x, y)
    return loss.item()


def graphed(x, y):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(net, optimizer, x, y)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(net, optimizer, x, y)
    for _ in range(10):
        graph.replay()
    return loss.item()


def compiled(x, y):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    forward = torch.compile(net)
    for _ in range(5):
        loss = step(forward, optimizer, x, y)
    return loss.item()


torch.use_deterministic_algorithms(True)
torch.manual_seed(1)
x, y = torch.randn(128, 256, device="cuda"), torch.randn(128, 64, device="cuda")
for run in (eager, graphed, compiled):
    print(f"{run.__name__} loss {run(x, y):.4f}")
torch.cuda.synchronize()
