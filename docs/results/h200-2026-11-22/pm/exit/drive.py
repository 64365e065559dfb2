# SPDX-License-Identifier: Apache-2.0
import os, random, subprocess, sys, threading, time, collections
out = os.environ["OUT"]; total = float(sys.argv[1]); random.seed(int(sys.argv[2]))
os.makedirs(out + "/crash", exist_ok=True)
pm = [("PA","0","r"),("PA","6","e"),("PAZ","7","r"),("PA","4","r"),("PAm","4","r"),("PAZ","6","r"),("PA1","4","e"),("PA","5","r"),
      ("PAZ","7","e"),("PAZ","1","e"),("P","6","r"),("PAZ","7","d"),("PAZ","6","d"),("PAZm","7","r")]
other = [("A","0","r"),("A","6","e"),("A","1","r"),("H","0","r"),("H","3","r"),("HZ","6","r"),("AZ","6","r"),("A","6","d")]
stats = collections.defaultdict(lambda: collections.Counter()); lock = threading.Lock(); end = time.time() + total
rows = open(out + "/runs.tsv", "w"); n = 0
def one(v, seconds=None):
    global n
    with lock: n += 1; k = n
    s = seconds or round(random.uniform(0.03, 0.75), 4); log = f"/tmp/pmlog.{k}"
    t = time.time()
    try:
        p = subprocess.run(["./probe", v[0], v[1], str(s), v[2], log], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20); rc = p.returncode; said = p.stdout.decode(errors="replace")[-300:]
    except subprocess.TimeoutExpired: rc = 124; said = "TIMEOUT"
    took = time.time() - t
    text = open(log, errors="replace").read() if os.path.exists(log) else ""
    name = " ".join(v); bad = rc != 0
    with lock:
        c = stats[name]; c["runs"] += 1; c["crash"] += bad; c["unfinished"] += "UNFINISHED" in text; c["failing"] += "failures=0 " not in text; c["nowindow"] += "windows=0 " in text
        rows.write(f"{name}\t{s}\t{rc}\t{took:.3f}\t{' '.join(text.split())[:400]}\n")
        if bad and c["crash"] <= 4: open(f"{out}/crash/{name.replace(' ','_')}.{c['crash']}", "w").write(text + "\n--\n" + said)
    return text
t = time.time(); print("first", one(("PAZ","7","r"), 1.0).strip(), "%.2f s" % (time.time() - t))
two = [None, None]
def f(i): two[i] = one(("PAZ","7","r"), 1.5)
th = [threading.Thread(target=f, args=(i,)) for i in (0, 1)]; [x.start() for x in th]; [x.join() for x in th]
print("two at once:", *[x.strip() for x in two], sep="\n  ")
lanes = 5 if all("failures=0 " in x and "windows=0 " not in x for x in two) else 1
print("lanes", lanes)
pos = 0
def lane(vs, shared):
    global pos
    i = 0
    while time.time() < end:
        if shared:
            with lock: v = vs[pos % len(vs)]; pos += 1
        else: v = vs[i % len(vs)]; i += 1
        one(v)
th = [threading.Thread(target=lane, args=(pm, True)) for _ in range(lanes)] + [threading.Thread(target=lane, args=(other[i:] + other[:i], False)) for i in (0, 3, 5)]
[x.start() for x in th]; [x.join() for x in th]
rows.close()
for k in sorted(stats): print(f"{k:10s}", dict(stats[k]))
# a process without a context samples what another one launches
a = subprocess.Popen(["./probe", "A", "6", "2.5", "r", "/tmp/pm.a"]); time.sleep(0.7)
subprocess.run(["./probe", "Px", "6", "1.2", "r", "/tmp/pm.x"]); a.wait()
print("busy:", open("/tmp/pm.a").read().strip()); print("sampled from outside:", open("/tmp/pm.x").read().strip())
subprocess.run(["./probe", "PA", "6", "1.2", "r", "/tmp/pm.b"]); print("inside:", open("/tmp/pm.b").read().strip())
