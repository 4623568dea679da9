"""The word count of examples/flink as a value: its arguments and its declared profiles."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from forescale.files.atomic import write_whole
from forescale.local.demo.modeled_job import zipf_shares
from forescale.local.flink.example_job import example_job
from forescale.local.flink.local_cluster import LocalFlink
from forescale.local.flink.submission import cancel_job, submit_job
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Grouping, Operator, Stream, Topology

SOURCE, SPLIT, COUNT = "sentences", "split", "count"


@dataclass(frozen=True)
class WordCount:
    """split_ms, count_ms: work per sentence, per word. skew: exponent of Zipf's law of the words, 0 for even ones."""

    split_ms: float = 4.0
    count_ms: float = 1.0
    words_per_sentence: int = 5
    vocabulary: int = 10_000
    skew: float = 0.0
    name: str = "word-count"

    @property
    def topology(self) -> Topology:
        streams = (Stream(SOURCE, SPLIT, Grouping.SHUFFLE), Stream(SPLIT, COUNT, Grouping.FIELDS))
        return Topology(self.name, (Operator(SOURCE), Operator(SPLIT), Operator(COUNT)), streams)

    def declared_profiles(self) -> Mapping[str, OperatorProfile]:
        """The service times that the job is told to have; calibration measures the real ones."""
        return {
            SOURCE: OperatorProfile(SOURCE, 0.0, {f"{SOURCE}->{SPLIT}": 1.0}),
            SPLIT: OperatorProfile(SPLIT, self.split_ms / 1000, {f"{SPLIT}->{COUNT}": float(self.words_per_sentence)}),
            COUNT: OperatorProfile(COUNT, self.count_ms / 1000, keys=zipf_shares("w", self.vocabulary, self.skew)),
        }

    def start(self, flink: LocalFlink, rate_per_s: float) -> "RunningWordCount":
        """Build and submit the job. Raises LocalFlinkError when it cannot be built or does not run."""
        rate_file = flink.folder / f"{self.name}.rate"
        rate_file.write_text(f"{rate_per_s:g}", encoding="utf-8")
        arguments = {
            "rate-file": str(rate_file),
            "rate": f"{rate_per_s:g}",
            "split-ms": f"{self.split_ms:g}",
            "count-ms": f"{self.count_ms:g}",
            "words": str(self.words_per_sentence),
            "vocabulary": str(self.vocabulary),
            "skew": f"{self.skew:g}",
            "job-name": self.name,
        }
        jar = example_job(flink.java, flink.distribution, flink.folder)
        return RunningWordCount(flink.url, submit_job(flink.url, jar, arguments), rate_file)


@dataclass(frozen=True)
class RunningWordCount:
    """A submitted job."""

    url: str
    job_id: str
    rate_file: Path

    def offer(self, rate_per_s: float) -> None:
        """Change the rate of the running source, in sentences per second; the job sees it within 0.2 s."""
        write_whole(f"{rate_per_s:g}", self.rate_file)

    def cancel(self) -> None:
        """Cancel the job and free its slots."""
        cancel_job(self.url, self.job_id)
