"""The newest records that a process has written itself, which it need not read back."""

from collections import OrderedDict

from roost.store.change_record import ChangeRecord

# How many. Those of large batches are large: this many entries of all of them take some megabytes.
RECORDS_MAX = 1024
ENTRIES_MAX = 65_536


class RememberedRecords:
    """One thread at a time keeps records; any number may ask for them."""

    def __init__(self) -> None:
        # By writer id and sequence number. In a dictionary, the first entry would be found behind
        # the places of all that were removed before it.
        self._records: OrderedDict[tuple[int, int], ChangeRecord] = OrderedDict()
        self._entries = 0  # how many providers and amounts they name

    def keep(self, writer_id: int, sequence: int, record: ChangeRecord) -> None:
        self._records[writer_id, sequence] = record
        self._entries += record.entry_count
        while len(self._records) > RECORDS_MAX or (
            self._entries > ENTRIES_MAX and len(self._records) > 1
        ):
            _, forgotten = self._records.popitem(last=False)
            self._entries -= forgotten.entry_count

    def get(self, writer_id: int, sequence: int) -> ChangeRecord | None:
        """The record under a number, if it is still here."""
        return self._records.get((writer_id, sequence))
