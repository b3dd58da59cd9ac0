"""Libraries of the tasks' interpreters."""

from __future__ import annotations

from usual.program import NO_SHARED_MEMORY, UsualProgram

TABLES = (
    UsualProgram(
        "pip list, pip check",
        """
import subprocess, sys
subprocess.run([sys.executable, '-m', 'pip', 'list'], check=True)
subprocess.run([sys.executable, '-m', 'pip', 'check'], check=True)
""",
        "tables",
    ),
    UsualProgram(
        "numpy and BLAS",
        """
import numpy as n
n.linalg.svd(n.random.rand(200, 200))
n.save('x.npy', n.ones(3))
n.load('x.npy', mmap_mode='r+')[0] = 2
""",
        "tables",
    ),
    UsualProgram(
        "pandas",
        """
import pandas as p
f = p.DataFrame({'a': [1, 2]})
f.to_csv('f.csv')
p.read_csv('f.csv').groupby('a').sum()
f.to_pickle('f.pkl')
""",
        "tables",
    ),
    UsualProgram(
        "scipy",
        """
import scipy.optimize as o, scipy.sparse as s
o.minimize(lambda x: x @ x, [1.0, 2.0])
s.random(9, 9)
""",
        "tables",
    ),
    UsualProgram(
        "scikit-learn, HistGradientBoosting",
        """
from sklearn.ensemble import HistGradientBoostingClassifier as H
import numpy as n
r = n.random.rand(300, 4)
H(max_iter=5).fit(r, r[:, 0] > 0.5).predict(r)
""",
        "tables",
    ),
    UsualProgram(
        "scikit-learn with n_jobs=2",
        """
from sklearn.ensemble import RandomForestClassifier as F
from sklearn.model_selection import cross_val_score as c
import numpy as n
r = n.random.rand(100, 4)
c(F(9, n_jobs=2), r, r[:, 0] > 0.5, n_jobs=2)
""",
        "tables",
    ),
    UsualProgram(
        "joblib, Parallel and Memory",
        """
import joblib
assert joblib.Parallel(n_jobs=2)((joblib.delayed(abs)(i) for i in (-1, 2))) == [1, 2]
joblib.Memory('cache', verbose=0).cache(abs)(-1)
joblib.dump([1], 'd')
joblib.load('d')
""",
        "tables",
    ),
)
TORCH = (
    UsualProgram(
        "torch, training",
        """
import torch
m = torch.nn.Linear(9, 2)
o = torch.optim.Adam(m.parameters())
m(torch.rand(5, 9)).sum().backward()
o.step()
torch.save(m.state_dict(), 'm.pt')
torch.load('m.pt')
""",
        "torch",
    ),
    UsualProgram(
        "torch, DataLoader without workers",
        """
import torch.utils.data as d, torch
assert len(list(d.DataLoader(d.TensorDataset(torch.rand(8, 2)), 4))) == 2
""",
        "torch",
    ),
    UsualProgram(
        "torch, DataLoader with workers",
        """
import torch.utils.data as d, torch
if __name__ == '__main__':
    assert len(list(d.DataLoader(d.TensorDataset(torch.rand(8, 2)), 4, num_workers=2))) == 2
""",
        "torch",
        landlock=NO_SHARED_MEMORY,
    ),
)
