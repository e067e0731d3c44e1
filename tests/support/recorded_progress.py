"""A progress that keeps what it is told."""

from dataclasses import dataclass, field


@dataclass
class RecordedStage:
    title: str
    total: int | None
    done: int = 0


@dataclass
class RecordedProgress:
    """Stages with how much of them was done."""

    is_shown: bool = True
    stages: list[RecordedStage] = field(default_factory=list)

    def stage(self, title: str, total: int | None = None) -> None:
        self.stages.append(RecordedStage(title, total))

    def advance(self, count: int = 1) -> None:
        self.stages[-1].done += count

    @property
    def titles(self) -> list[str]:
        return [each.title for each in self.stages]

    @property
    def counted(self) -> dict[str, int]:
        """Of the stages with a total, how much was done; every one of them must have been done."""
        assert [each for each in self.stages if each.total not in (None, each.done)] == []
        return {each.title: each.done for each in self.stages if each.total is not None}
