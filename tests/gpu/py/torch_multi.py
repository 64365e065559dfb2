"""A data-parallel training step over all GPUs in one process: a replica and a graph a GPU, gradients
summed by NCCL. Exit status 77 where there is one GPU, or no NCCL."""
import sys

import torch
from torch import nn

count = torch.cuda.device_count()
if count < 2:
    print("there is only one GPU here")
    sys.exit(77)
torch.use_deterministic_algorithms(True)
devices = [torch.device("cuda", i) for i in range(count)]
x, y = [], []
replicas = []
for i, device in enumerate(devices):
    torch.manual_seed(0)
    replicas.append(nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 64)).to(device))
    torch.manual_seed(1 + i)
    x.append(torch.randn(128, 256).to(device))
    y.append(torch.randn(128, 64).to(device))
if not torch.cuda.nccl.is_available([x[0], x[1]]):
    print("NCCL is not there")
    sys.exit(77)
optimizers = [torch.optim.SGD(r.parameters(), lr=0.05) for r in replicas]


def step():
    for net, a, b in zip(replicas, x, y):
        net.zero_grad(set_to_none=True)
        nn.functional.mse_loss(net(a), b).backward()
    for parts in zip(*(r.parameters() for r in replicas)):
        torch.cuda.nccl.all_reduce([p.grad for p in parts])
    for device, optimizer in zip(devices, optimizers):
        with torch.cuda.device(device):
            optimizer.step()


for _ in range(5):
    step()
graphs = []
for device, net, a in zip(devices, replicas, x):
    with torch.cuda.device(device):
        with torch.no_grad():
            net(a)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = net(a)
        graphs.append((graph, out))
for _ in range(5):
    for graph, _ in graphs:
        graph.replay()
for device in devices:
    torch.cuda.synchronize(device)
for net, (_, out) in zip(replicas, graphs):
    print("weights %.6f output %.6f" % (sum(p.double().sum().item() for p in net.parameters()),
                                        out.double().sum().item()))
