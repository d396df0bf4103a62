import sys

import pytest

from pcpinn import PcpinnError
from pcpinn.cluster import Slurm, scheduler
from pcpinn.cluster.worker import Worker


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gpus": -1}, "--gpus -1"),
        ({"minutes": 0}, "--time 0"),
        ({"at_once": 0}, "--jobs 0"),
        ({"options": (("array", "1-3"),)}, "--slurm array="),
        ({"options": (("Mem ory", "3"),)}, "--slurm Mem ory="),
    ],
)
def test_refused(options, said):
    with pytest.raises(PcpinnError, match=said):
        Slurm(**options)


def test_without_submitit(monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(PcpinnError) as error:
        Slurm().check()
    assert "pcpinn[cluster]" in error.value.remedy


def test_without_slurm(monkeypatch, tmp_path):
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PcpinnError, match="there is no Slurm here: sinfo is not found"):
        Slurm().check()


def test_what_is_written_for_sbatch(monkeypatch, tmp_path):
    """sbatch is a script that keeps what it is given."""
    pytest.importorskip("submitit")
    for name in ("sbatch", "srun"):
        (tmp_path / name).write_text(f'#!/bin/sh\ncp "$1" {tmp_path}/given\necho Submitted batch job 12\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    work = [Worker(str(tmp_path), None, 1, "code", 1.0) for _ in range(3)]
    slurm = Slurm(
        gpus=2, cpus=3, minutes=30, partition="long", at_once=2, options=(("account", "abc"),), python="box python"
    )
    slurm.submit(work, "pcpinn-x-1", tmp_path / "log")
    given = (tmp_path / "given").read_text()
    for line in ("--array=0-2%2", "--gpus-per-node=2", "--cpus-per-task=3", "--time=30", "--partition=long",
                 "--account=abc", "--job-name=pcpinn-x-1", "--signal=USR2@90", "--requeue"):  # fmt: skip
        assert f"#SBATCH {line}\n" in given
    assert " box python -u -m submitit" in given
    assert "export OMP_NUM_THREADS=3\n" in given


def test_what_sbatch_says_is_told(monkeypatch, tmp_path):
    pytest.importorskip("submitit")
    for name in ("sbatch", "srun"):
        (tmp_path / name).write_text("#!/bin/sh\necho sbatch: error: Invalid account >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(PcpinnError, match=r"Slurm refuses the jobs: .*Invalid account"):
        Slurm().submit([Worker(str(tmp_path), None, 1, "code", 1.0)], "pcpinn-x-1", tmp_path / "log")


def test_the_queue_is_read(monkeypatch, tmp_path):
    (tmp_path / "squeue").write_text(
        "#!/bin/sh\necho '12_3|pcpinn-x-1|RUNNING|node1|None'\necho '13|other|PENDING||(Priority)'\n"
    )
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    (job,) = scheduler.queue("pcpinn-x-")
    assert (job.job, job.index, job.state, job.nodes) == ("12_3", 3, "RUNNING", "node1")
    (tmp_path / "squeue").write_text("#!/bin/sh\necho 'slurm_load_jobs error' >&2\nexit 1\n")
    with pytest.raises(scheduler.Silent, match="slurm_load_jobs error"):
        scheduler.queue("pcpinn-x-")
