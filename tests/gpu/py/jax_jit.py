"""JAX: a jitted loss with its gradient, and a scanned loop."""
import jax
import jax.numpy as jnp


@jax.jit
def loss(w, x, y):
    return jnp.mean((jnp.tanh(x @ w) - y) ** 2)


@jax.jit
def loop(x):
    return jax.lax.fori_loop(0, 7, lambda _, v: jnp.sin(v) * 1.01 + 0.5, x)


key = jax.random.PRNGKey(0)
w, x, y = (jax.random.normal(k, (128, 128)) for k in jax.random.split(key, 3))
gradient = jax.jit(jax.grad(loss))
for _ in range(6):
    w = w - 0.1 * gradient(w, x, y)
print(f"loss {float(loss(w, x, y)):.4f} loop {float(loop(x).sum()):.2f}")
