"""A linear model in integers, which HiGHS solves."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

# Nodes of the search tree. The same model always takes the same nodes, on any machine.
NODES_MAX = 5_000
# A last resort, for models whose single nodes take long.
SECONDS_MAX = 30.0

Terms = Mapping[int, int]  # variable -> coefficient


class Outcome(NamedTuple):
    """What a solver found."""

    values: list[int] | None  # of the variables; None if it found no solution
    bound: int  # no solution has a smaller objective
    is_infeasible: bool  # certain that there is no solution
    nodes: int


class Model:
    """Integer variables from zero up, and rows over them."""

    def __init__(self) -> None:
        self._upper: list[int] = []
        self._rows: list[tuple[float, dict[int, int], float]] = []

    @property
    def variable_count(self) -> int:
        return len(self._upper)

    def variable(self, upper: int) -> int:
        self._upper.append(upper)
        return len(self._upper) - 1

    def at_most(self, terms: Terms, most: int) -> None:
        """The sum of the terms is at most so much."""
        # Small coefficients: HiGHS computes in floating point.
        divisor = math.gcd(*terms.values()) or 1
        self._rows.append(
            (-math.inf, {each: n // divisor for each, n in terms.items()}, most // divisor)
        )

    def equals(self, terms: Terms, value: int) -> None:
        """The sum of the terms is exactly so much."""
        divisor = math.gcd(value, *terms.values()) or 1
        self._rows.append(
            (value // divisor, {each: n // divisor for each, n in terms.items()}, value // divisor)
        )

    def minimise(self, objective: Terms) -> Outcome:
        """Find the smallest objective within the bounds."""
        if not self._upper:
            is_fine = all(low <= 0 <= high for low, _, high in self._rows)
            return Outcome([] if is_fine else None, 0, not is_fine, 0)
        # Imported here because loading it takes longer than most packings.
        import highspy

        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in {
            "output_flag": False,
            "threads": 1,
            "random_seed": 1,
            # Amounts of memory are large, and a ten-thousandth of it is not worth minutes.
            "mip_rel_gap": 1e-4,
            "mip_abs_gap": 0.999,  # objectives are integers
            "mip_max_nodes": NODES_MAX,
            "time_limit": SECONDS_MAX,
        }.items():
            solver.setOptionValue(option, value)
        divisor = math.gcd(*objective.values()) or 1
        solver.passModel(self._linear_program(highspy, objective, divisor))
        solver.run()
        return self._outcome(highspy, solver, divisor)

    def _linear_program(self, highspy: Any, objective: Terms, divisor: int) -> Any:
        program = highspy.HighsLp()
        program.num_col_ = len(self._upper)
        program.num_row_ = len(self._rows)
        program.col_cost_ = [objective.get(each, 0) // divisor for each in range(len(self._upper))]
        program.col_lower_ = [0.0] * len(self._upper)
        program.col_upper_ = [float(each) for each in self._upper]
        program.integrality_ = [highspy.HighsVarType.kInteger] * len(self._upper)
        program.row_lower_ = [row[0] for row in self._rows]
        program.row_upper_ = [row[2] for row in self._rows]
        matrix = program.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        starts, indices, values = [0], list[int](), list[int]()
        for _, terms, _ in self._rows:
            indices += terms.keys()
            values += terms.values()
            starts.append(len(indices))
        matrix.start_, matrix.index_, matrix.value_ = starts, indices, values
        return program

    def _outcome(self, highspy: Any, solver: Any, divisor: int) -> Outcome:
        info = solver.getInfo()
        status = solver.getModelStatus()
        values = None
        if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
            values = [round(value) for value in solver.getSolution().col_value]
            # The solver computes in floating point, and its solutions may be off by a little.
            if not self._is_solution(values):
                values = None
        is_infeasible = status == highspy.HighsModelStatus.kInfeasible
        bound = info.mip_dual_bound
        return Outcome(
            values,
            math.ceil(bound - 1e-6) * divisor if math.isfinite(bound) else 0,
            is_infeasible,
            max(0, info.mip_node_count),
        )

    def _is_solution(self, values: list[int]) -> bool:
        return all(0 <= n <= upper for n, upper in zip(values, self._upper, strict=True)) and all(
            low <= sum(n * values[each] for each, n in terms.items()) <= high
            for low, terms, high in self._rows
        )
